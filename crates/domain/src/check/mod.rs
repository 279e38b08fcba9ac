//! The checker: every rule V1..V13 that a plan breaks, and what the plan is worth.
//!
//! It trusts nothing in the plan: names are resolved here, the objective is recomputed, and a claim is compared. It
//! lives in a crate that knows no solver.

mod jobs;
mod loads;
mod power;
mod resolve;

use crate::codes::Code;
use crate::evaluate::{Evaluation, Occupancy, evaluate_occupancy};
use crate::format::PlanFile;
use crate::ids::JobId;
use crate::instance::{Instance, MAX_TICK};
use crate::interval::Interval;
use crate::problem::{Problem, Problems, Warning};
use crate::schedule::Schedule;
use crate::topology::DomainKind;
use crate::units::Ticks;

/// One broken rule: one per code, job or place, and maximal interval of ticks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The rule.
    pub code: Code,
    /// The job that breaks it, for V1-V5 and V12.
    pub job: Option<String>,
    /// Where it is broken, for V6-V10 and V13: a GPU, node, island, switch, `storage` or `cluster`.
    pub place: Option<String>,
    /// First tick of it.
    pub tick: Option<Ticks>,
    /// First tick after it.
    pub end: Option<Ticks>,
    /// What is wrong.
    pub message: String,
}

/// What the checker found.
#[derive(Clone, Debug)]
pub struct Report {
    /// Every broken rule; none if the plan is valid.
    pub violations: Vec<Violation>,
    /// What looked suspicious.
    pub warnings: Vec<Warning>,
    /// What the plan is worth; `None` if V1 or V2 is broken.
    pub evaluation: Option<Evaluation>,
    schedule: Schedule,
}

/// A plan that satisfies every rule of its instance. It comes only out of [`Report::into_checked`].
#[derive(Clone, Debug)]
pub struct CheckedPlan {
    schedule: Schedule,
    evaluation: Evaluation,
}

/// Checks a plan against its instance.
///
/// # Errors
/// A start or interval bound outside the range of ticks: the file is damaged, not merely invalid.
pub fn check(instance: &Instance, plan: &PlanFile) -> Result<Report, Problems> {
    ranges(plan)?;
    let (schedule, mut violations) = resolve::resolve(instance, plan);
    let whole = violations.is_empty();
    let stated = resolve::power_entries(instance, plan, &mut violations);
    let schedule = Schedule { power: stated, ..schedule };
    let occupancy = Occupancy::new(instance, &schedule);
    let evaluation = evaluate_occupancy(&occupancy);
    rules(&occupancy, &evaluation, &mut violations);
    let evaluation = whole.then_some(evaluation);
    let warnings = claims(instance, plan, evaluation.as_ref());
    Ok(Report { violations, warnings, evaluation, schedule })
}

/// Checks a schedule, by way of the plan file that states it.
///
/// # Errors
/// A start or interval bound outside the range of ticks.
pub fn check_schedule(instance: &Instance, schedule: &Schedule) -> Result<Report, Problems> {
    check(instance, &schedule.to_plan(instance))
}

fn rules(occupancy: &Occupancy<'_>, evaluation: &Evaluation, violations: &mut Vec<Violation>) {
    jobs::span(occupancy, violations);
    jobs::window(occupancy, violations);
    jobs::precedence(occupancy, violations);
    loads::gpus(occupancy, violations);
    loads::resources(occupancy, violations);
    loads::uplinks(occupancy, violations);
    loads::storage(occupancy, violations);
    power::caps(occupancy, violations);
    power::budget(occupancy, evaluation, violations);
    jobs::availability(occupancy, violations);
    power::intervals(occupancy, violations);
    violations.sort_by_key(|violation| (violation.code, violation.tick));
}

fn ranges(plan: &PlanFile) -> Result<(), Problems> {
    let mut problems = Vec::new();
    let mut judge = |place: String, value: i64| {
        if !(-MAX_TICK..=MAX_TICK).contains(&value) {
            problems.push(Problem::new(
                Code::P01,
                place,
                format!("{value} is not between {} and {MAX_TICK}.", -MAX_TICK),
            ));
        }
    };
    for (position, assignment) in plan.assignments.iter().enumerate() {
        judge(format!("assignments[{position}].start"), assignment.start);
    }
    for (node, intervals) in &plan.power {
        for (position, &(from, to)) in intervals.iter().enumerate() {
            judge(format!("power.{node}[{position}][0]"), from);
            judge(format!("power.{node}[{position}][1]"), to);
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
}

fn claims(instance: &Instance, plan: &PlanFile, evaluation: Option<&Evaluation>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if let (Some(stated), Some(actual)) = (&plan.instance_sha256, &instance.sha256)
        && stated != actual
    {
        let message = format!("the plan was made for an instance file with hash {stated}, this one has {actual}.");
        warnings.push(Warning::new(Code::W1, "instance_sha256", message));
    }
    if let Some(stated) = plan.instance.as_ref().filter(|stated| **stated != instance.name) {
        let message = format!("the plan names instance `{stated}`, this one is `{}`.", instance.name);
        warnings.push(Warning::new(Code::W5, "instance", message));
    }
    if let (Some(claimed), Some(evaluation)) = (plan.objective, evaluation) {
        let actual = evaluation.objective;
        if (claimed - actual).abs() > 1e-6 * actual.abs().max(claimed.abs()) || !claimed.is_finite() {
            let message = format!("the plan claims {claimed}, evaluation gives {actual}.");
            warnings.push(Warning::new(Code::W2, "objective", message));
        }
    }
    warnings
}

impl Report {
    /// Whether the plan satisfies every rule.
    pub fn is_valid(&self) -> bool {
        self.violations.is_empty()
    }

    /// The schedule that the plan states, without assignments that break V1 or V2.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The checked plan, or the violations that forbid it.
    ///
    /// # Errors
    /// The violations, if there are any.
    pub fn into_checked(self) -> Result<CheckedPlan, Vec<Violation>> {
        match self.evaluation {
            Some(evaluation) if self.violations.is_empty() => Ok(CheckedPlan { schedule: self.schedule, evaluation }),
            _ => Err(self.violations),
        }
    }
}

impl CheckedPlan {
    /// The schedule.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// What it is worth.
    pub fn evaluation(&self) -> &Evaluation {
        &self.evaluation
    }
}

impl Violation {
    fn of_job(code: Code, instance: &Instance, job: JobId, tick: Ticks, message: String) -> Self {
        let job = Some(instance.jobs[job].id.clone());
        Self { code, job, place: None, tick: Some(tick), end: None, message }
    }

    fn at_place(code: Code, place: impl Into<String>, interval: Interval, message: String) -> Self {
        let (tick, end) = (Some(interval.from), Some(interval.to));
        Self { code, job: None, place: Some(place.into()), tick, end, message }
    }
}

/// The name of a domain in messages: switch or node id, `node/island/K`, `node/index`.
pub fn domain_name(instance: &Instance, kind: DomainKind) -> String {
    let cluster = &instance.cluster;
    match kind {
        DomainKind::Switch(switch) => cluster.switches[switch].id.clone(),
        DomainKind::Node(node) => cluster.nodes[node].id.clone(),
        DomainKind::Island(node, island) => format!("{}/island/{island}", cluster.nodes[node].id),
        DomainKind::Gpu(gpu) => cluster.gpu_name(gpu),
    }
}

/// Ticks of an interval in words.
fn during(interval: Interval) -> String {
    if interval.len() == Ticks(1) {
        format!("in tick {}", interval.from)
    } else {
        format!("in ticks [{}, {})", interval.from, interval.to)
    }
}
