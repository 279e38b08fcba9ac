//! What every generated instance keeps, asked of the finished file.

use rats_domain::check::{Report, check_schedule};
use rats_domain::codes::Code;
use rats_domain::instance::Instance;
use rats_domain::schedule::Schedule;
use rats_solvers::fifo_max;

use super::witness::fastest;

/// GPU time of all jobs' fastest options / (GPUs x horizon).
pub fn load(instance: &Instance) -> f64 {
    let work: i64 = instance.jobs.values().map(fastest).map(|(ticks, gpus)| ticks * gpus).sum();
    work as f64 / (instance.cluster.gpus.len() as f64 * instance.horizon.0 as f64)
}

/// Share of jobs whose deadline leaves less than twice their fastest time.
pub fn tight(instance: &Instance) -> f64 {
    let tight = instance
        .jobs
        .values()
        .filter(|job| job.deadline.is_some_and(|deadline| (deadline - job.release).0 < 2 * fastest(job).0));
    tight.count() as f64 / instance.jobs.len().max(1) as f64
}

/// GPU time of all jobs as asked for / what all GPUs do in one mean job length.
pub fn work(instance: &Instance) -> f64 {
    let asked = instance.jobs.values().map(|job| &job.options[job.requested]);
    let (work, ticks) = asked.fold((0.0, 0.0), |(work, ticks), option| {
        (work + f64::from(option.gpus.0) * option.ticks.0 as f64, ticks + option.ticks.0 as f64)
    });
    work * instance.jobs.len() as f64 / (ticks * instance.cluster.gpus.len() as f64)
}

/// What the checker says of the baseline's schedule.
pub fn baseline(instance: &Instance) -> (Schedule, Option<Report>) {
    let schedule = fifo_max::schedule(instance);
    let report = check_schedule(instance, &schedule).ok();
    (schedule, report)
}

/// Whether the baseline breaks one of V4, V10 and V11.
pub fn baseline_fails(report: Option<&Report>) -> bool {
    let broken = [Code::V4, Code::V10, Code::V11];
    report.is_none_or(|report| report.violations.iter().any(|violation| broken.contains(&violation.code)))
}

/// Whether a schedule keeps every rule.
pub fn keeps_all(instance: &Instance, schedule: &Schedule) -> bool {
    check_schedule(instance, schedule).is_ok_and(|report| report.violations.is_empty())
}

/// Whether load, deadlines and witness are as promised.
pub fn kept(instance: &Instance, witness: &Schedule) -> bool {
    (0.5..=0.8).contains(&load(instance)) && tight(instance) >= 0.3 && keeps_all(instance, witness)
}
