"""HiGHS on the time-indexed program that `rats export --format mps` writes: what a user without our solvers would run.

The `highs` program is used if it is on the path, else the same solver from the Python package `highspy`. The plan is read
off the columns: `x_j<job>_o<option>_p<placing>_t<start>` says what starts when, the column's coefficients in the rows
`gpus_c<cell>_t<tick>` say how many GPUs of each cell it takes, and `on_n<node>_t<tick>` says when nodes are powered.

    highs_cli.py INSTANCE --rats PROGRAM [--time-limit S] [--threads N] [--seed N] [-o PLAN]

prints one JSON document as `rats solve --json` does.
"""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rats_model import Instance

if shutil.which("highs") is None:
    import highspy

START = re.compile(r"x_j(\d+)_o(\d+)_p\d+_t(\d+)$")
ON = re.compile(r"on_n(\d+)_t(\d+)$")
ROW = re.compile(r"gpus_c(\d+)_t\d+$")
SCALE = re.compile(r"\* objective of the instance = (\S+) \* \(objective of this model\) \+ (\S+)")


def program():
    return shutil.which("highs")


def version():
    if program():
        return subprocess.run([program(), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return f"highspy {highspy.Highs().version()}"


def export(rats, instance, model):
    """Writes the program; otherwise the document that says why there is none."""
    done = subprocess.run(
        [rats, "export", instance, "--format", "mps", "-o", str(model)], capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return None
    if done.returncode == 1:
        return {"status": "infeasible", "reason": done.stdout.strip()}
    if "error [U04]" in done.stderr:
        return {"status": "refused", "reason": done.stderr.strip()}
    raise RuntimeError(done.stderr.strip())


def run(model, folder, seconds, threads, seed):
    options = {
        "time_limit": max(0.01, seconds),
        "threads": threads,
        "random_seed": seed % 2147483647,
        "mip_rel_gap": 0.0,
        "log_file": str(folder / "log"),
        "log_to_console": False,
    }
    if program():
        del options["log_to_console"]
        lines = [f"{name} = {value}" for name, value in options.items()]
        (folder / "options").write_text("\n".join(lines) + "\n", encoding="utf-8")
        arguments = [program(), str(model), "--options_file", str(folder / "options")]
        arguments += ["--solution_file", str(folder / "solution")]
        subprocess.run(arguments, stdout=subprocess.DEVNULL, check=True)
        return
    solver = highspy.Highs()
    for name, value in options.items():
        solver.setOptionValue(name, value)
    solver.readModel(str(model))
    solver.run()
    solver.writeSolution(str(folder / "solution"), 0)


def finite(text):
    try:
        value = float(text.rstrip("*"))
    except ValueError:
        return None
    return value if abs(value) < 1e300 else None


def read_log(text, offset, to_objective):
    """(status, bound, trajectory) of HiGHS' log."""
    trajectory, status, bound = [], "", None
    for line in text.splitlines():
        words = line.split()
        if line.startswith("  Status "):
            status = " ".join(words[1:])
        elif line.startswith("  Dual bound "):
            bound = to_objective(finite(words[2]))
        elif words and re.fullmatch(r"\d+\.\d+s", words[-1]):
            after = next((n for n, word in enumerate(words) if word.endswith("%")), None)
            if after is None or len(words) < after + 3:
                continue
            point = (to_objective(finite(words[after + 2])), to_objective(finite(words[after + 1])))
            if not trajectory or tuple(trajectory[-1][1:]) != point:
                trajectory.append([offset + float(words[-1][:-1]), *point])
    return status, bound, trajectory


def read_solution(path):
    """The columns that are 1."""
    chosen, inside = set(), False
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# Columns"):
            inside = True
        elif line.startswith("#"):
            if inside:
                break
        elif inside:
            name, value = line.split()[:2]
            if float(value) > 0.5:
                chosen.add(name)
    return chosen if inside else None


def read_model(path, chosen):
    """(scale, constant, {column: [(cell, count)]}, nodes with power columns) of the program."""
    scale, constant, cells, powered = 1.0, 0.0, {}, set()
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            found = SCALE.match(line)
            if found:
                scale, constant = float(found[1]), float(found[2])
            elif len(words) == 3 and words[0].startswith("on_n"):
                powered.add(int(ON.match(words[0])[1]))
            elif len(words) == 3 and words[0] in chosen and ROW.match(words[1]):
                cell = int(ROW.match(words[1])[1])
                cells.setdefault(words[0], {})[cell] = round(float(words[2]))
    return scale, constant, cells, powered


def plan_of(instance, chosen, cells, powered):
    jobs, power = {}, {node: [] for node in powered}
    for name in chosen:
        start, on = START.match(name), ON.match(name)
        if start:
            job, option, tick = (int(part) for part in start.groups())
            end = tick + instance.jobs[job].options[option].ticks
            jobs[job] = (option, tick, end, sorted(cells[name].items()))
        elif on:
            power[int(on[1])].append(int(on[2]))
    return instance.plan(jobs, power, "highs_cli")


def solve(instance, arguments, folder, began):
    model = folder / "model.mps"
    document = export(arguments.rats, arguments.instance, model)
    if document:
        return document
    before = time.monotonic() - began
    run(model, folder, arguments.time_limit - before, arguments.threads, arguments.seed)
    chosen = read_solution(folder / "solution")
    scale, constant, cells, powered = read_model(model, chosen or set())
    to_objective = lambda value: None if value is None else scale * value + constant
    log = (folder / "log").read_text(encoding="utf-8")
    status, bound, trajectory = read_log(log, before, to_objective)
    document = {"bound": bound, "trajectory": trajectory}
    if status == "Infeasible":
        return {"status": "infeasible"}
    if chosen is None:
        return {**document, "status": "unknown", "stop": "deadline"}
    document["status"] = "optimal" if status == "Optimal" else "feasible"
    if status != "Optimal":
        document["stop"] = "deadline"
    document["plan"] = plan_of(instance, chosen, cells, powered)
    document["first_plan_s"] = next((at for at, best, _ in trajectory if best is not None), None)
    document["objective"] = next((best for _, best, _ in reversed(trajectory) if best is not None), None)
    return document


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("instance")
    parser.add_argument("--rats", required=True, help="the program that exports the model")
    parser.add_argument("--time-limit", type=float, default=60)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", help="also write the plan to this file")
    if "--version" in sys.argv:
        print(version())
        return
    arguments = parser.parse_args()
    instance = Instance(arguments.instance)
    began = time.monotonic()
    # The library prints a banner whatever it is told; standard output is for the document alone.
    standard_output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory(prefix="rats-highs-") as folder:
        document = solve(instance, arguments, Path(folder), began)
    document["wall_s"] = time.monotonic() - began
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    document["peak_memory_mib"] = -(-peak // 1024)
    document.update(solver="highs_cli", seed=arguments.seed, threads=arguments.threads)
    if arguments.output and "plan" in document:
        Path(arguments.output).write_text(json.dumps(document["plan"]), encoding="utf-8")
    print(json.dumps(document), file=standard_output)


if __name__ == "__main__":
    main()
