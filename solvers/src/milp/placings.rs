//! The ways to place each job: an option on a pattern of cells, within a window.
//!
//! # Idea
//! Most ways need not be looked at. Of two ways to use the same GPUs, one that ends no later, asks no more of any limit and adds no more power or energy can
//! stand in for the other in every plan, at the same start: its ticks are among those of the other, the node may stay
//! powered as it was, and nothing else changes. A job starts no earlier than the jobs before it can have ended, and ends
//! early enough for those after it.
//!
//! # Complexity
//! Quadratic in the options of one job on one pattern.

use std::collections::{BTreeMap, BTreeSet};

use rats_domain::ids::{JobId, NodeId, OptionId, Table};
use rats_domain::instance::{Instance, JobOption};
use rats_domain::interval::Interval;
use rats_domain::units::{GpuCount, Ticks};

use super::limits;
use super::power::{self, has_negative_price};
use crate::cells::{Cell, Pattern, cells, patterns};
use rats_domain::demand::{Shared, by_node, capacity, demands};

/// Most patterns of one option.
const PATTERN_LIMIT: usize = 20_000;
/// Most placings before any are left out.
const PLACING_LIMIT: usize = 200_000;

/// A job with an option and a pattern.
#[derive(Clone, Debug)]
pub(super) struct Placing {
    pub job: JobId,
    pub option: OptionId,
    pub pattern: Pattern,
    pub demands: Vec<(Shared, i64)>,
    pub nodes: Vec<(NodeId, GpuCount)>,
}

/// Where jobs can be placed, and the limits that they share there.
#[derive(Clone, Debug, Default)]
pub(super) struct Space {
    pub limits: BTreeSet<Shared>,
    pub cells: Vec<Cell>,
}

/// The placings of every job, and its window.
pub(super) struct Placings {
    pub of_job: Table<JobId, Vec<Placing>>,
    /// First tick in which a job may run, and the tick by which it must have ended.
    pub windows: Table<JobId, Interval>,
}

impl Space {
    /// The space of an instance; of the limits, if asked, only those that matter.
    pub fn new(instance: &Instance, reduce: bool) -> Self {
        let limits = if reduce { limits::binding(instance) } else { limits::every(instance) };
        let cells = cells(instance, |node| limits::islands_matter(instance, node, &limits));
        Self { limits, cells }
    }
}

impl Placing {
    pub fn new(instance: &Instance, space: &Space, job: JobId, option: OptionId, pattern: Pattern) -> Self {
        let gpus = pattern.example(&space.cells);
        let demands = demands(instance, instance.option(job, option), &gpus).into_iter();
        let demands = demands.filter(|(shared, _)| space.limits.contains(shared)).collect();
        let nodes = by_node(instance, &gpus).into_iter().collect();
        Self { job, option, pattern, demands, nodes }
    }

    fn demand(&self, of: Shared) -> i64 {
        self.demands.iter().find(|&&(shared, _)| shared == of).map_or(0, |&(_, demand)| demand)
    }

    /// Whether this can stand in for `other`, of the same job and pattern, at the same start of every plan.
    pub fn dominates(&self, instance: &Instance, other: &Self) -> bool {
        let (a, b) = (instance.option(self.job, self.option), instance.option(other.job, other.option));
        a.ticks <= b.ticks
            && self.demands.iter().all(|&(shared, demand)| demand <= other.demand(shared))
            && power_dominates(instance, a, b)
    }
}

/// Whether power and energy of option `a` can stand in for those of `b`, on the same GPUs and ending no later.
fn power_dominates(instance: &Instance, a: &JobOption, b: &JobOption) -> bool {
    let idle = instance.cluster.gpu_types[a.gpu_type].idle.times(a.gpus);
    let beyond = |option: &JobOption| option.power - idle;
    let as_long = a.ticks == b.ticks;
    let energy = beyond(a).over(a.ticks, instance.tick) <= beyond(b).over(b.ticks, instance.tick);
    let objective = &instance.objective;
    let within_energy = objective.energy == 0.0 && instance.energy_budget.is_none() || energy;
    // Where a price is negative, less power is no gain.
    let within_cost = objective.cost == 0.0
        || (a.power == b.power && as_long)
        || (!has_negative_price(instance) && a.power <= b.power && (as_long || b.power >= idle));
    let within_caps = !instance.cluster.has_power_caps() || (a.peak <= b.peak && (as_long || b.peak >= idle));
    within_energy && within_cost && within_caps
}

/// At least so many placements have to be listed; cheap.
pub(super) fn at_least(instance: &Instance) -> i64 {
    let jobs = instance.jobs.values().filter(|job| job.fixed.is_none());
    jobs.map(|job| i64::try_from(job.options.len()).unwrap_or(i64::MAX)).sum()
}

