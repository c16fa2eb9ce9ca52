#!/usr/bin/env bash
# No line that people read on standard output is wider than 80 columns: every profile there is, in
# both units of time (so that times run from microseconds to hours), over every command and mode
# that prints a table of plans or runs.
set -u
cd "$(dirname "$0")/../.."
. tests/harness/verdict.sh
pipersim=$(realpath "${PIPERSIM:-build/release/pipersim}")
export PIPERSIM_TOPOLOGIES=$PWD/topologies
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

narrow() { # ARGUMENTS...: prints something, all of it within 80 columns
    "$pipersim" "$@" >"$work/text" 2>"$work/messages"
    local wide
    wide=$(awk 'length($0) > 80' "$work/text")
    [ -s "$work/text" ] && [ -z "$wide" ]
    verdict $? "$*: $(head -n 3 "$work/messages") $wide"
}

profiles=(planner/profiles/*.json traces/four-stages.json)
if [ -d ../shared/data/profiles ]; then
    profiles+=(../shared/data/profiles/*.json)
else
    echo "skipped: ../shared/data/profiles is not here"
fi
levels="node:8 300GB/s cluster:64 25GB/s 80GiB"
for profile in "${profiles[@]}"; do
    sed '/"timeUnit"/d' "$profile" >"$work/profile.json" # which may say one of them itself
    for unit in s ms; do
        given=("$work/profile.json" --time-unit "$unit" --memory 1TiB)
        for setting in "--devices 8" "--devices 32 --microbatches 960" \
            "--devices 48 --bandwidth 1MB/s"; do
            read -ra options <<<"$setting"
            narrow plan "${given[@]}" "${options[@]}"
        done
        narrow plan "${given[@]}" --topology "$levels"
        small=("${given[@]}" --devices 12 --microbatches 24)
        if [ "${profile##*/}" != gnmt.json ]; then # its branches make these slow, not wide
            narrow plan "${small[@]}" --top 20
            narrow plan "${small[@]}" --certify
            narrow plan "${small[@]}" --frontier devices
            narrow plan "${given[@]}" --devices 3 --compare
            narrow plan "${given[@]}" --devices 2 --frontier memory
        fi
        narrow validate "${small[@]}" --tolerance 1000%
        narrow validate "${small[@]}" --bandwidth 100kB/s --tolerance 1000%
        "$pipersim" plan "${small[@]}" -o "$work/plan.json" >"$work/text" 2>"$work/messages"
        narrow replay "$work/plan.json"
        narrow replay "$work/plan.json" --microbatches 240 --slow "rank=0 factor=10"
    done
done
narrow schedule
narrow replay --synthetic "stages=1000 microbatches=3 forward=1ms backward=1ms"
narrow collective --topology dgx-a100 --kind all-reduce --ranks 0-63 --bytes 8B..1TiB
close
