//! What the checker says of a schedule, as solvers need it.

use rats_domain::check::check_schedule;
use rats_domain::instance::Instance;
use rats_domain::schedule::Schedule;
use rats_domain::solver::{Control, Outcome, Progress, Stop};

/// The objective of a schedule that breaks no rule; `None` if it breaks any.
pub fn valid_objective(instance: &Instance, schedule: &Schedule) -> Option<f64> {
    let report = check_schedule(instance, schedule).ok()?;
    report.into_checked().ok().map(|plan| plan.evaluation().objective)
}

/// The outcome of a method that makes several schedules, each valid or not, and keeps the best; an error other than
/// [`Stop::Finished`] ends it.
pub fn best_of(
    instance: &Instance,
    control: &dyn Control,
    schedules: impl Iterator<Item = Result<Schedule, Stop>>,
) -> Outcome {
    let mut best: Option<(f64, Schedule)> = None;
    let mut end = Stop::Finished;
    for schedule in schedules {
        match schedule {
            Ok(schedule) => {
                let Some(objective) = valid_objective(instance, &schedule) else { continue };
                if best.as_ref().is_none_or(|(best, _)| objective < *best) {
                    control.progress(Progress { incumbent: Some(objective), bound: None });
                    best = Some((objective, schedule));
                }
            }
            Err(Stop::Finished) => {}
            Err(stop) => {
                end = stop;
                break;
            }
        }
    }
    match best {
        Some((_, schedule)) => Outcome::Feasible { schedule, bound: None, stop: end },
        None => Outcome::Unknown { bound: None, stop: end },
    }
}

/// The outcome of a method that makes one schedule and is done, valid or not.
pub fn finished(instance: &Instance, schedule: Schedule) -> Outcome {
    match valid_objective(instance, &schedule) {
        Some(_) => Outcome::Feasible { schedule, bound: None, stop: Stop::Finished },
        None => Outcome::Unknown { bound: None, stop: Stop::Finished },
    }
}
