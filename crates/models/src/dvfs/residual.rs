//! What a form leaves: a smooth correction of its logarithm, of a size that left-out points decide.
//!
//! # Idea
//! Forms say what physics is behind a curve; real curves have bumps besides (firmware steps, caches, voltage points). A
//! Gaussian process on `ln(measured / form)` follows bumps that neighbors share and smooths what they do not; far from
//! measurements it returns to 0, that is to the form.
//!
//! # Model
//! Covariance of two places, over the variance of the process: `K = (0.7 M(d/l) + 0.3 exp(-d/l)) exp(-|ln(mem/mem')| / 2)`, d
//! the distance in spans of the core axis, `M(x) = (1 + sqrt(3) x) exp(-sqrt(3) x)` (Matern, smoothness 3/2); the second
//! term lets curves have small steps. Measurements add independent noise `v`, larger where one lies off its neighbors (one
//! over Tukey's bisquare weight of its leave-one-out error). Length l and noise v are those of the least leave-one-out
//! error, which has a closed form: `e_i = alpha_i / K^-1_ii`, of variance `1 / K^-1_ii`.
//!
//! # Complexity
//! `O(n^3)` for each of the grid's 49 pairs of length and noise.
//!
//! # Limits
//! The form's own parameters are held when a point is left out here; the error of the whole is judged by
//! [`curve`](super::curve), which refits everything.
//!
//! # References
//! C. Rasmussen, C. Williams, "Gaussian processes for machine learning", 2006 (5.4.2: leave-one-out); A. O'Hagan,
//! "Curve fitting and optimal design for prediction", 1978 (a process on top of a regression); A. Beaton, J. Tukey, "The
//! fitting of power series", 1974 (bisquare).

use crate::statistics::{mean, robust_deviation};

use super::cholesky::Cholesky;
use super::scope::{Place, Scope};

/// Correlation lengths tried, in spans of the core axis.
const LENGTHS: [f64; 7] = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2];
/// Noise variances tried, over the variance of the process.
const NOISES: [f64; 7] = [1e-4, 1e-3, 1e-2, 0.1, 0.3, 1.0, 3.0];
/// Share of the rough part of the covariance.
const ROUGH: f64 = 0.3;
/// Leave-one-out errors of so many robust deviations are outliers.
const OUTLIER: f64 = 6.0;
/// Decay of the correlation with the logarithm of the ratio of memory clocks.
const MEMORY_DECAY: f64 = 0.5;

/// What a correction is made of; everything else follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// Correlation length, spans.
    pub length: f64,
    /// Noise variance over the variance of the process.
    pub noise: f64,
    /// Places of the samples.
    pub places: Vec<Place>,
    /// ln(measured / form) there.
    pub residuals: Vec<f64>,
    /// Factor of each sample's noise variance, 1 or more.
    pub inflation: Vec<f64>,
}

/// A fitted correction.
#[derive(Clone, Debug)]
pub struct Correction {
    /// What it is made of.
    pub parts: Parts,
    /// Standard deviation of an ordinary measurement at each sample's place, said without the sample, over that of the
    /// process.
    pub left_out_deviation: Vec<f64>,
    factor: Cholesky,
    alpha: Vec<f64>,
    /// Leave-one-out errors.
    left_out: Vec<f64>,
}

impl Correction {
    /// The best correction; `None` where every covariance is singular.
    pub fn fit(scope: &Scope, places: &[Place], residuals: &[f64]) -> Option<Self> {
        let mut best: Option<(f64, Self)> = None;
        for length in LENGTHS {
            for noise in NOISES {
                let (places, residuals) = (places.to_vec(), residuals.to_vec());
                let inflation = vec![1.0; places.len()];
                let Some(found) = Self::robust(scope, Parts { length, noise, places, residuals, inflation }) else {
                    continue;
                };
                let Some(error) = capped_mean(&found.left_out) else { continue };
                if best.as_ref().is_none_or(|(least, _)| error < *least) {
                    best = Some((error, found));
                }
            }
        }
        best.map(|(_, found)| found)
    }

    /// The correction of these parts, with noise inflated where their own leave-one-out errors are outliers.
    fn robust(scope: &Scope, parts: Parts) -> Option<Self> {
        let plain = Self::given(scope, parts)?;
        let studentized: Vec<f64> =
            plain.left_out.iter().zip(&plain.left_out_deviation).map(|(error, deviation)| error / deviation).collect();
        let deviation = robust_deviation(&studentized)?.max(1e-12);
        let inflation: Vec<f64> = studentized.iter().map(|error| inflation(error / deviation)).collect();
        if inflation.iter().all(|&factor| factor < 1.5) {
            return Some(plain);
        }
        Self::given(scope, Parts { inflation, ..plain.parts })
    }

