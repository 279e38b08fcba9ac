//! The models of a rate side by side, and the mixture of them that cross-validation prefers.
//!
//! # Idea
//! Stacking: each model predicts every pair without having seen it, and the mixture is the one that would have been best.
//!
//! # Model
//! `rate = sum of w[m] rate[m]`, w non-negative, summing to 1, in steps of 1/10: the least mean absolute error over
//! five folds of unordered pairs. The half width of an interval is the 90 % quantile of the errors of just these
//! predictions, in logits, so that intervals are narrow near 0 and 1 and wide in between.
//!
//! # Limits
//! Coverage holds for pairs of jobs like those fitted to. A job from a model that ran in no pair has intervals from
//! leaving out each model in turn; with few models they are rough.
//!
//! # References
//! D. Wolpert, "Stacked generalization", 1992; L. Breiman, "Stacked regressions", 1996. V. Vovk, A. Gammerman, G. Shafer,
//! "Algorithmic Learning in a Random World", 2005 (intervals from held-out errors).

use crate::split;
use crate::trees::{TreeParams, Trees};

use super::jobs::Job;
use super::kriging::{Choice, Corrected, Kriging, logit, rate_of};
use super::table::Cell;
use super::waiting::Waiting;

/// How many models there are.
pub(super) const MEMBERS: usize = 4;
/// Their names, in order.
pub(super) const NAMES: [&str; MEMBERS] = ["waiting", "kriging", "trees", "waiting-kriging"];
/// Where kriging stands among them.
pub(super) const KRIGING: usize = 1;
const FOLDS: usize = 5;
/// Steps of a weight.
const STEPS: usize = 10;
const TREES: TreeParams = TreeParams::Boosted { trees: 150, depth: 5, rate: 0.1, leaf: 2, share: 0.8 };

/// Everything fitted to the cells of one GPU.
#[derive(Debug)]
pub(super) struct Members {
    pub waiting: Waiting,
    pub kriging: Kriging,
    corrected: Corrected,
    trees: Option<Trees>,
}

impl Members {
    /// Fits all; `None` without cells. `waiting` replaces the fit of the white box, `choice` that of the black box.
    pub fn fit(
        jobs: &[Job],
        features: &[[f64; 2]],
        cells: &[Cell],
        waiting: Option<Waiting>,
        choice: Option<Choice>,
    ) -> Option<Self> {
        let waiting = waiting.unwrap_or_else(|| Waiting::fit(jobs.len(), cells));
        let kriging = Kriging::fit(jobs, features, cells, choice)?;
        let corrected = Corrected::fit(jobs, cells, |i, j| waiting.rate(i, j))?;
        let rows: Vec<Vec<f64>> = cells.iter().map(|cell| row(jobs, features, cell.victim, cell.partner)).collect();
        let rates: Vec<f64> = cells.iter().map(|cell| cell.rate).collect();
        let trees = Trees::fit(&rows, &rates, None, TREES, 1).ok();
        Some(Self { waiting, kriging, corrected, trees })
    }

    /// What each says of a job beside another, in the order of [`NAMES`].
    pub fn rates(&self, jobs: &[Job], features: &[[f64; 2]], victim: usize, partner: usize) -> [f64; MEMBERS] {
        let waiting = self.waiting.rate(victim, partner);
        let kriging = self.kriging.rate(victim, partner);
        let of = |trees: &Trees| trees.predict(&[row(jobs, features, victim, partner)]).ok();
        let trees = self.trees.as_ref().and_then(of).map_or(kriging, |found| found[0]);
        let corrected = waiting + self.corrected.correction(victim, partner);
        [waiting, kriging, trees.clamp(0.01, 1.0), corrected.clamp(0.01, 1.0)]
    }
}

/// What trees ask about: of both jobs model, batch size, step time within the model and gain from faster GPUs.
fn row(jobs: &[Job], features: &[[f64; 2]], victim: usize, partner: usize) -> Vec<f64> {
    let of = |at: usize| {
        let model = jobs.iter().take_while(|job| job.model < jobs[at].model).count();
        [model as f64, jobs[at].log_batch(), features[at][0], features[at][1]]
    };
    [of(victim), of(partner)].concat()
}

/// A cell and what each model said of it without having seen it.
pub(super) type Unseen = (f64, [f64; MEMBERS]);

