//! One question: what if this job ran there instead, everything else as planned?

use std::collections::BTreeSet;

use rats_domain::check::{CheckedPlan, Violation, check_schedule};
use rats_domain::ids::{JobId, NodeId};
use rats_domain::instance::Instance;
use rats_domain::schedule::{Placement, Schedule};

/// What the checker says of a changed plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It keeps every rule; the objective grows by this much.
    Allowed(f64),
    /// It breaks rules.
    Forbidden(Vec<Violation>),
}

/// Asks the checker about other placements of one job, a limited number of times.
pub struct Probe<'a> {
    instance: &'a Instance,
    plan: &'a CheckedPlan,
    job: JobId,
    checks: usize,
    limit: usize,
}

impl Verdict {
    /// By how much the objective grows, if the change is allowed.
    pub fn difference(&self) -> Option<f64> {
        match self {
            Self::Allowed(difference) => Some(*difference),
            Self::Forbidden(_) => None,
        }
    }

    /// The better of two: allowed over forbidden, then the lower objective or the fewer broken rules.
    fn better(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Allowed(a), Self::Allowed(b)) if b < a => other,
            (Self::Forbidden(_), Self::Allowed(_)) => other,
            (Self::Forbidden(a), Self::Forbidden(b)) if b.len() < a.len() => other,
            _ => self,
        }
    }
}

impl<'a> Probe<'a> {
    /// Up to `limit` checks about `job`.
    pub fn new(instance: &'a Instance, plan: &'a CheckedPlan, job: JobId, limit: usize) -> Self {
        Self { instance, plan, job, checks: 0, limit }
    }

    /// The instance.
    pub fn instance(&self) -> &'a Instance {
        self.instance
    }

    /// The job asked about.
    pub fn job(&self) -> JobId {
        self.job
    }

    /// The number of checks made.
    pub fn checks(&self) -> usize {
        self.checks
    }

    /// The number of checks left.
    pub fn left(&self) -> usize {
        self.limit.saturating_sub(self.checks)
    }

    /// Whether a difference of objectives is no more than rounding.
    pub fn is_nothing(&self, difference: f64) -> bool {
        difference.abs() <= 1e-9 * self.plan.evaluation().objective.abs().max(1.0)
    }

    /// The verdict on the plan with the job placed there; `None` once the checks are used up.
    ///
    /// Stated powered intervals fit the plan as it is. Where the job leaves or enters a node that has some, the plan is
    /// also judged with that node under the default rule, and the better verdict counts.
    pub fn judge(&mut self, placement: &Placement) -> Option<Verdict> {
        let mut schedule = self.plan.schedule().clone();
        let before = schedule.placements[self.job].replace(placement.clone());
        let verdict = self.check(&schedule)?;
        let gpus = before.iter().flat_map(|before| &before.gpus).chain(&placement.gpus);
        let touched: BTreeSet<NodeId> = gpus.map(|&gpu| self.instance.cluster.gpus[gpu].node).collect();
        let stated = schedule.power.len();
        schedule.power.retain(|node, _| !touched.contains(node));
        if schedule.power.len() == stated {
            return Some(verdict);
        }
        Some(match self.check(&schedule) {
            Some(by_default) => verdict.better(by_default),
            None => verdict,
        })
    }

    fn check(&mut self, schedule: &Schedule) -> Option<Verdict> {
        if self.left() == 0 {
            return None;
        }
        self.checks += 1;
        // Ticks out of range cannot come up: candidates lie within the horizon.
        let report = check_schedule(self.instance, schedule).ok()?;
        let objective = self.plan.evaluation().objective;
        Some(match report.into_checked() {
            Ok(plan) => {
                let difference = plan.evaluation().objective - objective;
                Verdict::Allowed(if self.is_nothing(difference) { 0.0 } else { difference })
            }
            Err(violations) => Verdict::Forbidden(violations),
        })
    }
}
