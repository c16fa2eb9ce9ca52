#!/usr/bin/env bash
# Inside these folders calls point one way too: no circle of files that call each other. Read from
# the symbols of the object files.
set -u
cd "$(dirname "$0")/../.."
. tests/harness/verdict.sh
build=$(dirname "${PIPERSIM:-build/release/pipersim}")
for folder in sim/{base,engine,topo,net,coll,schedule,trace} planner/{search,check,baselines} plots; do
    circles=$(for source in "$folder"/*.c; do nm -A "$build/${source%.c}.o"; done | sed 's|^[^:]*/||; s/:/ /' | awk '
        $2 == "U" { uses[$1 " " $3]; next }
        $3 ~ /^[A-TV-Z]$/ { file[$4] = $1 }
        END {
            for (use in uses) {
                split(use, part, " ")
                if (part[2] in file && file[part[2]] != part[1])
                    print part[1], file[part[2]]
            }
        }' | sort -u | tsort 2>&1 >/dev/null)
    [ -z "$circles" ]
    verdict $? "$folder: $circles"
done
close
