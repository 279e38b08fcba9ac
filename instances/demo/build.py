#!/usr/bin/env python3
"""Builds the demo instance `testbed.json` from measured data.

This script stands in until the workbench's own builder command exists. It needs only the Python standard library:

    RATS_DATA_DIR=DATA python3 instances/demo/build.py > instances/demo/testbed.json

DATA holds `zeus-nsdi23/` (V100 under power limits) and `perseus-sosp24/` (A100 SXM at locked clocks), laid out as
`instances/README.md` describes. Same data, same bytes: all arithmetic is in exact fractions, and nothing is random.

The formulas are those of "From physics to options" in the model (section 5). Every number below is marked
[measured] (read from a file), [derived] (follows from public facts by the arithmetic shown) or [assumed].
"""

import csv
import json
import math
import os
import sys
from fractions import Fraction as F
from pathlib import Path

TICK_S = 300
HORIZON = 60

# ---------------------------------------------------------------- hardware

V100, A100 = "v100-pcie-32gb", "a100-sxm4-80gb"

GPU_TYPES = {
    # Idle power [assumed]; memory [assumed]: ResNet-50 at batch 360 was measured, too much for the 16 GB board.
    # Blocked power [assumed] by the model's rule: idle + 10 % of (250 W limit - idle).
    V100: {"idle_w": F(50), "memory_mib": 32768, "blocked_w": F(50) + F(1, 10) * (250 - 50), "link_gb_s": F(10)},
    # Idle power [assumed] near an nvidia-smi dump of such a board (67.03 W, no process). Blocked power [measured] on
    # an A100 (PCIe) that waits for communication.
    A100: {"idle_w": F(67), "memory_mib": 81920, "blocked_w": F("83.64"), "link_gb_s": F(200)},
}
# `link_gb_s`: what one GPU gets inside its island, PCIe 3.0 x16 and NVLink 3 less protocol overhead [assumed].

LATENCY_S = {"island": F("0.00001"), "cluster": F("0.00005")}  # per ring hop [assumed]
UPLINK_GB_S = F("0.917")  # 10 GbE under contention: 1 / (0.856 ms + 0.235 ms per MB) [measured elsewhere]
STORAGE_GB_S = F("0.2")  # common store [assumed]
POWER_CAP_W = 5200  # room feed [assumed]
GPUS_PER_NODE = 4
STRETCHES = (1, 2)  # the phi and psi tried, unless a job names its own
STARTUP_S = 60  # container, framework, data set index [assumed]

NODES = [
    # base_w, wake_j, wake_ticks, on_at_start and cpu_cores of the V100 nodes [assumed]; 128 cores = 2x EPYC 7763 [upstream README].
    {"id": "volta0", "gpu_type": V100, "base_w": 260, "wake_j": 54000, "on_at_start": True, "cpu_cores": 40},
    {"id": "volta1", "gpu_type": V100, "base_w": 260, "wake_j": 54000, "on_at_start": False, "cpu_cores": 40},
    {"id": "ampere0", "gpu_type": A100, "base_w": 380, "wake_j": 90000, "on_at_start": True, "cpu_cores": 128},
    {"id": "ampere1", "gpu_type": A100, "base_w": 380, "wake_j": 90000, "on_at_start": False, "cpu_cores": 128},
]

# ---------------------------------------------------------------- workloads

