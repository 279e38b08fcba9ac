//! The trade-off between energy and time or money: plans of which none is better in both, with bounds.
//!
//! # Idea
//! Epsilon-constraint: one of the two is limited, the other minimized, under limits that get tighter. Each limit is an
//! instance of its own ([`derive`]), so that every solver can be used and every plan is judged as any other. A plan found
//! under one limit is a start under every limit that it keeps.
//!
//! # Model
//! Against makespan, the makespan is limited (by the horizon) and the energy minimized. Against cost and tardiness, the
//! energy is limited (by the budget) and the other minimized, plus a millionth part of energy, so that of equal plans the
//! one of least energy counts (augmented epsilon-constraint). The tightest limit comes first: the least value of what is
//! limited. Then limits go from none to the tightest; each is at least a step below the last limit, the range divided by
//! the number of points asked for, and below what the last plan used. With a step of one unit, and an exact solver, the
//! points are the whole frontier. Where the tightest limit is not proved, limits go on until the solver finds no plan.
//!
//! The bound found under a limit holds for every plan that keeps it: together the bounds are a staircase below which no
//! plan lies, whether or not the solver is exact.
//!
//! # Complexity
//! At most the number of points asked for plus three solves, and some more where the tightest limit is not proved.
//!
//! # Limits
//! A step larger than one unit leaves out points between limits. Values that differ by less than a millionth part of the
//! range are not told apart against cost and tardiness.
//!
//! # References
//! Y. Y. Haimes, L. S. Lasdon, D. A. Wismer, "On a bicriterion formulation of the problems of integrated system
//! identification and system optimization", 1971 (epsilon-constraint). G. Mavrotas, "Effective implementation of the
//! epsilon-constraint method in multi-objective mathematical programming problems", 2009 (augmented).

mod derive;
pub mod plot;
#[cfg(test)]
mod tests;

use rats_domain::check::{CheckedPlan, check_schedule};
use rats_domain::codes::Code;
use rats_domain::format::InstanceFile;
use rats_domain::instance::Instance;
use rats_domain::problem::{Problem, Problems};
use rats_domain::schedule::Schedule;
use rats_domain::solver::{Control, Request, Solver};
use rats_solvers::{Solved, Status};
use serde::Serialize;

use self::derive::{Goal, derived};

/// What energy is weighed against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Against {
    /// The end of the last job.
    Makespan,
    /// The price of the energy; the instance needs a tariff.
    Cost,
    /// Weighted lateness beyond due times.
    Tardiness,
}

/// How to trace a frontier.
pub struct Trace<'t> {
    /// The instance as it stands in its file.
    pub file: &'t InstanceFile,
    /// The same, validated.
    pub instance: &'t Instance,
    /// What energy is weighed against.
    pub against: Against,
    /// The method.
    pub solver: &'t dyn Solver,
    /// Seed and threads.
    pub request: Request,
    /// Number of limits between the ends.
    pub points: u32,
    /// Makes the control of one solve.
    pub control: &'t dyn Fn() -> Box<dyn Control>,
}

/// A plan that no other one found beats in both terms.
#[derive(Clone, Debug)]
pub struct Point {
    /// Energy, mJ.
    pub energy_mj: i128,
    /// The other term, in its unit.
    pub other: f64,
    /// The plan, judged by the instance itself.
    pub plan: CheckedPlan,
}

/// No plan that keeps a limit has less than this of the other term.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stair {
    /// The limit: makespan in s, or energy in J.
    pub limit: f64,
    /// The bound: energy in J, or the other term in its unit; `None` if nothing is known.
    pub bound: Option<f64>,
    /// Whether the best plan under the limit was proved.
    pub proved: bool,
}

/// Points by rising makespan, cost or tardiness, and what is proved.
#[derive(Clone, Debug)]
pub struct Frontier {
    /// The points.
    pub points: Vec<Point>,
    /// By falling limit.
    pub stairs: Vec<Stair>,
    /// A bound on what is limited, in s or J: no plan has less of it.
    pub least: Option<f64>,
    /// Whether the points are proved to be the whole frontier.
    pub complete: bool,
    /// Why there is no point, if that is proved.
    pub infeasible: Option<String>,
}

