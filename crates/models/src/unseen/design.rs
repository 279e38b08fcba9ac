//! Which operating points to measure next.
//!
//! # Idea
//! Kernels of a GPU vary in few ways. Measure where a value tells most about all others.
//!
//! # Model
//! The logarithm of power and that of time over the time at the first measured point (the last of the grid where there is
//! none) have a covariance S over the known kernels ([`super::shared`]). Having measured point j, what is left is
//! `S - S_j S_j' / (S_jj + s^2)`, once for its time, once for its power. Take the points that leave the least sum of variances
//! (A-optimal design): greedily, then exchanging one at a time while that helps; s is the noise of a measurement.
//!
//! # Complexity
//! O(p^3) for each point chosen and each exchange tried; p operating points.
//!
//! # Limits
//! Second moments only; an exchange of two at a time might still help.
//!
//! # References
//! A. Krause, A. Singh, C. Guestrin, "Near-optimal sensor placements in Gaussian processes", JMLR 9 (2008);
//! V. Fedorov, "Theory of optimal experiments", 1972 (exchange).

use super::kernels::{FEWEST_KERNELS, Kernel, Kernels};
use super::shared::{Shared, neighborhood};

/// Variance of the noise of a measured logarithm.
const NOISE: f64 = 0.02 * 0.02;
/// How far the sample covariance is drawn towards that of neighbors.
const SHRINKAGE: f64 = 0.2;
/// Most rounds of exchanges.
const EXCHANGES: usize = 10;

/// Positions on the grid of the `count` most telling points, best first, given those measured.
pub fn next_points(known: &Kernels, measured: &[usize], count: usize) -> Vec<usize> {
    let points = known.grid.len();
    let mut state = State::new(known, measured.first().copied());
    for &point in measured {
        state.measure(point, points);
    }
    let open: Vec<usize> = (0..points).filter(|point| !measured.contains(point)).collect();
    let mut chosen = Vec::new();
    while chosen.len() < count.min(open.len()) {
        chosen.extend(state.best(&open, &chosen, points).map(|(best, _)| best));
    }
    for _ in 0..EXCHANGES {
        let before = chosen.clone();
        for at in 0..chosen.len() {
            let others: Vec<usize> = chosen.iter().copied().filter(|point| *point != chosen[at]).collect();
            if let Some((best, left)) = state.best(&open, &others, points)
                && left < state.after(&chosen, points).uncertainty()
            {
                chosen[at] = best;
            }
        }
        if chosen == before {
            break;
        }
    }
    let mut ordered: Vec<usize> = Vec::new();
    while let Some((best, _)) = state.best(&chosen, &ordered, points) {
        ordered.push(best);
    }
    ordered
}

/// The covariance that is left; variables are the times of all points (if known), then the powers.
#[derive(Clone)]
struct State {
    covariance: Vec<Vec<f64>>,
}

impl State {
    fn new(known: &Kernels, first: Option<usize>) -> Self {
        let near = neighborhood(&known.grid);
        let first = first.unwrap_or(known.grid.len().saturating_sub(1));
        let times = known.kernels.iter().filter_map(|kernel| kernel.time.as_ref());
        let times: Vec<Vec<f64>> =
            times.map(|curve| curve.iter().map(|value| value - curve[first]).collect()).collect();
        let powers: Vec<Vec<f64>> = known.kernels.iter().filter_map(|Kernel { power, .. }| power.clone()).collect();
        let blocks: Vec<Vec<Vec<f64>>> =
            [times, powers].into_iter().filter(|curves| curves.len() >= FEWEST_KERNELS).collect();
        let joint = known.kernels.iter().all(|kernel| kernel.time.is_some() && kernel.power.is_some());
        let curves: Vec<Vec<f64>> = match blocks.as_slice() {
            [times, powers] if joint => times.iter().zip(powers).map(|(a, b)| [a.as_slice(), b].concat()).collect(),
            [.., powers] => powers.clone(),
            [] => Vec::new(),
        };
        let (points, width) = (known.grid.len(), curves.first().map_or(0, Vec::len));
        let same = |a: usize, b: usize| if a / points == b / points { near[a % points][b % points] } else { 0.0 };
        let near: Vec<Vec<f64>> = (0..width).map(|a| (0..width).map(|b| same(a, b)).collect()).collect();
        let shared = Shared::of(&curves, &near);
        let row = |a: usize| {
            (0..width).map(|b| shared.as_ref().map_or(0.0, |shared| shared.covariance(a, b, SHRINKAGE))).collect()
        };
        Self { covariance: (0..width).map(row).collect() }
    }

    /// Conditions on the measured values of a point.
    fn measure(&mut self, point: usize, points: usize) {
        for variable in (point..self.covariance.len()).step_by(points.max(1)) {
            let told = self.covariance[variable].clone();
            let scale = 1.0 / (told[variable] + NOISE);
            for (row, a) in self.covariance.iter_mut().zip(&told) {
                for (entry, b) in row.iter_mut().zip(&told) {
                    *entry -= a * b * scale;
                }
            }
        }
    }

    /// Having measured these points too.
    fn after(&self, chosen: &[usize], points: usize) -> Self {
        let mut after = self.clone();
        for &point in chosen {
            after.measure(point, points);
        }
        after
    }

    /// The point among `open` that leaves least beside those chosen, and what it leaves.
    fn best(&self, open: &[usize], chosen: &[usize], points: usize) -> Option<(usize, f64)> {
        let beside = self.after(chosen, points);
        let others = open.iter().copied().filter(|point| !chosen.contains(point));
        let left = others.map(|point| (point, beside.after(&[point], points).uncertainty()));
        left.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn uncertainty(&self) -> f64 {
        self.covariance.iter().enumerate().map(|(at, row)| row[at]).sum()
    }
}
