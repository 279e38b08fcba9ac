//! Black box: a rate like those of similar jobs beside similar partners.
//!
//! # Idea
//! Collaborative filtering with attributes: the table of rates is filled in by a Gaussian process over pairs of jobs.
//! Jobs are alike if they are the same, train the same model with nearly the same batch size, or have like features. So a
//! job that never ran beside another still gets an answer, from its features alone.
//!
//! # Model
//! The logit of a rate y, `z = ln(y / (1.1 - y))`, has covariance, with a kernel k between jobs:
//!
//! ```text
//! cov(z[i,j], z[i',j']) = k(i,i') + k(j,j') + 0.3 k(i,i') k(j,j')      + noise^2 if both are one measurement
//! k(i,i') = exp(-d^2 / 32) + 0.1 x.x' + 0.1 [same model] (1 + exp(-b^2 / 2 l^2)) + 0.05 [same job]
//! ```
//!
//! x: the two standardized features, d their distance, b the distance of the binary logarithms of the batch sizes. The
//! length l and the noise are those, of a short list, that predict each pair best from all others.
//!
//! [`Corrected`] puts another model first and fills in only what it leaves over, with `k(i,i') k(j,j')`.
//!
//! # Complexity
//! `O(cells^3)` for each entry of the list, `O(cells)` to predict.
//!
//! # Limits
//! Up to a few thousand cells. Jobs of no likeness to any other are answered by the mean.
//!
//! # References
//! C. Rasmussen, C. Williams, "Gaussian Processes for Machine Learning", 2006. J. Abernethy, F. Bach, T. Evgeniou, J.-P.
//! Vert, "A new approach to collaborative filtering: operator estimation with spectral regularization", 2009.

use serde::{Deserialize, Serialize};

use crate::dvfs::cholesky::Cholesky;
use crate::statistics::mean;

use super::jobs::Job;
use super::table::Cell;

/// Logits go to infinity here, a little above every rate.
const CEILING: f64 = 1.1;
/// Lengths along the batch axis and noise variances to choose from.
const LENGTHS: [f64; 2] = [1.0, 2.0];
const NOISE: [f64; 3] = [0.005, 0.02, 0.08];
/// Noise of what another model leaves over, against a kernel of about 1.
const RESIDUAL_NOISE: f64 = 0.3;

/// The logit of a rate.
pub(super) fn logit(rate: f64) -> f64 {
    let rate = rate.clamp(1e-4, 1.05);
    (rate / (CEILING - rate)).ln()
}

/// The rate of a logit, at most 1.
pub(super) fn rate_of(logit: f64) -> f64 {
    (CEILING / (1.0 + (-logit).exp())).min(1.0)
}

/// Length along the batch axis and noise variance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Choice {
    length: f64,
    noise: f64,
}

impl Choice {
    /// Whether both are numbers above 0.
    pub fn usable(self) -> bool {
        [self.length, self.noise].iter().all(|number| number.is_finite() && *number > 0.0)
    }
}

/// A table of rates filled in.
#[derive(Clone, Debug)]
pub(super) struct Kriging {
    /// What was chosen from the lists.
    pub choice: Choice,
    kernel: Vec<Vec<f64>>,
    cells: Vec<(usize, usize)>,
    weights: Vec<f64>,
    mean: f64,
}

