//! White box: jobs on one GPU wait for each other.
//!
//! # Idea
//! Without hardware partitions, processes on one GPU take turns. Each time a job has work it may find the GPU (or the
//! copy engine, or the host) busy and waits until the other is done there. How much a job loses by that is the product of
//! how often it asks and how long the other holds: a job of many short kernels suffers beside one of few long kernels, and
//! hardly the other way round. Sharing in proportion to demand cannot express this asymmetry.
//!
//! # Model
//! With sensitivities `s[i,r]` and pressures `q[j,r]`, all above 0, on resources r = 1..2:
//!
//! ```text
//! slowdown of i beside j = 1 + sum over r of s[i,r] q[j,r]
//! normalized rate        = min(1, h[i] / slowdown)
//! ```
//!
//! `h[i]` corrects the rate alone where the source measured it too low; such sources cut shared rates off at the rate
//! alone, so a measured 1 says "at least 1". Squared errors plus `(0.03 x)^2` for logarithms of s and q about their mean
//! and `(0.1 x)^2` for `ln h` are minimized by Levenberg-Marquardt.
//!
//! # Complexity
//! `O(iterations x (cells x 81 + (5 jobs)^3))`.
//!
//! # Limits
//! A job that ran in no pair has the mean of all. The two resources have no names: any that jobs queue for.
//!
//! # References
//! K. Levenberg, 1944; D. Marquardt, "An algorithm for least-squares estimation of nonlinear parameters", 1963. J. Tobin,
//! "Estimation of relationships for limited dependent variables", 1958 (measurements that are cut off).

use rats_domain::random::Random;
use serde::{Deserialize, Serialize};

use crate::dvfs::cholesky::Cholesky;

use super::table::Cell;

/// Resources that jobs queue for.
const RESOURCES: usize = 2;
/// Penalties on the logarithms of sensitivities and pressures, their means, and of h.
const PENALTY: [f64; 3] = [0.03, 0.02, 0.1];
/// A measured rate from here on says "at least".
const FULL: f64 = 0.999;
const ITERATIONS: usize = 100;

/// Fitted sensitivities and pressures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Waiting {
    jobs: usize,
    /// Logarithms: sensitivities and pressures as distances from the means (job by resource), `ln h`, the two means.
    parameters: Vec<f64>,
}

impl Waiting {
    /// Fits `jobs` jobs to cells; none gives the means alone.
    pub fn fit(jobs: usize, cells: &[Cell]) -> Self {
        let mut model = Self { jobs, parameters: start(jobs) };
        let mut damping = 1e-3;
        let mut loss = model.loss(cells);
        for _ in 0..ITERATIONS {
            let (hessian, gradient) = model.normal_equations(cells);
            let mut gain = 0.0;
            while damping < 1e8 {
                let entry = |i: usize, j: usize| hessian[i][j] + if i == j { damping * hessian[i][i] } else { 0.0 };
                let step = Cholesky::new(gradient.len(), entry).map(|factor| factor.solve(&gradient));
                if let Some(step) = step {
                    let parameters = model.parameters.iter().zip(&step).map(|(p, d)| p - d.clamp(-2.0, 2.0)).collect();
                    let next = Self { jobs, parameters };
                    let found = next.loss(cells);
                    if found < loss {
                        gain = (loss - found) / loss;
                        (model, loss) = (next, found);
                        damping = (damping / 5.0).max(1e-9);
                        break;
                    }
                }
                damping *= 4.0;
            }
            if gain < 1e-7 {
                break;
            }
        }
        model
    }

    /// Whether it is one of `jobs` jobs, with numbers throughout.
    pub fn fits(&self, jobs: usize) -> bool {
        let length = 2 * jobs * RESOURCES + jobs + RESOURCES;
        self.jobs == jobs && self.parameters.len() == length && self.parameters.iter().all(|p| p.is_finite())
    }

    /// The normalized rate of a job beside another, above 0 and at most 1.
    pub fn rate(&self, victim: usize, partner: usize) -> f64 {
        self.uncapped(victim, partner).0.min(1.0)
    }

    /// The rate without the limit of 1, and each resource's part of the slowdown.
    fn uncapped(&self, victim: usize, partner: usize) -> (f64, [f64; RESOURCES]) {
        let mut parts = [0.0; RESOURCES];
        for (resource, part) in parts.iter_mut().enumerate() {
            let at = self.positions(victim, partner, resource);
            *part = at.iter().map(|&position| self.parameters[position]).sum::<f64>().exp();
        }
        let headroom = self.parameters[self.headroom(victim)].exp();
        (headroom / (1.0 + parts.iter().sum::<f64>()), parts)
    }

    /// Positions of what adds up to the logarithm of one part of the slowdown.
    fn positions(&self, victim: usize, partner: usize, resource: usize) -> [usize; 3] {
        let block = self.jobs * RESOURCES;
        [victim * RESOURCES + resource, block + partner * RESOURCES + resource, 2 * block + self.jobs + resource]
    }

