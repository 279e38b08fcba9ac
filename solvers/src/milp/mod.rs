//! Time-indexed mixed-integer program, solved by `HiGHS`.
//!
//! # Idea
//! One binary for each job, option, pattern (how many GPUs of each set of interchangeable ones) and start; one for each
//! sleep node and tick in which it is powered. Every rule of the model is a row, so the optimum of the program is the
//! optimum of the instance, explicit powered intervals included.
//!
//! Before there is a program, as much as possible is decided: limits that cannot be exceeded are no rows and tell no GPUs
//! apart (`limits`, `cells`), a placement for which another can stand in has no columns (`placings`), and neither has a
//! start that the Lagrangian bound shows to be part of no plan better than the one that was given (`candidates`). That
//! plan is then a cutoff: only what is better is looked for. [`program`], which `export` writes, is the whole program.
//!
//! # Model
//! * x\[j,o,p,s\]: job j starts option o with pattern p at tick s. One per job.
//! * on\[n,t\], wake\[n,t\]: node n is powered in tick t, and begins to be.
//! * active\[t\]: some job ends after tick t; powers always-on nodes and measures the makespan.
//! * Rows: V5 (aggregated over starts, per tick), V6 per cell and tick, V7-V9 per capacity and tick, V10 per capped
//!   place and tick, V11, V13. V2-V4 and V12 decide which columns exist. Fixed jobs are constants.
//!
//! # Complexity
//! Columns: jobs x options x patterns x starts, as far as they are left; refused above [`COLUMN_LIMIT`].
//!
//! # Limits
//! Fractional powering of nodes makes the relaxation weak, and identical nodes are told apart; 20 jobs can be too many to
//! prove. What `HiGHS` returns is rounded to choices, recomputed and checked; a schedule that only its
//! tolerances allowed is cut off and the search goes on. A claimed infeasibility is solved again without presolve.
//!
//! # References
//! J. P. Sousa, L. A. Wolsey, A time indexed formulation of non-preemptive single machine scheduling problems, 1992.
//! Q. Huangfu, J. A. J. Hall, Parallelizing the dual revised simplex method, 2018 (`HiGHS`).

mod backend;
mod build;
mod candidates;
mod extract;
mod limits;
mod linear;
mod placings;
mod power;
mod precision;
mod rows;
mod watch;
pub mod write;

use rats_domain::instance::Instance;
use rats_domain::objective::gap;
use rats_domain::schedule::Schedule;
use rats_domain::solver::{About, Control, Outcome, Progress, Request, Solver, Stop};

pub(crate) use self::backend::{Answer, Asked, Verdict, solve as solve_program};
use self::build::{Built, Extent};
pub use self::candidates::Candidates;
pub use self::linear::{Column, ColumnId, Program, Row, Sense};
pub(crate) use self::precision::{Beat, bound as proved_bound};
use crate::judged::valid_objective;

/// Most start columns of a program.
pub const COLUMN_LIMIT: i64 = 400_000;
/// Why there is no plan, if the program shows it.
const NO_SOLUTION: &str =
    "the mixed-integer program of all rules has no solution (shown twice, with and without presolve)";
/// Most rounds in which a schedule that only tolerances allowed is cut off.
const MOST_CUTS: usize = 100;

/// The solver.
#[derive(Clone, Copy, Debug)]
pub struct Milp;

/// Why an instance has no program.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NoProgram {
    /// It would be too large.
    #[error("{0}")]
    TooLarge(String),
    /// No plan is valid, which shows before there is a program.
    #[error("{0}")]
    Infeasible(String),
}

/// The program of an instance, with every placement that keeps the rules by itself.
///
/// # Errors
/// Why there is none.
pub fn program(instance: &Instance) -> Result<Program, NoProgram> {
    Ok(build::build(instance, Extent::Whole)?.program)
}

impl Solver for Milp {
    fn about(&self) -> About {
        About {
            id: "milp",
            summary: "time-indexed mixed-integer program with every rule, solved by HiGHS",
            exact: true,
            baseline: false,
        }
    }

    fn refuses(&self, instance: &Instance) -> Option<String> {
        build::prepare(instance, Extent::Reduced(None)).err()
    }

    fn solve(&self, instance: &Instance, request: &Request, control: &dyn Control) -> Outcome {
        prove(instance, request, control, None)
    }
}

