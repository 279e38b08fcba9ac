//! The model with its nodes counted by class: rows that jobs share by tick, and what powered nodes supply to them.
//!
//! Two methods stand on it: the Lagrangian bound (`bounds::lagrange`) and the integer program of `aggregate`. Every plan
//! of the instance is a solution of the relaxed model at the same objective; not the other way round, since a gang may
//! fit the sum of all nodes but no single one.

mod nodes;
mod rows;

use rats_domain::format::PowerMode;
use rats_domain::ids::{Id, JobId, OptionId};
use rats_domain::instance::{Instance, JobOption};
use rats_domain::units::{MicrosPerKwh, Millijoules, Ticks};

pub(crate) use self::nodes::{NodeClass, NodePlan};
pub(crate) use self::rows::Row;
use crate::bounds::beyond_idle;
use crate::windows::Windows;

use self::nodes::node_classes;
use self::rows::rows;

/// Watt-seconds in a kilowatt-hour.
const JOULES_PER_KWH: f64 = 3.6e6;

/// The relaxed model.
#[derive(Clone, Debug)]
pub struct Relaxation {
    /// Ticks that it looks at: no job ends later.
    pub(crate) horizon: usize,
    pub(crate) tick_s: f64,
    /// Objective per W held for the tick, by tick.
    pub(crate) price: Vec<f64>,
    /// Objective per J of a wake-up, by tick.
    pub(crate) wake_price: Vec<f64>,
    /// Objective per tick of makespan.
    pub(crate) makespan_price: f64,
    /// Limit on the total energy, J.
    pub(crate) budget: Option<f64>,
    pub(crate) rows: Vec<Row>,
    pub(crate) jobs: Vec<RelaxedJob>,
    /// Pairs of positions in `jobs`: the second waits for the first.
    pub(crate) pairs: Vec<(usize, usize)>,
    pub(crate) classes: Vec<NodeClass>,
    /// Least makespan that any plan can have.
    pub(crate) least_makespan: usize,
    /// Whether anything depends on the makespan.
    pub(crate) coupled: bool,
}

/// A job with all that it may do.
#[derive(Clone, Debug)]
pub(crate) struct RelaxedJob {
    pub id: JobId,
    pub is_fixed: bool,
    pub options: Vec<RelaxedOption>,
    /// Ticks that the jobs after it need at least.
    pub tail: usize,
    /// Cost of its delay by end.
    pub delay: Vec<f64>,
    /// Positions in `pairs` in which it is the first.
    pub before: Vec<usize>,
    /// Positions in `pairs` in which it is the second.
    pub after: Vec<usize>,
}

/// An option with the starts that its job's window leaves.
#[derive(Clone, Debug)]
pub(crate) struct RelaxedOption {
    pub id: OptionId,
    pub ticks: usize,
    /// Power beyond that of idle GPUs, W.
    pub beyond: f64,
    /// What it uses of each row while it runs.
    pub amounts: Vec<(usize, f64)>,
    pub first: usize,
    /// Last start; below `first` if there is none.
    pub last: usize,
}

/// Most choices: a step of the Lagrangian bound looks at all of them, in about a second.
const CANDIDATE_LIMIT: usize = 60_000_000;

impl Relaxation {
    /// The relaxed model; `None` if its horizon is too long to look at tick by tick.
    pub fn new(instance: &Instance) -> Option<Self> {
        Self::between(instance, Ticks::ZERO, instance.horizon)
    }

    /// The relaxed model of plans with a makespan from `least` to `latest`.
    pub fn between(instance: &Instance, least: Ticks, latest: Ticks) -> Option<Self> {
        let horizon = usize::try_from(latest.min(instance.horizon).0).ok()?;
        let options: usize = instance.jobs.values().map(|job| job.options.len()).sum();
        if horizon.checked_mul(options + instance.cluster.nodes.len() + 1)? > CANDIDATE_LIMIT {
            return None;
        }
        let windows = Windows::new(instance);
        let tick_s = Ticks(1).seconds(instance.tick);
        let objective = &instance.objective;
        let rate = |tick: usize| {
            let at = Ticks(i64::try_from(tick).unwrap_or(i64::MAX));
            let price = instance.tariff.as_ref().and_then(|tariff| tariff.at(at)).unwrap_or(MicrosPerKwh::ZERO);
            objective.energy + objective.cost * (price.0 as f64 / 1e6) / JOULES_PER_KWH
        };
        let wake_price: Vec<f64> = (0..horizon).map(rate).collect();
        let rows = rows(instance, horizon);
        let classes = node_classes(instance, horizon, &rows);
        let mut pairs = Vec::new();
        let tails = tails(instance);
        let jobs =
            instance.jobs.ids().map(|id| relaxed_job(instance, &windows, id, tails[id.position()], horizon, &rows));
        let mut jobs: Vec<RelaxedJob> = jobs.collect();
        for (id, job) in instance.jobs.iter() {
            for &before in &job.after {
                jobs[before.position()].before.push(pairs.len());
                jobs[id.position()].after.push(pairs.len());
                pairs.push((before.position(), id.position()));
            }
        }
        let makespan_price = objective.makespan * tick_s;
        let awake = instance.cluster.nodes.values().any(|node| node.power == PowerMode::AlwaysOn);
        let priced = objective.prices_energy() || instance.energy_budget.is_some();
        // After the makespan always-on nodes draw nothing: under caps that matters even where energy costs nothing.
        let capped = rows.iter().any(Row::counts_power);
        Some(Self {
            horizon,
            tick_s,
            price: wake_price.iter().map(|rate| rate * tick_s).collect(),
            wake_price,
            makespan_price,
            budget: instance.energy_budget.map(Millijoules::joules),
            rows,
            jobs,
            pairs,
            classes,
            least_makespan: usize::try_from(windows.makespan().max(least).0).unwrap_or(0).min(horizon),
            coupled: makespan_price > 0.0 || (awake && (priced || capped)),
        })
    }

