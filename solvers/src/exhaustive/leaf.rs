//! The value of a complete assignment: terms, and the best powered ticks for it.

use std::collections::BTreeMap;

use rats_domain::format::PowerMode;
use rats_domain::ids::{JobId, NodeId, SwitchId, Table};
use rats_domain::instance::Instance;
use rats_domain::interval::Interval;
use rats_domain::objective::Terms;
use rats_domain::power::{default_intervals, may_begin};
use rats_domain::schedule::Schedule;
use rats_domain::steps::Steps;
use rats_domain::topology::DomainKind;
use rats_domain::units::{Millijoules, Milliwatts, Ticks};

use super::candidates::Candidate;
use super::nodes::{Choice, are_coupled, choices, intervals, must_enumerate};
use super::search::Best;
use rats_domain::demand::by_node;

/// Values below the best one by less than this fraction are taken for equal.
const NOISE: f64 = 1e-12;

type Placed<'c> = [(JobId, &'c Candidate)];
type Combination = Vec<(NodeId, Choice)>;

pub(super) struct Leaf<'a> {
    instance: &'a Instance,
    enumerate: bool,
    coupled: bool,
    sleepers: Vec<NodeId>,
    switches_above: Table<NodeId, Vec<SwitchId>>,
    known: BTreeMap<(NodeId, u64), Vec<Choice>>,
}

/// What the jobs alone draw, by tick.
struct Jobs {
    makespan: i64,
    /// Busy GPUs by node and tick.
    busy: Table<NodeId, Vec<i64>>,
    /// Rounded peak shares by node and tick, mW.
    peaks: Table<NodeId, Vec<i64>>,
    /// Peak power by tick, mW.
    peak: Vec<i64>,
    /// Mean power by tick, mW.
    power: Vec<i64>,
}

impl<'a> Leaf<'a> {
    pub fn new(instance: &'a Instance) -> Self {
        let cluster = &instance.cluster;
        let sleepers = cluster.nodes.iter().filter(|(_, node)| node.power == PowerMode::Sleep).map(|(id, _)| id);
        let above = |node: NodeId| {
            let topology = &cluster.topology;
            let kinds = topology.ancestors(topology.of_node(node)).map(|id| topology.domain(id).kind);
            kinds.filter_map(|kind| if let DomainKind::Switch(switch) = kind { Some(switch) } else { None }).collect()
        };
        Self {
            instance,
            enumerate: must_enumerate(instance),
            coupled: are_coupled(instance),
            sleepers: sleepers.collect(),
            switches_above: cluster.nodes.ids().map(above).collect(),
            known: BTreeMap::new(),
        }
    }

    /// The best schedule with these placements, if it is valid and better than `bar`.
    pub fn best(&mut self, placed: &Placed<'_>, bar: Option<f64>) -> Option<Best> {
        let jobs = self.jobs(placed);
        let mut best: Option<Best> = None;
        for combination in self.combinations(&jobs) {
            let powered = self.powered(&jobs, &combination);
            let objective = self.value(placed, &jobs, &powered);
            let bar = best.as_ref().map(|best| best.objective).or(bar);
            let better = bar.is_none_or(|bar| objective < bar - NOISE * bar.abs());
            if better && self.keeps_budget(&jobs, &powered) && self.keeps_caps(&jobs, &powered) {
                let placements = placed.iter().map(|(_, candidate)| Some(candidate.placement.clone())).collect();
                let stated = combination.iter().map(|&(node, choice)| (node, intervals(choice.powered)));
                best = Some(Best { objective, schedule: Schedule { placements, power: stated.collect() } });
            }
        }
        best
    }

    fn jobs(&self, placed: &Placed<'_>) -> Jobs {
        let cluster = &self.instance.cluster;
        let makespan = placed.iter().map(|(_, candidate)| candidate.end.0).max().unwrap_or(0).max(0);
        let length = usize::try_from(self.instance.horizon.0).unwrap_or(0);
        let by_tick = || Table::filled(vec![0; length], cluster.nodes.len());
        let (busy, peaks) = (by_tick(), by_tick());
        let mut jobs = Jobs { makespan, busy, peaks, peak: vec![0; length], power: vec![0; length] };
        for (job, candidate) in placed {
            let option = self.instance.option(*job, candidate.placement.option);
            for tick in candidate.ticks.clone() {
                jobs.peak[tick] += option.peak.0;
                jobs.power[tick] += option.power.0;
            }
            for (node, count) in by_node(self.instance, &candidate.placement.gpus) {
                for tick in candidate.ticks.clone() {
                    jobs.busy[node][tick] += i64::from(count.0);
                    jobs.peaks[node][tick] += option.peak.share(count, option.gpus).0;
                }
            }
        }
        jobs
    }

