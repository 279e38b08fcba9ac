//! `local_search`: adaptive large neighborhood search on the dense incremental state.
//!
//! # Idea
//! Take some jobs out (at random, around a node, a time, a powered block, a switch, or those that cost most) and put
//! them back one by one where they add least, in one of several orders. Jobs without a place wait in a bank; who was
//! often left over weighs more, and pushes out those who are easy to place. Worse plans are accepted as in simulated
//! annealing, in cycles that begin at the best plan; ways that succeed are drawn more often.
//!
//! # Model
//! All rules through [`crate::grid`]; the budget as a penalty that every plan that is kept must not need. A makespan
//! objective is lowered by forbidding later ends than the best plan's less one tick.
//!
//! # Complexity
//! A round takes out at most 24 jobs; putting one in looks at each option that can still win, and at each node (a draw
//! of them in large clusters).
//!
//! # Limits
//! No bound and no proof. Refuses what the grid refuses.
//!
//! # References
//! S. Ropke, D. Pisinger, An adaptive large neighborhood search heuristic, 2006. J. Christiaens, G. Vanden Berghe, Slack
//! induction by string removals, 2020. Y. Nagata, O. Braysy, A powerful route minimization heuristic, 2009.

mod anneal;
pub mod insert;
pub mod moves;
pub mod realize;
mod recreate;
mod ruin;
mod walk;
mod wheel;

use rats_domain::instance::Instance;
use rats_domain::schedule::Schedule;
use rats_domain::solver::{About, Control, Outcome, Request, Solver, Stop};

use self::anneal::{Clockwork, anneal};
use self::recreate::construct;
use self::walk::{Best, Walk};
use crate::grid::Frame;

/// Rounds if neither the request nor the time limits them.
const ROUNDS: u64 = 2000;

/// Most plans built from nothing before the search begins.
const PASSES: u32 = 6;

/// The solver.
#[derive(Clone, Copy, Debug)]
pub struct LocalSearch;

impl Solver for LocalSearch {
    fn about(&self) -> About {
        About {
            id: "local_search",
            summary: "Adaptive large neighborhood search on an incremental state, any objective.",
            exact: false,
            baseline: false,
        }
    }

    fn refuses(&self, instance: &Instance) -> Option<String> {
        Frame::new(instance).err()
    }

    fn solve(&self, instance: &Instance, request: &Request, control: &dyn Control) -> Outcome {
        let (schedule, stop) = search(instance, request.warm_start.as_ref(), request.seed, request.iterations, control);
        match schedule {
            Some(schedule) => Outcome::Feasible { schedule, bound: None, stop },
            None => Outcome::Unknown { bound: None, stop },
        }
    }
}

/// The best plan found from `start`, which must be valid, or from nothing; `None` if none was found.
pub fn improve(
    instance: &Instance,
    start: Option<&Schedule>,
    seed: u64,
    iterations: Option<u64>,
    control: &dyn Control,
) -> Option<Schedule> {
    search(instance, start, seed, iterations, control).0
}

fn search(
    instance: &Instance,
    start: Option<&Schedule>,
    seed: u64,
    iterations: Option<u64>,
    control: &dyn Control,
) -> (Option<Schedule>, Stop) {
    let Ok(frame) = Frame::new(instance) else { return (None, Stop::Memory) };
    let mut walk = Walk::new(&frame, seed);
    let mut best = Best::default();
    if let Some(start) = start {
        best.offer_schedule(instance, start.clone(), control);
        walk.grid.take_over(start);
        walk.set_bank();
        best.offer(&walk, control);
    }
    if best.placings.is_none() {
        construct(&mut walk, PASSES, control);
    }
    best.offer(&walk, control);
    let rounds = iterations.or_else(|| control.remaining().is_none().then_some(ROUNDS));
    let whole = control.remaining().map(|left| left.as_secs_f64());
    let stop = anneal(&mut walk, &mut best, &Clockwork { control, rounds, whole });
    best.settle(&mut walk, control);
    (best.schedule, stop)
}

#[cfg(test)]
mod tests;
