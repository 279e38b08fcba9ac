//! Two reports: what is better, what is worse, and what is noise.
//!
//! Runs are paired by instance, solver and seed, and averaged over seeds, so that an instance is one observation. A
//! measure is called worse or better if both hold: the mean change passes a threshold below which nobody would care,
//! and Wilcoxon's signed-rank test gives such a tendency a probability of at most 5 % by chance alone. That needs at
//! least five instances that change. A run that lost its plan or failed is a regression by itself.

use std::collections::BTreeMap;

use super::report::Report;
use super::row::{InstanceKey, Row};
use super::statistics::{SHIFT_S, mean, signed_rank};

/// Probability by chance at which a tendency counts.
pub const SIGNIFICANCE: f64 = 0.05;

/// What is compared; less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Relative change of the objective.
    Objective,
    /// Change of the gap between plan and own bound.
    Gap,
    /// Change of the logarithm of time + 1 s.
    Time,
}

/// What is said of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Worse than chance and threshold explain.
    Regression,
    /// Better than chance and threshold explain.
    Improvement,
    /// Neither.
    Noise,
}

/// A measure of one solver.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Of what.
    pub measure: Measure,
    /// Number of instances in which both reports have it.
    pub instances: usize,
    /// Mean change.
    pub change: f64,
    /// Instances that are worse.
    pub worse: usize,
    /// Instances that are better.
    pub better: usize,
    /// The probability of such a tendency by chance: of the less likely side.
    pub chance: f64,
    /// What it comes to.
    pub verdict: Verdict,
    /// The instance that became worst, with its change.
    pub worst: Option<(InstanceKey, f64)>,
}

/// A solver in both reports.
#[derive(Clone, Debug, PartialEq)]
pub struct SolverChange {
    /// Its id.
    pub solver: String,
    /// Number of pairs of runs.
    pub pairs: usize,
    /// Runs with a plan in the first report only.
    pub plans_lost: usize,
    /// Runs with a plan in the second report only.
    pub plans_gained: usize,
    /// Runs with a proof in the first report only.
    pub proofs_lost: usize,
    /// Runs with a proof in the second report only.
    pub proofs_gained: usize,
    /// Runs that failed in the second report only.
    pub new_failures: usize,
    /// Each measure.
    pub measures: Vec<Compared>,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Objective, Self::Gap, Self::Time];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Objective => "objective",
            Self::Gap => "gap",
            Self::Time => "time",
        }
    }

    /// Mean changes up to this are noise: 0.1 %, 0.1 points, 10 %.
    pub fn threshold(self) -> f64 {
        match self {
            Self::Objective | Self::Gap => 0.001,
            Self::Time => 0.1_f64.ln_1p(),
        }
    }

    fn change(self, before: &Row, after: &Row) -> Option<f64> {
        match self {
            Self::Objective => {
                let (old, new) = (before.plan()?, after.plan()?);
                let size = old.abs().max(new.abs());
                Some(if size > 0.0 { (new - old) / size } else { 0.0 })
            }
            Self::Gap => Some(after.gap? - before.gap?),
            Self::Time => Some(((after.time() + SHIFT_S) / (before.time() + SHIFT_S)).ln()),
        }
    }
}

impl SolverChange {
    /// What the solver's changes come to.
    pub fn verdict(&self) -> Verdict {
        let is = |verdict| self.measures.iter().any(|measure| measure.verdict == verdict);
        if self.plans_lost > 0 || self.new_failures > 0 || is(Verdict::Regression) {
            Verdict::Regression
        } else if self.plans_gained > 0 || is(Verdict::Improvement) {
            Verdict::Improvement
        } else {
            Verdict::Noise
        }
    }
}

/// Compares all solvers that both reports have. Runs on instance files that differ are no pair.
pub fn compare(before: &Report, after: &Report) -> Vec<SolverChange> {
    let old: BTreeMap<_, _> = before.rows.iter().map(|row| (row.key(), row)).collect();
    let pairs: Vec<(&Row, &Row)> = after
        .rows
        .iter()
        .filter_map(|row| Some((*old.get(&row.key())?, row)))
        .filter(|(old, new)| old.instance_sha256 == new.instance_sha256)
        .collect();
    let mut solvers: Vec<String> = Vec::new();
    for (_, row) in &pairs {
        if !solvers.contains(&row.solver) {
            solvers.push(row.solver.clone());
        }
    }
    let of_solver = |solver: String| {
        let pairs: Vec<_> = pairs.iter().copied().filter(|(_, row)| row.solver == solver).collect();
        change(solver, &pairs)
    };
    solvers.into_iter().map(of_solver).collect()
}

