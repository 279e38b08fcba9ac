//! How good predictions are: one row of `raw.csv`, made of held-out measurements and what a model said of them.

use serde::{Deserialize, Serialize};

use crate::statistics::{largest, mean, median, quantile};

/// What is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Time of a step or run.
    Time,
    /// Mean power.
    Power,
    /// Energy: of a step, or lost by the choice of an operating point.
    Energy,
    /// Rate of a job beside another, over its rate alone.
    Rate,
    /// Whether two jobs can share a GPU.
    CanShare,
}

impl Quantity {
    /// As it stands in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Power => "power",
            Self::Energy => "energy",
            Self::Rate => "rate",
            Self::CanShare => "can_share",
        }
    }
}

/// A held-out measurement and what a model said of it without having seen it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// Measured; above 0 where relative errors are asked for.
    pub measured: f64,
    /// Predicted.
    pub predicted: f64,
    /// The interval that should hold the measurement with the stated probability.
    pub interval: Option<(f64, f64)>,
}

impl Held {
    /// |predicted - measured| / |measured|; infinite where nothing finite was predicted, or the measurement is 0 and
    /// the prediction is not.
    pub fn relative_error(&self) -> f64 {
        let distance = (self.predicted - self.measured).abs();
        let error = if distance == 0.0 { 0.0 } else { distance / self.measured.abs() };
        if error.is_nan() { f64::INFINITY } else { error }
    }
}

/// What a score is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Subject {
    /// What was asked: `interpolation`, `unseen-kernel-1-clock`, `pair-unseen`.
    pub task: String,
    /// Name of the data set.
    pub source: String,
    /// The kind of GPU.
    pub gpu: String,
    /// The model: `rats`, a baseline, or `floor` for what noise alone leaves.
    pub model: String,
    /// What was predicted.
    pub quantity: Quantity,
    /// Seed or phase of the split.
    pub seed: u64,
}

/// Errors of one model on one split. All relative figures are fractions (0.01 is 1 %); what does not apply is absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// What was asked: `interpolation`, `unseen-kernel-1-clock`, `pair-unseen`.
    pub task: String,
    /// Name of the data set.
    pub source: String,
    /// The kind of GPU.
    pub gpu: String,
    /// The model: `rats`, a baseline, or `floor` for what noise alone leaves.
    pub model: String,
    /// What was predicted.
    pub quantity: Quantity,
    /// Seed or phase of the split.
    pub seed: u64,
    /// Workloads, pairs or choices that were judged.
    pub groups: usize,
    /// Held-out measurements.
    pub n: usize,
    /// Those of which the model refused to say anything; they are not in `n`.
    pub refused: usize,
    /// Mean relative error: the mean over groups of the mean in each, so that no group counts more for having more points.
    /// Of a choice: mean regret.
    pub mape: Option<f64>,
    /// Median relative error of all held-out measurements.
    pub median: Option<f64>,
    /// 95th percentile of it.
    pub p95: Option<f64>,
    /// The largest `mape` of one group.
    pub worst_group: Option<f64>,
    /// Mean absolute error, in the unit of the quantity.
    pub mean_abs: Option<f64>,
    /// Share of measurements inside their interval.
    pub coverage: Option<f64>,
    /// Mean width of the intervals over the prediction.
    pub width: Option<f64>,
    /// Mean of the shares of yes and of no that were recognized.
    pub balanced_accuracy: Option<f64>,
    /// Of a choice under a limit on the slowdown: mean by which the chosen point exceeds the limit.
    pub violation: Option<f64>,
}

impl Score {
    /// A score without figures.
    pub fn empty(subject: Subject) -> Self {
        let Subject { task, source, gpu, model, quantity, seed } = subject;
        Self {
            task,
            source,
            gpu,
            model,
            quantity,
            seed,
            groups: 0,
            n: 0,
            refused: 0,
            mape: None,
            median: None,
            p95: None,
            worst_group: None,
            mean_abs: None,
            coverage: None,
            width: None,
            balanced_accuracy: None,
            violation: None,
        }
    }

