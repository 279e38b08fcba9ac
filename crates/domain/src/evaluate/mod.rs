//! Evaluation: energy, cost, makespan, completion and tardiness of a schedule, exactly.
//!
//! An event sweep: the work grows with the number of jobs, gangs and events, not with the horizon.
//! [`crate::oracle`] says the same tick by tick.

mod occupancy;
mod profile;

use std::collections::BTreeMap;

pub(crate) use self::occupancy::Occupancy;
pub(crate) use self::profile::{Excess, Profile};

use crate::ids::{JobId, NodeId, Table};
use crate::instance::Instance;
use crate::interval::Interval;
use crate::objective::Terms;
use crate::power::wakes;
use crate::schedule::Schedule;
use crate::units::{GpuCount, MicrosPerKwh, Millijoules, Milliwatts, Ticks};

/// What a schedule is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Every term of the objective.
    pub terms: Terms,
    /// Where the energy goes.
    pub split: Split,
    /// The weighted sum.
    pub objective: f64,
    /// Highest power of the cluster in any tick, without foreign power and by mean power of the jobs.
    pub peak_power: Milliwatts,
    /// Powered intervals of each node.
    pub powered: Table<NodeId, Vec<Interval>>,
    /// Jobs that end after their due time.
    pub late: Vec<JobId>,
}

/// Where the energy goes; the parts of one cut add up to the total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Running gangs.
    pub gpu_run: Millijoules,
    /// Powered GPUs that run nothing.
    pub gpu_idle: Millijoules,
    /// Powered nodes without their GPUs.
    pub base: Millijoules,
    /// Wake-ups.
    pub wake: Millijoules,
    /// The part of `gpu_idle` and `base` spent while the node runs nothing at all.
    pub vacant: Millijoules,
}

/// Evaluates a schedule; jobs that are not placed count for nothing.
pub fn evaluate(instance: &Instance, schedule: &Schedule) -> Evaluation {
    evaluate_occupancy(&Occupancy::new(instance, schedule))
}

pub(crate) fn evaluate_occupancy(occupancy: &Occupancy<'_>) -> Evaluation {
    let instance = occupancy.instance;
    let mut ledger = Ledger::new(instance);
    for running in &occupancy.running {
        let energy = ledger.spend(running.option.power, running.interval);
        ledger.split.gpu_run += energy;
    }
    for (id, node) in instance.cluster.nodes.iter() {
        let gpu_idle = instance.cluster.gpu_types[node.gpu_type].idle;
        for &(interval, free) in &occupancy.nodes[id].free_gpus {
            let base = ledger.spend(node.base, interval);
            let idle = ledger.spend(gpu_idle.times(free), interval);
            ledger.split.base += base;
            ledger.split.gpu_idle += idle;
            if free == node.gpus {
                ledger.split.vacant += base + idle;
            }
        }
        for at in wakes(node, &occupancy.nodes[id].powered) {
            ledger.wake(node.wake, at);
        }
    }
    let (completion, tardiness, late) = delays(occupancy);
    let split = ledger.split;
    let power = ledger.power.segments();
    let terms = Terms {
        energy: split.gpu_run + split.gpu_idle + split.base + split.wake,
        cost: ledger.cost(&power),
        makespan: occupancy.makespan,
        completion,
        tardiness,
    };
    Evaluation {
        terms,
        split,
        objective: instance.objective.value(&terms, instance.tick),
        peak_power: Milliwatts(power.iter().map(|&(_, power)| power).max().unwrap_or(0)),
        powered: occupancy.nodes.values().map(|node| node.powered.clone()).collect(),
        late,
    }
}

fn delays(occupancy: &Occupancy<'_>) -> (f64, f64, Vec<JobId>) {
    let (mut completion, mut tardiness, mut late) = (0.0, 0.0, Vec::new());
    for running in &occupancy.running {
        let job = &occupancy.instance.jobs[running.job];
        completion += job.weight * running.end().0 as f64;
        if let Some(due) = job.due
            && running.end() > due
        {
            tardiness += job.weight * (running.end() - due).0 as f64;
            late.push(running.job);
        }
    }
    (completion, tardiness, late)
}

/// Adds up power over time and energy by kind.
struct Ledger<'a> {
    instance: &'a Instance,
    split: Split,
    power: Profile,
    wakes: Vec<(Ticks, Millijoules)>,
}

impl<'a> Ledger<'a> {
    fn new(instance: &'a Instance) -> Self {
        Self { instance, split: Split::default(), power: Profile::default(), wakes: Vec::new() }
    }

    /// Draws `power` during `interval`.
    fn spend(&mut self, power: Milliwatts, interval: Interval) -> Millijoules {
        self.power.add(interval, power.0);
        power.over(interval.len(), self.instance.tick)
    }

    fn wake(&mut self, energy: Millijoules, at: Ticks) {
        self.split.wake += energy;
        self.wakes.push((at, energy));
    }

    /// The price of all that was drawn, summed exactly for each price; `None` without a tariff.
    fn cost(&self, power: &[(Interval, i64)]) -> Option<f64> {
        let tariff = self.instance.tariff.as_ref()?;
        let mut by_price: BTreeMap<MicrosPerKwh, Millijoules> = BTreeMap::new();
        for &(interval, power) in power {
            for (piece, price) in tariff.pieces(interval) {
                let energy = Milliwatts(power).over(piece.len(), self.instance.tick);
                *by_price.entry(price.unwrap_or_default()).or_default() += energy;
            }
        }
        for &(at, energy) in &self.wakes {
            *by_price.entry(tariff.at(at).unwrap_or_default()).or_default() += energy;
        }
        Some(by_price.iter().map(|(price, &energy)| price.of(energy)).sum())
    }
}

/// Power that a node draws beside its jobs, by interval: base and idle GPUs while it is powered.
pub(crate) fn standing_power(instance: &Instance, node: NodeId, free: GpuCount) -> Milliwatts {
    let node = &instance.cluster.nodes[node];
    node.base + instance.cluster.gpu_types[node.gpu_type].idle.times(free)
}
