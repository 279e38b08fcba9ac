//! What the checker says of a schedule, as solvers need it.

use rats_domain::check::check_schedule;
use rats_domain::instance::Instance;
use rats_domain::schedule::Schedule;
use rats_domain::solver::{Outcome, Stop};

/// The objective of a schedule that breaks no rule; `None` if it breaks any.
pub fn valid_objective(instance: &Instance, schedule: &Schedule) -> Option<f64> {
    let report = check_schedule(instance, schedule).ok()?;
    report.into_checked().ok().map(|plan| plan.evaluation().objective)
}

/// The outcome of a method that makes one schedule and is done, valid or not.
pub fn finished(instance: &Instance, schedule: Schedule) -> Outcome {
    match valid_objective(instance, &schedule) {
        Some(_) => Outcome::Feasible { schedule, bound: None, stop: Stop::Finished },
        None => Outcome::Unknown { bound: None, stop: Stop::Finished },
    }
}
