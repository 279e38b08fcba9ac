//! `fifo_max`: first in, first out, every job as its user asked for it; the baseline of all savings.
//!
//! # Idea
//! What a cluster without planning does: jobs start in the order in which they came, none before the one ahead of it,
//! each with its requested option on the first GPUs that suit it.
//!
//! # Model
//! Fixed jobs first; then jobs by (release, file order), each after its `after` jobs. A job starts at the least tick
//! not before its release, the start of the job before it and the end of its `after` jobs at which some domain fits;
//! domains narrow to wide, then in file order; in a domain the lexicographically first free GPUs that keep V2, V3,
//! V6-V9, V12 and V13. Powered intervals by the default rule. Deadlines, horizon, caps and budget are ignored: the
//! schedule may be invalid. A job whose requested option fits nowhere stays out.
//!
//! # Complexity
//! Starts never go back, so each job tries on average few ticks; each try looks at the nodes of one GPU type.
//!
//! # Limits
//! A job is placed even if a fixed job that waits for it starts earlier (V5 is then broken by any placement).

use rats_domain::check::check_schedule;
use rats_domain::instance::Instance;
use rats_domain::interval::Interval;
use rats_domain::schedule::Schedule;
use rats_domain::solver::{About, Control, Outcome, Request, Solver, Stop};
use rats_domain::units::Ticks;

use crate::dispatch::{Waits, earliest, in_order};
use crate::timetable::Timetable;

/// First in, first out with requested options.
#[derive(Clone, Copy, Debug, Default)]
pub struct FifoMax;

/// The baseline's schedule; it may break rules.
pub fn schedule(instance: &Instance) -> Schedule {
    let mut timetable = Timetable::new(instance);
    let waits = Waits::new(instance);
    let mut from = Ticks::ZERO;
    for job in in_order(instance, |job| instance.jobs[job].release) {
        let ready = timetable.earliest_after(job).unwrap_or(Ticks::ZERO);
        let window = Interval::new(from.max(instance.jobs[job].release).max(ready), Ticks(i64::MAX));
        let option = instance.jobs[job].requested;
        if let Some(placement) = earliest(&timetable, (job, option), window, &waits, |_| true) {
            from = placement.start;
            timetable.insert(job, placement);
        }
    }
    timetable.into_schedule()
}

impl Solver for FifoMax {
    fn about(&self) -> About {
        About {
            id: "fifo_max",
            summary: "Baseline: first in, first out, every job with its requested option.",
            exact: false,
            baseline: true,
        }
    }

    fn solve(&self, instance: &Instance, _request: &Request, _control: &dyn Control) -> Outcome {
        let schedule = schedule(instance);
        match check_schedule(instance, &schedule) {
            Ok(report) if report.violations.is_empty() => {
                Outcome::Feasible { schedule, bound: None, stop: Stop::Finished }
            }
            _ => Outcome::Unknown { bound: None, stop: Stop::Finished },
        }
    }
}