impl Against {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Makespan => "makespan",
            Self::Cost => "cost",
            Self::Tardiness => "tardiness",
        }
    }

    /// Its value in a plan, in its unit.
    pub fn value(self, instance: &Instance, plan: &CheckedPlan) -> f64 {
        let terms = &plan.evaluation().terms;
        match self {
            Self::Makespan => terms.makespan.seconds(instance.tick),
            Self::Cost => terms.cost.unwrap_or(0.0),
            Self::Tardiness => terms.tardiness * instance.tick.0 as f64,
        }
    }

    /// What is limited, in ticks or mJ.
    fn limited(self, plan: &CheckedPlan) -> i128 {
        let terms = &plan.evaluation().terms;
        if self == Self::Makespan { i128::from(terms.makespan.0) } else { terms.energy.0 }
    }
}

/// One trace under way.
struct Tracer<'t> {
    trace: &'t Trace<'t>,
    plans: Vec<CheckedPlan>,
    stairs: Vec<Stair>,
    /// Weight of energy beside the other term.
    aside: u32,
    proved: bool,
}

/// Traces the frontier.
///
/// # Errors
/// The instance has no such term, or the solver refuses it or breaks its rules.
pub fn trace(trace: &Trace<'_>) -> Result<Frontier, Problems> {
    if trace.against == Against::Cost && trace.instance.tariff.is_none() {
        return Err(Problem::new(Code::U05, "--against cost", "the instance has no tariff.").into());
    }
    let mut tracer = Tracer { trace, plans: Vec::new(), stairs: Vec::new(), aside: 0, proved: true };
    let tightest = tracer.solve(Goal::Least)?;
    let least = tightest.bound.filter(|bound| bound.is_finite());
    if tightest.status == Status::Infeasible {
        let complete = true;
        return Ok(Frontier { points: Vec::new(), stairs: Vec::new(), least, complete, infeasible: tightest.reason });
    }
    tracer.aside = tracer.small_weight();
    let loosest = tracer.solve(Goal::Within(None))?;
    let step = tracer.walk(&tightest, &loosest)?;
    let complete = tracer.proved && step <= 1;
    let points = tracer.points();
    Ok(Frontier { points, stairs: lifted(tracer.stairs), least, complete, infeasible: None })
}

/// What holds under a looser limit holds under a tighter one.
fn lifted(mut stairs: Vec<Stair>) -> Vec<Stair> {
    stairs.sort_by(|a, b| b.limit.total_cmp(&a.limit));
    let mut highest = None;
    for stair in &mut stairs {
        highest = stair.bound.into_iter().chain(highest).max_by(f64::total_cmp);
        stair.bound = highest;
    }
    stairs
}

impl Frontier {
    /// The bound on what is minimized, for every plan that uses no more of what is limited than a point does.
    pub fn bound_at(&self, against: Against, point: &Point) -> Option<f64> {
        let used = if against == Against::Makespan { point.other } else { point.energy_mj as f64 / 1000.0 };
        self.stairs.iter().rev().find(|stair| stair.limit >= used)?.bound
    }
}

