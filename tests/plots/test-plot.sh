#!/usr/bin/env bash
# The command `plot`: messages and exit statuses, and the same bytes from every process, whatever the
# time, the place and the language.
set -u
cd "$(dirname "$0")/../.." || exit 1
run=$PWD/traces/sample-1f1b
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
cat >t.csv <<'END'
devices,memory_bytes,bandwidth_bytes_per_s,status,tps_s
32,8589934592,25000000000,ok,0.04
32,8589934592,6250000000,infeasible,
32,17179869184,25000000000,ok,0.03
32,17179869184,6250000000,ok,0.035
END
mkdir empty
checks=0 failures=0
verdict() { # NAME STATUS-OF-THE-CHECK
    checks=$((checks + 1))
    if [ "$2" != 0 ]; then
        failures=$((failures + 1))
        echo "failed: $1"
    fi
}

says() { # STATUS MESSAGE ARGUMENTS...: nothing else is printed, no picture is left behind
    local expected=$2 status=$1 output got
    shift 2
    output=$("$PIPERSIM" plot "$@" 2>&1)
    got=$?
    [ "$got $output" = "$status $expected" ] && [ -z "$(find . -name '*p.svg*')" ]
    verdict "plot $*: $got $output" $?
    rm -f p.svg
}
says 2 "pipersim: plot: a missing argument (expected: pipersim plot DIR|FILE.csv -o PICTURE [options])"
says 2 "pipersim: plot: --output is missing (expected -o FILE.svg, .png or .pdf)" "$run"
says 2 "pipersim: plot: 'p.jpg' has no known picture format (expected a name that ends in .svg, .png or .pdf)" \
    "$run" -o p.jpg
says 2 "pipersim: plot: --x is for CSV files only (expected --from, --to or --stages)" "$run" --x a -o p.svg
says 2 "pipersim: plot: --stages is for run folders only (expected --x, --y or --series)" \
    t.csv --stages 1 -o p.svg
says 2 "pipersim: plot: --y is missing (expected --x and --y with names of columns of t.csv)" \
    t.csv --x memory -o p.svg
says 2 'pipersim: plot: --from: "5": the unit is missing (expected a time with a unit, like 3 us)' \
    "$run" --from 5 -o p.svg
"$PIPERSIM" plot "$run" --to '3 h' -o p.svg 2>&1 |
    grep -qE "^pipersim: plot: --to: '3 h' is after the end of the run \(expected at most [0-9.]+ m?s\)$"
verdict "a time after the end" $?
says 2 "pipersim: plot: --from and --to leave nothing to show (expected from < to)" \
    "$run" --from 2us --to 1us -o p.svg
says 2 "pipersim: plot: --from and --to leave nothing to show (expected from < to)" "$run" --to 0 -o p.svg
says 2 'pipersim: plot: --stages: "9": out of range (expected a whole number from 0 to 3)' \
    "$run" --stages 0,9 -o p.svg
says 2 "pipersim: plot: --x: t.csv has no column 'memry' (did you mean memory?)" \
    t.csv --x memry --y tps -o p.svg
says 1 't.csv:2: column status: "ok" is not a number (expected a finite decimal)' \
    t.csv --x memory --y status -o p.svg
says 1 "missing.csv: cannot read: No such file or directory" missing.csv --x a --y b -o p.svg
says 1 "there/p.svg: cannot write: No such file or directory" t.csv --x memory --y tps -o there/p.svg

"$PIPERSIM" plot empty -o p.svg >message 2>&1
[ $? = 1 ] && grep -q '^empty/summary.json: ' message && [ ! -e p.svg ]
verdict "a folder without a run: $(cat message)" $?

same() { # NAME ARGUMENTS...: every format twice, in other surroundings and another second
    local name=$1 format
    shift
    for format in svg png pdf; do
        "$PIPERSIM" plot "$@" -o "$name-1.$format" && [ -s "$name-1.$format" ]
        verdict "plot $* to $format" $?
    done
    sleep 1.1
    for format in svg png pdf; do
        mkdir -p elsewhere
        (cd elsewhere && TZ=Asia/Tokyo LC_ALL=C HOME=/nowhere "$PIPERSIM" plot "$@" -o "p.$format" 2>/dev/null)
        cmp "$name-1.$format" "elsewhere/p.$format"
        verdict "the same $format of $* again" $?
    done
}
same run "$run"
same part "$run" --from 1us --stages 1-2
same chart "$scratch/t.csv" --x bandwidth --y tps --series memory

echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ "$failures" = 0 ]
