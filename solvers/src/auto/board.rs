//! What the lines of the portfolio know together: the best plan, the best bound, and whether they meet.

use std::sync::{Mutex, PoisonError};

use rats_domain::instance::Instance;
use rats_domain::objective::gap;
use rats_domain::schedule::Schedule;
use rats_domain::solver::{Control, Outcome, Progress, Stop};

use crate::PROOF_GAP;
use crate::judged::valid_objective;

/// Shared knowledge.
pub(super) struct Board<'a> {
    pub instance: &'a Instance,
    control: &'a dyn Control,
    gap: f64,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    best: Option<(f64, Schedule)>,
    bound: Option<f64>,
    infeasible: Option<String>,
}

impl<'a> Board<'a> {
    pub fn new(instance: &'a Instance, gap: f64, control: &'a dyn Control) -> Self {
        Self { instance, control, gap: gap.max(PROOF_GAP), known: Mutex::default() }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        // What is noted is always whole, whatever became of the thread that noted it.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a schedule if it is valid and better than what is known.
    pub fn offer(&self, schedule: Schedule) {
        let Some(objective) = valid_objective(self.instance, &schedule) else { return };
        let mut known = self.known();
        if known.best.as_ref().is_none_or(|(best, _)| objective < *best) {
            known.best = Some((objective, schedule));
            drop(known);
            self.control.progress(Progress { incumbent: Some(objective), bound: None });
        }
    }

    /// Takes a proven lower bound.
    pub fn raise(&self, bound: f64) {
        let mut known = self.known();
        if bound.is_finite() && known.bound.is_none_or(|best| bound > best) {
            known.bound = Some(bound);
            drop(known);
            self.control.progress(Progress { incumbent: None, bound: Some(bound) });
        }
    }

    /// Takes note that there is no plan.
    pub fn refute(&self, reason: String) {
        self.known().infeasible = Some(reason);
    }

    /// The best plan and its objective.
    pub fn best(&self) -> Option<(f64, Schedule)> {
        self.known().best.clone()
    }

    /// Its objective.
    pub fn value(&self) -> Option<f64> {
        self.known().best.as_ref().map(|(value, _)| *value)
    }

    /// Whether nothing is left to do.
    pub fn is_settled(&self) -> bool {
        let known = self.known();
        let meets =
            known.best.as_ref().zip(known.bound).is_some_and(|((value, _), bound)| gap(*value, bound) <= self.gap);
        meets || known.infeasible.is_some()
    }

    /// What came of it.
    pub fn outcome(self, stop: Stop) -> Outcome {
        let settled = self.is_settled();
        let Known { best, bound, infeasible } = self.known.into_inner().unwrap_or_else(PoisonError::into_inner);
        match (best, bound, infeasible) {
            (None, _, Some(reason)) => Outcome::Infeasible { reason },
            (Some((value, schedule)), Some(bound), _) if settled => {
                Outcome::Optimal { schedule, bound: bound.min(value) }
            }
            (Some((_, schedule)), bound, _) => Outcome::Feasible { schedule, bound, stop },
            (None, bound, None) => Outcome::Unknown { bound, stop },
        }
    }
}
