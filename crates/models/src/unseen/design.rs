//! Which operating points to measure next.
//!
//! # Idea
//! Kernels of a GPU vary in few ways. Measure where a value tells most about all others.
//!
//! # Model
//! Logarithms of time and power over the grid have a covariance S over the known kernels. Having measured point j, what is
//! left is `S - S_j S_j' / (S_jj + s^2)`, once for its time, once for its power. Greedily take the point that leaves the
//! least sum of variances (A-optimal design); s = 0.5 % is the noise of a measurement.
//!
//! # Complexity
//! O(p^3) for each point chosen; p operating points.
//!
//! # Limits
//! Second moments only; one greedy step at a time, which is near the best choice of as many points for such designs.
//!
//! # References
//! A. Krause, A. Singh, C. Guestrin, "Near-optimal sensor placements in Gaussian processes", JMLR 9 (2008).

use crate::statistics::mean;

use super::kernels::{FEWEST_KERNELS, Kernel, Kernels};

/// Variance of the noise of a measured logarithm.
const NOISE: f64 = 0.005 * 0.005;

/// Positions on the grid of the `count` most telling points, best first, given those measured.
pub fn next_points(known: &Kernels, measured: &[usize], count: usize) -> Vec<usize> {
    let points = known.grid.len();
    let mut state = State::new(known);
    let mut taken = measured.to_vec();
    for &point in measured {
        state.measure(point, points);
    }
    let mut chosen = Vec::new();
    while chosen.len() < count {
        let left = |point: &usize| {
            let mut after = state.clone();
            after.measure(*point, points);
            after.uncertainty()
        };
        let open = (0..points).filter(|point| !taken.contains(point));
        let Some((best, _)) = open.map(|point| (point, left(&point))).min_by(|a, b| a.1.total_cmp(&b.1)) else { break };
        state.measure(best, points);
        taken.push(best);
        chosen.push(best);
    }
    chosen
}

/// The covariance that is left; variables are the times of all points (if known), then the powers.
#[derive(Clone)]
struct State {
    covariance: Vec<Vec<f64>>,
}

impl State {
    fn new(known: &Kernels) -> Self {
        let with = |kernel: &&Kernel, time: bool, power: bool| {
            (!time || kernel.time.is_some()) && (!power || kernel.power.is_some())
        };
        let kinds = [(true, true), (false, true), (true, false)];
        let enough = |&&(time, power): &&(bool, bool)| {
            known.kernels.iter().filter(|kernel| with(kernel, time, power)).count() >= FEWEST_KERNELS
        };
        let (time, power) = kinds.iter().find(enough).copied().unwrap_or((false, false));
        let curves: Vec<Vec<f64>> = known
            .kernels
            .iter()
            .filter(|kernel| with(kernel, time, power))
            .map(|kernel| {
                let of = |wanted: bool, curve: &Option<Vec<f64>>| curve.clone().filter(|_| wanted).unwrap_or_default();
                [of(time, &kernel.time), of(power, &kernel.power)].concat()
            })
            .collect();
        Self { covariance: covariance(&curves) }
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

    fn uncertainty(&self) -> f64 {
        self.covariance.iter().enumerate().map(|(at, row)| row[at]).sum()
    }
}

fn covariance(curves: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let variables = curves.first().map_or(0, Vec::len);
    let columns: Vec<Vec<f64>> = (0..variables)
        .map(|at| {
            let column: Vec<f64> = curves.iter().map(|curve| curve[at]).collect();
            let center = mean(&column).unwrap_or(0.0);
            column.iter().map(|value| value - center).collect()
        })
        .collect();
    let product = |a: &Vec<f64>, b: &Vec<f64>| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / curves.len() as f64;
    columns.iter().map(|a| columns.iter().map(|b| product(a, b)).collect()).collect()
}
