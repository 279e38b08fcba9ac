//! What is to be reached: bounds on scores, mean over seeds, and whether they hold.

use crate::score::{Quantity, Score};
use crate::statistics::{largest, mean};

/// Which figure of a score is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Mean relative error.
    Mape,
    /// Mean absolute error.
    MeanAbs,
    /// Balanced accuracy: at least.
    BalancedAccuracy,
}

/// A bound.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// Task.
    pub task: &'static str,
    /// Source.
    pub source: &'static str,
    /// GPU; empty: every one.
    pub gpu: &'static str,
    /// Quantity.
    pub quantity: Quantity,
    /// Figure.
    pub metric: Metric,
    /// The bound.
    pub bound: f64,
}

/// What the model reached in a task that asks the same from less or more, for a learning curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What was known.
    pub known: &'static str,
    /// Mean over seeds.
    pub mean: f64,
}

/// A bound and how it was kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The GPU that was judged.
    pub gpu: String,
    /// Mean over seeds.
    pub mean: f64,
    /// The worst seed.
    pub worst: f64,
    /// Whether the mean keeps the bound.
    pub kept: bool,
}

const fn mape(task: &'static str, source: &'static str, gpu: &'static str, quantity: Quantity, bound: f64) -> Reach {
    Reach { task, source, gpu, quantity, metric: Metric::Mape, bound }
}

const fn rate(task: &'static str, metric: Metric, quantity: Quantity, bound: f64) -> Reach {
    Reach { task, source: "gavel", gpu: "", quantity, metric, bound }
}

/// All bounds.
pub static REACH: [Reach; 43] = [
    mape("every-4th-clock", "perseus", "a100-sxm-80gb", Quantity::Time, 0.004),
    mape("every-4th-clock", "perseus", "a100-sxm-80gb", Quantity::Power, 0.010),
    mape("every-4th-clock", "perseus", "a40", Quantity::Time, 0.008),
    mape("every-4th-clock", "perseus", "a40", Quantity::Power, 0.010),
    mape("every-4th-clock", "ttu", "v100", Quantity::Time, 0.02),
    mape("every-4th-clock", "ttu", "v100", Quantity::Power, 0.02),
    mape("every-4th-clock", "ulisboa-ptx", "gtx-titan-x", Quantity::Time, 0.02),
    mape("every-4th-clock", "ulisboa-ptx", "gtx-titan-x", Quantity::Power, 0.02),
    mape("every-4th-cell", "ulisboa-ptx", "gtx-titan-x", Quantity::Time, 0.02),
    mape("every-4th-cell", "ulisboa-ptx", "gtx-titan-x", Quantity::Power, 0.02),
    mape("every-4th-clock", "ulisboa-power", "gtx-titan-x", Quantity::Power, 0.02),
    mape("regret-free", "perseus", "", Quantity::Energy, 0.005),
    mape("regret-5", "perseus", "", Quantity::Energy, 0.005),
    mape("regret-10", "perseus", "", Quantity::Energy, 0.005),
    mape("regret-free", "ttu", "", Quantity::Energy, 0.005),
    mape("regret-5", "ttu", "", Quantity::Energy, 0.005),
    mape("regret-10", "ttu", "", Quantity::Energy, 0.005),
    mape("regret-free", "ulisboa-ptx", "", Quantity::Energy, 0.005),
    mape("regret-5", "ulisboa-ptx", "", Quantity::Energy, 0.005),
    mape("regret-10", "ulisboa-ptx", "", Quantity::Energy, 0.005),
    mape("regret-free-ends", "perseus", "", Quantity::Energy, 0.005),
    mape("regret-5-ends", "perseus", "", Quantity::Energy, 0.005),
    mape("regret-10-ends", "perseus", "", Quantity::Energy, 0.005),
    mape("regret-free-ends", "ttu", "", Quantity::Energy, 0.005),
    mape("regret-5-ends", "ttu", "", Quantity::Energy, 0.005),
    mape("regret-10-ends", "ttu", "", Quantity::Energy, 0.005),
    mape("regret-free-ends", "ulisboa-ptx", "", Quantity::Energy, 0.005),
    mape("regret-5-ends", "ulisboa-ptx", "", Quantity::Energy, 0.005),
    mape("regret-10-ends", "ulisboa-ptx", "", Quantity::Energy, 0.005),
    rate("pair-unseen", Metric::MeanAbs, Quantity::Rate, 0.05),
    rate("pair-unseen", Metric::BalancedAccuracy, Quantity::CanShare, 0.9),
    rate("can-share", Metric::BalancedAccuracy, Quantity::CanShare, 0.9),
    rate("model-unseen", Metric::MeanAbs, Quantity::Rate, 0.10),
    mape("unseen-1-default", "ttu", "v100", Quantity::Power, 0.05),
    mape("unseen-1-default", "ulisboa-ptx", "gtx-titan-x", Quantity::Power, 0.05),
    mape("unseen-1-default", "ulisboa-ptx", "gtx-titan-x", Quantity::Time, 0.045),
    mape("unseen-3", "ttu", "v100", Quantity::Power, 0.025),
    mape("unseen-3", "ulisboa-ptx", "gtx-titan-x", Quantity::Power, 0.025),
    mape("unseen-3", "ulisboa-ptx", "gtx-titan-x", Quantity::Time, 0.02),
    mape("unseen-1-default", "ulisboa-ptx", "gtx-titan-x", Quantity::Energy, 0.02),
    mape("unseen-3", "ulisboa-ptx", "gtx-titan-x", Quantity::Energy, 0.02),
    mape("unseen-3-slowdown-5", "ulisboa-ptx", "gtx-titan-x", Quantity::Energy, 0.02),
    mape("unseen-3-slowdown-10", "ulisboa-ptx", "gtx-titan-x", Quantity::Energy, 0.02),
];

