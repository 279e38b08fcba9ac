//! Time-indexed mixed-integer program, solved by `HiGHS`.
//!
//! # Idea
//! One binary for each job, option, pattern (how many GPUs of each set of interchangeable ones) and start; one for each
//! sleep node and tick in which it is powered. Every rule of the model is a row, so the optimum of the program is the
//! optimum of the instance, explicit powered intervals included.
//!
//! # Model
//! * x\[j,o,p,s\]: job j starts option o with pattern p at tick s. One per job.
//! * on\[n,t\], wake\[n,t\]: node n is powered in tick t, and begins to be.
//! * active\[t\]: some job ends after tick t; powers always-on nodes and measures the makespan.
//! * Rows: V5 (aggregated over starts, per tick), V6 per cell and tick, V7-V9 per capacity and tick, V10 per capped
//!   place and tick, V11, V13. V2-V4 and V12 decide which columns exist. Fixed jobs are constants.
//!
//! # Complexity
//! Columns: jobs x options x patterns x starts; refused above [`COLUMN_LIMIT`].
//!
//! # Limits
//! Fractional powering of nodes makes the relaxation weak, and identical nodes are not told apart; 20 jobs can be too
//! many to prove. What `HiGHS` returns is rounded to choices, recomputed and checked; a schedule that only its
//! tolerances allowed is cut off and the search goes on. A claimed infeasibility is solved again without presolve.
//!
//! # References
//! J. P. Sousa, L. A. Wolsey, A time indexed formulation of non-preemptive single machine scheduling problems, 1992.
//! Q. Huangfu, J. A. J. Hall, Parallelizing the dual revised simplex method, 2018 (`HiGHS`).

mod backend;
mod build;
mod candidates;
mod cells;
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

use self::backend::{Answer, Asked, Verdict};
use self::build::{Built, Extent};
pub use self::candidates::Candidates;
pub use self::linear::{Column, ColumnId, Program, Row, Sense};
use crate::judged::valid_objective;

/// Most start columns of a program.
pub const COLUMN_LIMIT: i64 = 400_000;
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

/// Solves an instance of which only `candidates`, if given, can appear in a plan better than the request's start.
pub fn prove(
    instance: &Instance,
    request: &Request,
    control: &dyn Control,
    candidates: Option<&Candidates>,
) -> Outcome {
    match build::build(instance, Extent::Reduced(candidates)) {
        Ok(built) => Search { instance, request, control, built, best: None, starts_warm: true }.run(),
        Err(NoProgram::Infeasible(reason)) => infeasible(instance, request, reason),
        Err(NoProgram::TooLarge(_)) => Outcome::Unknown { bound: None, stop: Stop::Memory },
    }
}

/// The outcome where nothing beats the request's start, or there is no plan at all.
fn infeasible(instance: &Instance, request: &Request, reason: String) -> Outcome {
    let start = request.warm_start.as_ref();
    match start.and_then(|schedule| Some((valid_objective(instance, schedule)?, schedule.clone()))) {
        Some((bound, schedule)) => Outcome::Optimal { schedule, bound },
        None => Outcome::Infeasible { reason },
    }
}

struct Search<'a> {
    instance: &'a Instance,
    request: &'a Request,
    control: &'a dyn Control,
    built: Built,
    best: Option<(f64, Schedule)>,
    /// Whether `HiGHS` is given the incumbent to start from.
    starts_warm: bool,
}

impl Search<'_> {
    fn run(mut self) -> Outcome {
        if let Some(warm) = &self.request.warm_start {
            self.offer(warm.clone());
        }
        let mut bound = None;
        for _ in 0..MOST_CUTS {
            let answer = backend::solve(&self.built.program, &self.asked(true), self.control);
            let answer = match answer.verdict {
                // Presolve has been wrong about infeasibility before: ask again without it.
                Verdict::Infeasible => backend::solve(&self.built.program, &self.asked(false), self.control),
                _ => answer,
            };
            bound = strongest(bound, precision::bound(self.instance, &self.built.program, &answer));
            let Answer { verdict, values, .. } = answer;
            match verdict {
                Verdict::Infeasible => return self.exhausted(),
                Verdict::Stopped(stop) => {
                    if let Some(values) = values {
                        self.offer(extract::schedule(self.instance, &self.built, &values));
                    }
                    return self.stopped(bound, stop);
                }
                Verdict::Optimal => {
                    let values = values.unwrap_or_default();
                    let schedule = extract::schedule(self.instance, &self.built, &values);
                    if self.offer(schedule) {
                        if self.is_proved(bound) || !self.starts_warm {
                            return self.stopped(bound, Stop::Finished);
                        }
                        // HiGHS 1.16 can map a start into its presolved space with too low an objective and then stop
                        // at that: what it calls optimal is not what it found. Ask again without a start.
                        self.starts_warm = false;
                        continue;
                    }
                    extract::cut_off(&mut self.built, &values);
                }
            }
        }
        self.stopped(bound, Stop::Stalled)
    }

    fn asked(&self, presolve: bool) -> Asked {
        let incumbent = self.best.as_ref().filter(|_| self.starts_warm);
        let start = incumbent.and_then(|(_, schedule)| extract::start(self.instance, &self.built, schedule));
        Asked { presolve, threads: self.request.threads, gap: self.request.gap, start }
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
    fn exhausted(self) -> Outcome {
        match self.best {
            Some((objective, schedule)) => Outcome::Optimal { schedule, bound: objective },
            None => Outcome::Infeasible {
                reason:
                    "the mixed-integer program of all rules has no solution (shown twice, with and without presolve)"
                        .to_owned(),
            },
        }
    }

    fn stopped(self, bound: Option<f64>, stop: Stop) -> Outcome {
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