impl Placings {
    /// Every placing that keeps the rules by itself; of these, if asked, only what some best plan can do with.
    ///
    /// # Errors
    /// There are too many; in words.
    pub fn new(instance: &Instance, space: &Space, reduce: bool) -> Result<Self, String> {
        let mut of_job = Table::new();
        let mut listed = 0;
        for job in instance.jobs.ids() {
            let mut placings = every(instance, space, job)?;
            listed += placings.len();
            if listed > PLACING_LIMIT {
                return Err(format!("there are more than {PLACING_LIMIT} placements"));
            }
            if reduce {
                drop_dominated(instance, &mut placings);
            }
            of_job.push(placings);
        }
        let windows = windows(instance, &of_job);
        Ok(Self { of_job, windows })
    }

    /// The number of starts of all placings.
    pub fn starts(&self, instance: &Instance) -> i64 {
        let starts = |placing: &Placing| {
            let window = self.windows[placing.job].len();
            (window - instance.option(placing.job, placing.option).ticks + Ticks(1)).0.max(0)
        };
        self.of_job.values().flatten().map(starts).sum()
    }
}

/// Every placing of a job that satisfies V2, V3 and, alone, V7-V9.
fn every(instance: &Instance, space: &Space, id: JobId) -> Result<Vec<Placing>, String> {
    let job = &instance.jobs[id];
    let mut placings = Vec::new();
    for (option_id, option) in job.options.iter().filter(|_| job.fixed.is_none()) {
        let patterns = patterns(instance, &space.cells, option, PATTERN_LIMIT)
            .ok_or_else(|| format!("there are more than {PATTERN_LIMIT} placements of one option"))?;
        for pattern in patterns {
            let placing = Placing::new(instance, space, id, option_id, pattern);
            let fits = |&(shared, demand): &(Shared, i64)| capacity(instance, shared).is_none_or(|c| demand <= c);
            if placing.demands.iter().all(fits) {
                placings.push(placing);
            }
        }
    }
    Ok(placings)
}

fn drop_dominated(instance: &Instance, placings: &mut Vec<Placing>) {
    let mut by_pattern: BTreeMap<&Pattern, Vec<usize>> = BTreeMap::new();
    for (position, placing) in placings.iter().enumerate() {
        by_pattern.entry(&placing.pattern).or_default().push(position);
    }
    let energy = |placing: &Placing| {
        let option = instance.option(placing.job, placing.option);
        option.power.over(option.ticks, instance.tick)
    };
    let mut dropped: BTreeSet<usize> = BTreeSet::new();
    for group in by_pattern.values() {
        for &other in group {
            let stands_in = |&&at: &&usize| {
                let (a, b) = (&placings[at], &placings[other]);
                // Of two that can stand in for each other the one of less energy stays, then the first.
                let first = (energy(a), at) < (energy(b), other);
                at != other && a.dominates(instance, b) && (first || !b.dominates(instance, a))
            };
            if group.iter().any(|at| stands_in(&at)) {
                dropped.insert(other);
            }
        }
    }
    let mut position = 0;
    placings.retain(|_| {
        position += 1;
        !dropped.contains(&(position - 1))
    });
}

/// The window of each job, from its own times and V5.
fn windows(instance: &Instance, placings: &Table<JobId, Vec<Placing>>) -> Table<JobId, Interval> {
    let shortest = |id: JobId| {
        let fixed = instance.jobs[id].fixed.iter().map(|fixed| fixed.option);
        let options = fixed.chain(placings[id].iter().map(|placing| placing.option));
        options.map(|option| instance.option(id, option).ticks).min().unwrap_or_default()
    };
    let end = Ticks(power::ticks(instance));
    let alone = |id: JobId| match &instance.jobs[id].fixed {
        Some(fixed) => fixed.interval(instance, id),
        None => Interval::new(instance.jobs[id].release, instance.latest_end(id).min(end)),
    };
    let shortest: Table<JobId, Ticks> = instance.jobs.ids().map(shortest).collect();
    let mut windows: Table<JobId, Interval> = instance.jobs.ids().map(alone).collect();
    // As often as it takes; `after` has no cycle.
    loop {
        let before = windows.clone();
        for (id, job) in instance.jobs.iter() {
            for &first in &job.after {
                let ready = windows[first].from + shortest[first];
                let last_end = windows[id].to - shortest[id];
                if job.fixed.is_none() {
                    windows[id].from = windows[id].from.max(ready);
                }
                if instance.jobs[first].fixed.is_none() {
                    windows[first].to = windows[first].to.min(last_end);
                }
            }
        }
        if windows == before {
            return windows;
        }
    }
}