/// Solves an instance, of whose starts only `candidates` are looked at, if given: the proof is then one about them.
pub fn prove(
    instance: &Instance,
    request: &Request,
    control: &dyn Control,
    candidates: Option<&Candidates>,
) -> Outcome {
    let start = request.warm_start.clone();
    let best = start.and_then(|schedule| Some((valid_objective(instance, &schedule)?, schedule)));
    let beat = best.as_ref().map(|&(objective, _)| Beat::new(instance, objective, request.gap));
    let worth_finding = beat.map(|beat| {
        let mut left = candidates.cloned().unwrap_or_else(|| Candidates::all(instance));
        left.keep_below(instance, beat.threshold, control);
        left
    });
    let (built, reason) = match build::build(instance, Extent::Reduced(worth_finding.as_ref().or(candidates))) {
        Ok(built) => (built, None),
        Err(NoProgram::Infeasible(reason)) => (Built::default(), Some(reason)),
        Err(NoProgram::TooLarge(_)) => return Outcome::Unknown { bound: None, stop: Stop::Memory },
    };
    let search = Search { instance, request, control, built, best, beat };
    match reason {
        Some(reason) => search.exhausted(reason),
        None => search.run(),
    }
}

struct Search<'a> {
    instance: &'a Instance,
    request: &'a Request,
    control: &'a dyn Control,
    built: Built,
    best: Option<(f64, Schedule)>,
    /// What the plan that was given leaves to beat.
    beat: Option<Beat>,
}

impl Search<'_> {
    fn run(mut self) -> Outcome {
        let mut bound = None;
        for _ in 0..MOST_CUTS {
            let answer = backend::solve(&self.built.program, &self.asked(true), self.control);
            let answer = match answer.verdict {
                // Presolve has been wrong about infeasibility before: ask again without it. That nothing beats a known
                // plan is no bolder a claim than a bound, and taken as one.
                Verdict::Infeasible if self.beat.is_none() => {
                    backend::solve(&self.built.program, &self.asked(false), self.control)
                }
                _ => answer,
            };
            bound = strongest(bound, precision::bound(self.instance, &self.built.program, &answer));
            let Answer { verdict, values, .. } = answer;
            match verdict {
                Verdict::Infeasible => return self.exhausted(NO_SOLUTION.to_owned()),
                Verdict::Stopped(stop) => {
                    if let Some(values) = values {
                        self.offer(extract::schedule(self.instance, &self.built, &values));
                    }
                    return self.stopped(bound, stop);
                }
                Verdict::Optimal => {
                    let Some(values) = values else { break };
                    let schedule = extract::schedule(self.instance, &self.built, &values);
                    if self.offer(schedule) {
                        return self.stopped(bound, Stop::Finished);
                    }
                    extract::cut_off(&mut self.built, &values);
                }
            }
        }
        self.stopped(bound, Stop::Stalled)
    }

    fn asked(&self, presolve: bool) -> Asked {
        let below = self.beat.map(|beat| self.built.program.scaled(beat.threshold));
        Asked { presolve, threads: self.request.threads, gap: self.request.gap, below }
    }

    /// Whether the incumbent is within the asked gap of the bound.
    fn is_proved(&self, bound: Option<f64>) -> bool {
        let limit = self.request.gap.max(crate::PROOF_GAP);
        self.best.as_ref().zip(bound).is_some_and(|((objective, _), bound)| gap(*objective, bound) <= limit)
    }

    /// Takes a schedule if the checker does; `false` if it breaks a rule.
    fn offer(&mut self, schedule: Schedule) -> bool {
        let Some(objective) = valid_objective(self.instance, &schedule) else { return false };
        if self.best.as_ref().is_none_or(|(best, _)| objective < *best) {
            self.best = Some((objective, schedule));
            self.control.progress(Progress { incumbent: Some(objective), bound: None });
        }
        true
    }

    /// Nothing is left to find: what was found, if anything, is optimal.
    fn exhausted(self, reason: String) -> Outcome {
        let proved = self.beat.map(|beat| beat.proved);
        match self.best {
            Some((objective, schedule)) => {
                Outcome::Optimal { schedule, bound: proved.unwrap_or(objective).min(objective) }
            }
            None => Outcome::Infeasible { reason },
        }
    }

    fn stopped(self, bound: Option<f64>, stop: Stop) -> Outcome {
        // The bound is one on plans that beat what was given.
        let bound = bound.map(|bound| match self.beat {
            Some(beat) if bound >= beat.threshold => beat.proved,
            _ => bound,
        });
        let proved = self.is_proved(bound);
        match (self.best, bound) {
            (Some((objective, schedule)), Some(bound)) if proved => {
                Outcome::Optimal { schedule, bound: bound.min(objective) }
            }
            (Some((_, schedule)), bound) => Outcome::Feasible { schedule, bound, stop },
            (None, bound) => Outcome::Unknown { bound, stop },
        }
    }
}

fn strongest(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}
