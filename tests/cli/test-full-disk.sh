#!/usr/bin/env bash
# Where an output cannot be written whole the exit status is 1, the message says why, and nothing is
# left: neither on a full device nor beyond a limit on the size of files (which here stands for a
# disk that is full in the middle of a file), and neither of files nor of run folders. A run folder
# that was there before stays as it was.
set -u
cd "$(dirname "$0")/../.."
. tests/harness/verdict.sh
pipersim=$(realpath "${PIPERSIM:-build/release/pipersim}")
profile=$PWD/planner/profiles/gpt3-13b-a100.json run=$PWD/traces/sample-1f1b
export PIPERSIM_TOPOLOGIES=$PWD/topologies
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

printf 'start_s,source,destination,bytes\n%s\n' "$(seq -f '0,%g,100,1e6' 0 99)" >"$work/flows.csv"
long="stages=4 microbatches=100 forward=1ms backward=1ms"
wide="stages=200 microbatches=1 forward=1ms backward=1ms"
commands=( # what comes before -o; a size in KiB that is too small for each
    "0 plan $profile --devices 8"
    "1 plan $profile --devices 8"
    "0 schedule --schedule 1f1b --stages 8 --microbatches 64"
    "1 schedule --schedule 1f1b --stages 8 --microbatches 64"
    "1 flows --topology dgx-a100 $work/flows.csv"
    "0 sweep $profile --devices 8,16"
    "2 plot $run"
    "0 replay --synthetic LONG"
    "1 replay --synthetic LONG"
    "30 replay --synthetic LONG" # of 50 in trace.csv
    "60 replay --synthetic WIDE" # of 140 in summary.json, where trace.csv has 30
    "0 validate $profile --devices 8"
    "1 validate $profile --devices 8" # of 2 in plan.json
    "30 validate $profile --devices 8" # of 320 in trace.csv, and 2 in plan.json
)
out=$work/out

attempt() { # FOLDER-TO-BE-EMPTY LIMIT ARGUMENTS...: status and messages
    local folder=$1 limit=$2
    shift 2
    mkdir -p "$folder"
    local messages status
    messages=$( (ulimit -c 0; [ "$limit" = - ] || ulimit -f "$limit"; exec "$pipersim" "$@") 2>&1 >/dev/null)
    status=$?
    [ "$status" = 1 ] && [ -z "$(ls -A "$folder")" ] &&
        [[ $messages =~ ^[^$'\n']*"cannot write: "("No space left on device"|"File too large")$ ]]
    verdict $? "$*: exit $status, $messages, left: $(ls -A "$folder" | tr '\n' ' ')"
    rm -rf "$folder"
}

all_files() { # FOLDER
    (cd "$1" && find . -type f -exec sha256sum {} + | sort)
}

again() { # LIMIT ARGUMENTS...
    local limit=$1 folder=$out/again before status
    shift
    "$pipersim" replay --synthetic "stages=2 microbatches=4 forward=1ms backward=1ms" -o "$folder" >"$work/log" 2>&1
    before=$(all_files "$folder")
    (ulimit -c 0; ulimit -f "$limit"; exec "$pipersim" "$@" -o "$folder") >"$work/log" 2>&1
    status=$?
    [ "$status" = 1 ] && [[ $before == *summary.json* ]] && [ "$before" = "$(all_files "$folder")" ]
    verdict $? "$* over an older run: exit $status, left: $(ls -A "$folder" | tr '\n' ' ')"
    rm -rf "$folder"
}

for line in "${commands[@]}"; do
    read -r limit command rest <<<"$line"
    read -ra arguments <<<"$rest"
    for i in "${!arguments[@]}"; do
        case ${arguments[i]} in
        LONG) arguments[i]=$long ;;
        WIDE) arguments[i]=$wide ;;
        esac
    done
    name=result
    [ "$command" != plot ] || name=result.svg
    attempt "$out" "$limit" "$command" "${arguments[@]}" -o "$out/$name"
    case $command in
    replay | validate)
        attempt "$out" "$limit" "$command" "${arguments[@]}" -o "$out/deep/er/run"
        again "$limit" "$command" "${arguments[@]}"
        ;;
    plot) ;;
    *) attempt "$out" - "$command" "${arguments[@]}" -o /dev/full ;;
    esac
done
close
