#!/bin/sh
# What watching costs: 8 simulated A100 at 10 readings a second and in real time, about 26 s.
#
# Usage: instances/testbed-demo/overhead.sh [FOLDER]        from the root of the repository, after
#        cargo build --release -p rats-testbed -p nvml-sim; HZ sets the rate
#
# Prints the processor time of each thread of the executor over 20 s (`nvml` makes the calls, so it holds what the
# simulated library costs), and what the run says itself, its start included.
set -eu

root=$(pwd)
out=${1:-target/overhead}
rm -rf "$out"
mkdir -p "$out"
cd "$out"
bin=$root/target/release
export NVML_SIM_CONFIG="$PWD/sim.json" RATS_NVML_LIB="$bin/libnvml_sim.so" RATS_STATE_DIR="$PWD/custody"

"$bin/rats-sim-config" --gpus 8xA100-SXM4-80GB --workload net=a100-sxm-80gb-perseus-bloom-stage0 \
    --instances "$root/instances" -o sim.json
"$bin/rats-testbed" discover --host "$(hostname)" --idle-seconds 0.1 --inventory inventory.json >discovered.txt
node=$(sed -n 's/.*"node": *"\([^"]*\)".*/\1/p' inventory.json | head -1)

jobs="" assignments="" comma=""
for gpu in 0 1 2 3 4 5 6 7; do
    jobs="$jobs$comma{\"id\": \"j$gpu\", \"workload\": \"net\",
        \"command\": \"exec $bin/rats-sim-job --workload net --steps 150 --every 5\",
        \"options\": [{\"gpu_type\": \"a100-sxm-80gb\", \"gpus\": 1, \"span\": \"node\", \"point\": {\"sm_mhz\": 1200},
            \"ticks\": 32, \"power_w\": 350}]}"
    assignments="$assignments$comma{\"job\": \"j$gpu\", \"option\": 0, \"start\": 0, \"gpus\": [\"$node/$gpu\"]}"
    comma=", "
done
cat >instance.json <<END
{"format": "rats.instance/1", "name": "overhead", "tick_s": 1, "horizon": 1000,
 "cluster": {"gpu_types": [{"id": "a100-sxm-80gb", "idle_w": 67}], "levels": ["room"],
  "switches": [{"id": "room", "level": "room"}],
  "nodes": [{"id": "$node", "parent": "room", "gpu_type": "a100-sxm-80gb", "gpus": 8, "base_w": 100}]},
 "objective": [{"term": "energy", "weight": 1}], "jobs": [$jobs]}
END
echo "{\"format\": \"rats.plan/1\", \"assignments\": [$assignments]}" >plan.json

"$bin/rats-testbed" execute instance.json plan.json --inventory inventory.json --run-dir run --hz "${HZ:-10}" \
    >executed.txt 2>executed.log &
executor=$!

# Nanoseconds of processor time of each thread.
threads() {
    for thread in "/proc/$executor/task"/*; do
        echo "${thread##*/} $(cat "$thread/comm") $(cut -d' ' -f1 "$thread/schedstat")"
    done
}
sleep 2
threads >before.txt
sleep 20
threads >after.txt
wait "$executor" || { cat executed.txt executed.log; exit 1; }
awk 'NR == FNR { before[$1] = $3; next }
    { ms = ($3 - before[$1]) / 1e6; all += ms; if (ms > 1) printf "%-14s %6.1f ms in 20 s, %.2f %% of a core\n", $2, ms, ms / 200 }
    END { printf "%-14s %6.1f ms in 20 s, %.2f %% of a core\n", "together", all, all / 200 }' before.txt after.txt
grep '^readings' executed.txt
