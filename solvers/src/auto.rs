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

use rats_domain::instance::Instance;
use rats_domain::schedule::Schedule;
use rats_domain::solver::{About, Control, Outcome, Progress, Request, Solver, Stop};

use crate::edf_max::EdfMax;
use crate::greedy_energy::GreedyEnergy;
use crate::judged::valid_objective;
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
        let proof_follows = can_prove(instance);
        let keep =
            |left: Duration| if proof_follows { left.saturating_sub(left / HEURISTIC_PART) } else { Duration::ZERO };
        let slice = Slice { control, keep: control.remaining().map(keep) };
        let first = GreedyEnergy.solve(instance, request, &slice);
        let first = match first {
            Outcome::Unknown { .. } => EdfMax.solve(instance, request, control),
            found => found,
        };
        let incumbent = match &first {
            Outcome::Feasible { schedule, .. } | Outcome::Optimal { schedule, .. } => Some(schedule.clone()),
            Outcome::Infeasible { .. } | Outcome::Unknown { .. } => None,
        };
        if proof_follows { prove(instance, request, control, incumbent) } else { first }
    }
}

/// Whether there is an exact solver that takes the instance.
fn can_prove(instance: &Instance) -> bool {
    Milp.refuses(instance).is_none()
}

/// The exact solver's outcome, started from the better of the incumbent and the request's own start.
fn prove(instance: &Instance, request: &Request, control: &dyn Control, incumbent: Option<Schedule>) -> Outcome {
    let starts = [incumbent, request.warm_start.clone()].into_iter().flatten();
    let starts = starts.filter_map(|schedule| Some((valid_objective(instance, &schedule)?, schedule)));
    let warm_start = starts.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, schedule)| schedule);
    Milp.solve(instance, &Request { warm_start, ..request.clone() }, control)
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
