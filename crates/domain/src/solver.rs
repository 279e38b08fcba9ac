//! What a solver is: a function from an instance to an outcome, under a request and a control.
//!
//! The solver proposes, the checker disposes: whoever runs a solver checks what comes back (see `rats_solvers::run`).

use std::time::Duration;

use crate::instance::Instance;
use crate::schedule::Schedule;

/// A method that makes schedules.
pub trait Solver: Sync {
    /// Who it is.
    fn about(&self) -> About;

    /// Why it cannot take this instance; `None` if it can.
    fn refuses(&self, _instance: &Instance) -> Option<String> {
        None
    }

    /// Solves the instance.
    fn solve(&self, instance: &Instance, request: &Request, control: &dyn Control) -> Outcome;
}

/// What a solver says of itself.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its name on the command line, equal to its module's name.
    pub id: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Whether it proves optimality and infeasibility, given time.
    pub exact: bool,
    /// Whether its schedule is part of its definition and must not be improved after it (a baseline).
    pub baseline: bool,
}

/// What is asked of a solver, beside the instance.
#[derive(Clone, Debug)]
pub struct Request {
    /// Seed of everything random.
    pub seed: u64,
    /// Threads it may use.
    pub threads: usize,
    /// Most iterations, for methods that iterate.
    pub iterations: Option<u64>,
    /// Relative gap at which to stop.
    pub gap: f64,
    /// A valid schedule to start from.
    pub warm_start: Option<Schedule>,
}

impl Default for Request {
    fn default() -> Self {
        Self { seed: 0, threads: 1, iterations: None, gap: 0.0, warm_start: None }
    }
}

/// Time, interruption and progress, given by the caller.
pub trait Control: Sync {
    /// Why to stop now; `None` to go on.
    fn stop(&self) -> Option<Stop>;

    /// Time left; `None` without a limit.
    fn remaining(&self) -> Option<Duration>;

    /// Takes note of how far the solver has come.
    fn progress(&self, progress: Progress);
}

/// How far a solver has come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Objective of the best schedule so far.
    pub incumbent: Option<f64>,
    /// Best lower bound so far.
    pub bound: Option<f64>,
}

/// Why a solver stopped without a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The time was up.
    Deadline,
    /// The iterations were used up.
    Iterations,
    /// The user interrupted it.
    Interrupted,
    /// It saw no way to improve.
    Stalled,
    /// It would have needed more memory or a larger model than allowed.
    Memory,
    /// The method came to its natural end.
    Finished,
}

/// What came of a solver.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A schedule within the asked gap of a proven bound.
    Optimal {
        /// The schedule.
        schedule: Schedule,
        /// The proven lower bound.
        bound: f64,
    },
    /// A schedule.
    Feasible {
        /// The schedule.
        schedule: Schedule,
        /// A proven lower bound, if any.
        bound: Option<f64>,
        /// Why it is not better.
        stop: Stop,
    },
    /// Proof that there is no schedule.
    Infeasible {
        /// Why, in words.
        reason: String,
    },
    /// Neither a schedule nor a proof.
    Unknown {
        /// A proven lower bound on any schedule there may be.
        bound: Option<f64>,
        /// Why not.
        stop: Stop,
    },
}

impl Stop {
    /// The word for it in files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Deadline => "deadline",
            Self::Iterations => "iterations",
            Self::Interrupted => "interrupted",
            Self::Stalled => "stalled",
            Self::Memory => "memory",
            Self::Finished => "finished",
        }
    }
}

/// A control without limits that takes note of nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unlimited;

impl Control for Unlimited {
    fn stop(&self) -> Option<Stop> {
        None
    }

    fn remaining(&self) -> Option<Duration> {
        None
    }

    fn progress(&self, _: Progress) {}
}