/// Every cell predicted by models that saw neither it nor its mirror.
pub(super) fn cross_validated(jobs: &[Job], features: &[[f64; 2]], cells: &[Cell], choice: Choice) -> Vec<Unseen> {
    let keys: Vec<(usize, usize)> = cells.iter().map(Cell::pair).collect();
    let mut unseen = Vec::new();
    for split in split::folds(&keys, FOLDS, 1) {
        let known: Vec<Cell> = split.fitted.iter().map(|&at| cells[at]).collect();
        let Some(members) = Members::fit(jobs, features, &known, None, Some(choice)) else { continue };
        let said = |cell: &Cell| (cell.rate, members.rates(jobs, features, cell.victim, cell.partner));
        unseen.extend(split.held.iter().map(|&at| said(&cells[at])));
    }
    unseen
}

/// Errors in logits of the kriging model for each training model left out in turn, with all its batch sizes; `None` with
/// fewer than three models.
pub(super) fn models_left_out(jobs: &[Job], features: &[[f64; 2]], cells: &[Cell], choice: Choice) -> Option<Vec<f64>> {
    let of = |cell: &Cell| [&jobs[cell.victim].model, &jobs[cell.partner].model];
    let mut models: Vec<&String> = cells.iter().flat_map(of).collect();
    models.sort();
    models.dedup();
    let mut errors = Vec::new();
    for model in &models {
        let (held, known): (Vec<Cell>, Vec<Cell>) = cells.iter().copied().partition(|cell| of(cell).contains(model));
        let Some(kriging) = Kriging::fit(jobs, features, &known, Some(choice)) else { continue };
        let error = |cell: &Cell| (logit(cell.rate) - logit(kriging.rate(cell.victim, cell.partner))).abs();
        errors.extend(held.iter().map(error));
    }
    (models.len() > 2).then_some(errors)
}

/// The weights of least mean absolute error.
pub(super) fn weights(unseen: &[Unseen]) -> [f64; MEMBERS] {
    let mut best = (f64::INFINITY, [0.0; MEMBERS]);
    for a in 0..=STEPS {
        for b in 0..=STEPS - a {
            for c in 0..=STEPS - a - b {
                let weights = [a, b, c, STEPS - a - b - c].map(|part| part as f64 / STEPS as f64);
                let error: f64 = unseen.iter().map(|(rate, said)| (rate - mixed(said, &weights)).abs()).sum();
                if error < best.0 {
                    best = (error, weights);
                }
            }
        }
    }
    best.1
}

/// The mixture.
pub(super) fn mixed(said: &[f64; MEMBERS], weights: &[f64; MEMBERS]) -> f64 {
    said.iter().zip(weights).map(|(rate, weight)| rate * weight).sum()
}

/// The quantile of n errors that holds the next one with probability 0.9: the `ceil(0.9 (n + 1))`-th smallest.
pub(super) fn half_width(mut errors: Vec<f64>) -> f64 {
    errors.sort_by(f64::total_cmp);
    let rank = (9 * (errors.len() + 1)).div_ceil(10);
    errors.get(rank.max(1) - 1).or(errors.last()).copied().unwrap_or(f64::INFINITY)
}

/// The interval about a rate.
pub(super) fn interval(rate: f64, half_width: f64) -> (f64, f64) {
    (rate_of(logit(rate) - half_width), rate_of(logit(rate) + half_width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_least_error() {
        // 0.3 of the first and 0.7 of the second are right everywhere.
        let unseen: Vec<Unseen> =
            [(0.2, 0.6), (0.5, 0.1), (0.9, 0.4)].map(|(a, b)| (0.3 * a + 0.7 * b, [a, b, 0.0, 1.0])).to_vec();
        let found = weights(&unseen);
        assert!(found.iter().zip([0.3, 0.7, 0.0, 0.0]).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    }

    #[test]
    fn the_half_width_is_an_order_statistic() {
        // 9 errors: ceil(0.9 x 10) = 9th. 19 errors: 18th. 3 errors: beyond the largest, so the largest.
        let errors = |n: u32| (1..=n).rev().map(f64::from).collect::<Vec<f64>>();
        let found = [9, 19, 3].map(|n| half_width(errors(n)));
        assert!(found.iter().zip([9.0, 18.0, 3.0]).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        let (low, high) = interval(0.55, 1.0);
        // logit 0: 1.1 / (1 + e) and 1.1 / (1 + 1/e).
        assert!((low - 0.295_84).abs() < 1e-5 && (high - 0.804_16).abs() < 1e-5, "{low} {high}");
    }
}
