"""Reads instances of format rats.instance/1 for the baselines, with no code of the project.

Everything is an integer as `docs/model.md` says: mW, mJ, thousandths, kB/s, ticks. GPUs of one island that are blocked
at the same times are a *cell*: they differ in no rule but V6, so that counting them is exact and they can be handed out
in order of start afterwards.
"""

import json
from dataclasses import dataclass, field
from decimal import Decimal


class Infeasible(Exception):
    """The instance has no plan, for a reason that reading it shows."""


class Refused(Exception):
    """The model would be too large."""


def scaled(value, factor):
    return None if value is None else int(Decimal(value) * factor)


def steps(value, factor):
    """A number or steps as a list of (tick, integer); None if absent."""
    if value is None:
        return None
    if not isinstance(value, list):
        return [(0, scaled(value, factor))]
    return [(tick, scaled(level, factor)) for tick, level in value]


def at(step_list, tick):
    """The value of steps at a tick; None before the first."""
    found = None
    for start, value in step_list or []:
        if start <= tick:
            found = value
    return found


@dataclass
class Option:
    index: int
    gpu_type: int
    gpus: int
    span: int
    ticks: int
    power: int
    peak: int
    ring: int
    read: int
    per_gpu: dict
    memory: int
    fits: bool

    def shape(self):
        return (self.gpu_type, self.gpus, self.span)


@dataclass
class Job:
    index: int
    id: str
    release: int
    deadline: int
    due: int
    weight: Decimal
    after: list
    options: list
    fixed: tuple = None


@dataclass
class Node:
    index: int
    id: str
    gpu_type: int
    gpus: list
    idle: int
    sleeps: bool
    wake: int
    wake_ticks: int
    on_at_start: bool
    resources: dict
    cap: list


@dataclass
class Domain:
    """A vertex of the tree above single GPUs; rank as in `span`: island 1, node 2, levels from 3."""

    rank: int
    gpus: frozenset
    uplink: int = None
    parent: object = None
    cap: list = None
    nodes: list = field(default_factory=list)


@dataclass
class Cell:
    index: int
    node: int
    gpus: list
    blocked: list


