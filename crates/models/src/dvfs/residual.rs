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
//! `O(n^3)` for each of the grid's 49 pairs of length and noise, once for all forms fitted at the same places; `O(n^2)` for
//! each pair and form, but `O(n^3)` where there are outliers.
//!
//! # Limits
//! The form's own parameters are held when a point is left out here; the error of the whole is judged by
//! [`curve`](super::curve), which refits everything.
//!
//! # References
//! C. Rasmussen, C. Williams, "Gaussian processes for machine learning", 2006 (5.4.2: leave-one-out); A. O'Hagan,
//! "Curve fitting and optimal design for prediction", 1978 (a process on top of a regression); A. Beaton, J. Tukey, "The
//! fitting of power series", 1974 (bisquare).

use std::borrow::Cow;

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
}

/// Covariances of samples at the same places for all lengths and noises that are tried.
pub struct Covariances {
    places: Vec<Place>,
    lengths: Vec<Along>,
}

/// Covariances for one length (lower triangle, by rows), and solved for every noise of which they are not singular.
struct Along {
    length: f64,
    kernel: Vec<Vec<f64>>,
    noises: Vec<(f64, Solved)>,
}

/// A covariance with its noise, and the diagonal of its inverse.
#[derive(Clone)]
struct Solved {
    factor: Cholesky,
    diagonal: Vec<f64>,
}

/// A length and noise, and the leave-one-out error that they leave.
struct Tried<'c> {
    error: f64,
    length: f64,
    noise: f64,
    inflation: Vec<f64>,
    solved: Cow<'c, Solved>,
}

impl Solved {
    fn new(kernel: &[Vec<f64>], noise: f64, inflation: &[f64]) -> Option<Self> {
        let entry = |i: usize, j: usize| kernel[i][j] + if i == j { noise * inflation[i] } else { 0.0 };
        let factor = Cholesky::new(kernel.len(), entry)?;
        let diagonal = factor.inverse_diagonal();
        Some(Self { factor, diagonal })
    }

    /// Leave-one-out errors.
    fn left_out(&self, residuals: &[f64]) -> Vec<f64> {
        self.factor.solve(residuals).iter().zip(&self.diagonal).map(|(a, d)| a / d).collect()
    }

    /// Standard deviations of an ordinary measurement at each place, said without it.
    fn deviation(&self, noise: f64, inflation: &[f64]) -> Vec<f64> {
        let ordinary = |(d, factor): (&f64, &f64)| (1.0 / d - noise * (factor - 1.0)).max(noise).sqrt();
        self.diagonal.iter().zip(inflation).map(ordinary).collect()
    }
}

impl Covariances {
    /// Of samples at these places.
    pub fn new(scope: &Scope, places: Vec<Place>) -> Self {
        let even = vec![1.0; places.len()];
        let along = |length: f64| {
            let kernel = among(scope, length, &places);
            let of = |noise: f64| Some((noise, Solved::new(&kernel, noise, &even)?));
            let noises = NOISES.into_iter().filter_map(of).collect();
            Along { length, kernel, noises }
        };
        let lengths = LENGTHS.into_iter().map(along).collect();
        Self { places, lengths }
    }
}

impl Correction {
    /// The best correction of residuals, one a place; `None` where every covariance is singular.
    pub fn fit(covariances: &Covariances, residuals: &[f64]) -> Option<Self> {
        let mut best: Option<Tried> = None;
        for Along { length, kernel, noises } in &covariances.lengths {
            for (noise, plain) in noises {
                let Some(inflation) = inflations(plain, *noise, residuals) else { continue };
                let even = inflation.iter().all(|&factor| factor <= 1.0);
                let robust = || Solved::new(kernel, *noise, &inflation).map(Cow::Owned);
                let Some(solved) = (if even { Some(Cow::Borrowed(plain)) } else { robust() }) else { continue };
                let Some(error) = capped_mean(&solved.left_out(residuals)) else { continue };
                if best.as_ref().is_none_or(|tried| error < tried.error) {
                    best = Some(Tried { error, length: *length, noise: *noise, inflation, solved });
                }
            }
        }
        let Tried { length, noise, inflation, solved, .. } = best?;
        let (places, residuals) = (covariances.places.clone(), residuals.to_vec());
        Some(Self::of(Parts { length, noise, places, residuals, inflation }, solved.into_owned()))
    }

    /// The correction of these parts.
    pub fn given(scope: &Scope, parts: Parts) -> Option<Self> {
        let solved = Solved::new(&among(scope, parts.length, &parts.places), parts.noise, &parts.inflation)?;
        Some(Self::of(parts, solved))
    }

    fn of(parts: Parts, solved: Solved) -> Self {
        let left_out_deviation = solved.deviation(parts.noise, &parts.inflation);
        let alpha = solved.factor.solve(&parts.residuals);
        Self { parts, left_out_deviation, factor: solved.factor, alpha }
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

/// Noise factors of samples whose leave-one-out errors are outliers; all 1 where none is.
fn inflations(plain: &Solved, noise: f64, residuals: &[f64]) -> Option<Vec<f64>> {
    let even = vec![1.0; residuals.len()];
    let studentized: Vec<f64> =
        plain.left_out(residuals).iter().zip(plain.deviation(noise, &even)).map(|(error, d)| error / d).collect();
    let deviation = robust_deviation(&studentized)?.max(1e-12);
    let found: Vec<f64> = studentized.iter().map(|error| inflation(error / deviation)).collect();
    Some(if found.iter().all(|&factor| factor < 1.5) { even } else { found })
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

/// Covariances among places: the lower triangle, by rows.
fn among(scope: &Scope, length: f64, places: &[Place]) -> Vec<Vec<f64>> {
    let row = |i: usize| places[..=i].iter().map(|&other| kernel(scope, length, places[i], other)).collect();
    (0..places.len()).map(row).collect()
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
        let correction = Correction::fit(&Covariances::new(&scope, at), &residuals).unwrap();
        let said = |core| correction.at(&scope, Place { core, mem: 1.0 }).0;
        assert!((said(705.0) - bump(705.0)).abs() < 0.002, "{}", said(705.0));
        assert!((said(805.0) - bump(805.0)).abs() < 0.01, "{}", said(805.0));
        assert!(correction.parts.inflation[30] > 100.0);
    }
}
