//! The default: a heuristic plan first, then a proof where the instance is small enough for one.
//!
//! # Idea
//! Greedy insertion (or, where it fails, earliest deadline first) gives an incumbent within a slice of the time; the
//! mixed-integer program starts from it if it is not too large.
//!
//! # Complexity
//! That of its parts.
//!
//! # Limits
//! Beyond the size that `milp` takes, the plan is the heuristic's and the bound that of [`crate::bounds`].
//!
//! # References
//! None needed.

use std::time::Duration;

use rats_domain::check::check_schedule;
use rats_domain::instance::Instance;
use rats_domain::schedule::Schedule;
use rats_domain::solver::{About, Control, Outcome, Progress, Request, Solver, Stop};

use crate::edf_max::EdfMax;
use crate::greedy_energy::GreedyEnergy;
#[cfg(feature = "highs")]
use crate::milp::Milp;

/// The heuristics get at most one part in this many of the time.
const HEURISTIC_PART: u32 = 5;

/// The solver.
#[derive(Clone, Copy, Debug)]
pub struct Auto;

impl Solver for Auto {
    fn about(&self) -> About {
        About {
            id: "auto",
            summary: "greedy_energy, else edf_max, then milp from there if the instance is not too large",
            exact: false,
            baseline: false,
        }
    }

    fn solve(&self, instance: &Instance, request: &Request, control: &dyn Control) -> Outcome {
        let slice = Slice { control, keep: control.remaining().map(|left| left.saturating_sub(left / HEURISTIC_PART)) };
        let first = GreedyEnergy.solve(instance, request, &slice);
        let first = match first {
            Outcome::Unknown { .. } => EdfMax.solve(instance, request, control),
            found => found,
        };
        let incumbent = match &first {
            Outcome::Feasible { schedule, .. } | Outcome::Optimal { schedule, .. } => Some(schedule.clone()),
            Outcome::Infeasible { .. } | Outcome::Unknown { .. } => None,
        };
        prove(instance, request, control, incumbent).unwrap_or(first)
    }
}

/// The exact solver's outcome, started from the better of the incumbent and the request's own start; `None` if it does
/// not take the instance.
#[cfg(feature = "highs")]
fn prove(
    instance: &Instance,
    request: &Request,
    control: &dyn Control,
    incumbent: Option<Schedule>,
) -> Option<Outcome> {
    if Milp.refuses(instance).is_some() {
        return None;
    }
    let starts = [incumbent, request.warm_start.clone()].into_iter().flatten();
    let value = |schedule: &Schedule| {
        let plan = check_schedule(instance, schedule).ok()?.into_checked().ok()?;
        Some(plan.evaluation().objective)
    };
    let starts = starts.filter_map(|schedule| value(&schedule).map(|value| (value, schedule)));
    let warm_start = starts.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, schedule)| schedule);
    Some(Milp.solve(instance, &Request { warm_start, ..request.clone() }, control))
}

#[cfg(not(feature = "highs"))]
fn prove(_: &Instance, _: &Request, _: &dyn Control, _: Option<Schedule>) -> Option<Outcome> {
    None
}

/// A part of the time: stops when no more than `keep` is left.
struct Slice<'c> {
    control: &'c dyn Control,
    keep: Option<Duration>,
}

impl Control for Slice<'_> {
    fn stop(&self) -> Option<Stop> {
        let used_up = self.remaining().is_some_and(|left| left.is_zero());
        self.control.stop().or(used_up.then_some(Stop::Deadline))
    }

    fn remaining(&self) -> Option<Duration> {
        Some(self.control.remaining()?.saturating_sub(self.keep?))
    }

    fn progress(&self, progress: Progress) {
        self.control.progress(progress);
    }
}
