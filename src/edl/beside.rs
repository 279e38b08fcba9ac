//! Our solvers on the same tasks, under the rules of the model.
//!
//! The instances are those of `rats generate edl`; savings are against `fifo_max`, which runs every task at its default
//! clocks at once. What no plan can save is known from the lower bound, so each saving is also stated as a share of the
//! most that the bound allows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rats_domain::codes::Code;
use rats_domain::problem::Problem;
use rats_domain::solver::{Request, Solver};
use serde::Serialize;

use crate::baseline;
use crate::control::{Display, RunControl};
use crate::generate::{Family, Wanted, generate};

/// Which instances, solved how.
#[derive(Clone, Copy, Debug)]
pub struct Contest {
    /// Seed of the instance and of the solvers.
    pub seed: u64,
    /// GPUs of a node.
    pub per_server: u32,
    /// Tasks that come over a day.
    pub online: bool,
    /// Time for each solver.
    pub limit: Duration,
    /// Threads for each solver.
    pub threads: usize,
}

/// One solver on one instance.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Seed of the instance.
    pub seed: u64,
    /// GPUs of a node.
    pub per_server: u32,
    /// The solver.
    pub solver: &'static str,
    /// Energy of its plan, J; none without a plan.
    pub energy: Option<f64>,
    /// The best lower bound known at the end of the contest, J.
    pub bound: f64,
    /// Energy saved against the baseline, percent.
    pub saving: Option<f64>,
    /// The most that the bound allows, percent.
    pub allowed: f64,
    /// `saving` as a part of `allowed`, percent.
    pub share: Option<f64>,
    /// Time taken, s.
    pub wall_s: f64,
}

/// Runs the solvers; an interruption leaves out those that did not start.
///
/// # Errors
/// There is no such instance, or a solver refuses it or breaks its rules.
pub fn contest(
    contest: &Contest,
    solvers: &[&'static dyn Solver],
    interrupted: &Arc<AtomicBool>,
) -> Result<Vec<Entry>, Problem> {
    let family = if contest.online { Family::EdlOnline } else { Family::Edl };
    let gpus_per_node = Some(contest.per_server);
    let wanted = Wanted { family, seed: contest.seed, jobs: None, nodes: None, gpus_per_node };
    let instance = generate(&wanted)?.instance;
    let report = baseline::report(&instance).and_then(|report| report.evaluation);
    let base = report.map(|evaluation| evaluation.terms.energy.joules());
    let base = base.ok_or_else(|| Problem::new(Code::U08, &instance.name, "the baseline has no energy."))?;
    let mut entries = Vec::new();
    let mut best_bound = f64::NEG_INFINITY;
    for solver in solvers.iter().take_while(|_| !interrupted.load(Ordering::Relaxed)) {
        let id = solver.about().id;
        let request = Request { seed: contest.seed, threads: contest.threads, ..Request::default() };
        let control = RunControl::start(Some(contest.limit), Arc::clone(interrupted), Display::Quiet);
        let solved = rats_solvers::run(*solver, &instance, &request, &control);
        let wall_s = control.elapsed().as_secs_f64();
        let solved = solved.map_err(|fault| Problem::new(Code::U04, id, format!("{fault}.")))?;
        best_bound = solved.bound.map_or(best_bound, |bound| best_bound.max(bound));
        entries.push((id, solved.plan.map(|plan| plan.evaluation().terms.energy.joules()), wall_s));
    }
    let allowed = 100.0 * (1.0 - best_bound / base);
    let entry = |(solver, energy, wall_s): (&'static str, Option<f64>, f64)| {
        let saving = energy.map(|energy| 100.0 * (1.0 - energy / base));
        let share = saving.map(|saving| 100.0 * saving / allowed);
        let Contest { seed, per_server, .. } = *contest;
        Entry { seed, per_server, solver, energy, bound: best_bound, saving, allowed, share, wall_s }
    };
    Ok(entries.into_iter().map(entry).collect())
}
