#!/usr/bin/env bash
# Every command's --help: ends well, fits 80 columns, has an example.
set -u
cd "$(dirname "$0")/../.."
pipersim=${PIPERSIM:-$PWD/build/release/pipersim}
checks=0 failures=0
verdict() { # NAME, complaints on standard input
    local complaints
    complaints=$(cat)
    checks=$((checks + 1))
    if [ -n "$complaints" ]; then
        failures=$((failures + 1))
        printf '%s:\n%s\n' "$1" "$complaints"
    fi
}

for command in "" $(sed -n 's/^PS_COMMAND(\(.*\))/\1/p' sim/cli/commands.def); do
    help=$("$pipersim" $command --help 2>&1)
    verdict "$command --help ends well" < <([ $? = 0 ] || echo "$help")
    verdict "$command --help fits" < <(awk 'length($0) > 80' <<<"$help")
    verdict "$command --help has an example" < <(grep -q '^Example' <<<"$help" || echo "no example")
done
echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ "$failures" = 0 ]