    /// The combinations of powered ticks to look at; one empty combination stands for the default rule.
    fn combinations(&mut self, jobs: &Jobs) -> Vec<Combination> {
        if !self.enumerate {
            return vec![Vec::new()];
        }
        let mut combinations = vec![Vec::new()];
        for node in self.sleepers.clone() {
            let choices = self.choices(node, jobs);
            let extend = |combination: &Combination| {
                choices.iter().map(|&choice| [combination.as_slice(), &[(node, choice)]].concat()).collect::<Vec<_>>()
            };
            combinations = combinations.iter().flat_map(extend).collect();
        }
        combinations
    }

    /// All choices of a node, or only the best one where nodes are independent.
    fn choices(&mut self, node: NodeId, jobs: &Jobs) -> Vec<Choice> {
        let busy =
            (0..).zip(&jobs.busy[node]).filter(|&(_, &count)| count > 0).fold(0, |mask, (bit, _)| mask | 1 << bit);
        let (instance, coupled) = (self.instance, self.coupled);
        let list = || {
            let mut all = choices(instance, node, busy);
            if !coupled {
                let objective = &instance.objective;
                let weigh = |choice: &Choice| {
                    let energy = Millijoules(choice.energy).joules();
                    if objective.prices_energy() {
                        objective.energy * energy + objective.cost * choice.cost
                    } else {
                        energy
                    }
                };
                all.sort_by(|a, b| weigh(a).total_cmp(&weigh(b)).then(a.powered.cmp(&b.powered)));
                all.truncate(1);
            }
            all
        };
        self.known.entry((node, busy)).or_insert_with(list).clone()
    }

    fn powered(&self, jobs: &Jobs, combination: &Combination) -> Table<NodeId, Vec<Interval>> {
        let cluster = &self.instance.cluster;
        let stated: BTreeMap<NodeId, u64> = combination.iter().map(|&(node, choice)| (node, choice.powered)).collect();
        let of_node = |id: NodeId| {
            let node = &cluster.nodes[id];
            match stated.get(&id) {
                Some(&mask) => intervals(mask),
                None if node.power == PowerMode::AlwaysOn => {
                    let whole = Interval::new(Ticks::ZERO, Ticks(jobs.makespan));
                    if whole.is_empty() { Vec::new() } else { vec![whole] }
                }
                None => default_intervals(node, &runs(&jobs.busy[id]), self.instance.tick),
            }
        };
        cluster.nodes.ids().map(of_node).collect()
    }

