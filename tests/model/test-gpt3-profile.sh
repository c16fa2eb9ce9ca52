#!/usr/bin/env bash
# The shipped GPT-3 profile is what its arithmetic says, byte for byte, whatever awk runs it.
cd "$(dirname "$0")/../.." || exit 1
checks=0 failures=0
for awk in mawk gawk original-awk "busybox awk"; do
    command -v ${awk%% *} >/dev/null || continue
    checks=$((checks + 1))
    if ! $awk -f planner/profiles/gpt3.awk | cmp - planner/profiles/gpt3-13b-a100.json; then
        echo "$awk: gpt3.awk prints something else than gpt3-13b-a100.json"
        failures=$((failures + 1))
    fi
done
if [ "$checks" = 0 ]; then
    echo "skipped: no awk is installed"
    checks=1
fi
echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ "$failures" = 0 ]
