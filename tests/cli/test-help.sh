#!/usr/bin/env bash
# Every command's --help: ends well, fits 80 columns, has an example.
set -u
cd "$(dirname "$0")/../.."
. tests/harness/verdict.sh
pipersim=${PIPERSIM:-$PWD/build/release/pipersim}

for command in "" $(sed -n 's/^PS_COMMAND(\(.*\))/\1/p' sim/cli/commands.def); do
    help=$("$pipersim" $command --help 2>&1)
    verdict $? "$command --help: $help"
    wide=$(awk 'length($0) > 80' <<<"$help")
    [ -z "$wide" ]
    verdict $? "$command --help is wide: $wide"
    grep -q '^Example' <<<"$help"
    verdict $? "$command --help has an example"
done
close