impl Kriging {
    /// Fits a table to cells, with the best of the lists unless a choice is given; `None` where there are no cells.
    pub fn fit(jobs: &[Job], features: &[[f64; 2]], cells: &[Cell], choice: Option<Choice>) -> Option<Self> {
        let all = LENGTHS.into_iter().flat_map(|length| NOISE.map(|noise| Choice { length, noise }));
        let choices: Vec<Choice> = choice.map_or_else(|| all.collect(), |choice| vec![choice]);
        let logits: Vec<f64> = cells.iter().map(|cell| logit(cell.rate)).collect();
        let mean = mean(&logits)?;
        let rest: Vec<f64> = logits.iter().map(|logit| logit - mean).collect();
        let places: Vec<(usize, usize)> = cells.iter().map(|cell| (cell.victim, cell.partner)).collect();
        let mut best: Option<(f64, Self)> = None;
        for &choice in &choices {
            let kernel = kernel(jobs, features, choice.length);
            let noise = |i: usize, j: usize| if i == j { choice.noise } else { 0.0 };
            let entry = |i: usize, j: usize| covariance(&kernel, places[i], places[j]) + noise(i, j);
            let Some(factor) = Cholesky::new(places.len(), entry) else { continue };
            let weights = factor.solve(&rest);
            let score = if choices.len() > 1 { left_out(&weights, &factor.inverse_diagonal()) } else { 0.0 };
            if best.as_ref().is_none_or(|(least, _)| score < *least) {
                best = Some((score, Self { choice, kernel, cells: places.clone(), weights, mean }));
            }
        }
        best.map(|found| found.1)
    }

    /// The normalized rate of a job beside another, above 0 and at most 1.
    pub fn rate(&self, victim: usize, partner: usize) -> f64 {
        let known = self.cells.iter().zip(&self.weights);
        let rest: f64 = known.map(|(&cell, weight)| weight * covariance(&self.kernel, (victim, partner), cell)).sum();
        rate_of(self.mean + rest)
    }
}

/// Mean absolute error of every cell predicted from all others: residual `w / diagonal of the inverse`.
fn left_out(weights: &[f64], diagonal: &[f64]) -> f64 {
    weights.iter().zip(diagonal).map(|(weight, inverse)| (weight / inverse).abs()).sum::<f64>() / weights.len() as f64
}

fn covariance(kernel: &[Vec<f64>], (i, j): (usize, usize), (other_i, other_j): (usize, usize)) -> f64 {
    let (victims, partners) = (kernel[i][other_i], kernel[j][other_j]);
    victims + partners + 0.3 * victims * partners
}

fn kernel(jobs: &[Job], features: &[[f64; 2]], length: f64) -> Vec<Vec<f64>> {
    let entry = |i: usize, j: usize| {
        let pairs = features[i].iter().zip(features[j]);
        let (distance, product) = pairs.fold((0.0, 0.0), |(d, p), (a, b)| (d + (a - b).powi(2), p + a * b));
        let near = likeness(&jobs[i], &jobs[j], length);
        let same_model = if jobs[i].model == jobs[j].model { 0.1 } else { 0.0 };
        (-distance / 32.0).exp() + 0.1 * product + same_model + 0.1 * near + if i == j { 0.05 } else { 0.0 }
    };
    (0..jobs.len()).map(|i| (0..jobs.len()).map(|j| entry(i, j)).collect()).collect()
}

/// 1 for one model and batch size, falling with the distance of batch sizes; 0 for different models.
pub(super) fn likeness(a: &Job, b: &Job, length: f64) -> f64 {
    let distance = a.log_batch() - b.log_batch();
    if a.model == b.model { (-distance.powi(2) / (2.0 * length * length)).exp() } else { 0.0 }
}

/// What another model leaves over, filled in.
#[derive(Clone, Debug)]
pub(super) struct Corrected {
    kernel: Vec<Vec<f64>>,
    cells: Vec<(usize, usize)>,
    weights: Vec<f64>,
}

