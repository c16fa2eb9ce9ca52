#!/usr/bin/env bash
# Commands that take a while show how far they are, on a terminal only.
set -u
cd "$(dirname "$0")/../.."
. tests/harness/verdict.sh
pipersim=${PIPERSIM:-$PWD/build/release/pipersim}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk 'BEGIN { srand(1); print "start_s,source,destination,bytes"
    for (i = 0; i < 8000; i++) { s = int(rand() * 1024)
        print "0," s "," (s + 1 + int(rand() * 1023)) % 1024 "," 1 + int(rand() * 1e8) } }' >"$work/flows.csv"
flows="$pipersim flows --topology dgx-a100 $work/flows.csv -o /dev/null"
collective="$pipersim collective --topology dgx-a100 --kind all-to-all --ranks 0-1023 --bytes 1MiB..1GiB"

for name in flows collective; do
    if command -v script >/dev/null; then
        script -qec "${!name}" /dev/null >"$work/terminal" </dev/null
        grep -qE "$name \[#+ *\] +[0-9]+% [0-9]+ s left" "$work/terminal"
        verdict $? "$name draws a bar on a terminal"
    else
        echo "skipped: no script(1) to make a terminal"
    fi
    ${!name} >/dev/null 2>"$work/errors"
    [ ! -s "$work/errors" ]
    verdict $? "$name is quiet elsewhere"
done
close