impl Tracer<'_> {
    /// Tightens the limit from the loosest plan's value until nothing fits any more, and returns the step.
    fn walk(&mut self, tightest: &Solved, loosest: &Solved) -> Result<i128, Problems> {
        let against = self.trace.against;
        let (Some(tight), Some(loose)) = (&tightest.plan, &loosest.plan) else { return Ok(i128::MAX) };
        let (end, mut used) = (against.limited(tight), against.limited(loose));
        let step = ((used - end) / i128::from(self.trace.points.max(1))).max(1);
        // A solver that is not exact may still find a plan below the least that it found at first.
        let proved = tightest.status == Status::Optimal;
        let mut limit = used;
        while used > 1 && (used > end || !proved) && (self.trace.control)().stop().is_none() {
            let next = (limit - step).min(used - 1);
            limit = if used > end { next.max(end) } else { next };
            let solved = self.solve(Goal::Within(Some(limit)))?;
            let Some(plan) = solved.plan else { break };
            used = against.limited(&plan).min(limit);
        }
        Ok(step)
    }

    fn solve(&mut self, goal: Goal) -> Result<Solved, Problems> {
        let Trace { file, instance, against, solver, .. } = self.trace;
        let derived = derived(file, *against, goal, self.aside)?;
        let id = solver.about().id;
        let request = Request { warm_start: self.start(&derived), ..self.trace.request.clone() };
        let control = (self.trace.control)();
        let solved = rats_solvers::run(*solver, &derived, &request, &*control);
        let solved = solved.map_err(|fault| Problem::new(Code::U04, id, format!("{fault}.")))?;
        self.proved &= matches!(solved.status, Status::Optimal | Status::Infeasible);
        if let Some(plan) = &solved.plan {
            self.plans.push(judged(instance, plan.schedule())?);
        }
        if let Goal::Within(limit) = goal {
            self.stairs.extend(self.stair(limit, &derived, &solved));
        }
        Ok(solved)
    }

    /// The best plan so far that is valid under a limit.
    fn start(&self, derived: &Instance) -> Option<Schedule> {
        if self.trace.solver.about().baseline {
            return None;
        }
        let valid = self.plans.iter().filter_map(|plan| judged(derived, plan.schedule()).ok());
        let best = valid.min_by(|a, b| a.evaluation().objective.total_cmp(&b.evaluation().objective));
        best.map(|plan| plan.schedule().clone())
    }

    /// What a solve proves of all plans under its limit; without one, of those that use no more than its plan.
    fn stair(&self, limit: Option<i128>, derived: &Instance, solved: &Solved) -> Option<Stair> {
        let own = || match self.trace.against {
            Against::Makespan => Some(i128::from(derived.horizon.0)),
            Against::Cost | Against::Tardiness => solved.plan.as_ref().map(|plan| self.trace.against.limited(plan)),
        };
        let limit = self.in_units(limit.or_else(own)?);
        // Where energy stands beside the other term, it adds no more than its weight times the limit to the bound.
        let beside =
            if self.trace.against == Against::Makespan { 0.0 } else { derived.objective.energy * limit.max(0.0) };
        // Energy and tardiness are never below 0.
        let floor = if self.trace.against == Against::Cost { f64::NEG_INFINITY } else { 0.0 };
        let bound = solved.bound.map(|bound| (bound - beside).max(floor)).filter(|bound| bound.is_finite());
        Some(Stair { limit, bound, proved: solved.status == Status::Optimal })
    }

    /// A limit in s or J.
    fn in_units(&self, limit: i128) -> f64 {
        match self.trace.against {
            Against::Makespan => limit as f64 * self.trace.instance.tick.0 as f64,
            Against::Cost | Against::Tardiness => limit as f64 / 1000.0,
        }
    }

    /// The decimals of a weight by which energy adds a millionth part or less to the other term.
    fn small_weight(&self) -> u32 {
        let Some(plan) = self.plans.last() else { return 12 };
        let other = self.trace.against.value(self.trace.instance, plan).abs();
        let energy = plan.evaluation().terms.energy.joules().abs().max(1.0);
        let weight = 1e-6 * if other > 0.0 { other } else { 1.0 } / energy;
        // The first power of ten below it; weights have at most 30 decimals.
        (1..30).find(|&decimals| 10_f64.powi(-i32::try_from(decimals).unwrap_or(30)) <= weight).unwrap_or(30)
    }

    /// The plans that none beats, by rising other term.
    fn points(&self) -> Vec<Point> {
        let Trace { instance, against, .. } = self.trace;
        let point = |plan: &CheckedPlan| Point {
            energy_mj: plan.evaluation().terms.energy.0,
            other: against.value(instance, plan),
            plan: plan.clone(),
        };
        let mut all: Vec<Point> = self.plans.iter().map(point).collect();
        all.sort_by(|a, b| a.other.total_cmp(&b.other).then(a.energy_mj.cmp(&b.energy_mj)));
        let mut points: Vec<Point> = Vec::new();
        for point in all {
            if points.last().is_none_or(|last| point.energy_mj < last.energy_mj) {
                points.push(point);
            }
        }
        points
    }
}

fn judged(instance: &Instance, schedule: &Schedule) -> Result<CheckedPlan, Problem> {
    let broken = |message: String| Problem::new(Code::U08, &instance.name, message);
    let report = check_schedule(instance, schedule).map_err(|problems| broken(format!("{problems}.")))?;
    report.into_checked().map_err(|violations| broken(format!("the plan breaks {} of the rules.", violations.len())))
}
