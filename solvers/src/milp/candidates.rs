//! Which starts may appear in a plan that is worth finding.
//!
//! The Lagrangian bound shows of most starts of an option that no plan with them beats the incumbent. The program is
//! built of the others: it proves that no plan *of candidates* beats the incumbent, and both proofs together that no plan
//! does.

use rats_domain::ids::{JobId, OptionId, Table};
use rats_domain::instance::Instance;
use rats_domain::solver::Control;
use rats_domain::units::Ticks;

use crate::bounds::lagrange::{Ascent, Relaxation};

/// Most steps of the Lagrangian bound.
const STEPS: usize = 5000;

/// For each job and option, the starts that may appear in a plan better than the incumbent.
#[derive(Clone, Debug)]
pub struct Candidates {
    allowed: Table<JobId, Table<OptionId, Vec<bool>>>,
}

impl Candidates {
    /// Every start from tick 0 to the horizon.
    pub fn all(instance: &Instance) -> Self {
        let ticks = usize::try_from(instance.horizon.0).unwrap_or(0);
        let of_job = |options: usize| Table::filled(vec![true; ticks], options);
        Self { allowed: instance.jobs.values().map(|job| of_job(job.options.len())).collect() }
    }

    /// Excludes what cannot be part of a plan with an objective below `threshold`.
    pub fn keep_below(&mut self, instance: &Instance, threshold: f64, control: &dyn Control) {
        let Some(model) = Relaxation::new(instance) else { return };
        let mut ascent = Ascent::new(&model, Some(threshold));
        ascent.climb(STEPS, |_| control.stop().is_some());
        ascent.excluded(threshold, |job, option, start| self.exclude(job, option, start));
    }

    /// Excludes a start; one outside the horizon is excluded anyway.
    pub fn exclude(&mut self, job: JobId, option: OptionId, start: Ticks) {
        let place = usize::try_from(start.0).ok().and_then(|at| self.allowed[job][option].get_mut(at));
        if let Some(allowed) = place {
            *allowed = false;
        }
    }

    /// Whether a start is left.
    pub fn allows(&self, job: JobId, option: OptionId, start: Ticks) -> bool {
        usize::try_from(start.0).ok().and_then(|at| self.allowed[job][option].get(at).copied()).unwrap_or(false)
    }

    /// The number of starts that are left.
    pub fn count(&self) -> usize {
        self.allowed.values().flat_map(Table::values).flatten().filter(|allowed| **allowed).count()
    }
}
