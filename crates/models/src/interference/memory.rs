//! Whether two jobs can share a GPU: what both need together must fit.
//!
//! # Idea
//! Two jobs cannot share where their memory does not fit side by side. Nobody states how much a job takes, so it is fitted
//! to which pairs ran and which did not: like jobs take alike, and what counts is the sum.
//!
//! # Model
//! `logit P(a and b can share) = c - m[a] - m[b]`, where m is a Gaussian process over jobs with variance 4.5 and covariance
//! `3 [same model] exp(-b^2 / 2)`, b being the distance of the binary logarithms of the batch sizes. Pairs that can
//! share and pairs that cannot weigh as much in total; the maximum a posteriori is found by Newton's method. The answer
//! is yes where that probability is at least one half; the probability told takes the weights back out.
//!
//! # Complexity
//! `O(iterations x jobs^3)`.
//!
//! # Limits
//! m is in the units of the logit, not in bytes: yes and no alone determine no bytes. A job that ran in no pair takes the
//! mean.
//!
//! # References
//! G. King, L. Zeng, "Logistic regression in rare events data", 2001 (weights and their removal).

use serde::{Deserialize, Serialize};

use crate::dvfs::cholesky::Cholesky;

use super::jobs::Job;
use super::kriging::likeness;

const ITERATIONS: usize = 50;

/// Fitted demands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Memory {
    /// c.
    capacity: f64,
    /// m, by job.
    demand: Vec<f64>,
    /// Weight of a pair that cannot share over that of one that can.
    ratio: f64,
}

impl Memory {
    /// Fits demands to unordered pairs and whether each can share.
    pub fn fit(jobs: &[Job], sharing: &[(usize, usize, bool)]) -> Self {
        let n = jobs.len();
        let yes = sharing.iter().filter(|pair| pair.2).count() as f64;
        let no = sharing.len() as f64 - yes;
        if yes == 0.0 || no == 0.0 {
            // One answer only: that, as sure as its number of pairs makes it (Laplace's rule).
            return Self { capacity: ((yes + 1.0) / (no + 1.0)).ln(), demand: vec![0.0; n], ratio: 1.0 };
        }
        let Some(precision) = precision(jobs) else {
            return Self { capacity: (yes / no).ln(), demand: vec![0.0; n], ratio: 1.0 };
        };
        let weight = |can: bool| sharing.len() as f64 / (2.0 * if can { yes } else { no });
        let mut x = vec![0.0; n + 1];
        for _ in 0..ITERATIONS {
            let step = newton(&x, sharing, &precision, weight);
            let largest = step.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
            let shrink = (2.0 / largest.max(2.0)).min(1.0);
            x.iter_mut().zip(&step).for_each(|(value, step)| *value -= shrink * step);
            if largest < 1e-8 {
                break;
            }
        }
        Self { capacity: x[n], demand: x[..n].to_vec(), ratio: yes / no }
    }

    /// Whether it is one of `jobs` jobs, with numbers throughout.
    pub fn fits(&self, jobs: usize) -> bool {
        let numbers = self.demand.iter().chain([&self.capacity, &self.ratio]);
        self.demand.len() == jobs && self.ratio > 0.0 && numbers.into_iter().all(|number| number.is_finite())
    }

    /// Whether two jobs can share, and with what probability.
    pub fn can_share(&self, a: usize, b: usize) -> (bool, f64) {
        let logit = self.capacity - self.demand[a] - self.demand[b];
        (logit >= 0.0, 1.0 / (1.0 + (-logit - self.ratio.ln()).exp()))
    }
}

/// Newton's step for the weighted posterior at x = (m, c).
fn newton(
    x: &[f64],
    sharing: &[(usize, usize, bool)],
    precision: &[Vec<f64>],
    weight: impl Fn(bool) -> f64,
) -> Vec<f64> {
    let n = x.len() - 1;
    let mut hessian = vec![vec![0.0; n + 1]; n + 1];
    let mut gradient = vec![0.0; n + 1];
    for (i, row) in precision.iter().enumerate() {
        hessian[i][..n].copy_from_slice(row);
        gradient[i] = row.iter().zip(x).map(|(p, m)| p * m).sum();
    }
    hessian[n][n] = 1e-6;
    gradient[n] = 1e-6 * x[n];
    for &(a, b, can) in sharing {
        let p = 1.0 / (1.0 + (x[a] + x[b] - x[n]).exp());
        let signs = [(a, -1.0), (b, -1.0), (n, 1.0)];
        let error = weight(can) * (p - f64::from(u8::from(can)));
        let curvature = weight(can) * (p * (1.0 - p)).max(1e-9);
        for (i, sign) in signs {
            gradient[i] += sign * error;
            for (j, other) in signs {
                hessian[i][j] += sign * other * curvature;
            }
        }
    }
    Cholesky::new(n + 1, |i, j| hessian[i][j]).map_or_else(|| vec![0.0; n + 1], |factor| factor.solve(&gradient))
}

/// The inverse of the prior covariance of the demands.
fn precision(jobs: &[Job]) -> Option<Vec<Vec<f64>>> {
    let entry = |i: usize, j: usize| 3.0 * (likeness(&jobs[i], &jobs[j], 1.0) + if i == j { 0.5 } else { 0.0 });
    let factor = Cholesky::new(jobs.len(), entry)?;
    let unit = |at: usize| (0..jobs.len()).map(|i| if i == at { 1.0 } else { 0.0 }).collect::<Vec<f64>>();
    Some((0..jobs.len()).map(|at| factor.solve(&unit(at))).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn jobs(n: u32) -> Vec<Job> {
        let job = |at: u32| Job {
            name: format!("{at}"),
            model: format!("m{}", at / 3),
            batch: Some(f64::from(16 << (at % 3))),
            alone: BTreeMap::new(),
        };
        (0..n).map(job).collect()
    }

    #[test]
    fn planted_demands_decide_pairs_that_were_held_out() {
        // Demands 1, 2, ... 12 GB against 16 GB.
        let need = |at: usize| at as f64 + 1.0;
        let pairs: Vec<(usize, usize, bool)> =
            (0..12).flat_map(|a| (a..12).map(move |b| (a, b, need(a) + need(b) <= 16.0))).collect();
        let (held, known): (Vec<_>, Vec<_>) =
            pairs.into_iter().partition(|&(a, b, _)| (a * 7 + b * 3).is_multiple_of(5));
        let model = Memory::fit(&jobs(12), &known);
        let right = held.iter().filter(|&&(a, b, can)| model.can_share(a, b).0 == can).count();
        assert!(held.len() - right <= 1, "{right} of {}", held.len());
        assert!(model.can_share(0, 0).1 > 0.9 && model.can_share(11, 11).1 < 0.1);
    }

    #[test]
    fn where_all_can_share_the_answer_is_yes() {
        // (3 + 1) / (0 + 1) = 4: probability 0.8.
        let model = Memory::fit(&jobs(3), &[(0, 0, true), (0, 1, true), (1, 2, true)]);
        let (can, probability) = model.can_share(2, 2);
        assert!(can && (probability - 0.8).abs() < 1e-12);
    }
}
