"""An instance of RATS as a model of OR-Tools CP-SAT, as someone would write it who knows that solver.

Idea: one literal per option of a job; starts are integer variables of intervals, so that the cumulative constraints
propagate, and, in small models and under a tariff, literals per option and tick, so that the relaxation sees prices and
powered ticks. GPUs are counted
by cells of interchangeable ones and handed out afterwards. A placement is one literal per pattern (how many GPUs of
each cell) while patterns are few, else one count per cell. Nodes that sleep have a literal per tick; a tick in which a
node is off is an interval that fills it. A row per type of GPU (and tick, where starts have literals) says that powered
GPUs cover the work.

Model: every rule V1-V13 and every term of `docs/model.md`, in integers. Only where weights and prices do not fit into
64 bits are costs rounded, downwards, so that bounds stay valid.

    cp_sat.py INSTANCE [--time-limit S] [--threads N] [--seed N] [-o PLAN] [--starts auto|index|interval] [--patterns N]

prints one JSON document as `rats solve --json` does. Nothing is taken from another solver: there is no hint.
"""

import argparse
import json
import math
import resource
import sys
import time
from fractions import Fraction

import ortools
from ortools.sat.python import cp_model

from rats_model import Infeasible, Instance, Refused, at

# Most start literals of a model.
MOST_STARTS = 500_000
# Up to here literals per start pay for themselves: stronger bounds; beyond, plans come later than time is up.
START_LITERALS_THAT_PAY = 5_000
# Largest sum of costs that stays exact in the solver's arithmetic.
MOST_COST = 1 << 52


