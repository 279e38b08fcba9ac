//! The model tick by tick, as plainly as it can be said: the oracle of [`crate::evaluate`] and [`crate::check`].
//!
//! Idea: look at every tick by itself and ask each rule. Complexity: ticks x (jobs + GPUs + domains). Limits: only for
//! small instances; it shares no code with the event sweep beyond the instance and the topology tree.

use std::collections::{BTreeMap, BTreeSet};

use crate::codes::Code;
use crate::evaluate::Split;
use crate::format::PowerMode;
use crate::ids::{GpuId, JobId, NodeId};
use crate::instance::{Instance, JobOption};
use crate::objective::Terms;
use crate::schedule::{Placement, Schedule};
use crate::topology::{DomainKind, Topology};
use crate::units::{GpuCount, MicrosPerKwh, Millijoules, Milliwatts, Ticks};

/// A broken rule: code, job or place, first tick and first tick after (where the rule has ticks).
pub type Finding = (Code, Option<String>, Option<(Ticks, Ticks)>);

/// What the oracle says of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Every term of the objective.
    pub terms: Terms,
    /// Where the energy goes.
    pub split: Split,
    /// Broken rules V3 to V12 as the checker reports them (V3 to V5 and V11 without ticks), and V13 by node only.
    pub findings: BTreeSet<Finding>,
}

/// Judges a schedule tick by tick.
pub fn judge(instance: &Instance, schedule: &Schedule) -> Verdict {
    Oracle::new(instance, schedule).verdict()
}

type Placed<'a> = (JobId, &'a JobOption, &'a Placement);

struct Oracle<'a> {
    instance: &'a Instance,
    schedule: &'a Schedule,
    placed: Vec<Placed<'a>>,
    makespan: i64,
    end: i64,
    /// For each node the ticks in which it is powered.
    powered: BTreeMap<NodeId, BTreeSet<i64>>,
}

impl<'a> Oracle<'a> {
    fn new(instance: &'a Instance, schedule: &'a Schedule) -> Self {
        let placed: Vec<Placed<'a>> = schedule
            .placed()
            .map(|(job, placement)| (job, instance.option(job, placement.option), placement))
            .collect();
        let makespan = placed.iter().map(|(_, option, at)| (at.start + option.ticks).0).max().unwrap_or(0).max(0);
        let mut oracle = Self { instance, schedule, placed, makespan, end: makespan, powered: BTreeMap::new() };
        for node in instance.cluster.nodes.ids() {
            oracle.powered.insert(node, oracle.powered_ticks(node));
        }
        let last = oracle.powered.values().filter_map(|ticks| ticks.last()).max();
        oracle.end = makespan.max(last.map_or(0, |last| last + 1));
        oracle
    }

