//! How the values of a curve vary together over known kernels, and what some of them say about the rest.
//!
//! # Idea
//! A curve is a draw from a normal distribution whose mean and covariance are those of the known curves. The sample
//! covariance of a few dozen kernels is too sure of itself, so it is drawn towards one in which only neighbors agree.
//!
//! # Model
//! ```text
//! S(a,b)   = (1-l) cov(a,b) + l sd(a) sd(b) exp(-d(a,b)^2 / 2 w^2),   d = distance of the logarithms of clocks or limits
//! value(a) = mean(a) + S(a,m) (S(m,m) + s^2 I)^-1 (y(m) - mean(m)),   m the measured points, s the noise
//! ```
//!
//! # References
//! O. Ledoit, M. Wolf, "A well-conditioned estimator for large-dimensional covariance matrices", 2004 (shrinkage);
//! J. Ramsay, B. Silverman, "Functional data analysis", 2005.

use crate::dvfs::cholesky::Cholesky;
use crate::statistics::mean;

use super::kernels::OperatingPoint;

/// Width w of what neighbors share, in logarithms: half a step of e.
const WIDTH: f64 = 0.5;

/// Mean and spread of known curves. Weights of 0 leave a curve out.
pub struct Shared<'a> {
    curves: Vec<&'a [f64]>,
    mean: Vec<f64>,
    deviation: Vec<f64>,
    near: &'a [Vec<f64>],
    shrinkage: f64,
}

/// How much neighbors on the grid share: `exp(-d^2 / 2 w^2)`.
pub fn neighborhood(grid: &[OperatingPoint]) -> Vec<Vec<f64>> {
    let apart = |a: Option<i64>, b: Option<i64>| a.zip(b).map_or(0.0, |(a, b)| (a as f64 / b as f64).ln().powi(2));
    let share = |a: &OperatingPoint, b: &OperatingPoint| {
        let squares =
            apart(a.mem_mhz, b.mem_mhz) + apart(a.sm_mhz, b.sm_mhz) + apart(a.power_limit_mw, b.power_limit_mw);
        (-squares / (2.0 * WIDTH * WIDTH)).exp()
    };
    grid.iter().map(|a| grid.iter().map(|b| share(a, b)).collect()).collect()
}

impl<'a> Shared<'a> {
    /// Of all curves but `skip`. `None` of fewer than two.
    pub fn of(curves: &'a [Vec<f64>], skip: Option<usize>, near: &'a [Vec<f64>], shrinkage: f64) -> Option<Self> {
        let kept = curves.iter().enumerate().filter(|(at, _)| Some(*at) != skip);
        let curves: Vec<&[f64]> = kept.map(|(_, curve)| curve.as_slice()).collect();
        if curves.len() < 2 {
            return None;
        }
        let column = |at: usize| curves.iter().map(|curve| curve[at]).collect::<Vec<f64>>();
        let center: Vec<f64> = (0..curves[0].len()).map(|at| mean(&column(at))).collect::<Option<_>>()?;
        let mut shared = Self { curves, mean: center, deviation: Vec::new(), near, shrinkage: 0.0 };
        shared.deviation = (0..shared.mean.len()).map(|at| shared.covariance(at, at).sqrt()).collect();
        shared.shrinkage = shrinkage;
        Some(shared)
    }

    /// Covariance of the values at two points.
    pub fn covariance(&self, a: usize, b: usize) -> f64 {
        let products = self.curves.iter().map(|curve| (curve[a] - self.mean[a]) * (curve[b] - self.mean[b]));
        let sample = products.sum::<f64>() / self.curves.len() as f64;
        if self.shrinkage == 0.0 {
            return sample;
        }
        let smooth = self.deviation[a] * self.deviation[b] * self.near[a][b];
        (1.0 - self.shrinkage) * sample + self.shrinkage * smooth
    }

    /// The curve of which `observed` are the values at `seen`, measured with this noise (a standard deviation).
    pub fn given(&self, seen: &[usize], observed: &[f64], noise: f64) -> Option<Vec<f64>> {
        let told = |a: usize, b: usize| self.covariance(seen[a], seen[b]) + if a == b { noise * noise } else { 0.0 };
        let surprise: Vec<f64> = seen.iter().zip(observed).map(|(&at, value)| value - self.mean[at]).collect();
        let weights = Cholesky::new(seen.len(), told)?.solve(&surprise);
        let change =
            |at: usize| seen.iter().zip(&weights).map(|(&m, weight)| self.covariance(at, m) * weight).sum::<f64>();
        Some(self.mean.iter().enumerate().map(|(at, mean)| mean + change(at)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measured_value_moves_the_others_by_what_they_share() {
        // Curves (-1, -2) and (1, 2): variances 1 and 4, covariance 2. Observing 1.5 with noise 1 moves the first by
        // 1.5 / 2 and the second by 2 x 1.5 / 2. With shrinkage 1 and no common neighborhood the second stays.
        let curves = [vec![-1.0, -2.0], vec![1.0, 2.0]];
        let near = [vec![1.0, 0.0], vec![0.0, 1.0]];
        let given = |shrinkage| Shared::of(&curves, None, &near, shrinkage).unwrap().given(&[0], &[1.5], 1.0).unwrap();
        for (found, expected) in given(0.0).iter().chain(&given(1.0)).zip([0.75, 1.5, 0.75, 0.0]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert!(Shared::of(&curves, Some(0), &near, 0.0).is_none());
    }

    #[test]
    fn neighbors_share_by_the_ratio_of_their_clocks() {
        // ln 2 apart: exp(-0.4805 / 0.5).
        let at = |clock| OperatingPoint { sm_mhz: Some(clock), ..OperatingPoint::default() };
        let near = neighborhood(&[at(500), at(1000)]);
        assert!((near[0][1] - (-2f64.ln().powi(2) / 0.5).exp()).abs() < 1e-12);
        assert!((near[0][0] - 1.0).abs() < 1e-12);
    }
}