class Model:
    def __init__(self, instance, starts, most_patterns):
        self.i = instance
        self.most_patterns = most_patterns
        self.m = cp_model.CpModel()
        self.costs = []  # (literal or variable, Fraction per unit)
        self.constant = Fraction(0)
        self.energy = []  # (literal or variable, mJ per unit)
        self.energy_constant = 0
        self.free = [job for job in instance.jobs if not job.fixed]
        self.fixed = [job for job in instance.jobs if job.fixed]
        self.negative = self.weight("cost") > 0 and any(price < 0 for _, price in instance.tariff or [])
        self.reach = self._reach()
        self.index_starts = self._indexes_starts(starts)
        self._fixed_jobs_keep_rules()
        self._jobs()
        self._power()
        self._gpus()
        self._covered()
        self._capacities()
        self._caps()
        self._terms()
        self._symmetry()

    def weight(self, term):
        return Fraction(self.i.weights[term])

    # Time.

    def _reach(self):
        """Ticks that matter: to the last possible end, and not into ticks in which foreign power breaks the cap."""
        ends = [self.fixed_end(job) if job.fixed else self.i.latest_end(job) for job in self.i.jobs]
        reach = self.i.horizon if self.negative else min(self.i.horizon, max(ends, default=0))
        for tick in range(max(0, reach)):
            cap, foreign = at(self.i.cap, tick), at(self.i.foreign, tick)
            if cap is not None and foreign is not None and foreign > cap:
                return tick
        return max(0, reach)

    def _indexes_starts(self, asked):
        """Whether starts have literals per tick; prices over time need them."""
        total = 0
        for job in self.free:
            total += sum(max(0, self._last_start(job, o) - job.release + 1) for o in job.options)
        wanted = asked == "index" or (asked == "auto" and total <= START_LITERALS_THAT_PAY)
        indexed = wanted or self.i.tariff is not None
        if indexed and total > MOST_STARTS:
            raise Refused(f"the model would have {total} start literals, more than {MOST_STARTS}")
        return indexed

    def fixed_end(self, job):
        option, start, _ = job.fixed
        return start + job.options[option].ticks

    def _fixed_jobs_keep_rules(self):
        for job in self.fixed:
            number, start, gpus = job.fixed
            option, end = job.options[number], self.fixed_end(job)
            if end > self.i.latest_end(job) or end > self.reach:
                raise Infeasible(f"fixed job {job.id} ends too late")
            inside = [d for d in self.i.domains if d.gpus.issuperset(gpus)]
            narrowest = 0 if len(gpus) == 1 else min((d.rank for d in inside), default=99)
            if narrowest > option.span or not option.fits:
                raise Infeasible(f"fixed job {job.id} breaks V2 or V3")
            for before in job.after:
                first = self.i.jobs[before]
                if first.fixed and self.fixed_end(first) > start:
                    raise Infeasible(f"fixed job {job.id} starts before {first.id} ends")
            for other in self.fixed[: self.fixed.index(job)]:
                shared = set(gpus) & set(other.fixed[2])
                if shared and max(0, start, other.fixed[1]) < min(end, self.fixed_end(other)):
                    raise Infeasible(f"fixed jobs {job.id} and {other.id} share a GPU")
            for gpu in gpus:
                if any(max(0, start, lo) < min(end, hi) for lo, hi in self.i.unavailable[gpu]):
                    raise Infeasible(f"fixed job {job.id} runs on a GPU that is unavailable")

    # Jobs: option, start, placement.

    def _jobs(self):
        self.option, self.start, self.duration, self.end, self.at_start = {}, {}, {}, {}, {}
        self.place, self.counts, self.inside_literals, self.unions = {}, {}, {}, {}
        for job in self.free:
            self._times(job)
            self._placement(job)
        for job in self.i.jobs:
            for before in job.after:
                first = self.i.jobs[before]
                end = self.fixed_end(first) if first.fixed else self.end[before]
                start = job.fixed[1] if job.fixed else self.start[job.index]
                if not (first.fixed and job.fixed):
                    self.m.add(start >= end)

    def _last_start(self, job, option):
        return min(self.i.latest_end(job), self.reach) - option.ticks

    def _times(self, job):
        j = job.index
        literals = {}
        for option in job.options:
            possible = option.fits and self._last_start(job, option) >= job.release
            if possible and (option.gpus == 1 or option.span > 0) and self._patterns_exist(option):
                literals[option.index] = self.m.new_bool_var(f"o{j}_{option.index}")
        if not literals:
            raise Infeasible(f"job {job.id} fits nowhere in its window")
        self.option[j] = literals
        self.m.add_exactly_one(literals.values())
        shortest = min(job.options[k].ticks for k in literals)
        longest = max(job.options[k].ticks for k in literals)
        latest = min(self.i.latest_end(job), self.reach)
        self.start[j] = self.m.new_int_var(job.release, latest - shortest, f"s{j}")
        self.duration[j] = self.m.new_int_var(shortest, longest, f"d{j}")
        self.end[j] = self.m.new_int_var(job.release + shortest, latest, f"e{j}")
        self.m.add(self.duration[j] == sum(job.options[k].ticks * o for k, o in literals.items()))
        self.m.add(self.end[j] == self.start[j] + self.duration[j])
        if self.index_starts:
            for k, literal in literals.items():
                row = {}
                for tick in range(job.release, self._last_start(job, job.options[k]) + 1):
                    row[tick] = self.m.new_bool_var(f"x{j}_{k}_{tick}")
                self.at_start[j, k] = row
                self.m.add(sum(row.values()) == literal)
            pairs = [(tick, x) for k in literals for tick, x in self.at_start[j, k].items()]
            self.m.add_exactly_one(x for _, x in pairs)
            self.m.add(self.start[j] == sum(tick * x for tick, x in pairs))

    def _patterns_exist(self, option):
        kind = option.gpu_type
        domains = self.i.widest_within(option.span) if option.span > 0 else self.i.domains
        of_type = {gpu for node in self.i.nodes if node.gpu_type == kind for gpu in node.gpus}
        return any(len(d.gpus & of_type) >= option.gpus for d in domains)

    def _placement(self, job):
        j = job.index
        shapes = {}
        for k, literal in self.option[j].items():
            shapes.setdefault(job.options[k].shape(), []).append(literal)
        try:
            patterns = [(shape, p) for shape in shapes for p in self.i.patterns(shape, self.most_patterns)]
            if len(patterns) > self.most_patterns:
                raise Refused("many")
        except Refused:
            self._count_cells(job, shapes)
            return
        place = {}
        for number, (shape, pattern) in enumerate(patterns):
            place.setdefault(shape, []).append((self.m.new_bool_var(f"y{j}_{number}"), pattern))
        for shape, literals in shapes.items():
            self.m.add(sum(y for y, _ in place.get(shape, [])) == sum(literals))
        self.place[j] = [entry for entries in place.values() for entry in entries]
        self.m.add_exactly_one(y for y, _ in self.place[j])

    def _count_cells(self, job, shapes):
        j = job.index
        most = max(shape[1] for shape in shapes)
        kinds = {shape[0] for shape in shapes}
        counts = {}
        for cell in self.i.cells:
            if self.i.nodes[cell.node].gpu_type in kinds:
                counts[cell.index] = self.m.new_int_var(0, min(most, len(cell.gpus)), f"n{j}_{cell.index}")
        self.counts[j] = counts
        self.m.add(sum(counts.values()) == sum(shape[1] * o for shape, os in shapes.items() for o in os))
        allowed = {cell: [] for cell in counts}
        by_span = {}
        for (kind, _, span), literals in shapes.items():
            by_span.setdefault((kind, span), []).extend(literals)
        for (kind, span), literals in by_span.items():
            here = []
            for domain in self.i.widest_within(span) if span > 0 else self.i.widest_within(1):
                cells = [
                    c.index
                    for c in self.i.cells
                    if c.gpus[0] in domain.gpus and self.i.nodes[c.node].gpu_type == kind
                ]
                if cells:
                    chosen = self.m.new_bool_var("")
                    here.append(chosen)
                    for cell in cells:
                        allowed[cell].append(chosen)
            self.m.add(sum(here) == sum(literals))
        for cell, variable in counts.items():
            self.m.add(variable <= min(most, len(self.i.cells[cell].gpus)) * sum(allowed[cell]))

    def inside(self, job, cells):
        """[(count, literal)]: how many GPUs the job takes within cells; one literal per count above 0."""
        key = (job.index, cells)
        if key in self.inside_literals:
            return self.inside_literals[key]
        found = {}
        if job.index in self.place:
            for literal, pattern in self.place[job.index]:
                count = sum(n for cell, n in pattern if cell in cells)
                if count:
                    found.setdefault(count, []).append(literal)
            result = [(count, self._any(literals)) for count, literals in sorted(found.items())]
        else:
            variables = [v for cell, v in self.counts[job.index].items() if cell in cells]
            most = max(job.options[k].gpus for k in self.option[job.index])
            most = min(most, sum(len(self.i.cells[cell].gpus) for cell in cells if cell in self.counts[job.index]))
            result = [(count, self.m.new_bool_var("")) for count in range(1, most + 1)] if variables else []
            if result:
                self.m.add(sum(variables) == sum(count * literal for count, literal in result))
                self.m.add_at_most_one(literal for _, literal in result)
        self.inside_literals[key] = result
        return result

    def _any(self, literals):
        """A literal that is true if one of these is, which exclude each other."""
        if len(literals) == 1:
            return literals[0]
        key = tuple(literal.index for literal in literals)
        if key not in self.unions:
            self.unions[key] = self.m.new_bool_var("")
            self.m.add(self.unions[key] == sum(literals))
        return self.unions[key]

    def cells_of(self, gpus):
        return frozenset(cell.index for cell in self.i.cells if cell.gpus[0] in gpus)

    # Power.

    def _power(self):
        self.on, self.begin = {}, {}
        for node in self.i.nodes:
            if node.sleeps:
                self._sleep(node)
        last = [self.end[job.index] for job in self.free] + [max(0, self.fixed_end(job)) for job in self.fixed]
        self.makespan = self.m.new_int_var(0, self.reach, "makespan")
        if last:
            self.m.add_max_equality(self.makespan, last)
        else:
            self.m.add(self.makespan == 0)
        self.active = [self.m.new_bool_var(f"active{t}") for t in range(self.reach)]
        self.m.add(self.makespan == sum(self.active))
        for earlier, later in zip(self.active, self.active[1:]):
            self.m.add_implication(later, earlier)

    def _sleep(self, node):
        n = node.index
        on = [self.m.new_bool_var(f"on{n}_{t}") for t in range(self.reach)]
        begin = []
        apart = max(1, node.wake_ticks)
        for t, literal in enumerate(on):
            if t == 0 and node.on_at_start:
                begin.append(None)
                continue
            starts = self.m.new_bool_var(f"w{n}_{t}")
            self.m.add_implication(starts, literal)
            if t > 0:
                self.m.add_bool_or(~literal, on[t - 1], starts)
                for back in range(1, min(apart, t) + 1):
                    self.m.add_implication(starts, ~on[t - back])
            else:
                self.m.add_implication(literal, starts)
            if t < node.wake_ticks:
                self.m.add(starts == 0)
            begin.append(starts)
        for job in self.fixed:
            if set(job.fixed[2]) & set(node.gpus):
                for t in range(max(0, job.fixed[1]), max(0, self.fixed_end(job))):
                    self.m.add(on[t] == 1)
        self.on[n], self.begin[n] = on, begin

    def powered(self, node, tick):
        return self.on[node.index][tick] if node.sleeps else self.active[tick]

    # V6, V12 and that GPUs give nothing while their node is off.

    def interval(self, job, literal):
        j = job.index
        return self.m.new_optional_interval_var(self.start[j], self.duration[j], self.end[j], literal, "")

    def fixed_interval(self, start, end):
        return self.m.new_fixed_size_interval_var(start, end - start, "")

    def _gpus(self):
        for node in self.i.nodes:
            cells = [cell for cell in self.i.cells if cell.node == node.index]
            groups = [frozenset([cell.index]) for cell in cells]
            if len(cells) > 1 and node.sleeps:
                groups.append(frozenset(cell.index for cell in cells))
            for group in groups:
                size = sum(len(self.i.cells[cell].gpus) for cell in group)
                entries = [(self.interval(job, y), n) for job in self.free for n, y in self.inside(job, group)]
                if not entries:
                    continue
                for cell in group:
                    gpus = len(self.i.cells[cell].gpus)
                    blocked = [(lo, min(hi, self.reach)) for lo, hi in self.i.cells[cell].blocked if lo < self.reach]
                    entries.extend((self.fixed_interval(lo, hi), gpus) for lo, hi in blocked if len(group) == 1)
                if node.sleeps and (len(cells) == 1 or len(group) > 1):
                    for t, on in enumerate(self.on[node.index]):
                        off = self.m.new_optional_fixed_size_interval_var(t, 1, ~on, "")
                        if not (len(group) == 1 and self._is_blocked(cells[0], t)):
                            entries.append((off, size))
                self.m.add_cumulative([e for e, _ in entries], [d for _, d in entries], size)

    def _is_blocked(self, cell, tick):
        return any(lo <= tick < hi for lo, hi in cell.blocked)

    def _covered(self):
        """Per type of GPU (and tick, where starts have literals): work needs powered GPUs."""
        for kind in range(len(self.i.idle)):
            cells = [cell for cell in self.i.cells if self.i.nodes[cell.node].gpu_type == kind]
            supply = []
            for t in range(self.reach):
                terms = []
                for cell in cells:
                    if not self._is_blocked(cell, t):
                        terms.append(len(cell.gpus) * self.powered(self.i.nodes[cell.node], t))
                supply.append(sum(terms))
            if self.index_starts:
                for t, work in self._by_tick(lambda o, k=kind: o.gpus if o.gpu_type == k else 0):
                    self.m.add(work <= supply[t])
            else:
                work = [
                    job.options[k].ticks * job.options[k].gpus * o
                    for job in self.free
                    for k, o in self.option[job.index].items()
                    if job.options[k].gpu_type == kind
                ]
                self.m.add(sum(work) <= sum(supply))

    def _starts(self):
        for job in self.free:
            for k in self.option[job.index]:
                for start, x in self.at_start[job.index, k].items():
                    yield job, job.options[k], start, x

    def _by_tick(self, need):
        """(tick, sum of the needs of the jobs that run in it), where there can be any."""
        literals, needs = [[] for _ in range(self.reach)], [[] for _ in range(self.reach)]
        for _, option, start, x in self._starts():
            amount = need(option)
            if amount:
                for t in range(start, start + option.ticks):
                    literals[t].append(x)
                    needs[t].append(amount)
        for t in range(self.reach):
            if literals[t]:
                yield t, cp_model.LinearExpr.weighted_sum(literals[t], needs[t])

    # V7-V9.

    def _capacities(self):
        for node in self.i.nodes:
            for resource, capacity in node.resources.items():
                self._limit(node.gpus, lambda o, n, r=resource: o.per_gpu.get(r, 0) * n, lambda _: capacity)
        for domain in self.i.domains:
            if domain.uplink is not None:
                need = lambda o, n: (o.ring if n < o.gpus else 0) + -(-o.read * n // o.gpus)
                self._limit(domain.gpus, need, lambda _, d=domain: d.uplink)
        if self.i.storage is not None:
            self._limit_whole(lambda o: o.read, lambda _: self.i.storage)

    # V10.

    def _caps(self):
        for node in self.i.nodes:
            if node.cap:
                self._power_limit(node.cap, [node])
        for domain in self.i.domains:
            if domain.cap:
                self._power_limit(domain.cap, [self.i.nodes[n] for n in domain.nodes])
        if self.i.cap:
            extra = lambda o: o.peak - o.gpus * self.i.idle[o.gpu_type]
            free = lambda t: self._left(self.i.cap, t, (at(self.i.foreign, t) or 0))
            self._limit_whole(extra, free, self.i.nodes)

    def _left(self, cap, tick, taken):
        value = at(cap, tick)
        return None if value is None else value - taken

    def _power_limit(self, cap, nodes):
        """Shares are rounded up by node, so that a switch is the sum of its nodes."""
        if len(nodes) == 1:
            node = nodes[0]
            extra = lambda o, n: -(-o.peak * n // o.gpus) - n * self.i.idle[o.gpu_type]
            self._limit(node.gpus, extra, lambda t: self._left(cap, t, 0), [node])
            return
        parts = []
        for node in nodes:
            extra = lambda o, n: -(-o.peak * n // o.gpus) - n * self.i.idle[o.gpu_type]
            parts.append((frozenset(node.gpus), extra))
        self._limit_parts(parts, lambda t: self._left(cap, t, 0), nodes)

    def _limit(self, gpus, need, free, nodes=()):
        self._limit_parts([(frozenset(gpus), need)], free, nodes)

    def _limit_parts(self, parts, free, nodes):
        """Per tick: what jobs need by option and count within parts, plus idle power of nodes, fits into what is free."""
        entries = []
        for gpus, need in parts:
            cells = self.cells_of(gpus)
            for job in self.free:
                entries.extend(self._loads(job, cells, need))
        loads = [0] * self.reach
        for job in self.fixed:
            option = job.options[job.fixed[0]]
            for gpus, need in parts:
                count = len(gpus & set(job.fixed[2]))
                if count:
                    for t in range(max(0, job.fixed[1]), max(0, self.fixed_end(job))):
                        loads[t] += need(option, count)
        self._keep(entries, loads, free, nodes)

    def _loads(self, job, cells, need):
        """[(interval, demand)] of a job; options of equal needs share literals."""
        literals = self.inside(job, cells)
        by_needs = {}
        for k, o in self.option[job.index].items():
            option = job.options[k]
            needs = tuple(need(option, n) if n <= option.gpus else 0 for n, _ in literals)
            by_needs.setdefault(needs, []).append(o)
        entries = []
        for needs, options in by_needs.items():
            whole = self._any(options) if len(by_needs) > 1 else None
            for demand, (_, literal) in zip(needs, literals):
                if demand == 0:
                    continue
                both = literal
                if whole is not None:
                    both = self.m.new_bool_var("")
                    self.m.add_bool_or(~whole, ~literal, both)
                    self.m.add_implication(both, whole)
                    self.m.add_implication(both, literal)
                entries.append((job, both, demand))
        return entries

    def _limit_whole(self, need, free, nodes=()):
        """The same for needs that do not depend on the placement."""
        loads = [0] * self.reach
        for job in self.fixed:
            for t in range(max(0, job.fixed[1]), max(0, self.fixed_end(job))):
                loads[t] += need(job.options[job.fixed[0]])
        if not self.index_starts:
            entries = [
                (job, o, need(job.options[k]))
                for job in self.free
                for k, o in self.option[job.index].items()
                if need(job.options[k])
            ]
            self._keep(entries, loads, free, nodes)
            return
        rows = dict(self._by_tick(need))
        for t in range(self.reach):
            if free(t) is not None:
                idle = sum(node.idle * self.powered(node, t) for node in nodes)
                self.m.add(rows.get(t, 0) + idle <= free(t) - loads[t])

    def _keep(self, entries, loads, free, nodes):
        capacity = [free(t) for t in range(self.reach)]
        limited = [value for value in capacity if value is not None]
        if not limited or not (entries or nodes or any(loads)):
            return
        entries = self._that_fit(entries, max(limited), all(value is not None for value in capacity))
        total = sum(abs(d) for _, _, d in entries) + sum(loads) + sum(node.idle for node in nodes)
        if total <= min(limited):
            return
        level = max(limited) if len(limited) == self.reach else max(total, *limited)
        level += max(0, -min(loads))
        fill = [0 if value is None else level - value + load for value, load in zip(capacity, loads)]
        if any(amount > level for amount in fill):
            raise Infeasible("fixed jobs break a limit")
        if any(demand < 0 for _, _, demand in entries):
            self._reservoir(entries, fill, level, nodes)
            return
        intervals = [(self.interval(job, literal), demand) for job, literal, demand in entries]
        for lo, hi, amount in runs(fill):
            intervals.append((self.fixed_interval(lo, hi), amount))
        for node in nodes:
            for t in range(self.reach):
                if node.idle and capacity[t] is not None:
                    powered = self.powered(node, t)
                    intervals.append((self.m.new_optional_fixed_size_interval_var(t, 1, powered, ""), node.idle))
        self.m.add_cumulative([e for e, _ in intervals], [d for _, d in intervals], level)

    def _that_fit(self, entries, most, everywhere):
        """Forbids what can never fit."""
        kept = []
        for job, literal, demand in entries:
            if everywhere and demand > most:
                self.m.add(literal == 0)
            else:
                kept.append((job, literal, demand))
        return kept

    def _reservoir(self, entries, fill, level, nodes):
        """With needs below 0 (a gang that draws less than its idle GPUs) a cumulative constraint does not do."""
        times, changes, active = [], [], []

        def add(start, end, demand, literal):
            times.extend([start, end])
            changes.extend([demand, -demand])
            active.extend([literal, literal])

        for job, literal, demand in entries:
            add(self.start[job.index], self.end[job.index], demand, literal)
        for lo, hi, amount in runs(fill):
            add(lo, hi, amount, True)
        for node in nodes:
            for t in range(self.reach):
                add(t, t + 1, node.idle, self.powered(node, t))
        low = -sum(abs(change) for change in changes)
        self.m.add_reservoir_constraint_with_active(times, changes, active, low, level)

    # V11 and the objective.

    def _terms(self):
        tick_s = self.i.tick_s
        prices = [self.i.price_of(t) for t in range(self.reach)]
        per_mj = self.weight("energy") / 1000
        per_micro = self.weight("cost") / 1_000_000 / 1000 / 3_600_000
        sums = [0]
        for micros in prices:
            sums.append(sums[-1] + micros)

        def spend(variable, energy, tick):
            """Energy in mJ, charged at the price of a tick."""
            value = energy * (per_mj + per_micro * prices[tick])
            if variable is None:
                self.energy_constant += energy
                self.constant += value
            else:
                self.energy.append((variable, energy))
                self.costs.append((variable, value))

        for node in self.i.nodes:
            for t in range(self.reach):
                spend(self.powered(node, t), node.idle * tick_s, t)
                if node.sleeps and node.wake and self.begin[node.index][t] is not None:
                    spend(self.begin[node.index][t], node.wake, t)
        extra = lambda o: (o.power - o.gpus * self.i.idle[o.gpu_type]) * tick_s
        for job in self.fixed:
            for t in range(max(0, job.fixed[1]), max(0, self.fixed_end(job))):
                spend(None, extra(job.options[job.fixed[0]]), t)
        for job in self.free:
            for k, o in self.option[job.index].items():
                energy = extra(job.options[k]) * job.options[k].ticks
                self.energy.append((o, energy))
                self.costs.append((o, energy * per_mj))
        if self.i.tariff and self.weight("cost"):
            for _, option, start, x in self._starts():
                paid = extra(option) * (sums[start + option.ticks] - sums[start])
                self.costs.append((x, paid * per_micro))
        if self.i.budget is not None:
            total = sum(c * v for v, c in self.energy if c)
            self.m.add(total <= self.i.budget - self.energy_constant)
        self.costs.append((self.makespan, self.weight("makespan") * tick_s))
        self._delays(tick_s)

    def _delays(self, tick_s):
        for job in self.i.jobs:
            each = Fraction(job.weight) * tick_s
            completion, tardiness = each * self.weight("completion"), each * self.weight("tardiness")
            if job.fixed:
                late = max(0, self.fixed_end(job) - job.due) if job.due is not None else 0
                self.constant += completion * self.fixed_end(job) + tardiness * late
                continue
            end = self.end[job.index]
            self.costs.append((end, completion))
            if job.due is None or not tardiness:
                continue
            if self.index_starts:
                for k in self.option[job.index]:
                    for start, x in self.at_start[job.index, k].items():
                        self.costs.append((x, tardiness * max(0, start + job.options[k].ticks - job.due)))
            else:
                late = self.m.new_int_var(0, max(0, self.i.latest_end(job) - job.due), "")
                self.m.add(late >= end - job.due)
                self.costs.append((late, tardiness))

    def minimize(self):
        """Integer costs: exact if they fit, else rounded down, which keeps bounds valid. Gives units per 1."""
        merged = {}
        for variable, cost in self.costs:
            merged.setdefault(variable.index, [variable, Fraction(0)])[1] += cost
        terms = [(variable, cost) for variable, cost in merged.values() if cost]
        if not terms:
            return Fraction(1)
        denominator = math.lcm(*(cost.denominator for _, cost in terms))
        divisor = math.gcd(*(int(cost * denominator) for _, cost in terms))
        scale = Fraction(denominator, divisor)
        most = sum(abs(cost) * max(1, self._largest(variable)) for variable, cost in terms)
        if most * scale > MOST_COST:
            scale = Fraction(MOST_COST) / most
        self.m.minimize(sum(math.floor(cost * scale) * variable for variable, cost in terms))
        return scale

    def _largest(self, variable):
        return max(abs(bound) for bound in variable.proto.domain)

    # Symmetry.

    def _symmetry(self):
        """Nodes that differ in nothing are ordered by the ticks in which they are powered, or by the jobs they run."""
        classes = {}
        for node in self.i.nodes:
            cells = [cell for cell in self.i.cells if cell.node == node.index]
            own = next(d for d in self.i.domains if d.rank == 2 and d.gpus == frozenset(node.gpus))
            islands = sorted((len(d.gpus), d.uplink or -1) for d in self.i.domains if d.parent is own)
            blocked = sorted((len(cell.gpus), tuple(cell.blocked)) for cell in cells)
            resources = tuple(sorted(node.resources.items()))
            key = (node.gpu_type, id(own.parent), own.uplink, tuple(islands), tuple(blocked), resources, node.idle)
            key += (node.sleeps, node.wake, node.wake_ticks, node.on_at_start, tuple(node.cap or ()))
            classes.setdefault(key, []).append((node, frozenset(cell.index for cell in cells)))
        for members in classes.values():
            measures = []
            for node, cells in members if len(members) > 1 else []:
                if node.sleeps:
                    measures.append(sum(self.on[node.index]))
                else:
                    measures.append(sum(y for job in self.free for _, y in self.inside(job, cells)))
            for more, less in zip(measures, measures[1:]):
                self.m.add(more >= less)


def runs(values):
    """Maximal runs (from, to, value) of equal values above 0."""
    start = 0
    for t in range(1, len(values) + 1):
        if t == len(values) or values[t] != values[start]:
            if values[start] > 0:
                yield start, t, values[start]
            start = t


class Watcher(cp_model.CpSolverSolutionCallback):
    """Notes when plan and bound improve."""

    def __init__(self, began, to_objective):
        super().__init__()
        self.began, self.to_objective = began, to_objective
        self.best, self.bound, self.trajectory = None, None, []

    def note(self):
        self.trajectory.append([time.monotonic() - self.began, self.best, self.bound])

    def on_solution_callback(self):
        self.best = self.to_objective(self.objective_value)
        self.note()

    def on_bound(self, bound):
        self.bound = self.to_objective(bound)
        self.note()


def plan_of(model, solver):
    instance = model.i
    chosen = {}
    for job in model.free:
        j = job.index
        option = next(k for k, o in model.option[j].items() if solver.boolean_value(o))
        if j in model.place:
            pattern = next(p for y, p in model.place[j] if solver.boolean_value(y))
        else:
            counts = ((cell, solver.value(v)) for cell, v in model.counts[j].items())
            pattern = [(cell, count) for cell, count in counts if count]
        chosen[j] = (option, solver.value(model.start[j]), solver.value(model.end[j]), pattern)
    power = {n: [t for t, on in enumerate(row) if solver.boolean_value(on)] for n, row in model.on.items()}
    return instance.plan(chosen, power, "cp_sat")


def solve(instance, arguments, began):
    model = Model(instance, arguments.starts, arguments.patterns)
    scale = model.minimize()
    constant = model.constant
    to_objective = lambda value: float(Fraction(value) / scale + constant)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = arguments.threads
    solver.parameters.random_seed = arguments.seed
    solver.parameters.linearization_level = arguments.linearization
    # Probing and repeated presolve take longer than they save on these models.
    solver.parameters.cp_model_probing_level = 0
    solver.parameters.max_presolve_iterations = 1
    solver.parameters.max_time_in_seconds = max(0.01, arguments.time_limit - (time.monotonic() - began))
    watcher = Watcher(began, to_objective)
    solver.best_bound_callback = watcher.on_bound
    status = solver.solve(model.m, watcher)
    if status == cp_model.MODEL_INVALID:
        raise RuntimeError(model.m.validate())
    if status == cp_model.INFEASIBLE:
        return {"status": "infeasible"}
    bound = to_objective(solver.best_objective_bound)
    document = {"status": "unknown", "stop": "deadline", "bound": bound, "trajectory": watcher.trajectory}
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        document["status"] = "optimal" if status == cp_model.OPTIMAL else "feasible"
        document["plan"] = plan_of(model, solver)
        document["objective"] = to_objective(solver.objective_value)
        document["first_plan_s"] = next((at for at, best, _ in watcher.trajectory if best is not None), None)
        if status == cp_model.OPTIMAL:
            del document["stop"]
            document["bound"] = document["objective"]
            watcher.trajectory.append([time.monotonic() - began, document["objective"], document["bound"]])
    return document


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("instance")
    parser.add_argument("--time-limit", type=float, default=60)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--starts", choices=["auto", "index", "interval"], default="auto")
    parser.add_argument("--patterns", type=int, default=150, help="most patterns of a job; beyond it cells are counted")
    parser.add_argument("--linearization", type=int, default=1)
    parser.add_argument("--rats", help="not used: this model shares no code with the program")
    parser.add_argument("-o", "--output", help="also write the plan to this file")
    parser.add_argument("--version", action="version", version=f"OR-Tools CP-SAT {ortools.__version__}")
    arguments = parser.parse_args()
    instance = Instance(arguments.instance)
    began = time.monotonic()
    try:
        document = solve(instance, arguments, began)
    except Infeasible as reason:
        document = {"status": "infeasible", "reason": str(reason)}
    except Refused as reason:
        document = {"status": "refused", "reason": str(reason)}
    document["wall_s"] = time.monotonic() - began
    document["peak_memory_mib"] = -(-resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
    document.update(solver="cp_sat", seed=arguments.seed, threads=arguments.threads)
    if arguments.output and "plan" in document:
        with open(arguments.output, "w", encoding="utf-8") as file:
            json.dump(document["plan"], file)
    json.dump(document, sys.stdout)
    print()


if __name__ == "__main__":
    main()