impl Reach {
    /// How `rats` kept the bound, by GPU; nothing where it was not judged.
    pub fn outcomes(&self, scores: &[Score]) -> Vec<Outcome> {
        let of = |score: &&Score| {
            score.task == self.task
                && score.source == self.source
                && score.model == "rats"
                && score.quantity == self.quantity
                && (self.gpu.is_empty() || score.gpu == self.gpu)
        };
        let mut gpus: Vec<&str> = scores.iter().filter(of).map(|score| score.gpu.as_str()).collect();
        gpus.sort_unstable();
        gpus.dedup();
        gpus.into_iter()
            .filter_map(|gpu| {
                let figures: Vec<f64> =
                    scores.iter().filter(of).filter(|s| s.gpu == gpu).filter_map(|s| self.figure(s)).collect();
                let mean = mean(&figures)?;
                let least = self.metric == Metric::BalancedAccuracy;
                let worst =
                    if least { -largest(&figures.iter().map(|f| -f).collect::<Vec<_>>())? } else { largest(&figures)? };
                let kept = if least { mean >= self.bound } else { mean <= self.bound };
                Some(Outcome { gpu: gpu.to_owned(), mean, worst, kept })
            })
            .collect()
    }

    /// What noise alone leaves of the figure on a GPU, by the model `floor`; absent where nothing says so.
    pub fn floor(&self, gpu: &str, scores: &[Score]) -> Option<f64> {
        let task = match self.task {
            task if task.starts_with("every-") => "neighbors",
            task if task.starts_with("regret-") => task,
            task if task.starts_with("unseen-") => "unseen-1-default",
            _ => "floor",
        };
        self.average(task, "floor", gpu, scores)
    }

    /// The learning curve that this task is a point of; empty where there is none.
    pub fn learning(&self, gpu: &str, scores: &[Score]) -> Vec<Step> {
        let step = |&(known, ref task): &(&'static str, String)| {
            Some(Step { known, mean: self.average(task, "rats", gpu, scores)? })
        };
        self.curve().iter().filter_map(step).collect()
    }