    /// Relative errors, absolute errors and coverage of held-out measurements, grouped (one list a workload).
    pub fn of_groups(subject: Subject, groups: &[Vec<Held>], refused: usize) -> Self {
        let groups: Vec<&Vec<Held>> = groups.iter().filter(|group| !group.is_empty()).collect();
        let all: Vec<&Held> = groups.iter().copied().flatten().collect();
        let errors: Vec<f64> = all.iter().map(|held| held.relative_error()).collect();
        let by_group: Vec<f64> = groups
            .iter()
            .filter_map(|group| mean(&group.iter().map(Held::relative_error).collect::<Vec<_>>()))
            .collect();
        let inside = |held: &&Held| held.interval.map(|(low, high)| held.measured >= low && held.measured <= high);
        let covered: Vec<f64> = all.iter().filter_map(inside).map(f64::from).collect();
        let width = |held: &&Held| held.interval.map(|(low, high)| (high - low) / held.predicted.abs());
        Self {
            groups: groups.len(),
            n: all.len(),
            refused,
            mape: mean(&by_group),
            median: median(&errors),
            p95: quantile(&errors, 0.95),
            worst_group: largest(&by_group),
            mean_abs: mean(&all.iter().map(|held| (held.predicted - held.measured).abs()).collect::<Vec<_>>()),
            coverage: mean(&covered),
            width: mean(&all.iter().filter_map(width).collect::<Vec<_>>()),
            ..Self::empty(subject)
        }
    }

    /// The same of one list, each measurement its own group.
    pub fn of(subject: Subject, held: &[Held], refused: usize) -> Self {
        let groups: Vec<Vec<Held>> = held.iter().map(|&held| vec![held]).collect();
        Self::of_groups(subject, &groups, refused)
    }

    /// Balanced accuracy of answers `(truth, said)`; absent unless both answers occur among the truths.
    pub fn of_answers(subject: Subject, answers: &[(bool, bool)]) -> Self {
        let recognized = |truth: bool| {
            let of: Vec<f64> = answers.iter().filter(|(t, _)| *t == truth).map(|&(t, s)| f64::from(t == s)).collect();
            mean(&of)
        };
        let balanced_accuracy = recognized(true).zip(recognized(false)).map(|(yes, no)| f64::midpoint(yes, no));
        Self { groups: answers.len(), n: answers.len(), balanced_accuracy, ..Self::empty(subject) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject() -> Subject {
        Subject {
            task: "t".to_owned(),
            source: "s".to_owned(),
            gpu: "g".to_owned(),
            model: "m".to_owned(),
            quantity: Quantity::Time,
            seed: 1,
        }
    }

    #[test]
    fn groups_count_alike_whatever_their_size() {
        let held =
            |measured, predicted| Held { measured, predicted, interval: Some((predicted - 1.0, predicted + 1.0)) };
        // Errors: 10 %; 2 %, 4 %. Means by group 10 % and 3 %: 6.5 %. Intervals of half width 1 hold the last two of 10/11,
        // 50/51, 100/104: |1|, |1|, |4|.
        let groups = [vec![held(10.0, 11.0)], vec![held(50.0, 51.0), held(100.0, 104.0)], vec![]];
        let score = Score::of_groups(subject(), &groups, 3);
        assert_eq!((score.groups, score.n, score.refused), (2, 3, 3));
        assert!((score.mape.unwrap() - 0.065).abs() < 1e-12 && (score.worst_group.unwrap() - 0.1).abs() < 1e-12);
        assert!((score.median.unwrap() - 0.04).abs() < 1e-12 && (score.mean_abs.unwrap() - 2.0).abs() < 1e-12);
        assert!((score.coverage.unwrap() - 2.0 / 3.0).abs() < 1e-12);
        assert!((Score::of(subject(), &groups.concat(), 0).mape.unwrap() - 0.16 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn balanced_accuracy_weighs_both_answers_alike() {
        // 3 of 4 yes recognized, the one no not: (0.75 + 0) / 2.
        let answers = [(true, true), (true, true), (true, true), (true, false), (false, true)];
        assert_eq!(Score::of_answers(subject(), &answers).balanced_accuracy, Some(0.375));
        assert_eq!(Score::of_answers(subject(), &answers[..4]).balanced_accuracy, None);
    }

    #[test]
    fn a_prediction_that_is_no_number_is_infinitely_wrong() {
        let held = Held { measured: 2.0, predicted: f64::NAN, interval: None };
        assert!(held.relative_error() > f64::MAX);
        assert!(Held { predicted: 2.0, ..held }.relative_error() < f64::MIN_POSITIVE);
    }
}