# Samples per epoch are the usual sizes of the training sets [assumed]; gradient bytes = parameters x 4 (fp32) or x 2
# (bf16) [derived]; bytes read per sample, overlap, memory and CPU cores per GPU [assumed].
WORKLOADS = {
    "resnet50-imagenet-b256": {
        "zeus": ("imagenet", "resnet50", 256, "adadelta"), "epoch_samples": 1281167, "batch": 256,
        "gradient_bytes": 25557032 * 4, "bytes_per_sample": 110000, "overlap": F("0.7"), "memory_mib": 23000, "cores": 8,
    },
    "resnet50-imagenet-b128": {
        "zeus": ("imagenet", "resnet50", 128, "adadelta"), "epoch_samples": 1281167, "batch": 128,
        "gradient_bytes": 25557032 * 4, "bytes_per_sample": 110000, "overlap": F("0.7"), "memory_mib": 12500, "cores": 8,
    },
    "bert-base-squad-b32": {
        "zeus": ("squad", "bert_base_uncased", 32, "adamw"), "epoch_samples": 88524, "batch": 32,
        "gradient_bytes": 109482240 * 4, "bytes_per_sample": 4000, "overlap": F("0.6"), "memory_mib": 21000, "cores": 4,
    },
    "bert-base-sentiment140-b128": {
        "zeus": ("sentiment140", "bert_base_uncased", 128, "adamw"), "epoch_samples": 1600000, "batch": 128,
        "gradient_bytes": 109482240 * 4, "bytes_per_sample": 1000, "overlap": F("0.6"), "memory_mib": 19000, "cores": 4,
    },
    "deepspeech2-librispeech-b48": {
        "zeus": ("librispeech", "deepspeech2", 48, "adamw"), "epoch_samples": 281241, "batch": 48,
        "gradient_bytes": 86600000 * 4, "bytes_per_sample": 394000, "overlap": F("0.6"), "memory_mib": 17000, "cores": 6,
    },
    "shufflenetv2-cifar100-b1024": {
        "zeus": ("cifar100", "shufflenetv2", 1024, "adam"), "epoch_samples": 50000, "batch": 1024,
        "gradient_bytes": 1360000 * 4, "bytes_per_sample": 0, "overlap": F("0.7"), "memory_mib": 7000, "cores": 4,
    },
    # One GPU holds what one GPU held when the stage was profiled; a step is `batch` micro-batches of one sequence, and
    # gangs are data parallel; token ids are cached [assumed]. Parameters per GPU: 12 layers x 12 x 12288^2 / 8, and 9 layers x 12 x 14336^2 / 8.
    "gpt3-shard-bf16": {
        "perseus": ("gpt3-175b+a100_sxm_bf16.csv", 0), "batch": 128,
        "gradient_bytes": 12 * 12 * 12288**2 // 8 * 2, "bytes_per_sample": 0, "overlap": F("0.7"),
        "memory_mib": 68000, "cores": 4,
    },
    "bloom-shard-bf16": {
        "perseus": ("bloom+a100_sxm_bf16.csv", 1), "batch": 128,
        "gradient_bytes": 9 * 12 * 14336**2 // 8 * 2, "bytes_per_sample": 0, "overlap": F("0.7"),
        "memory_mib": 70000, "cores": 4,
    },
}