    /// What is known and the task of it, from less to more.
    fn curve(&self) -> Vec<(&'static str, String)> {
        let named = |of: &[(&'static str, &str)]| of.iter().map(|&(known, task)| (known, task.to_owned())).collect();
        if self.task.starts_with("every-") {
            return named(&[
                ("every 8th clock", "every-8th-clock"),
                ("every 4th", "every-4th-clock"),
                ("every 4th, staggered over memory clocks", "every-4th-cell"),
                ("every 2nd", "every-2nd-clock"),
            ]);
        }
        if self.task.starts_with("regret-") {
            let limit = self.task.trim_end_matches("-ends");
            let designs = [("every 4th clock", ""), ("and both ends", "-ends"), ("every 2nd", "-2nd")];
            return designs.into_iter().map(|(known, design)| (known, format!("{limit}{design}"))).collect();
        }
        match self.task {
            "unseen-1-default" => named(&[
                ("1 point, 10 kernels known", "unseen-of-10-1-default"),
                ("20", "unseen-of-20-1-default"),
                ("40", "unseen-of-40-1-default"),
                ("80", "unseen-of-80-1-default"),
                ("120", "unseen-of-120-1-default"),
                ("all others", "unseen-1-default"),
                ("2 points, all others", "unseen-2"),
                ("3 points, all others", "unseen-3"),
            ]),
            "unseen-3" => named(&[("1 point", "unseen-1-default"), ("2 points", "unseen-2"), ("3 points", "unseen-3")]),
            "model-unseen" => named(&[
                ("no partner", "model-unseen"),
                ("1 partner", "model-unseen-1"),
                ("3 partners", "model-unseen-3"),
                ("6 partners", "model-unseen-6"),
            ]),
            "can-share" | "pair-unseen" if self.quantity == Quantity::CanShare => named(&[
                ("half of the pairs", "can-share-half"),
                ("four fifths", "can-share"),
                ("nine tenths", "can-share-nine-tenths"),
            ]),
            _ => Vec::new(),
        }
    }

    fn average(&self, task: &str, model: &str, gpu: &str, scores: &[Score]) -> Option<f64> {
        let of = |s: &&Score| {
            s.task == task && s.source == self.source && s.gpu == gpu && s.model == model && s.quantity == self.quantity
        };
        mean(&scores.iter().filter(of).filter_map(|score| self.figure(score)).collect::<Vec<_>>())
    }

    fn figure(&self, score: &Score) -> Option<f64> {
        match self.metric {
            Metric::Mape => score.mape,
            Metric::MeanAbs => score.mean_abs,
            Metric::BalancedAccuracy => score.balanced_accuracy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::Subject;

    #[test]
    fn a_learning_curve_and_the_noise_stand_beside_a_bound() {
        let score = |task: &str, model: &str, mape| Score {
            mape: Some(mape),
            ..Score::empty(Subject {
                task: task.to_owned(),
                source: "ttu".to_owned(),
                gpu: "v100".to_owned(),
                model: model.to_owned(),
                quantity: Quantity::Power,
                seed: 0,
            })
        };
        let scores = [
            score("every-4th-clock", "rats", 0.03),
            score("every-2nd-clock", "rats", 0.01),
            score("every-2nd-clock", "rats", 0.02),
            score("every-8th-clock", "line", 0.5),
            score("neighbors", "floor", 0.009),
        ];
        let reach = mape("every-4th-clock", "ttu", "", Quantity::Power, 0.02);
        let steps: Vec<(&str, f64)> = reach.learning("v100", &scores).iter().map(|s| (s.known, s.mean)).collect();
        assert_eq!(steps, [("every 4th", 0.03), ("every 2nd", 0.015)]);
        assert_eq!((reach.floor("v100", &scores), reach.floor("a40", &scores)), (Some(0.009), None));
    }

    #[test]
    fn a_bound_is_judged_by_the_mean_over_seeds() {
        let score = |seed, mape| Score {
            mape: Some(mape),
            ..Score::empty(Subject {
                task: "every-4th-clock".to_owned(),
                source: "ttu".to_owned(),
                gpu: "v100".to_owned(),
                model: "rats".to_owned(),
                quantity: Quantity::Power,
                seed,
            })
        };
        let reach = mape("every-4th-clock", "ttu", "", Quantity::Power, 0.02);
        let outcomes = reach.outcomes(&[score(0, 0.015), score(1, 0.023)]);
        assert_eq!(outcomes.len(), 1);
        assert!((outcomes[0].mean - 0.019).abs() < 1e-12 && outcomes[0].kept);
        assert!((outcomes[0].worst - 0.023).abs() < 1e-12);
        assert_eq!(reach.outcomes(&[]), []);
    }
}