fn change(solver: String, pairs: &[(&Row, &Row)]) -> SolverChange {
    let count =
        |is: fn(&Row) -> bool, lost: bool| pairs.iter().filter(|(old, new)| is(old) == lost && is(new) != lost).count();
    let has_plan = |row: &Row| row.plan().is_some();
    SolverChange {
        solver,
        pairs: pairs.len(),
        plans_lost: count(has_plan, true),
        plans_gained: count(has_plan, false),
        proofs_lost: count(Row::is_proved, true),
        proofs_gained: count(Row::is_proved, false),
        new_failures: count(|row| row.status.is_failure(), false),
        measures: Measure::ALL.into_iter().filter_map(|measure| compared(measure, pairs)).collect(),
    }
}

fn compared(measure: Measure, pairs: &[(&Row, &Row)]) -> Option<Compared> {
    let mut by_instance: BTreeMap<InstanceKey, Vec<f64>> = BTreeMap::new();
    for (old, new) in pairs {
        if let Some(change) = measure.change(old, new) {
            by_instance.entry(new.instance_key()).or_default().push(change);
        }
    }
    let changes: Vec<(InstanceKey, f64)> =
        by_instance.into_iter().filter_map(|(key, changes)| Some((key, mean(&changes)?))).collect();
    let values: Vec<f64> = changes.iter().map(|(_, change)| *change).collect();
    let change = mean(&values)?;
    let negated: Vec<f64> = values.iter().map(|value| -value).collect();
    let (worse_by_chance, better_by_chance) = (signed_rank(&values), signed_rank(&negated));
    let verdict = if change > measure.threshold() && worse_by_chance <= SIGNIFICANCE {
        Verdict::Regression
    } else if change < -measure.threshold() && better_by_chance <= SIGNIFICANCE {
        Verdict::Improvement
    } else {
        Verdict::Noise
    };
    let worst = changes.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, change)| *change > 0.0);
    Some(Compared {
        measure,
        instances: values.len(),
        change,
        worse: values.iter().filter(|value| **value > 0.0).count(),
        better: values.iter().filter(|value| **value < 0.0).count(),
        chance: worse_by_chance.min(better_by_chance),
        verdict,
        worst,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::row::Ending;
    use crate::bench::row::tests::row;
    use crate::bench::summary::tests::report;

    /// Six instances of two seeds, objective 100 times `factor`.
    fn runs(factor: f64) -> Vec<Row> {
        let one = |number: usize| {
            let objective = 100.0 * factor * (1.0 + (number / 2) as f64);
            let seed = u64::from(!number.is_multiple_of(2));
            Row { bound: Some(1.0), gap: Some(0.5), ..row(&format!("i{}", number / 2), "s", seed, Some(objective)) }
        };
        (0..12).map(one).collect()
    }

    fn verdict(before: Vec<Row>, after: Vec<Row>) -> Verdict {
        compare(&report(before), &report(after))[0].verdict()
    }

    #[test]
    fn equal_reports_differ_by_noise_only() {
        let [change] = &compare(&report(runs(1.0)), &report(runs(1.0)))[..] else { panic!() };
        assert_eq!((change.pairs, change.verdict()), (12, Verdict::Noise));
        assert!(change.measures.iter().all(|measure| measure.instances == 6 && measure.chance.to_string() == "1"));
    }

    #[test]
    fn a_tendency_beyond_the_threshold_counts_both_ways() {
        assert_eq!(verdict(runs(1.0), runs(1.01)), Verdict::Regression);
        assert_eq!(verdict(runs(1.01), runs(1.0)), Verdict::Improvement);
        // The tendency is as clear, but 0.05 % matter to nobody.
        assert_eq!(verdict(runs(1.0), runs(1.0005)), Verdict::Noise);
    }

    #[test]
    fn one_instance_among_many_is_noise_and_is_named() {
        let mut after = runs(1.0);
        after[0].objective = after[0].objective.map(|objective| objective * 1.5);
        let change = &compare(&report(runs(1.0)), &report(after))[0];
        assert_eq!(change.verdict(), Verdict::Noise);
        // (150 - 100) / 150 in one of two seeds.
        let (instance, worst) = change.measures[0].worst.clone().unwrap();
        assert_eq!(instance.1, "i0");
        assert!((worst - 1.0 / 6.0).abs() < 1e-12);
    }

    #[test]
    fn slower_proofs_are_a_regression() {
        let timed = |wall_s| {
            let timed = |row| Row { status: Ending::Optimal, wall_s, ..row };
            runs(1.0).into_iter().map(timed).collect::<Vec<_>>()
        };
        assert_eq!(verdict(timed(1.0), timed(1.3)), Verdict::Regression);
        assert_eq!(verdict(timed(1.0), timed(1.1)), Verdict::Noise);
    }

    #[test]
    fn a_lost_plan_and_a_new_failure_are_regressions() {
        let mut lost = runs(1.0);
        (lost[3].objective, lost[3].valid, lost[3].status) = (None, None, Ending::Unknown);
        assert_eq!(verdict(runs(1.0), lost.clone()), Verdict::Regression);
        assert_eq!(verdict(lost.clone(), runs(1.0)), Verdict::Improvement);
        let mut failed = lost.clone();
        failed[3].status = Ending::Crashed;
        assert_eq!(verdict(lost, failed), Verdict::Regression);
    }
}
