#!/bin/sh
# The whole testbed on simulated GPUs: discover, profile, fit, build, solve, check, execute, report.
#
# Usage: instances/testbed-demo/run.sh [FOLDER]        from the root of the repository, after `make build`
#
# Exit code 0 if every promise is kept: each point of a profile within 1.5 % of what the simulated GPUs really do, the plan
# met within 3 %, and a GPU that is made 15 % slower named. Everything that is measured lies in FOLDER afterwards.
set -eu

root=$(pwd)
out=${1:-target/testbed-demo}
here=instances/testbed-demo
speedup=${SPEEDUP:-40}
RATS=$root/target/release/rats
export RATS
rm -rf "$out"
mkdir -p "$out/sim" "$out/slow" "$out/profiles" "$out/boards"
out=$(cd "$out" && pwd)

# On a machine with GPUs none of these three is set.
export NVML_SIM_CONFIG="$out/sim/config.json" RATS_NVML_LIB="$root/target/release/libnvml_sim.so"
export RATS_STATE_DIR="$out/custody"

workloads="bloom bert deepspeech2 resnet50"
kinds="a100-sxm-80gb v100"
broken=""

now() { date +%s.%N; }
begun=$(now)
since() { echo "$(now) $1" | awk '{ printf "%.1f", $1 - $2 }'; }
step() {
    at=$(now)
    printf '\n== %s\n' "$1"
}
took() { printf '   (%s s)\n' "$(since "$at")"; }
promise() {
    if [ "$2" -eq 0 ]; then echo "kept:   $1"; else
        echo "BROKEN: $1"
        broken="$broken $1;"
    fi
}

# A machine with four A100 and four V100; $1: where to, the others: more arguments.
machine() {
    to=$1
    shift
    "$RATS" sim-config --gpus 4xA100-SXM4-80GB,4xV100 --seed "${SEED:-1}" --speedup "$speedup" -o "$to" "$@" \
        --workload bloom=a100-sxm-80gb-perseus-bloom-stage0 \
        --workload bert=v100-zeus-sentiment140-bert-base-uncased-b128-adamw \
        --workload deepspeech2=v100-zeus-librispeech-deepspeech2-b48-adamw \
        --workload resnet50=v100-zeus-imagenet-resnet50-b256-adadelta
}

step "simulated machine"
machine "$out/sim/config.json"
took

step "discover"
"$RATS" discover --idle-seconds 0.5 -o "$out/cluster.toml" --inventory "$out/inventory.json"
took

step "profile: each workload on each GPU, six clocks and two that the model chooses"
for workload in $workloads; do
    pids=""
    for gpu in 0 1 2 3 4 5 6 7; do
        "$RATS" profile --gpus $gpu --sm-mhz 6points --budget 8points --seed $gpu \
            --step-pattern 'time (?<time>\S+) s' --model "$workload" -o "$out/boards/$workload-$gpu.json" \
            -- "$RATS" sim-job --workload "$workload" --steps 1000000 --every 1 --startup 20 \
            >"$out/boards/$workload-$gpu.txt" 2>&1 &
        pids="$pids $!"
    done
    for pid in $pids; do
        # 1: points stay marked; the others are good.
        wait "$pid" || [ $? -eq 1 ] || { cat "$out"/boards/"$workload"-*.txt; exit 2; }
    done
done
cat "$out/boards/bloom-0.txt"
took

step "pool: one profile of the four GPUs of a kind"
for workload in $workloads; do
    "$RATS" pool "$out"/boards/"$workload"-[0123].json -o "$out/profiles/a100-sxm-80gb-$workload.json"
    "$RATS" pool "$out"/boards/"$workload"-[4567].json -o "$out/profiles/v100-$workload.json"
done
took

step "fit"
"$RATS" fit "$out/profiles" -o "$out/models" --lenient
took

step "build"
# What NVML cannot see: how long a plan may be, and the jobs.
sed 's/^tick_s = .*/tick_s = 2\nhorizon_s = 1000\nstretches = [1]/' "$out/cluster.toml" >"$out/scenario.toml"
cat "$here/jobs.toml" >>"$out/scenario.toml"
"$RATS" build "$out/scenario.toml" --profiles "$out/profiles" -o "$out/instance.json"
took

step "solve"
"$RATS" solve "$out/instance.json" --time-limit "${SOLVE_SECONDS:-5}" -q -o "$out/plan.json"
took

step "check"
"$RATS" check "$out/instance.json" "$out/plan.json"
took

step "execute"
"$RATS" execute "$out/instance.json" "$out/plan.json" --inventory "$out/inventory.json" --run-dir "$out/run" \
    >"$out/executed.txt" 2>"$out/executed.log" || { cat "$out/executed.txt" "$out/executed.log"; exit 2; }
cat "$out/executed.txt"
took

step "report"
met=0
"$RATS" report trace "$out/run/trace.jsonl" --within 0.03 >"$out/report.txt" || met=$?
cat "$out/report.txt"
took

# The busiest GPU: the table of GPUs ends the report, `NODE/INDEX JOBS ...`.
busiest=$(awk '$1 ~ /^.+-.+\/[0-9]$/ && $2 > most { most = $2; name = $1 } END { print name }' "$out/report.txt")
index=${busiest##*/}
case $busiest in *v100*) index=$((index + 4)) ;; esac
step "execute once more, with $busiest (GPU $index) 15 % slower than it was"
machine "$out/slow/config.json" --slow "$index=1.15"
export NVML_SIM_CONFIG="$out/slow/config.json"
"$RATS" execute "$out/instance.json" "$out/plan.json" --inventory "$out/inventory.json" --run-dir "$out/slow-run" \
    >"$out/slow-executed.txt" 2>"$out/slow-executed.log" || { cat "$out"/slow-executed.*; exit 2; }
# Jobs may miss deadlines now.
"$RATS" report trace "$out/slow-run/trace.jsonl" >"$out/slow-report.txt" || true
sed -n '/^GPU /,$p' "$out/slow-report.txt"
named=0
[ "$(grep -c '^slow: ' "$out/slow-report.txt")" = 1 ] && grep -q "^slow: $busiest takes" "$out/slow-report.txt" || named=1
took
export NVML_SIM_CONFIG="$out/sim/config.json"

step "profiles against what the simulated GPUs really do"
true=0
"$RATS" sim-truth "$out"/profiles/*.json "$out"/boards/*.json --within 0.015 >"$out/truth.txt" || true=$?
sed -n '1,9p;$p' "$out/truth.txt"
took

step "verdict after $(since "$begun") s"
promise "every point of every profile is within 1.5 % of the truth" $true
promise "the plan is met within 3 %, and its deadlines hold" $met
promise "the slow GPU, and no other, is named" $named
clean=0
[ "$(cat "$out"/*executed.txt | grep -c '^GPUs: as they were found')" = 2 ] || clean=1
promise "every GPU is as it was found" $clean
[ -z "$broken" ]