# `gangs`: (GPUs, spans to offer); the first is what the user asked for. `points`: W for V100, MHz for A100, top first.
JOBS = [
    {"id": "rn50-full", "user": "ana", "workload": "resnet50-imagenet-b256", "epochs": 8, "release": 0, "deadline": 56,
     "gangs": [(4, ["cluster"]), (2, ["cluster"])], "points": [250, 200, 150],
     "command": "torchrun --nproc-per-node=gpu train_imagenet.py --arch resnet50 --batch-size 256 --epochs 8 --data /data/imagenet"},
    {"id": "rn50-aug", "user": "ana", "workload": "resnet50-imagenet-b128", "epochs": 4, "release": 2,
     "gangs": [(2, ["cluster"]), (1, ["island"])], "points": [250, 200, 150],
     "command": "torchrun --nproc-per-node=gpu train_imagenet.py --arch resnet50 --augment heavy --batch-size 128 --epochs 4 --data /data/imagenet"},
    {"id": "bert-squad", "user": "ben", "workload": "bert-base-squad-b32", "epochs": 6, "release": 0, "deadline": 30,
     "gangs": [(2, ["island", "cluster"])], "points": [250, 200, 150], "stretches": (1,),
     "command": "torchrun --nproc-per-node=gpu run_qa.py --model_name_or_path bert-base-uncased --dataset_name squad --per_device_train_batch_size 32 --num_train_epochs 6"},
    {"id": "bert-tweets", "user": "ben", "workload": "bert-base-sentiment140-b128", "epochs": 3, "release": 0, "after": ["bert-squad"],
     "gangs": [(2, ["island"]), (4, ["island"])], "points": [250, 200, 150],
     "command": "torchrun --nproc-per-node=gpu run_classification.py --model_name_or_path bert-base-uncased --dataset_name sentiment140 --per_device_train_batch_size 128 --num_train_epochs 3"},
    {"id": "ds2-libri", "user": "chi", "workload": "deepspeech2-librispeech-b48", "epochs": 2, "release": 2, "deadline": 56,
     "gangs": [(1, ["island"])], "points": [250, 200, 175, 150, 125],
     "command": "python train_asr.py --model deepspeech2 --manifest /data/librispeech/train-960.csv --batch-size 48 --epochs 2"},
    {"id": "shuffle-cifar", "user": "dov", "workload": "shufflenetv2-cifar100-b1024", "epochs": 300, "release": 10, "deadline": 24,
     "gangs": [(1, ["island"])], "points": [250, 200, 175, 150, 125],
     "command": "python train_cifar.py --arch shufflenetv2 --dataset cifar100 --batch-size 1024 --epochs 300 --optimizer adam"},
    {"id": "gpt-pretrain", "user": "eva", "workload": "gpt3-shard-bf16", "samples": 270000, "release": 0, "deadline": 56,
     "gangs": [(4, ["cluster"])], "points": [1410, 1260, 1110],
     "command": "torchrun --nproc-per-node=gpu pretrain_gpt.py --seq-length 2048 --micro-batch-size 1 --bf16 --train-samples 270000"},
    {"id": "bloom-tune", "user": "eva", "workload": "bloom-shard-bf16", "samples": 150000, "release": 0, "deadline": 36,
     "gangs": [(4, ["cluster"])], "points": [1410, 1260, 1110],
     "command": "torchrun --nproc-per-node=gpu finetune_bloom.py --seq-length 2048 --micro-batch-size 1 --bf16 --train-samples 150000"},
    {"id": "gpt-ablate", "user": "fay", "workload": "gpt3-shard-bf16", "samples": 100000, "release": 6, "deadline": 58,
     "gangs": [(2, ["cluster"]), (1, ["island"])], "points": [1410, 1260, 1110],
     "command": "torchrun --nproc-per-node=gpu pretrain_gpt.py --seq-length 2048 --micro-batch-size 1 --bf16 --train-samples 100000 --ablate rope"},
    {"id": "bloom-eval", "user": "fay", "workload": "bloom-shard-bf16", "samples": 45000, "release": 12, "deadline": 50,
     "gangs": [(1, ["island"])], "points": [1410, 1335, 1260, 1185, 1110],
     "command": "python finetune_bloom.py --seq-length 2048 --micro-batch-size 1 --bf16 --train-samples 45000 --probe layers"},
]

# ---------------------------------------------------------------- measured profiles


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def profile(data, workload):
    """Measured `{point: (seconds per step, watts)}` of one GPU."""
    if "zeus" in workload:
        dataset, network, batch, optimizer = workload["zeus"]
        steps_per_epoch = math.ceil(F(workload["epoch_samples"], workload["batch"]))
        rows = read_rows(data / "zeus-nsdi23/trace/summary_power_v100.csv")
        key = [dataset, network, str(batch), optimizer]
        return {
            int(row["power_limit"]): (F(row["time_per_epoch"]) / steps_per_epoch, F(row["average_power"]))
            for row in rows
            if [row[c] for c in ("dataset", "network", "batch_size", "optimizer")] == key
        }
    file, stage = workload["perseus"]
    seconds, joules = {}, {}
    for row in read_rows(data / "perseus-sosp24/emulation/stage_profile" / file):
        if int(row["stage"]) == stage:
            clock = int(row["frequency"])
            seconds[clock] = seconds.get(clock, F(0)) + F(row["time"])
            joules[clock] = joules.get(clock, F(0)) + F(row["energy"])
    return {clock: (seconds[clock] * workload["batch"], joules[clock] / seconds[clock]) for clock in seconds}


