//! What a form leaves: a smooth correction of its logarithm, of a size that held-out points decide.
//!
//! # Idea
//! Forms say what physics is behind a curve; real curves have bumps besides (firmware steps, caches, voltage points). A
//! Gaussian process on `ln(measured / form)` follows bumps that neighbors share and smooths what they do not; far from
//! measurements it returns to 0, that is to the form.
//!
//! # Model
//! Covariance of two places `s^2 M(|core - core'| / (l span)) exp(-|ln(mem/mem')| / 2)`, M Matern's function of
//! smoothness 3/2, plus independent noise `s^2 v`, larger where a point lies off its neighbors (Tukey's bisquare
//! weight of its leave-one-out error). Length l and noise v are those of the least leave-one-out error, which has a closed form:
//! `e_i = alpha_i / K^-1_ii`, of variance `1 / K^-1_ii`. Without a correction that beats none, there is none.
//!
//! # Complexity
//! `O(n^3)` for each of the grid's 36 pairs of length and noise.
//!
//! # Limits
//! The form's own parameters are held when a point is left out here; the error of the whole is judged by
//! [`select`](super::select), which refits everything.
//!
//! # References
//! C. Rasmussen, C. Williams, "Gaussian processes for machine learning", 2006 (5.4.2: leave-one-out); A. O'Hagan,
//! "Curve fitting and optimal design for prediction", 1978 (a process on top of a regression); J. Tukey's bisquare.

use crate::statistics::{mean, robust_deviation};

use super::cholesky::Cholesky;
use super::scope::{Place, Scope};

/// Correlation lengths tried, in spans of the core axis.
const LENGTHS: [f64; 7] = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2];
/// Noise variances tried, over the variance of the correction.
const NOISES: [f64; 7] = [1e-4, 1e-3, 1e-2, 0.1, 0.3, 1.0, 3.0];
/// Leave-one-out errors of so many robust deviations are outliers.
const OUTLIER: f64 = 6.0;
/// Decay of the correlation with the logarithm of the ratio of memory clocks.
const MEMORY_DECAY: f64 = 0.5;

/// A fitted correction.
#[derive(Clone, Debug)]
pub struct Correction {
    /// Correlation length, spans.
    pub length: f64,
    /// Noise variance over the variance of the correction.
    pub noise: f64,
    /// Places of the samples.
    pub places: Vec<Place>,
    /// ln(measured / form) there.
    pub residuals: Vec<f64>,
    /// Factor of each sample's noise variance, 1 or more.
    pub inflation: Vec<f64>,
    factor: Cholesky,
    alpha: Vec<f64>,
    /// Standard deviation of each sample, said without it, over that of the process.
    pub left_out_deviation: Vec<f64>,
    /// Leave-one-out errors over their own standard deviations.
    pub studentized: Vec<f64>,
    /// Mean absolute leave-one-out error.
    pub error: f64,
}

impl Correction {
    /// The best correction; `None` where nothing is gained over none, or a matrix is singular.
    pub fn fit(scope: &Scope, places: &[Place], residuals: &[f64]) -> Option<Self> {
        let mut best: Option<Self> = None;
        for length in LENGTHS {
            for noise in NOISES {
                let Some(found) = Self::robust(scope, length, noise, places, residuals) else { continue };
                if best.as_ref().is_none_or(|best| found.error < best.error) {
                    best = Some(found);
                }
            }
        }
        best
    }

    fn robust(scope: &Scope, length: f64, noise: f64, places: &[Place], residuals: &[f64]) -> Option<Self> {
        let plain = Self::given(scope, length, noise, places, residuals, vec![1.0; places.len()])?;
        let deviation = robust_deviation(&plain.studentized)?.max(1e-12);
        let inflation: Vec<f64> = plain.studentized.iter().map(|error| inflation(error / deviation)).collect();
        if inflation.iter().all(|&factor| factor < 1.5) {
            return Some(plain);
        }
        Self::given(scope, length, noise, places, residuals, inflation)
    }

    /// The correction of stated parameters.
    pub fn given(
        scope: &Scope,
        length: f64,
        noise: f64,
        places: &[Place],
        residuals: &[f64],
        inflation: Vec<f64>,
    ) -> Option<Self> {
        let covariance = |i: usize, j: usize| {
            kernel(scope, length, places[i], places[j]) + if i == j { noise * inflation[i] } else { 0.0 }
        };
        let factor = Cholesky::new(places.len(), covariance)?;
        let alpha = factor.solve(residuals);
        let diagonal = factor.inverse_diagonal();
        let left_out: Vec<f64> = alpha.iter().zip(&diagonal).map(|(a, d)| a / d).collect();
        let left_out_deviation: Vec<f64> = diagonal
            .iter()
            .zip(&inflation)
            .map(|(d, factor)| (1.0 / d - noise * (factor - 1.0)).max(noise).sqrt())
            .collect();
        let studentized: Vec<f64> = left_out.iter().zip(&diagonal).map(|(e, d)| e * d.sqrt()).collect();
        // The variance that makes leave-one-out errors as large as they are said to be, outliers aside.
        let error = mean(&capped(&left_out)?)?;
        let (places, residuals) = (places.to_vec(), residuals.to_vec());
        Some(Self { length, noise, places, residuals, inflation, factor, alpha, left_out_deviation, studentized, error })
    }

    /// Mean and standard deviation (of a new measurement) of `ln(measured / form)` at a place; the deviation over that of the
    /// process.
    pub fn at(&self, scope: &Scope, place: Place) -> (f64, f64) {
        let covariances: Vec<f64> = self.places.iter().map(|&other| kernel(scope, self.length, place, other)).collect();
        let mean = covariances.iter().zip(&self.alpha).map(|(k, a)| k * a).sum();
        let explained: f64 = self.factor.half_solve(&covariances).iter().map(|x| x * x).sum();
        (mean, (1.0 - explained).max(0.0).sqrt().hypot(self.noise.sqrt()))
    }
}

/// Absolute errors, those of outliers cut off where Tukey's weight ends.
fn capped(errors: &[f64]) -> Option<Vec<f64>> {
    let most = OUTLIER * robust_deviation(errors)?.max(1e-15);
    Some(errors.iter().map(|error| error.abs().min(most)).collect())
}

/// 1 over Tukey's bisquare weight, at most 1e4.
fn inflation(error: f64) -> f64 {
    let inside = (1.0 - (error / OUTLIER).powi(2)).max(0.01);
    1.0 / (inside * inside)
}

fn kernel(scope: &Scope, length: f64, a: Place, b: Place) -> f64 {
    let span = (scope.high - scope.low).max(f64::MIN_POSITIVE);
    let distance = 3.0_f64.sqrt() * (a.core - b.core).abs() / (length * span);
    (1.0 + distance) * (-distance).exp() * (-MEMORY_DECAY * (a.mem / b.mem).ln().abs()).exp()
}

