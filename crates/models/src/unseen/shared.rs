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

/// Mean and spread of known curves.
pub struct Shared<'a> {
    /// Curves less their mean.
    centered: Vec<Vec<f64>>,
    mean: Vec<f64>,
    /// Sum of the squares of a point's centered values.
    squares: Vec<f64>,
    near: &'a [Vec<f64>],
}

/// The same with some points measured, of which everything else is said.
pub struct Seen<'a> {
    shared: &'a Shared<'a>,
    at: &'a [usize],
    /// Sums of products of the centered values at every point and at each of the measured ones.
    products: Vec<Vec<f64>>,
    shrinkage: f64,
    noise: f64,
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
    /// Of these curves. `None` of fewer than two.
    pub fn of(curves: &[Vec<f64>], near: &'a [Vec<f64>]) -> Option<Self> {
        if curves.len() < 2 {
            return None;
        }
        let column = |at: usize| curves.iter().map(|curve| curve[at]).collect::<Vec<f64>>();
        let center: Vec<f64> = (0..curves[0].len()).map(|at| mean(&column(at))).collect::<Option<_>>()?;
        let over = |curve: &Vec<f64>| curve.iter().zip(&center).map(|(value, mean)| value - mean).collect();
        let mut shared = Self { centered: curves.iter().map(over).collect(), mean: center, squares: Vec::new(), near };
        shared.squares = (0..shared.mean.len()).map(|at| shared.product(at, at)).collect();
        Some(shared)
    }

    fn product(&self, a: usize, b: usize) -> f64 {
        self.centered.iter().map(|curve| curve[a] * curve[b]).sum()
    }

    /// Covariance of the values at two points.
    pub fn covariance(&self, a: usize, b: usize, shrinkage: f64) -> f64 {
        let sample = self.product(a, b);
        let smooth = (self.squares[a] * self.squares[b]).sqrt() * self.near[a][b];
        ((1.0 - shrinkage) * sample + shrinkage * smooth) / self.centered.len() as f64
    }

    /// With the points at `seen` measured with this noise (a standard deviation).
    pub fn seen(&'a self, seen: &'a [usize], shrinkage: f64, noise: f64) -> Seen<'a> {
        let of = |&at: &usize| (0..self.mean.len()).map(|point| self.product(point, at)).collect();
        Seen { shared: self, at: seen, products: seen.iter().map(of).collect(), shrinkage, noise }
    }
}

impl Seen<'_> {
    /// The curve of which these are the measured values.
    pub fn given(&self, observed: &[f64]) -> Option<Vec<f64>> {
        self.conditioned(observed, None)
    }

    /// A known curve, said from its own measured values by the others. `None` where fewer than two are left.
    pub fn left_out(&self, row: usize) -> Option<Vec<f64>> {
        let Shared { centered, mean, .. } = self.shared;
        let observed: Vec<f64> = self.at.iter().map(|&at| mean[at] + centered[row][at]).collect();
        if centered.len() > 2 { self.conditioned(&observed, Some(row)) } else { None }
    }

    /// Without curve x of n the mean is `mean - x / (n-1)` and a sum of products `sum - x(a) x(b) n / (n-1)`, x centered.
    fn conditioned(&self, observed: &[f64], skip: Option<usize>) -> Option<Vec<f64>> {
        let Shared { centered, mean, squares, near } = self.shared;
        let (n, points) = (centered.len() as f64, mean.len());
        let out = skip.map(|row| centered[row].as_slice());
        let less = |a: usize, b: usize| out.map_or(0.0, |x| x[a] * x[b] * n / (n - 1.0));
        let count = if out.is_some() { n - 1.0 } else { n };
        let center = |at: usize| mean[at] - out.map_or(0.0, |x| x[at] / (n - 1.0));
        let deviations: Vec<f64> = (0..points).map(|at| (squares[at] - less(at, at)).max(0.0).sqrt()).collect();
        let covariance = |a: usize, of: usize| {
            let b = self.at[of];
            let sample = self.products[of][a] - less(a, b);
            let smooth = deviations[a] * deviations[b] * near[a][b];
            ((1.0 - self.shrinkage) * sample + self.shrinkage * smooth) / count
        };
        let noise = self.noise * self.noise;
        let told = |a: usize, b: usize| covariance(self.at[a], b) + if a == b { noise } else { 0.0 };
        let surprise: Vec<f64> = self.at.iter().zip(observed).map(|(&at, value)| value - center(at)).collect();
        let weights = Cholesky::new(self.at.len(), told)?.solve(&surprise);
        let change =
            |at: usize| weights.iter().enumerate().map(|(of, weight)| covariance(at, of) * weight).sum::<f64>();
        Some((0..points).map(|at| center(at) + change(at)).collect())
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
        let shared = Shared::of(&curves, &near).unwrap();
        let given = |shrinkage| shared.seen(&[0], shrinkage, 1.0).given(&[1.5]).unwrap();
        for (found, expected) in given(0.0).iter().chain(&given(1.0)).zip([0.75, 1.5, 0.75, 0.0]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert!(Shared::of(&curves[..1], &near).is_none());
        assert!(shared.seen(&[0], 0.0, 1.0).left_out(0).is_none());
    }

    #[test]
    fn leaving_a_curve_out_is_knowing_the_others() {
        let curves: Vec<Vec<f64>> =
            (0..7).map(|i| (0..4).map(|j| f64::from((i * i + 3 * i * j + j) % 11) / 5.0).collect()).collect();
        let near: Vec<Vec<f64>> = (0..4).map(|a| (0..4).map(|b: i32| 0.5f64.powi((a - b).abs())).collect()).collect();
        let (seen, shrinkage, noise) = ([2, 0], 0.3, 0.1);
        let all = Shared::of(&curves, &near).unwrap();
        for row in 0..7 {
            let others: Vec<Vec<f64>> = (0..7).filter(|at| *at != row).map(|at| curves[at].clone()).collect();
            let others = Shared::of(&others, &near).unwrap();
            let expected = others.seen(&seen, shrinkage, noise).given(&seen.map(|at| curves[row][at])).unwrap();
            let found = all.seen(&seen, shrinkage, noise).left_out(row).unwrap();
            assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-10), "{found:?} {expected:?}");
        }
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