    /// The correction of these parts.
    pub fn given(scope: &Scope, parts: Parts) -> Option<Self> {
        let Parts { length, noise, places, residuals, inflation } = &parts;
        let covariance = |i: usize, j: usize| {
            kernel(scope, *length, places[i], places[j]) + if i == j { noise * inflation[i] } else { 0.0 }
        };
        let factor = Cholesky::new(places.len(), covariance)?;
        let alpha = factor.solve(residuals);
        let diagonal = factor.inverse_diagonal();
        let left_out = alpha.iter().zip(&diagonal).map(|(a, d)| a / d).collect();
        let ordinary = |(d, factor): (&f64, &f64)| (1.0 / d - noise * (factor - 1.0)).max(*noise).sqrt();
        let left_out_deviation = diagonal.iter().zip(inflation).map(ordinary).collect();
        Some(Self { parts, left_out_deviation, factor, alpha, left_out })
    }

    /// Mean and standard deviation (of a new measurement) of `ln(measured / form)` at a place; the deviation over that of the
    /// process.
    pub fn at(&self, scope: &Scope, place: Place) -> (f64, f64) {
        let covariance = |&other: &Place| kernel(scope, self.parts.length, place, other);
        let covariances: Vec<f64> = self.parts.places.iter().map(covariance).collect();
        let mean = covariances.iter().zip(&self.alpha).map(|(k, a)| k * a).sum();
        let explained: f64 = self.factor.half_solve(&covariances).iter().map(|x| x * x).sum();
        (mean, ((1.0 - explained).max(0.0) + self.parts.noise).sqrt())
    }
}

/// Mean of absolute errors, those of outliers cut off where Tukey's weight ends.
fn capped_mean(errors: &[f64]) -> Option<f64> {
    let most = OUTLIER * robust_deviation(errors)?.max(1e-15);
    mean(&errors.iter().map(|error| error.abs().min(most)).collect::<Vec<_>>())
}

/// 1 over Tukey's bisquare weight, at most 1e6.
fn inflation(error: f64) -> f64 {
    let inside = (1.0 - (error / OUTLIER).powi(2)).max(1e-3);
    1.0 / (inside * inside)
}

fn kernel(scope: &Scope, length: f64, a: Place, b: Place) -> f64 {
    let span = (scope.high - scope.low).max(f64::MIN_POSITIVE);
    let distance = (a.core - b.core).abs() / (length * span);
    let smooth = 3.0_f64.sqrt() * distance;
    let along = (1.0 - ROUGH) * (1.0 + smooth) * (-smooth).exp() + ROUGH * (-distance).exp();
    along * (-MEMORY_DECAY * (a.mem / b.mem).ln().abs()).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dvfs::scope::Axis;

    fn places(cores: &[f64]) -> Vec<Place> {
        cores.iter().map(|&core| Place { core, mem: 1.0 }).collect()
    }

    #[test]
    fn two_measurements_are_weighed_by_distance_as_by_hand() {
        // At distance 0 the covariance is 1; with noise v = 1 a single sample r says r / (1 + 1) at its own place, with
        // variance 1 - 1/2 + 1.
        let at = places(&[100.0, 200.0]);
        let scope = Scope::of(Axis::Clock, at.iter().copied()).unwrap();
        let parts = Parts { length: 0.05, noise: 1.0, places: vec![at[0]], residuals: vec![0.4], inflation: vec![1.0] };
        let correction = Correction::given(&scope, parts).unwrap();
        let (mean, deviation) = correction.at(&scope, at[0]);
        assert!((mean - 0.2).abs() < 1e-12 && (deviation - 1.5_f64.sqrt()).abs() < 1e-12);
        // 20 lengths away nothing is left of it.
        let (mean, deviation) = correction.at(&scope, at[1]);
        assert!(mean.abs() < 1e-8 && (deviation - 2.0_f64.sqrt()).abs() < 1e-6);
    }

    #[test]
    fn a_bump_is_followed_and_a_spike_is_not() {
        let cores: Vec<f64> = (0..40_i32).map(|k| 500.0 + 10.0 * f64::from(k)).collect();
        let bump = |core: f64| 0.05 * (-((core - 700.0) / 60.0).powi(2)).exp();
        let mut residuals: Vec<f64> = cores.iter().map(|&core| bump(core)).collect();
        residuals[30] += 1.0;
        let at = places(&cores);
        let scope = Scope::of(Axis::Clock, at.iter().copied()).unwrap();
        let correction = Correction::fit(&scope, &at, &residuals).unwrap();
        let said = |core| correction.at(&scope, Place { core, mem: 1.0 }).0;
        assert!((said(705.0) - bump(705.0)).abs() < 0.002, "{}", said(705.0));
        assert!((said(805.0) - bump(805.0)).abs() < 0.01, "{}", said(805.0));
        assert!(correction.parts.inflation[30] > 100.0);
    }
}