    /// Power of base and idle GPUs of a node in each of its powered ticks, mW.
    fn standing<'j>(
        &'j self,
        jobs: &'j Jobs,
        id: NodeId,
        powered: &'j [Interval],
    ) -> impl Iterator<Item = (usize, i64)> + 'j {
        let node = &self.instance.cluster.nodes[id];
        let gpu_idle = self.instance.cluster.gpu_types[node.gpu_type].idle.0;
        let ticks = powered.iter().flat_map(|interval| interval.from.0..interval.to.0);
        ticks.map(move |tick| {
            let at = usize::try_from(tick).unwrap_or(0);
            (at, node.idle.0 - gpu_idle * jobs.busy[id][at])
        })
    }

    fn totals(&self, jobs: &Jobs, powered: &Table<NodeId, Vec<Interval>>) -> (Millijoules, f64) {
        let instance = self.instance;
        let mut energy_at = vec![Millijoules::ZERO; jobs.power.len()];
        for (tick, power) in jobs.power.iter().enumerate() {
            energy_at[tick] += Milliwatts(*power).over(Ticks(1), instance.tick);
        }
        for (id, intervals) in powered.iter() {
            for (tick, power) in self.standing(jobs, id, intervals) {
                energy_at[tick] += Milliwatts(power).over(Ticks(1), instance.tick);
            }
            let node = &instance.cluster.nodes[id];
            for interval in intervals.iter().filter(|_| node.power == PowerMode::Sleep) {
                if !(node.on_at_start && interval.from == Ticks::ZERO) {
                    energy_at[usize::try_from(interval.from.0).unwrap_or(0)] += node.wake;
                }
            }
        }
        let price = |(tick, energy): (i64, &Millijoules)| {
            let price = instance.tariff.as_ref().and_then(|tariff| tariff.at(Ticks(tick)));
            price.map_or(0.0, |price| price.of(*energy))
        };
        (energy_at.iter().copied().sum(), (0..).zip(&energy_at).map(price).sum())
    }

    fn value(&self, placed: &Placed<'_>, jobs: &Jobs, powered: &Table<NodeId, Vec<Interval>>) -> f64 {
        let (energy, cost) = self.totals(jobs, powered);
        let mut terms =
            Terms { energy, cost: Some(cost), makespan: Ticks(jobs.makespan), completion: 0.0, tardiness: 0.0 };
        for (job, candidate) in placed {
            let job = &self.instance.jobs[*job];
            terms.completion += job.weight * candidate.end.0 as f64;
            let late = job.due.map_or(0, |due| (candidate.end - due).0.max(0));
            terms.tardiness += job.weight * late as f64;
        }
        self.instance.objective.value(&terms, self.instance.tick)
    }

    /// V11, and V13 where the default rule is used.
    fn keeps_budget(&self, jobs: &Jobs, powered: &Table<NodeId, Vec<Interval>>) -> bool {
        let in_time = self
            .sleepers
            .iter()
            .all(|&id| powered[id].iter().all(|interval| may_begin(&self.instance.cluster.nodes[id], interval.from)));
        in_time && self.instance.energy_budget.is_none_or(|budget| self.totals(jobs, powered).0 <= budget)
    }

    /// V10.
    fn keeps_caps(&self, jobs: &Jobs, powered: &Table<NodeId, Vec<Interval>>) -> bool {
        let cluster = &self.instance.cluster;
        let last = powered.values().filter_map(|intervals| intervals.last()).map(|interval| interval.to.0).max();
        let end = usize::try_from(jobs.makespan.max(last.unwrap_or(0))).unwrap_or(0);
        let mut total: Vec<i64> = jobs.peak.clone();
        let mut by_switch: Table<SwitchId, Vec<i64>> = Table::filled(vec![0; total.len()], cluster.switches.len());
        for (id, intervals) in powered.iter() {
            let mut node = jobs.peaks[id].clone();
            for (tick, power) in self.standing(jobs, id, intervals) {
                node[tick] += power;
                total[tick] += power;
            }
            for &switch in &self.switches_above[id] {
                by_switch[switch].iter_mut().zip(&node).for_each(|(sum, power)| *sum += power);
            }
            if exceeds(cluster.nodes[id].power_cap.as_ref(), &node, end) {
                return false;
            }
        }
        if by_switch.iter().any(|(id, power)| exceeds(cluster.switches[id].power_cap.as_ref(), power, end)) {
            return false;
        }
        if let Some(foreign) = &cluster.foreign {
            (0..).zip(&mut total).for_each(|(tick, power)| *power += foreign.at(Ticks(tick)).unwrap_or_default().0);
        }
        !exceeds(cluster.power_cap.as_ref(), &total, end)
    }
}

fn exceeds(cap: Option<&Steps<Milliwatts>>, power: &[i64], end: usize) -> bool {
    let Some(cap) = cap else { return false };
    (0..).zip(&power[..end]).any(|(tick, &power)| cap.at(Ticks(tick)).is_some_and(|cap| power > cap.0))
}

/// The maximal runs of ticks with a busy GPU.
fn runs(busy: &[i64]) -> Vec<Interval> {
    let mut runs: Vec<Interval> = Vec::new();
    for (tick, _) in (0..).zip(busy).filter(|&(_, &count)| count > 0) {
        match runs.last_mut() {
            Some(last) if last.to == Ticks(tick) => last.to = Ticks(tick + 1),
            _ => runs.push(Interval::new(Ticks(tick), Ticks(tick + 1))),
        }
    }
    runs
}