    /// What a step looks at, in choices of jobs.
    pub fn work(&self) -> usize {
        let options = self.jobs.iter().flat_map(|job| &job.options);
        options.map(|option| option.last + 1 - option.first + option.ticks).sum::<usize>() + self.horizon + 1
    }

    /// The number of choices of all jobs.
    pub fn choices(&self) -> usize {
        let options = self.jobs.iter().flat_map(|job| &job.options);
        options.map(|option| option.last + 1 - option.first).sum()
    }

    /// The number of multipliers.
    pub(crate) fn dimension(&self) -> usize {
        (self.rows.len() + self.pairs.len()) * self.horizon + usize::from(self.budget.is_some())
    }

    /// Leaves only the objective of nothing, so that a positive bound proves that no plan exists.
    #[must_use]
    pub fn without_objective(mut self) -> Self {
        self.price.fill(0.0);
        self.wake_price.fill(0.0);
        self.makespan_price = 0.0;
        self.jobs.iter_mut().for_each(|job| job.delay.fill(0.0));
        self
    }
}

fn relaxed_job(
    instance: &Instance,
    windows: &Windows<'_>,
    id: JobId,
    tail: usize,
    horizon: usize,
    rows: &[Row],
) -> RelaxedJob {
    let job = &instance.jobs[id];
    let ticks = |ticks: Ticks| usize::try_from(ticks.0.max(0)).unwrap_or(usize::MAX);
    let option = |option_id: OptionId, option: &JobOption, first: Ticks, last: Ticks, length: Ticks| RelaxedOption {
        id: option_id,
        ticks: ticks(length),
        beyond: beyond_idle(instance, option).watts(),
        amounts: rows.iter().enumerate().filter_map(|(at, row)| Some((at, row.use_of(instance, option)?))).collect(),
        first: ticks(first),
        last: ticks(last),
    };
    let mut options = Vec::new();
    if let Some(fixed) = &job.fixed {
        let chosen = &job.options[fixed.option];
        let (from, to) = (fixed.start.max(Ticks::ZERO), fixed.end(instance, id).max(Ticks::ZERO));
        options.push(option(fixed.option, chosen, from, from, to - from));
    } else {
        let end = instance.latest_end(id).min(Ticks(i64::try_from(horizon.saturating_sub(tail)).unwrap_or(i64::MAX)));
        let first = windows.earliest_start[id];
        for (option_id, row) in job.options.iter().filter(|(_, row)| row.placeable) {
            if first + row.ticks <= end {
                options.push(option(option_id, row, first, end - row.ticks, row.ticks));
            }
        }
    }
    let tick_s = Ticks(1).seconds(instance.tick);
    let objective = &instance.objective;
    let delay = |end: usize| {
        let end = end as f64;
        let late = job.due.map_or(0.0, |due| (end - due.0 as f64).max(0.0));
        job.weight * tick_s * (objective.completion * end + objective.tardiness * late)
    };
    RelaxedJob {
        id,
        is_fixed: job.fixed.is_some(),
        options,
        tail,
        delay: (0..=horizon).map(delay).collect(),
        before: Vec::new(),
        after: Vec::new(),
    }
}

/// For each job the ticks that the jobs after it need at least, by position.
fn tails(instance: &Instance) -> Vec<usize> {
    let mut successors = vec![Vec::new(); instance.jobs.len()];
    let mut waiting = vec![0_usize; instance.jobs.len()];
    for (id, job) in instance.jobs.iter() {
        for &before in &job.after {
            successors[before.position()].push(id.position());
            waiting[before.position()] += 1;
        }
    }
    let mut tails = vec![0; instance.jobs.len()];
    let mut ready: Vec<usize> = (0..instance.jobs.len()).filter(|&at| waiting[at] == 0).collect();
    while let Some(at) = ready.pop() {
        let job = &instance.jobs[JobId::from_position(at)];
        let shortest = job.options.values().filter(|option| option.placeable).map(|option| option.ticks.0).min();
        let own = if job.fixed.is_some() { 0 } else { usize::try_from(shortest.unwrap_or(0)).unwrap_or(0) };
        for &before in &job.after {
            let before = before.position();
            tails[before] = tails[before].max(tails[at] + own);
            waiting[before] -= 1;
            if waiting[before] == 0 {
                ready.push(before);
            }
        }
    }
    tails
}
