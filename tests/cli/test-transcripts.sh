#!/usr/bin/env bash
# Replays the transcripts in tests/golden/*.txt: "$ command" lines with the output they must give
# (standard output and error together) and, where it is not 0, the exit status as "[N]". Commands run
# in a scratch folder that holds copies of tests/golden/files/. With --update it rewrites the
# transcripts to what the program says now: read the diff before you keep it.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
update=${1:-}
pipersim() { "$PIPERSIM" "$@"; }
export -f pipersim
export PIPERSIM LC_ALL=C.UTF-8 PIPERSIM_TOPOLOGIES=$here/../topologies
checks=0 failures=0

flush() { # runs the command at hand and compares
    [ -n "$command" ] || return 0
    local output status
    output=$(bash -c "$command" 2>&1 </dev/null)
    status=$?
    [ $status = 0 ] || output=$output${output:+$'\n'}[$status]
    printf '$ %s\n%s' "$command" "${output:+$output$'\n'}" >>"$actual"
    checks=$((checks + 1))
    if [ "$output" != "$expected" ] && [ "$update" != --update ]; then
        failures=$((failures + 1))
        printf '%s: $ %s\n' "$transcript" "$command"
        diff <(echo "$expected") <(echo "$output")
    fi
    command= expected=
}

for transcript in "$here"/golden/*.txt; do
    scratch=$(mktemp -d) actual=$(mktemp)
    cp -r "$here"/golden/files/. "$scratch"
    cd "$scratch" || exit 1
    command= expected=
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in
        '$ '*)
            flush
            command=${line#'$ '}
            ;;
        '#'*)
            flush
            echo "$line" >>"$actual"
            ;;
        *) expected=$expected${expected:+$'\n'}$line ;;
        esac
    done <"$transcript"
    flush
    [ "$update" != --update ] || cp "$actual" "$transcript"
    cd "$here" || exit 1
    rm -rf "$scratch" "$actual"
done
echo "$((checks > 0 ? (checks - failures) * 100 / checks : 0))%: Checks: $checks, Failures: $failures, Errors: 0"
[ $failures = 0 ] && [ $checks -gt 0 ]
