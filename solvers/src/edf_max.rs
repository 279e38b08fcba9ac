//! `edf_max`: earliest deadline first, requested options as far as deadlines allow.
//!
//! # Idea
//! List scheduling by deadline: jobs in the order (deadline, release, file order), each after its `after` jobs, at the
//! first start at which it fits. Unlike `fifo_max` it fills gaps and keeps every rule.
//!
//! # Model
//! A job takes its requested option; if that cannot end in time, the fastest option that can. Powered intervals by the
//! default rule. Rules V2-V10, V12 and V13 are kept at every step; the budget V11 is looked at in the end.
//!
//! # Complexity
//! Per job the ticks between its release and its start at which something ends, each with one look at the nodes of a
//! GPU type.
//!
//! # Limits
//! No backtracking: it may find no schedule where there is one. It does not look at the objective.
//!
//! # References
//! J. R. Jackson, "Scheduling a production line to minimize maximum tardiness", 1955.

use rats_domain::ids::{JobId, OptionId};
use rats_domain::instance::Instance;
use rats_domain::interval::Interval;
use rats_domain::schedule::{Placement, Schedule};
use rats_domain::solver::{About, Control, Outcome, Request, Solver, Stop};
use rats_domain::units::Ticks;

use crate::dispatch::{Waits, earliest, in_order};
use crate::judged::finished;
use crate::timetable::Timetable;

/// Earliest deadline first with requested options.
#[derive(Clone, Copy, Debug, Default)]
pub struct EdfMax;

/// A schedule that keeps V1..V10, V12 and V13, if the method finds one.
///
/// # Errors
/// Why it found none.
pub fn schedule(instance: &Instance, control: &dyn Control) -> Result<Schedule, Stop> {
    let mut timetable = Timetable::new(instance);
    let waits = Waits::with_caps(&timetable);
    for job in in_order(instance, |job| (instance.latest_end(job), instance.jobs[job].release)) {
        if let Some(stop) = control.stop() {
            return Err(stop);
        }
        let placement = place(&timetable, job, &waits).ok_or(Stop::Finished)?;
        timetable.insert(job, placement);
    }
    Ok(timetable.into_schedule())
}

/// The first start of the requested option, or else of the fastest that ends in time.
pub fn place(timetable: &Timetable<'_>, id: JobId, waits: &Waits) -> Option<Placement> {
    let job = &timetable.instance().jobs[id];
    let mut options: Vec<OptionId> = job.options.ids().collect();
    options.sort_by_key(|&option| (option != job.requested, job.options[option].ticks));
    let from = job.release.max(timetable.earliest_after(id).unwrap_or(Ticks::ZERO));
    options.into_iter().find_map(|option| {
        let last = timetable.latest_end(id) - job.options[option].ticks;
        let window = Interval::new(from, last + Ticks(1));
        earliest(timetable, (id, option), window, waits, |placement| timetable.judge(id, placement).is_ok())
    })
}

impl Solver for EdfMax {
    fn about(&self) -> About {
        About {
            id: "edf_max",
            summary: "Earliest deadline first, requested options as far as deadlines allow.",
            exact: false,
            baseline: false,
        }
    }

    fn solve(&self, instance: &Instance, _request: &Request, control: &dyn Control) -> Outcome {
        match schedule(instance, control) {
            Ok(schedule) => finished(instance, schedule),
            Err(stop) => Outcome::Unknown { bound: None, stop },
        }
    }
}

#[cfg(test)]
mod tests {
    use rats_domain::solver::Unlimited;

    use super::*;
    use crate::testing::valid_plans;

    #[test]
    fn plans_keep_every_rule_and_are_mostly_found() {
        let found = valid_plans(&EdfMax, 400);
        assert!(found > 150, "{found}");
    }

    #[test]
    fn the_urgent_job_goes_first_and_a_faster_option_saves_a_deadline() {
        // One GPU. a (deadline 20) and b (deadline 9): b first, in [0, 5); a would end at 21 with its requested 16
        // ticks, so it takes the option of 12 ticks in [5, 17).
        let option =
            |ticks: u32| format!(r#"{{"gpu_type": "T", "gpus": 1, "span": "node", "ticks": {ticks}, "power_w": 9}}"#);
        let text = format!(
            r#"{{"format": "rats.instance/1", "name": "i", "tick_s": 1, "horizon": 2147483648,
                "cluster": {{"gpu_types": [{{"id": "T"}}], "nodes": [{{"id": "n", "gpu_type": "T", "gpus": 1}}]}},
                "objective": [{{"term": "energy", "weight": 1}}],
                "jobs": [{{"id": "a", "deadline": 20, "options": [{}, {}]}},
                         {{"id": "b", "deadline": 9, "options": [{}]}}]}}"#,
            option(16),
            option(12),
            option(5),
        );
        let instance = Instance::read(text.as_bytes()).unwrap().instance;
        let plan = schedule(&instance, &Unlimited).unwrap().to_plan(&instance);
        let found: Vec<_> = plan.assignments.iter().map(|a| (a.start, a.option)).collect();
        assert_eq!(found, [(5, 1), (0, 0)]);
    }
}
