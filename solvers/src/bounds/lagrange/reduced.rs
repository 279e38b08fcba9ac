//! What cannot be part of a better plan: choices whose reduced cost alone closes the gap.

use rats_domain::ids::{JobId, OptionId};
use rats_domain::units::Ticks;

use super::ascent::Ascent;
use super::model::RelaxedJob;
use super::value::ByEnd;

/// Relative margin by which a choice must be worse than the plan that is known: rounding may not decide.
const MARGIN: f64 = 1e-9;

impl Ascent<'_> {
    /// Calls `exclude` for every choice with which no plan can be better than `value`.
    ///
    /// The relaxation, with a job held to one choice, is a lower bound on all plans in which the job makes it. Choices
    /// that the windows of jobs exclude are not mentioned.
    pub fn excluded(&self, value: f64, mut exclude: impl FnMut(JobId, OptionId, Ticks)) {
        let model = self.model;
        let limit = value + MARGIN * value.abs().max(self.best.abs());
        let prices = model.prices(&self.best_at);
        let mut work = Vec::new();
        let all: Vec<ByEnd> = model.jobs.iter().map(|job| model.by_end(job, &prices, &mut work)).collect();
        // Everything that depends on the makespan; only differences count, so the least total stands for the bound.
        let totals = model.totals(&all, &self.best_at, &prices);
        let least = totals.iter().copied().fold(f64::INFINITY, f64::min);
        for (job, by_end) in model.jobs.iter().zip(&all).filter(|(job, _)| !job.is_fixed) {
            let others = self.others(job, by_end, &totals);
            for option in &job.options {
                job.option_costs(option, &prices, &mut work);
                for (at, cost) in work.iter().enumerate() {
                    let start = option.first + at;
                    if self.best + (others[start + option.ticks] + cost - least) > limit {
                        exclude(job.id, option.id, Ticks(i64::try_from(start).unwrap_or(i64::MAX)));
                    }
                }
            }
        }
    }

    /// By end of a job: least total of everything else, over all makespans that leave room for that end.
    fn others(&self, job: &RelaxedJob, by_end: &ByEnd, totals: &[f64]) -> Vec<f64> {
        let mut others = vec![f64::INFINITY; self.model.horizon + 1];
        for (at, total) in totals.iter().enumerate() {
            let makespan = self.model.least_makespan + at;
            if let Some(end) = makespan.checked_sub(job.tail).filter(|&end| by_end.cost[end].is_finite()) {
                others[end] = others[end].min(total - by_end.cost[end]);
            }
        }
        for end in (0..self.model.horizon).rev() {
            others[end] = others[end].min(others[end + 1]);
        }
        others
    }
}