    fn headroom(&self, job: usize) -> usize {
        2 * self.jobs * RESOURCES + job
    }

    fn penalty(&self, position: usize) -> f64 {
        let block = 2 * self.jobs * RESOURCES;
        match position {
            _ if position < block => PENALTY[0],
            _ if position < block + self.jobs => PENALTY[2],
            _ => PENALTY[1],
        }
    }

    fn loss(&self, cells: &[Cell]) -> f64 {
        let errors: f64 = cells.iter().map(|cell| self.error(cell).powi(2)).sum();
        let penalties: f64 = self.parameters.iter().enumerate().map(|(at, p)| (self.penalty(at) * p).powi(2)).sum();
        errors + penalties
    }

    fn error(&self, cell: &Cell) -> f64 {
        let (rate, _) = self.uncapped(cell.victim, cell.partner);
        if cell.rate >= FULL && rate > cell.rate { 0.0 } else { rate - cell.rate }
    }

    /// Gauss-Newton: `J'J` (lower triangle used) and `J'e`, penalties included.
    fn normal_equations(&self, cells: &[Cell]) -> (Vec<Vec<f64>>, Vec<f64>) {
        let n = self.parameters.len();
        let mut hessian = vec![vec![0.0; n]; n];
        let mut gradient = vec![0.0; n];
        for cell in cells {
            let error = self.error(cell);
            let (rate, parts) = self.uncapped(cell.victim, cell.partner);
            if cell.rate >= FULL && rate > cell.rate {
                continue;
            }
            let slowdown = 1.0 + parts.iter().sum::<f64>();
            let mut slopes = vec![(self.headroom(cell.victim), rate)];
            for (resource, part) in parts.iter().enumerate() {
                let slope = -rate * part / slowdown;
                slopes.extend(self.positions(cell.victim, cell.partner, resource).map(|at| (at, slope)));
            }
            for &(i, slope) in &slopes {
                gradient[i] += slope * error;
                for &(j, other) in &slopes {
                    hessian[i][j] += slope * other;
                }
            }
        }
        for (at, parameter) in self.parameters.iter().enumerate() {
            let weight = self.penalty(at).powi(2);
            hessian[at][at] += weight;
            gradient[at] += weight * parameter;
        }
        (hessian, gradient)
    }
}

/// Apart from each other, so that the resources can become different ones.
fn start(jobs: usize) -> Vec<f64> {
    let mut random = Random::new(7);
    let mut parameters: Vec<f64> = (0..2 * jobs * RESOURCES).map(|_| 0.3 * random.normal()).collect();
    parameters.extend(vec![0.0; jobs]);
    parameters.extend((0..RESOURCES).map(|resource| -(resource as f64)));
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every ordered pair of `n` jobs by a rule.
    fn all(n: usize, rate: impl Fn(usize, usize) -> f64) -> Vec<Cell> {
        let cell = |at: usize| Cell { victim: at / n, partner: at % n, rate: rate(at / n, at % n) };
        (0..n * n).map(cell).collect()
    }

    #[test]
    fn planted_waiting_is_found_again_in_cells_that_were_held_out() {
        let (s, q) = ([2.0, 0.2, 1.0, 0.5, 3.0, 0.3, 0.8, 1.4], [0.1, 1.5, 0.6, 2.0, 0.2, 0.9, 1.1, 0.4]);
        let (s2, q2) = ([0.1, 0.3, 0.05, 0.2, 0.1, 0.5, 0.2, 0.1], [0.4, 0.1, 0.9, 0.3, 0.2, 0.6, 0.1, 0.8]);
        let rate = |i: usize, j: usize| 1.0 / (1.0 + s[i] * q[j] + s2[i] * q2[j]);
        let held = |cell: &Cell| (cell.victim * 3 + cell.partner * 5).is_multiple_of(7);
        let (out, fitted): (Vec<Cell>, Vec<Cell>) = all(8, rate).into_iter().partition(held);
        let model = Waiting::fit(8, &fitted);
        let error = |cell: &Cell| (model.rate(cell.victim, cell.partner) - cell.rate).abs();
        let mean = out.iter().map(error).sum::<f64>() / out.len() as f64;
        assert!(mean < 0.03, "{mean}");
    }

    #[test]
    fn a_rate_cut_off_at_1_says_at_least() {
        // Job 2 was measured too slow alone: true headroom 1.5, shared rates 1.5/(1 + q) cut off at 1.
        let q = [0.1, 0.3, 0.4, 1.0, 2.0, 3.0];
        let headroom = |i: usize| if i == 2 { 1.5_f64 } else { 1.0 };
        let rate = |i: usize, j: usize| (headroom(i) / (1.0 + q[j])).min(1.0);
        let model = Waiting::fit(6, &all(6, rate));
        for cell in all(6, rate) {
            let found = model.rate(cell.victim, cell.partner);
            assert!((found - cell.rate).abs() < 0.03, "{cell:?} {found}");
        }
    }
}
