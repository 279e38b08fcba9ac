//! What the runs of one solver on one suite add up to.

use std::collections::BTreeMap;

use super::reference::Reference;
use super::row::{Ending, InstanceKey, Row};
use super::statistics::{SHIFT_S, largest, mean, median, primal_integral, shifted_geometric_mean};

/// References by instance.
pub type References = BTreeMap<InstanceKey, Reference>;

/// Mean, median and largest of a figure, over the runs that have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// Largest.
    pub largest: f64,
}

/// The figures of one solver on one suite.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// Id of the solver.
    pub solver: String,
    /// Number of runs.
    pub runs: usize,
    /// Runs with a valid plan.
    pub plans: usize,
    /// Runs that proved optimality or infeasibility.
    pub proved: usize,
    /// Runs that the solver refused.
    pub refused: usize,
    /// Runs that broke a rule, crashed or had to be ended.
    pub failed: usize,
    /// Gap to the best known plan, over runs with a plan.
    pub to_best: Option<Spread>,
    /// Gap to the best bound, over runs with a plan.
    pub to_bound: Option<Spread>,
    /// Shifted geometric mean of time, s; the limit for runs without proof.
    pub time_s: Option<f64>,
    /// Mean primal integral over instances with a known plan.
    pub primal_integral: Option<f64>,
    /// Median time to the first plan, s.
    pub first_plan_s: Option<f64>,
    /// Highest peak memory, MiB.
    pub memory_mib: u64,
}

impl Spread {
    fn of(values: &[f64]) -> Option<Self> {
        Some(Self { mean: mean(values)?, median: median(values)?, largest: largest(values)? })
    }
}

impl Score {
    /// The figures of these runs.
    pub fn of(solver: &str, rows: &[&Row], references: &References) -> Self {
        let count = |is: fn(&Row) -> bool| rows.iter().filter(|row| is(row)).count();
        let reference = |row: &Row| references.get(&row.instance_key()).cloned().unwrap_or_default();
        let gaps = |value: fn(Reference) -> Option<f64>| -> Vec<f64> {
            rows.iter().filter_map(|row| row.gap_to(value(reference(row)))).collect()
        };
        let integrals: Vec<_> = rows.iter().filter_map(|row| integral(row, &reference(row))).collect();
        Self {
            solver: solver.to_owned(),
            runs: rows.len(),
            plans: count(|row| row.plan().is_some()),
            proved: count(Row::is_proved),
            refused: count(|row| row.status == Ending::Refused),
            failed: count(|row| row.status.is_failure()),
            to_best: Spread::of(&gaps(|reference| reference.objective)),
            to_bound: Spread::of(&gaps(|reference| reference.bound)),
            time_s: shifted_geometric_mean(&rows.iter().map(|row| row.time()).collect::<Vec<_>>(), SHIFT_S),
            primal_integral: mean(&integrals),
            first_plan_s: median(&rows.iter().filter_map(|row| row.first_plan_s).collect::<Vec<_>>()),
            memory_mib: rows.iter().map(|row| row.peak_memory_mib).max().unwrap_or(0),
        }
    }
}

/// The primal integral of a run. What was claimed on the way counts only if the plan at the end is valid.
fn integral(row: &Row, reference: &Reference) -> Option<f64> {
    let best = reference.objective?;
    let claimed = row.trajectory.0.iter().filter_map(|&(at, objective, _)| Some((at, objective?)));
    let plans: Vec<_> = if row.plan().is_some() { claimed.collect() } else { Vec::new() };
    Some(primal_integral(plans, best, row.time_limit_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::row::Trajectory;
    use crate::bench::row::tests::row;

    #[test]
    fn figures_of_three_runs() {
        let mut found = row("a", "s", 0, Some(100.0));
        found.trajectory = Trajectory(vec![(0.0, None, Some(1.0)), (5.0, Some(100.0), Some(80.0))]);
        let mut proved = row("b", "s", 0, Some(50.0));
        (proved.status, proved.wall_s) = (Ending::Optimal, 0.0);
        proved.trajectory = Trajectory(vec![(0.0, Some(50.0), None)]);
        let broken = Row { status: Ending::Invalid, valid: Some(false), ..row("b", "s", 1, Some(1.0)) };
        let reference = |objective, bound| Reference { objective: Some(objective), bound, is_infeasible: false };
        let key = |name: &str| ("suite".to_owned(), name.to_owned());
        let references = BTreeMap::from([(key("a"), reference(80.0, Some(60.0))), (key("b"), reference(50.0, None))]);
        let score = Score::of("s", &[&found, &proved, &broken], &references);
        assert_eq!((score.runs, score.plans, score.proved, score.failed), (3, 2, 1, 1));
        // (100 - 80) / 100 and 0.
        assert_eq!(score.to_best, Some(Spread { mean: 0.1, median: 0.1, largest: 0.2 }));
        assert_eq!(score.to_bound, Some(Spread { mean: 0.4, median: 0.4, largest: 0.4 }));
        // 5 s without a plan and 5 s at 0.2 of 10 s: 0.6; nothing to lose: 0; no valid plan: 1.
        assert!((score.primal_integral.unwrap() - 1.6 / 3.0).abs() < 1e-12);
        // 10, 0 and 10 s: (11 x 1 x 11)^(1/3) - 1.
        assert!((score.time_s.unwrap() - (121.0_f64.cbrt() - 1.0)).abs() < 1e-12);
    }
}
