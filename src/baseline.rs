//! The baseline `fifo_max`: what a plain first-in, first-out queue would do, and what a plan saves against it.

use rats_domain::check::{Report, check_schedule};
use rats_domain::evaluate::{Evaluation, Split};
use rats_domain::instance::Instance;
use rats_domain::units::Millijoules;
use rats_solvers::fifo_max;

/// Name of the baseline.
pub const BASELINE: &str = "fifo_max";

/// Where a plan saves energy against the baseline; negative where it spends more. The parts add up to the total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saving {
    /// All of it.
    pub total: Millijoules,
    /// Nodes that run nothing: powered for less time, or woken less often.
    pub sleeping: Millijoules,
    /// Running gangs: other options of the jobs.
    pub operating_points: Millijoules,
    /// Busy nodes: base power and idle GPUs beside the gangs that run.
    pub packing: Millijoules,
}

/// What the checker says of the baseline; `None` where its ends lie beyond the range of ticks.
pub fn report(instance: &Instance) -> Option<Report> {
    check_schedule(instance, &fifo_max::schedule(instance)).ok()
}

impl Saving {
    /// What `plan` saves against `baseline`.
    pub fn between(baseline: &Evaluation, plan: &Evaluation) -> Self {
        let difference = |part: fn(&Split) -> Millijoules| part(&baseline.split) - part(&plan.split);
        Self {
            total: baseline.terms.energy - plan.terms.energy,
            sleeping: difference(|split| split.vacant + split.wake),
            operating_points: difference(|split| split.gpu_run),
            packing: difference(|split| split.base + split.gpu_idle - split.vacant),
        }
    }
}

#[cfg(test)]
mod tests {
    use rats_domain::evaluate::evaluate;

    use super::*;

    #[test]
    fn the_parts_of_a_saving_add_up() {
        let instance = crate::cli::fixtures::worked_example();
        let schedules = [[(0, 0, 0), (0, 10, 0)], [(1, 0, 0), (1, 0, 1)]];
        let [baseline, plan] = schedules.map(|jobs| crate::cli::fixtures::schedule(&instance, &jobs));
        let [baseline, plan] = [baseline, plan].map(|schedule| evaluate(&instance, &schedule));
        let saving = Saving::between(&baseline, &plan);
        // One after the other at 300 W: 672000 J; side by side at 200 W: 516000 J (docs/model.md, worked examples).
        assert_eq!(saving.total, Millijoules(156_000_000));
        assert_eq!(saving.sleeping + saving.operating_points + saving.packing, saving.total);
        // Gangs: 20 x 300 W against 2 x 14 x 200 W, 60 s a tick.
        assert_eq!(saving.operating_points, Millijoules((6000 - 5600) * 60_000));
        assert_eq!(saving.sleeping, Millijoules(0));
    }
}
