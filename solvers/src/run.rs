//! Runs a solver: cheap proofs first, then the solver, then the promise of the model, then the checker.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rats_domain::check::{CheckedPlan, Violation, check_schedule};
use rats_domain::instance::Instance;
use rats_domain::objective::gap;
use rats_domain::schedule::Schedule;
use rats_domain::solver::{Control, Outcome, Progress, Request, Solver, Stop};

use crate::bounds;
use crate::judged::valid_objective;
use crate::left_shift::left_shift;
use crate::plain_power::plain_power;

/// Gap within which a plan counts as proved optimal.
pub const PROOF_GAP: f64 = 1e-9;

/// What is known at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The plan is optimal, or within the gap that was asked for.
    Optimal,
    /// There is a plan.
    Feasible,
    /// There is no plan.
    Infeasible,
    /// Neither a plan nor a proof.
    Unknown,
}

/// The result of a run; its plan has passed the checker.
#[derive(Clone, Debug)]
pub struct Solved {
    /// What is known.
    pub status: Status,
    /// The plan, if there is one.
    pub plan: Option<CheckedPlan>,
    /// A proven lower bound, not above the plan's objective.
    pub bound: Option<f64>,
    /// Why it stopped short of a proof.
    pub stop: Option<Stop>,
    /// Why there is no plan, if that is proved.
    pub reason: Option<String>,
}

/// A run that could not take place or went wrong.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SolverFault {
    /// The solver does not take this instance.
    #[error("{0}")]
    Refused(String),
    /// The solver's schedule breaks rules: a bug.
    #[error("the solver's plan breaks {} rule(s), first: {}", .0.len(), .0.first().map_or("", |v| v.message.as_str()))]
    Invalid(Vec<Violation>),
}

impl Status {
    /// The word for it in files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Optimal => "optimal",
            Self::Feasible => "feasible",
            Self::Infeasible => "infeasible",
            Self::Unknown => "unknown",
        }
    }
}

impl Solved {
    /// Gap between the plan's objective and the bound.
    pub fn gap(&self) -> Option<f64> {
        Some(gap(self.plan.as_ref()?.evaluation().objective, self.bound?))
    }
}

/// Runs a solver on an instance.
///
/// # Errors
/// The solver refuses the instance, or its schedule breaks a rule.
pub fn run(
    solver: &dyn Solver,
    instance: &Instance,
    request: &Request,
    control: &dyn Control,
) -> Result<Solved, SolverFault> {
    if let Some(reason) = bounds::infeasible(instance) {
        return Ok(without_plan(Status::Infeasible, None, None, Some(reason)));
    }
    if let Some(reason) = solver.refuses(instance) {
        return Err(SolverFault::Refused(reason));
    }
    if solver.about().baseline && request.warm_start.is_some() {
        return Err(SolverFault::Refused("a baseline is what it is and takes no plan to start from".to_owned()));
    }
    let cheap = bounds::lower_bound(instance).value;
    control.progress(Progress { incumbent: None, bound: Some(cheap) });
    let watches = !solver.about().exact;
    let gap = request.gap.max(PROOF_GAP);
    let control = &Enough { control, bound: cheap, gap, watches, has_come: AtomicBool::new(false) };
    match solver.solve(instance, request, control) {
        Outcome::Optimal { schedule, bound } => with_plan(solver, instance, request, schedule, bound.max(cheap), None),
        Outcome::Feasible { schedule, bound, stop } => {
            with_plan(solver, instance, request, schedule, bound.map_or(cheap, |bound| bound.max(cheap)), Some(stop))
        }
        Outcome::Infeasible { reason } => Ok(without_plan(Status::Infeasible, None, None, Some(reason))),
        Outcome::Unknown { bound, stop } => {
            let bound = bound.map_or(cheap, |bound| bound.max(cheap));
            if let Some(start) = &request.warm_start {
                return with_plan(solver, instance, request, start.clone(), bound, Some(stop));
            }
            Ok(without_plan(Status::Unknown, Some(bound), Some(stop), None))
        }
    }
}

/// A control that ends a run as soon as a plan meets the bound that was known from the start.
struct Enough<'c> {
    control: &'c dyn Control,
    bound: f64,
    gap: f64,
    /// Exact methods stop by themselves; what they report on the way is not yet checked.
    watches: bool,
    has_come: AtomicBool,
}

impl Control for Enough<'_> {
    fn stop(&self) -> Option<Stop> {
        let has_come = self.has_come.load(Ordering::Relaxed);
        self.control.stop().or(has_come.then_some(Stop::Finished))
    }

    fn remaining(&self) -> Option<Duration> {
        self.control.remaining()
    }

    fn progress(&self, progress: Progress) {
        if self.watches && progress.incumbent.is_some_and(|value| gap(value, self.bound) <= self.gap) {
            self.has_come.store(true, Ordering::Relaxed);
        }
        self.control.progress(progress);
    }
}

fn with_plan(
    solver: &dyn Solver,
    instance: &Instance,
    request: &Request,
    schedule: Schedule,
    bound: f64,
    stop: Option<Stop>,
) -> Result<Solved, SolverFault> {
    let schedule = better_of(instance, schedule, request.warm_start.as_ref());
    let mut plan = checked(instance, &schedule)?;
    if !solver.about().baseline {
        let shifted = left_shift(instance, plain_power(instance, schedule));
        if shifted != *plan.schedule() {
            plan = checked(instance, &shifted)?;
        }
    }
    let objective = plan.evaluation().objective;
    let bound = bound.min(objective);
    let proved = gap(objective, bound) <= request.gap.max(PROOF_GAP);
    let status = if proved { Status::Optimal } else { Status::Feasible };
    let stop = if proved { None } else { stop.or(Some(Stop::Stalled)) };
    Ok(Solved { status, plan: Some(plan), bound: Some(bound), stop, reason: None })
}

/// The schedule, or the start that was given if that is better: no method may lose what it was handed.
fn better_of(instance: &Instance, schedule: Schedule, start: Option<&Schedule>) -> Schedule {
    let value = |schedule: &Schedule| valid_objective(instance, schedule);
    match start {
        Some(start) if value(start).is_some_and(|start| value(&schedule).is_none_or(|found| start < found)) => {
            start.clone()
        }
        _ => schedule,
    }
}

fn checked(instance: &Instance, schedule: &Schedule) -> Result<CheckedPlan, SolverFault> {
    let report = check_schedule(instance, schedule).map_err(|_| SolverFault::Invalid(Vec::new()))?;
    report.into_checked().map_err(SolverFault::Invalid)
}

fn without_plan(status: Status, bound: Option<f64>, stop: Option<Stop>, reason: Option<String>) -> Solved {
    Solved { status, plan: None, bound, stop, reason }
}