class Instance:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            data = json.load(file, parse_float=Decimal)
        self.name = data["name"]
        self.tick_s = data["tick_s"]
        self.horizon = data["horizon"]
        self.tariff = steps(data.get("tariff"), 1_000_000)
        self.budget = scaled(data.get("energy_budget_j"), 1000)
        self.weights = {term: Decimal(0) for term in ("energy", "cost", "makespan", "completion", "tardiness")}
        for entry in data["objective"]:
            self.weights[entry["term"]] += Decimal(entry["weight"])
        self._cluster(data["cluster"])
        self._jobs(data.get("jobs", []))
        self._cells()

    def _cluster(self, cluster):
        types = cluster["gpu_types"]
        self.type_index = {kind["id"]: position for position, kind in enumerate(types)}
        self.idle = [scaled(kind.get("idle_w", 0), 1000) for kind in types]
        self.memory = [kind.get("memory_mib") for kind in types]
        self.rank = {"gpu": 0, "island": 1, "node": 2}
        self.rank.update({name: 3 + position for position, name in enumerate(cluster.get("levels", []))})
        self.storage = scaled(cluster.get("storage_gb_s"), 1_000_000)
        self.cap = steps(cluster.get("power_cap_w"), 1000)
        self.foreign = steps(cluster.get("foreign_w"), 1000)
        self.gpu_names, self.unavailable, self.nodes, self.domains = [], [], [], []
        switches = {}
        for switch in cluster.get("switches", []):
            domain = Domain(self.rank[switch["level"]], frozenset(), scaled(switch.get("uplink_gb_s"), 1_000_000))
            domain.cap = steps(switch.get("power_cap_w"), 1000)
            switches[switch["id"]] = (domain, switch.get("parent"))
        for domain, parent in switches.values():
            domain.parent = switches[parent][0] if parent is not None else None
        self.domains.extend(domain for domain, _ in switches.values())
        for row in cluster["nodes"]:
            self._node(row, switches)

    def _node(self, row, switches):
        first, count = len(self.gpu_names), row["gpus"]
        gpus = list(range(first, first + count))
        self.gpu_names.extend(f"{row['id']}/{index}" for index in range(count))
        blocked = [[] for _ in gpus]
        for entry in row.get("unavailable", []):
            for index in entry[2] if len(entry) > 2 else range(count):
                blocked[index].append((entry[0], entry[1]))
        self.unavailable.extend(blocked)
        kind = self.type_index[row["gpu_type"]]
        node = Node(
            index=len(self.nodes),
            id=row["id"],
            gpu_type=kind,
            gpus=gpus,
            idle=scaled(row.get("base_w", 0), 1000) + count * self.idle[kind],
            sleeps=row.get("power", "always_on") == "sleep",
            wake=scaled(row.get("wake_j", 0), 1000),
            wake_ticks=row.get("wake_ticks", 0),
            on_at_start=row.get("on_at_start", False),
            resources={name: scaled(amount, 1000) for name, amount in row.get("resources", {}).items()},
            cap=steps(row.get("power_cap_w"), 1000),
        )
        self.nodes.append(node)
        parent = switches[row["parent"]][0] if row.get("parent") is not None else None
        domain = Domain(2, frozenset(gpus), scaled(row.get("uplink_gb_s"), 1_000_000), parent)
        self.domains.append(domain)
        above = parent
        while above is not None:
            above.gpus = above.gpus | domain.gpus
            above.nodes.append(node.index)
            above = above.parent
        uplink = scaled(row.get("island_uplink_gb_s"), 1_000_000)
        for island in row.get("islands") or [list(range(count))]:
            members = frozenset(first + index for index in island)
            self.domains.append(Domain(1, members, uplink, domain))

    def _jobs(self, rows):
        position = {row["id"]: index for index, row in enumerate(rows)}
        gpu_index = {name: index for index, name in enumerate(self.gpu_names)}
        self.jobs = []
        for index, row in enumerate(rows):
            fixed = row.get("fixed")
            if fixed is not None:
                fixed = (fixed["option"], fixed["start"], sorted(gpu_index[name] for name in fixed["gpus"]))
            self.jobs.append(
                Job(
                    index=index,
                    id=row["id"],
                    release=row.get("release", 0),
                    deadline=row.get("deadline"),
                    due=row.get("due"),
                    weight=Decimal(row.get("weight", 1)),
                    after=[position[name] for name in row.get("after", [])],
                    options=[self._option(number, option) for number, option in enumerate(row["options"])],
                    fixed=fixed,
                )
            )
        for job in self.jobs:
            # A node on which a fixed job runs through tick 0 is on at the start.
            if job.fixed and job.fixed[1] < 0 < job.fixed[1] + job.options[job.fixed[0]].ticks:
                for gpu in job.fixed[2]:
                    self.node_of(gpu).on_at_start = True

    def _option(self, number, row):
        kind = self.type_index[row["gpu_type"]]
        power = scaled(row["power_w"], 1000)
        memory = row.get("memory_mib", 0) or 0
        return Option(
            index=number,
            gpu_type=kind,
            gpus=row["gpus"],
            span=self.rank[row["span"]],
            ticks=row["ticks"],
            power=power,
            peak=scaled(row["peak_w"], 1000) if row.get("peak_w") is not None else power,
            ring=scaled(row.get("ring_gb_s", 0), 1_000_000),
            read=scaled(row.get("read_gb_s", 0), 1_000_000),
            per_gpu={name: scaled(amount, 1000) for name, amount in row.get("per_gpu", {}).items()},
            memory=memory,
            fits=self.memory[kind] is None or memory <= self.memory[kind],
        )

    def _cells(self):
        blocked = [list(intervals) for intervals in self.unavailable]
        for job in self.jobs:
            if job.fixed:
                option, start, gpus = job.fixed
                for gpu in gpus:
                    blocked[gpu].append((start, start + job.options[option].ticks))
        island = {gpu: number for number, d in enumerate(self.domains) if d.rank == 1 for gpu in d.gpus}
        groups = {}
        for gpu, intervals in enumerate(blocked):
            key = (self.node_of(gpu).index, island[gpu], tuple(union(intervals)))
            groups.setdefault(key, []).append(gpu)
        self.cells = [Cell(i, key[0], gpus, list(key[2])) for i, (key, gpus) in enumerate(sorted(groups.items()))]

    def node_of(self, gpu):
        for node in self.nodes:
            if node.gpus[0] <= gpu <= node.gpus[-1]:
                return node
        raise KeyError(gpu)

    def latest_end(self, job):
        return min(self.horizon, job.deadline if job.deadline is not None else self.horizon)

    def widest_within(self, span):
        """The domains of rank at most `span` whose parent is wider, in order."""
        if span == 0:
            return []
        return [d for d in self.domains if d.rank <= span and (d.parent is None or d.parent.rank > span)]

    def patterns(self, shape, limit):
        """All ways to take a gang: lists of (cell, count)."""
        kind, need, span = shape
        found = []
        if span == 0 and need == 1:
            candidates = [[cell] for cell in self.cells if self.nodes[cell.node].gpu_type == kind]
        else:
            candidates = [
                [c for c in self.cells if self.nodes[c.node].gpu_type == kind and c.gpus[0] in domain.gpus]
                for domain in self.widest_within(span)
            ]
        for cells in candidates:
            self._extend(cells, 0, need, [], found, limit)
        return found

    def _extend(self, cells, position, need, taken, found, limit):
        if need == 0:
            found.append(list(taken))
            if len(found) > limit:
                raise Refused(f"one option has more than {limit} placements")
            return
        if position == len(cells) or sum(len(cell.gpus) for cell in cells[position:]) < need:
            return
        for count in range(min(need, len(cells[position].gpus)), -1, -1):
            if count:
                taken.append((cells[position].index, count))
            self._extend(cells, position + 1, need - count, taken, found, limit)
            if count:
                taken.pop()

    def example(self, pattern):
        """Some GPUs that realize a pattern."""
        return [gpu for cell, count in pattern for gpu in self.cells[cell].gpus[:count]]

    def price_of(self, tick):
        return at(self.tariff, tick) or 0

    def hand_out(self, chosen):
        """GPU names by job, of {job: (start, end, pattern)}; the jobs keep every cell's capacity."""
        free_from = [{gpu: 0 for gpu in cell.gpus} for cell in self.cells]
        names = {}
        for job, (start, end, pattern) in sorted(chosen.items(), key=lambda item: (item[1][0], item[0])):
            gpus = []
            for cell, count in pattern:
                taken = [gpu for gpu in self.cells[cell].gpus if free_from[cell][gpu] <= start][:count]
                for gpu in taken:
                    free_from[cell][gpu] = end
                gpus.extend(taken)
            names[job] = [self.gpu_names[gpu] for gpu in sorted(gpus)]
        return names

    def plan(self, chosen, power, solver):
        """The plan document of {job: (option, start, end, pattern)} and {node: powered ticks}; fixed jobs are added."""
        names = self.hand_out({job: (start, end, pattern) for job, (_, start, end, pattern) in chosen.items()})
        assignments = []
        for job in self.jobs:
            if job.fixed:
                option, start, gpus = job.fixed
                assignments.append((job.id, option, start, [self.gpu_names[gpu] for gpu in gpus]))
            else:
                option, start, _, _ = chosen[job.index]
                assignments.append((job.id, option, start, names[job.index]))
        keys = ("job", "option", "start", "gpus")
        return {
            "format": "rats.plan/1",
            "instance": self.name,
            "solver": solver,
            "assignments": [dict(zip(keys, assignment)) for assignment in assignments],
            "power": {self.nodes[node].id: union([(t, t + 1) for t in ticks]) for node, ticks in power.items()},
        }


def union(intervals):
    """Disjoint intervals of ticks >= 0, those that touch joined."""
    result = []
    for start, end in sorted((max(0, start), end) for start, end in intervals if end > max(0, start)):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result