    fn running(&self, tick: i64) -> impl Iterator<Item = &Placed<'a>> {
        self.placed.iter().filter(move |placed| runs(placed, tick))
    }

    fn on_node(&self, placement: &Placement, node: NodeId) -> u32 {
        let gpus = &self.instance.cluster.gpus;
        placement.gpus.iter().filter(|&&gpu| gpus[gpu].node == node).map(|_| 1).sum()
    }

    fn is_busy(&self, node: NodeId, tick: i64) -> bool {
        self.running(tick).any(|(_, _, placement)| self.on_node(placement, node) > 0)
    }

    fn powered_ticks(&self, id: NodeId) -> BTreeSet<i64> {
        let node = &self.instance.cluster.nodes[id];
        if node.power == PowerMode::AlwaysOn {
            return (0..self.makespan).collect();
        }
        if let Some(stated) = self.schedule.power.get(&id) {
            let inside = |tick: &i64| stated.iter().any(|interval| (interval.from.0..interval.to.0).contains(tick));
            return (0..self.instance.horizon.0).filter(inside).collect();
        }
        let mut ticks: BTreeSet<i64> = (0..self.makespan).filter(|&tick| self.is_busy(id, tick)).collect();
        let busy: Vec<i64> = ticks.iter().copied().collect();
        let bridged =
            |gap: i64| gap < node.wake_ticks.0.max(1) || node.idle.over(Ticks(gap), self.instance.tick) <= node.wake;
        for pair in busy.windows(2).filter(|pair| bridged(pair[1] - pair[0] - 1)) {
            ticks.extend(pair[0]..pair[1]);
        }
        if let Some(&first) = busy.first().filter(|&&first| node.on_at_start && bridged(first)) {
            ticks.extend(0..first);
        }
        ticks
    }

    fn wake_ticks(&self, id: NodeId) -> Vec<i64> {
        let powered = &self.powered[&id];
        let begins = powered.iter().copied().filter(|tick| !powered.contains(&(tick - 1)));
        let free = self.instance.cluster.nodes[id].on_at_start;
        begins.filter(|&tick| !(free && tick == 0)).collect()
    }

    fn busy_gpus(&self, node: NodeId, tick: i64) -> u32 {
        let gpus: BTreeSet<GpuId> = self.running(tick).flat_map(|(_, _, placement)| placement.gpus.clone()).collect();
        gpus.into_iter().filter(|&gpu| self.instance.cluster.gpus[gpu].node == node).map(|_| 1).sum()
    }

    /// Base and idle power of a node; zero while it is off.
    fn standing(&self, id: NodeId, tick: i64) -> (Milliwatts, Milliwatts) {
        if !self.powered[&id].contains(&tick) {
            return Default::default();
        }
        let node = &self.instance.cluster.nodes[id];
        let free = GpuCount(node.gpus.0 - self.busy_gpus(id, tick));
        (node.base, self.instance.cluster.gpu_types[node.gpu_type].idle.times(free))
    }

    fn verdict(&self) -> Verdict {
        let (split, cost) = self.energy();
        let terms = Terms {
            energy: split.gpu_run + split.gpu_idle + split.base + split.wake,
            cost: self.instance.tariff.is_some().then_some(cost),
            makespan: Ticks(self.makespan),
            completion: self.sum_over_jobs(|end, _| end),
            tardiness: self.sum_over_jobs(|end, due| due.map_or(0, |due| (end - due).max(0))),
        };
        let mut findings = self.job_rules();
        findings.extend(self.tick_rules());
        if self.instance.energy_budget.is_some_and(|budget| terms.energy > budget) {
            findings.insert((Code::V11, None, None));
        }
        findings.extend(self.power_rule());
        Verdict { terms, split, findings }
    }

    fn sum_over_jobs(&self, value: impl Fn(i64, Option<i64>) -> i64) -> f64 {
        let of_job = |(job, option, placement): &Placed<'_>| {
            let job = &self.instance.jobs[*job];
            job.weight * value((placement.start + option.ticks).0, job.due.map(|due| due.0)) as f64
        };
        self.placed.iter().map(of_job).sum()
    }

    fn energy(&self) -> (Split, f64) {
        let tick_length = self.instance.tick;
        let price = |tick| self.instance.tariff.as_ref().and_then(|tariff| tariff.at(Ticks(tick))).unwrap_or_default();
        let mut by_price: BTreeMap<MicrosPerKwh, Millijoules> = BTreeMap::new();
        let mut split = Split::default();
        for tick in 0..self.end {
            let run: Milliwatts = self.running(tick).map(|(_, option, _)| option.power).sum();
            let run = run.over(Ticks(1), tick_length);
            split.gpu_run += run;
            let mut total = run;
            for id in self.instance.cluster.nodes.ids() {
                let (base, idle) = self.standing(id, tick);
                let (base, idle) = (base.over(Ticks(1), tick_length), idle.over(Ticks(1), tick_length));
                split.base += base;
                split.gpu_idle += idle;
                if !self.is_busy(id, tick) {
                    split.vacant += base + idle;
                }
                total += base + idle;
            }
            *by_price.entry(price(tick)).or_default() += total;
        }
        for (id, node) in self.instance.cluster.nodes.iter().filter(|(_, node)| node.power == PowerMode::Sleep) {
            for tick in self.wake_ticks(id) {
                split.wake += node.wake;
                *by_price.entry(price(tick)).or_default() += node.wake;
            }
        }
        (split, by_price.into_iter().map(|(price, energy)| price.of(energy)).sum())
    }

    fn job_rules(&self) -> BTreeSet<Finding> {
        let mut findings = BTreeSet::new();
        for (id, option, placement) in &self.placed {
            let job = &self.instance.jobs[*id];
            let end = placement.start + option.ticks;
            let mut broken = |code| findings.insert((code, Some(job.id.clone()), None));
            let topology = &self.instance.cluster.topology;
            let common = topology
                .domains()
                .iter()
                .filter(|(_, domain)| placement.gpus.iter().all(|gpu| domain.gpus.contains(gpu)));
            if common.map(|(_, domain)| domain.rank).min().is_some_and(|rank| rank > option.span) {
                broken(Code::V3);
            }
            let early = job.fixed.is_none() && placement.start < job.release;
            if early || end > self.instance.horizon || job.deadline.is_some_and(|deadline| end > deadline) {
                broken(Code::V4);
            }
            let ended = |before: &JobId| {
                self.placed
                    .iter()
                    .all(|(other, option, at)| other != before || at.start + option.ticks <= placement.start)
            };
            if !job.after.iter().all(ended) {
                broken(Code::V5);
            }
        }
        findings
    }

    /// V6..V10 and V12: asked in every tick, then joined into maximal intervals.
    fn tick_rules(&self) -> BTreeSet<Finding> {
        let mut broken: BTreeMap<(Code, String), Vec<i64>> = BTreeMap::new();
        for tick in 0..self.end {
            for (code, place) in self.broken_in(tick) {
                broken.entry((code, place)).or_default().push(tick);
            }
        }
        let mut findings = BTreeSet::new();
        for ((code, place), ticks) in broken {
            for run in ticks.chunk_by(|a, b| a + 1 == *b) {
                let interval = (Ticks(run[0]), Ticks(run[run.len() - 1] + 1));
                findings.insert((code, Some(place.clone()), Some(interval)));
            }
        }
        findings
    }

    fn broken_in(&self, tick: i64) -> BTreeSet<(Code, String)> {
        let cluster = &self.instance.cluster;
        let mut broken = BTreeSet::new();
        for gpu in cluster.gpus.ids() {
            let users: Vec<_> = self.running(tick).filter(|(_, _, at)| at.gpus.contains(&gpu)).collect();
            if users.len() > 1 {
                broken.insert((Code::V6, cluster.gpu_name(gpu)));
            }
            let at = Ticks(tick);
            if cluster.gpus[gpu].unavailable.iter().any(|interval| interval.from <= at && at < interval.to) {
                broken.extend(users.iter().map(|(job, _, _)| (Code::V12, self.instance.jobs[*job].id.clone())));
            }
        }
        for (id, node) in cluster.nodes.iter() {
            for (resource, capacity) in node.resources.iter() {
                let need = |(_, option, at): &Placed<'_>| -> i64 {
                    let needs = option.per_gpu.iter().filter(|(name, _)| *name == resource);
                    needs.map(|(_, need)| need.0 * i64::from(self.on_node(at, id))).sum()
                };
                let total: i64 = self.running(tick).map(need).sum();
                if capacity.is_some_and(|capacity| total > capacity.0) {
                    broken.insert((Code::V7, node.id.clone()));
                }
            }
        }
        for (_, domain) in cluster.topology.domains().iter() {
            let traffic: i64 = self.running(tick).map(|placed| traffic(placed, &domain.gpus)).sum();
            if domain.uplink.is_some_and(|uplink| traffic > uplink.0) {
                broken.insert((Code::V8, crate::check::domain_name(self.instance, domain.kind)));
            }
        }
        let read: i64 = self.running(tick).map(|(_, option, _)| option.read.0).sum();
        if cluster.storage.is_some_and(|storage| read > storage.0) {
            broken.insert((Code::V9, "storage".to_owned()));
        }
        broken.extend(self.caps_broken_in(tick).into_iter().map(|place| (Code::V10, place)));
        broken
    }

    fn caps_broken_in(&self, tick: i64) -> Vec<String> {
        let cluster = &self.instance.cluster;
        let at = Ticks(tick);
        let node_power = |id: NodeId| -> i64 {
            let (base, idle) = self.standing(id, tick);
            let share = |(_, option, at): &Placed<'_>| -> i64 {
                let (part, gang) = (i64::from(self.on_node(at, id)), i64::from(option.gpus.0));
                (option.peak.0 * part + gang - 1) / gang
            };
            base.0 + idle.0 + self.running(tick).map(share).sum::<i64>()
        };
        let mut broken = Vec::new();
        for (id, node) in cluster.nodes.iter() {
            if node.power_cap.as_ref().and_then(|cap| cap.at(at)).is_some_and(|cap| node_power(id) > cap.0) {
                broken.push(node.id.clone());
            }
        }
        for (id, switch) in cluster.switches.iter() {
            let Some(cap) = switch.power_cap.as_ref().and_then(|cap| cap.at(at)) else { continue };
            let below = |node: &NodeId| is_below(&cluster.topology, *node, DomainKind::Switch(id));
            if cluster.nodes.ids().filter(below).map(node_power).sum::<i64>() > cap.0 {
                broken.push(switch.id.clone());
            }
        }
        let standing = |id| {
            let (base, idle) = self.standing(id, tick);
            base + idle
        };
        let total: Milliwatts = cluster.nodes.ids().map(standing).sum::<Milliwatts>()
            + self.running(tick).map(|(_, option, _)| option.peak).sum()
            + cluster.foreign.as_ref().and_then(|foreign| foreign.at(at)).unwrap_or_default();
        if cluster.power_cap.as_ref().and_then(|cap| cap.at(at)).is_some_and(|cap| total > cap) {
            broken.push("cluster".to_owned());
        }
        broken
    }

    /// V13, by node: stated intervals well formed, busy ticks covered, wake-ups possible.
    fn power_rule(&self) -> BTreeSet<Finding> {
        let mut findings = BTreeSet::new();
        for (id, node) in self.instance.cluster.nodes.iter().filter(|(_, node)| node.power == PowerMode::Sleep) {
            let powered = &self.powered[&id];
            let uncovered = (0..self.end).any(|tick| self.is_busy(id, tick) && !powered.contains(&tick));
            let begins = powered.iter().filter(|&tick| !powered.contains(&(tick - 1)));
            let early = begins.copied().any(|tick| tick < node.wake_ticks.0 && !(node.on_at_start && tick == 0));
            let stated = self.schedule.power.get(&id).into_iter().flatten().collect::<Vec<_>>();
            let malformed = stated.iter().any(|interval| {
                interval.from >= interval.to || interval.from < Ticks(0) || interval.to > self.instance.horizon
            });
            let close = stated.iter().enumerate().any(|(position, a)| {
                let others = stated.iter().enumerate().filter(|(other, b)| *other != position && b.from >= a.from);
                others.filter(|(_, b)| b.from < b.to && a.from < a.to).any(|(other, b)| {
                    (a.from, position) < (b.from, other) && (b.from - a.to).0 < node.wake_ticks.0.max(1)
                })
            });
            if uncovered || early || malformed || close {
                findings.insert((Code::V13, Some(node.id.clone()), None));
            }
        }
        findings
    }
}

fn runs((_, option, placement): &Placed<'_>, tick: i64) -> bool {
    placement.start.0 <= tick && tick < placement.start.0 + option.ticks.0
}

fn traffic((_, option, placement): &Placed<'_>, domain: &[GpuId]) -> i64 {
    let inside = placement.gpus.iter().filter(|gpu| domain.contains(gpu)).map(|_| 1).sum::<i64>();
    let gang = i64::from(option.gpus.0);
    let ring = if inside > 0 && inside < gang { option.ring.0 } else { 0 };
    ring + (option.read.0 * inside + gang - 1) / gang
}

fn is_below(topology: &Topology, node: NodeId, kind: DomainKind) -> bool {
    topology.ancestors(topology.of_node(node)).any(|id| topology.domain(id).kind == kind)
}
