//! The witness: a plan made first, around which releases, deadlines and limits are then drawn.
//!
//! # Idea
//! List scheduling without any deadline or cap: urgent jobs first, the others by size with some noise, each at the first
//! start and on the first gang that keeps V2, V3, V5-V9, V12 and V13. Whatever is drawn around the plan afterwards, the
//! plan keeps it.

use rats_domain::ids::{Id, JobId, OptionId};
use rats_domain::instance::{Instance, Job};
use rats_domain::interval::Interval;
use rats_domain::random::Random;
use rats_domain::schedule::Schedule;
use rats_domain::units::Ticks;
use rats_solvers::dispatch::{Waits, earliest};
use rats_solvers::timetable::Timetable;

/// A plan that keeps all rules of an instance without deadlines and caps, and who came first in it.
pub(super) struct Witness {
    /// The plan.
    pub schedule: Schedule,
    /// Jobs placed before all others, so that they end soon.
    pub urgent: Vec<JobId>,
}

/// The option of fewest ticks; of equal ones that of fewest GPUs.
pub(super) fn fastest(job: &Job) -> (i64, i64) {
    let usable = job.options.values().filter(|option| option.placeable);
    usable.map(|option| (option.ticks.0, i64::from(option.gpus.0))).min().unwrap_or((1, 1))
}

/// Packs all jobs.
pub(super) fn pack(random: &mut Random, instance: &Instance) -> Option<Witness> {
    let chosen: Vec<OptionId> = instance.jobs.values().map(|job| choose(random, job)).collect();
    let work = |job: JobId| {
        let option = instance.option(job, chosen[job.position()]);
        i64::from(option.gpus.0) * option.ticks.0
    };
    let mut by_work: Vec<JobId> = instance.jobs.ids().collect();
    by_work.sort_by_key(|&job| (work(job), job));
    let urgent: Vec<JobId> =
        by_work[..instance.jobs.len() * 45 / 100].iter().copied().filter(|_| random.chance(90)).collect();
    // Large first, within a factor of two in any order.
    let mut rest: Vec<(i64, JobId)> = by_work
        .iter()
        .filter(|job| urgent.binary_search_by_key(&(work(**job), **job), |&job| (work(job), job)).is_err())
        .map(|&job| (-work(job) * random.within(50, 100), job))
        .collect();
    rest.sort_unstable();
    let mut timetable = Timetable::new(instance);
    let waits = Waits::new(instance);
    for job in urgent.iter().copied().chain(rest.into_iter().map(|(_, job)| job)) {
        let window = Interval::new(Ticks::ZERO, Ticks(i64::MAX));
        let placement = earliest(&timetable, (job, chosen[job.position()]), window, &waits, |_| true)?;
        timetable.insert(job, placement);
    }
    Some(Witness { schedule: timetable.into_schedule(), urgent })
}

/// Mostly what was asked for, sometimes anything that takes less than twice the least time.
fn choose(random: &mut Random, job: &Job) -> OptionId {
    if random.chance(60) {
        return job.requested;
    }
    let (ticks, _) = fastest(job);
    let good = |id: &OptionId| {
        let option = &job.options[*id];
        option.placeable && option.ticks.0 < 2 * ticks && option.gpus <= job.options[job.requested].gpus
    };
    let good: Vec<OptionId> = job.options.ids().filter(good).collect();
    if good.is_empty() { job.requested } else { random.pick(&good) }
}
