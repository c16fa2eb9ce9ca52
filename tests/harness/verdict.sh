# What shell tests share: count checks, and close as tests/run wants it.
checks=0 failures=0
verdict() { # STATUS NAME
    checks=$((checks + 1))
    if [ "$1" != 0 ]; then
        failures=$((failures + 1))
        echo "failed: $2"
    fi
}
close() {
    echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
    [ "$failures" = 0 ]
}