impl Corrected {
    /// Fits to `measured - first` of each cell; `None` where there are none.
    pub fn fit(jobs: &[Job], cells: &[Cell], first: impl Fn(usize, usize) -> f64) -> Option<Self> {
        let kernel: Vec<Vec<f64>> = (0..jobs.len())
            .map(|i| {
                let entry = |j: usize| 0.1 + likeness(&jobs[i], &jobs[j], 1.0) + if i == j { 0.2 } else { 0.0 };
                (0..jobs.len()).map(entry).collect()
            })
            .collect();
        let places: Vec<(usize, usize)> = cells.iter().map(|cell| (cell.victim, cell.partner)).collect();
        let rest: Vec<f64> = cells.iter().map(|cell| cell.rate - first(cell.victim, cell.partner)).collect();
        let product = |p: (usize, usize), q: (usize, usize)| kernel[p.0][q.0] * kernel[p.1][q.1];
        let noise = |i: usize, j: usize| if i == j { RESIDUAL_NOISE } else { 0.0 };
        let factor = Cholesky::new(places.len(), |i, j| product(places[i], places[j]) + noise(i, j))?;
        let weights = factor.solve(&rest);
        Some(Self { kernel, cells: places, weights })
    }

    /// What to add to the first model's rate of a job beside another.
    pub fn correction(&self, victim: usize, partner: usize) -> f64 {
        let known = self.cells.iter().zip(&self.weights);
        known.map(|(&(i, j), weight)| weight * self.kernel[victim][i] * self.kernel[partner][j]).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Three models with four batch sizes each.
    fn jobs() -> Vec<Job> {
        let job = |at: usize| Job {
            name: format!("{at}"),
            model: format!("m{}", at / 4),
            batch: Some(f64::from(8_u32 << (at % 4))),
            alone: BTreeMap::new(),
        };
        (0..12).map(job).collect()
    }

    fn planted(i: usize, j: usize) -> f64 {
        rate_of(0.5 * (i / 4) as f64 + 0.2 * (i % 4) as f64 - 0.4 * (j / 4) as f64 - 0.3 * (j % 4) as f64)
    }

    #[test]
    fn a_planted_low_rank_table_is_filled_in() {
        let held = |i: usize, j: usize| (i * 5 + j * 7).is_multiple_of(9);
        let all = (0..144).map(|at| (at / 12, at % 12));
        let (out, known): (Vec<_>, Vec<_>) = all.partition(|&(i, j)| held(i, j));
        let cells: Vec<Cell> =
            known.iter().map(|&(i, j)| Cell { victim: i, partner: j, rate: planted(i, j) }).collect();
        let model = Kriging::fit(&jobs(), &[[0.0; 2]; 12], &cells, None).unwrap();
        let corrected = Corrected::fit(&jobs(), &cells, |i, j| if i < j { 0.4 } else { 0.5 }).unwrap();
        for &(i, j) in &out {
            assert!((model.rate(i, j) - planted(i, j)).abs() < 0.02, "{i} {j}");
            let first = if i < j { 0.4 } else { 0.5 };
            assert!((first + corrected.correction(i, j) - planted(i, j)).abs() < 0.2, "{i} {j}");
        }
        assert!(Kriging::fit(&jobs(), &[[0.0; 2]; 12], &[], None).is_none());
    }

    #[test]
    fn an_unknown_job_is_told_by_its_features() {
        // The logit is the victim's feature; job 11 ran in no pair.
        let features: Vec<[f64; 2]> = (0..12).map(|i| [f64::from(i % 4) - 1.5, 0.0]).collect();
        let truth = |i: usize| rate_of(0.5 * features[i][0]);
        let cells: Vec<Cell> =
            (0..121).map(|at| Cell { victim: at / 11, partner: at % 11, rate: truth(at / 11) }).collect();
        let model = Kriging::fit(&jobs(), &features, &cells, None).unwrap();
        assert!((model.rate(11, 0) - truth(11)).abs() < 0.06, "{} {}", model.rate(11, 0), truth(11));
    }

    #[test]
    fn rates_and_logits_are_inverse() {
        // ln(0.55 / 0.55) = 0.
        assert!(logit(0.55).abs() < 1e-12 && (rate_of(logit(0.3)) - 0.3).abs() < 1e-12);
        assert!((rate_of(50.0) - 1.0).abs() < f64::EPSILON);
    }
}