# ---------------------------------------------------------------- options


def up_to_mw(watts):
    return float(F(math.ceil(watts * 1000), 1000))


def down_to_kb_s(gb_s):
    return float(F(math.floor(gb_s * 1000000), 1000000))


def option(workload, gpu_type, gang, span, point, step_s, busy_w, phi, psi, total_samples):
    """One option by the model's formulas, or None where the link has nothing left."""
    hardware = GPU_TYPES[gpu_type]
    idle_w, blocked_w = hardware["idle_w"], hardware["blocked_w"]
    input_bytes = workload["batch"] * workload["bytes_per_sample"]
    latency = LATENCY_S[span]
    nodes_needed = -(-gang // GPUS_PER_NODE)
    storage = min(STORAGE_GB_S, UPLINK_GB_S * nodes_needed)
    own_reads = min(storage / psi, gang * input_bytes / step_s / 10**9) * min(gang, GPUS_PER_NODE) / gang
    link = (hardware["link_gb_s"] if span == "island" else UPLINK_GB_S) - own_reads
    if link <= 0:
        return None
    volume = F(2 * (gang - 1), gang) * workload["gradient_bytes"]
    hops = 2 * (gang - 1) * latency
    ring = volume / (link / phi * 10**9) + hops if gang > 1 else F(0)
    exposed = max(F(0), ring - workload["overlap"] * step_s)
    read = gang * input_bytes / (storage / psi * 10**9)
    t = max(step_s + exposed, read)
    steps = math.ceil(F(total_samples, gang * workload["batch"]))
    run_s = STARTUP_S + steps * t
    ticks = max(1, math.ceil(run_s / TICK_S - F(1, 10**9)))
    peak = gang * (busy_w * step_s + blocked_w * (t - step_s)) / t
    mean = (peak * steps * t + gang * blocked_w * STARTUP_S + gang * idle_w * (ticks * TICK_S - run_s)) / (ticks * TICK_S)
    ring_gb_s = volume / (max(ring, workload["overlap"] * step_s) - hops) / 10**9 if gang > 1 else F(0)
    made = {
        "gpu_type": gpu_type,
        "gpus": gang,
        "span": span,
        "point": {"power_limit_w" if gpu_type == V100 else "sm_mhz": point},
        "ticks": ticks,
        "power_w": up_to_mw(mean),
        "peak_w": up_to_mw(peak),
    }
    if down_to_kb_s(ring_gb_s):
        made["ring_gb_s"] = down_to_kb_s(ring_gb_s)
    read_gb_s = down_to_kb_s(gang * input_bytes / t / 10**9)
    if read_gb_s:
        made["read_gb_s"] = read_gb_s
    made["per_gpu"] = {"cpu_cores": workload["cores"]}
    made["memory_mib"] = workload["memory_mib"]
    return made


def milli(watts):
    return round(watts * 1000)


def covers(q, o):
    """Whether q is at least as good as o in everything the model's pruning rule names (a power cap is in force)."""
    if (q["gpu_type"], q["gpus"]) != (o["gpu_type"], o["gpus"]):
        return False
    width = {"island": 0, "cluster": 1}
    idle = milli(o["gpus"] * GPU_TYPES[o["gpu_type"]]["idle_w"])
    above_idle = lambda x: (milli(x["power_w"]) - idle) * x["ticks"]
    return (
        width[q["span"]] >= width[o["span"]]
        and q["ticks"] <= o["ticks"]
        and above_idle(q) <= above_idle(o)
        and milli(q["power_w"]) <= milli(o["power_w"])
        and milli(q["peak_w"]) <= milli(o["peak_w"])
        and q.get("ring_gb_s", 0) <= o.get("ring_gb_s", 0)
        and q.get("read_gb_s", 0) <= o.get("read_gb_s", 0)
        and all(need <= o["per_gpu"][name] for name, need in q["per_gpu"].items())
        and q["memory_mib"] <= o["memory_mib"]
    )


def prune(options):
    """Drops what another option covers; the first of equal ones, and option 0 (the requested one), stay."""
    kept = []
    for i, o in enumerate(options):
        dropped = i > 0 and any(
            j != i and covers(q, o) and (j < i or not covers(o, q)) for j, q in enumerate(options)
        )
        if not dropped:
            kept.append(o)
    return kept


def build_job(data, job):
    workload = WORKLOADS[job["workload"]]
    gpu_type = V100 if "zeus" in workload else A100
    measured = profile(data, workload)
    total = job["samples"] if "samples" in job else job["epochs"] * workload["epoch_samples"]
    stretches = job.get("stretches", STRETCHES)
    options = []
    for gang, spans in job["gangs"]:
        for span in spans:
            for point in job["points"]:
                step_s, busy_w = measured[point]
                for phi in stretches if gang > 1 else (1,):
                    for psi in stretches if workload["bytes_per_sample"] else (1,):
                        options.append(option(workload, gpu_type, gang, span, point, step_s, busy_w, phi, psi, total))
    built = {"id": job["id"], "user": job["user"], "workload": job["workload"], "command": job["command"]}
    for field in ("release", "deadline", "after"):
        if field in job:
            built[field] = job[field]
    built["requested"] = 0
    built["options"] = prune([o for o in options if o is not None])
    return built


# ---------------------------------------------------------------- output


def build(data):
    nodes = [
        {
            "id": node["id"],
            "parent": "tor",
            "uplink_gb_s": float(UPLINK_GB_S),
            "gpu_type": node["gpu_type"],
            "gpus": GPUS_PER_NODE,
            "base_w": node["base_w"],
            "power": "sleep",
            "wake_j": node["wake_j"],
            "wake_ticks": 1,
            "on_at_start": node["on_at_start"],
            "resources": {"cpu_cores": node["cpu_cores"]},
        }
        for node in NODES
    ]
    types = [{"id": id, "idle_w": int(t["idle_w"]), "memory_mib": t["memory_mib"]} for id, t in GPU_TYPES.items()]
    return {
        "format": "rats.instance/1",
        "name": "testbed",
        "tick_s": TICK_S,
        "horizon": HORIZON,
        "cluster": {
            "gpu_types": types,
            "levels": ["cluster"],
            "switches": [{"id": "tor", "level": "cluster"}],
            "nodes": nodes,
            "storage_gb_s": float(STORAGE_GB_S),
            "power_cap_w": POWER_CAP_W,
        },
        "objective": [{"term": "energy", "weight": 1}],
        "jobs": [build_job(data, job) for job in JOBS],
    }


def pretty(value, indent=0, width=240):
    """JSON with everything that fits on one line on one line."""
    flat = json.dumps(value)
    if not isinstance(value, (dict, list)) or (indent and len(flat) + indent <= width):
        return flat
    pad = " " * (indent + 2)
    if isinstance(value, dict):
        parts = [f"{pad}{json.dumps(key)}: {pretty(item, indent + 2, width)}" for key, item in value.items()]
        return "{\n" + ",\n".join(parts) + "\n" + " " * indent + "}"
    parts = [pad + pretty(item, indent + 2, width) for item in value]
    return "[\n" + ",\n".join(parts) + "\n" + " " * indent + "]"


def main():
    folder = os.environ.get("RATS_DATA_DIR")
    if not folder:
        sys.exit("set RATS_DATA_DIR to the directory that holds zeus-nsdi23/ and perseus-sosp24/")
    print(pretty(build(Path(folder))))


if __name__ == "__main__":
    main()
