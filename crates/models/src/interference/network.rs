//! Concurrent all-reduces on one link.
//!
//! # Model
//! With k transfers at a time, each takes `k beta + (k - 1) eta` seconds per megabyte (1e6 bytes): beta is the link's own
//! time, eta what every further transfer costs on top of sharing. Both are fitted, non-negative, in relative error with
//! Huber weights. On 10 Gigabit Ethernet beta = 0.856 ms and eta = 0.235 ms were published.
//!
//! The sustained capacity under contention follows: each of k transfers gets `1 / (k beta + (k-1) eta)`, all together
//! towards `1 / (beta + eta)`.
//!
//! # Limits
//! All transfers begin together and are of one size; a link of one kind at a time.
//!
//! # References
//! Q. Wang, S. Shi, C. Wang, X. Chu, "Communication Contention Aware Scheduling of Multiple Deep Learning Training Jobs"
//! (Ada-SRSF), 2020.

use rats_domain::codes::Code;
use rats_domain::problem::Problem;
use serde::{Deserialize, Serialize};

use crate::statistics::robust_deviation;

/// A line whose largest relative error is above this is no line.
const WORST: f64 = 0.25;
const HUBER: f64 = 1.345;

/// A measurement: with so many transfers at a time, one megabyte of each takes so long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// Transfers at a time, at least 1.
    pub concurrent: u32,
    /// Seconds per megabyte.
    pub s_per_mb: f64,
}

/// What a link costs under contention.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contention {
    /// Seconds per megabyte of one transfer alone.
    pub beta_s_per_mb: f64,
    /// Seconds per megabyte that each further transfer adds on top of sharing.
    pub eta_s_per_mb: f64,
}

impl Contention {
    /// 10 Gigabit Ethernet, as published.
    pub const TEN_GIGABIT_ETHERNET: Self = Self { beta_s_per_mb: 0.856e-3, eta_s_per_mb: 0.235e-3 };

    /// Fits the line to measurements on one link; `place` names them in messages.
    ///
    /// # Errors
    /// Fewer than two different numbers of transfers, or a time or number that is not above 0 (M48); measurements that are
    /// no such line (M49).
    pub fn fit(place: &str, measured: &[Transfer]) -> Result<Self, Problem> {
        for (row, transfer) in measured.iter().enumerate() {
            if transfer.concurrent == 0 || !(transfer.s_per_mb.is_finite() && transfer.s_per_mb > 0.0) {
                let message = format!("{} s/MB with {} transfers.", transfer.s_per_mb, transfer.concurrent);
                return Err(Problem::new(Code::M48, format!("{place}[{row}]"), message));
            }
        }
        let numbers: std::collections::BTreeSet<u32> = measured.iter().map(|transfer| transfer.concurrent).collect();
        if numbers.len() < 2 {
            return Err(Problem::new(Code::M48, place, format!("{} different numbers of transfers.", numbers.len())));
        }
        let mut weights = vec![1.0; measured.len()];
        let mut line = least_squares(measured, &weights);
        for _ in 0..20 {
            let errors: Vec<f64> = measured.iter().map(|transfer| line.error(transfer)).collect();
            let bound = HUBER * robust_deviation(&errors).unwrap_or(0.0).max(1e-9);
            weights = errors.iter().map(|error| (bound / error.abs().max(1e-300)).min(1.0)).collect();
            line = least_squares(measured, &weights);
        }
        let worst = measured.iter().map(|transfer| line.error(transfer).abs()).fold(0.0, f64::max);
        if worst > WORST || line.beta_s_per_mb <= 0.0 {
            let message = format!("The line is {:.0} % off one of them.", 100.0 * worst);
            return Err(Problem::new(Code::M49, place, message));
        }
        Ok(line)
    }

    /// Seconds per megabyte of each of `concurrent` transfers.
    pub fn s_per_mb(&self, concurrent: u32) -> f64 {
        let k = f64::from(concurrent.max(1));
        k * self.beta_s_per_mb + (k - 1.0) * self.eta_s_per_mb
    }

    /// The rate of one of `concurrent` transfers over its rate alone.
    pub fn share(&self, concurrent: u32) -> f64 {
        self.s_per_mb(1) / self.s_per_mb(concurrent)
    }

    /// Capacity that many transfers together sustain, gigabytes (1e9 bytes) per second.
    pub fn sustained_gb_s(&self) -> f64 {
        1e-3 / (self.beta_s_per_mb + self.eta_s_per_mb)
    }

    fn error(&self, transfer: &Transfer) -> f64 {
        self.s_per_mb(transfer.concurrent) / transfer.s_per_mb - 1.0
    }
}

/// Least squares of relative errors, both coefficients non-negative.
fn least_squares(measured: &[Transfer], weights: &[f64]) -> Contention {
    let (mut aa, mut ab, mut bb, mut a1, mut b1) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (transfer, weight) in measured.iter().zip(weights) {
        let k = f64::from(transfer.concurrent);
        let (a, b) = (k / transfer.s_per_mb, (k - 1.0) / transfer.s_per_mb);
        (aa, ab, bb) = (aa + weight * a * a, ab + weight * a * b, bb + weight * b * b);
        (a1, b1) = (a1 + weight * a, b1 + weight * b);
    }
    let determinant = aa * bb - ab * ab;
    let both = ((a1 * bb - b1 * ab) / determinant, (b1 * aa - a1 * ab) / determinant);
    let (beta_s_per_mb, eta_s_per_mb) = match both {
        (beta, eta) if beta >= 0.0 && eta >= 0.0 => (beta, eta),
        (beta, _) if beta < 0.0 => (0.0, b1 / bb),
        _ => (a1 / aa, 0.0),
    };
    Contention { beta_s_per_mb, eta_s_per_mb }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfers(of: &[(u32, f64)]) -> Vec<Transfer> {
        of.iter().map(|&(concurrent, s_per_mb)| Transfer { concurrent, s_per_mb }).collect()
    }

    #[test]
    fn the_published_line_is_found_again() {
        // k = 1: 0.856 ms; k = 2: 1.947 ms; k = 3: 3.038 ms; k = 4: 4.129 ms, here with 1 % noise.
        let measured = transfers(&[(1, 0.856e-3), (2, 1.966_47e-3), (3, 3.007_62e-3), (4, 4.129e-3)]);
        let line = Contention::fit("eth", &measured).unwrap();
        assert!((line.beta_s_per_mb / 0.856e-3 - 1.0).abs() < 0.02, "{line:?}");
        assert!((line.eta_s_per_mb / 0.235e-3 - 1.0).abs() < 0.1, "{line:?}");
        let published = Contention::TEN_GIGABIT_ETHERNET;
        // 1 / (0.856 + 0.235) = 0.9166 GB/s; two share 0.856 / 1.947.
        assert!((published.sustained_gb_s() - 0.916_59).abs() < 1e-5);
        assert!((published.share(2) - 0.856 / 1.947).abs() < 1e-12);
    }

    #[test]
    fn an_outlier_bends_nothing_and_fair_sharing_has_no_extra_cost() {
        let measured = transfers(&[(1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0), (5, 5.0), (6, 7.0), (1, 1.0), (2, 2.0)]);
        let line = Contention::fit("x", &measured).unwrap();
        assert!((line.beta_s_per_mb - 1.0).abs() < 0.01 && line.eta_s_per_mb < 0.02, "{line:?}");
        // Better than fair: eta would be negative and is 0.
        assert!(Contention::fit("x", &transfers(&[(1, 1.0), (2, 1.9)])).unwrap().eta_s_per_mb < 1e-12);
    }

    #[test]
    fn what_is_no_line_is_refused() {
        let code = |of: &[(u32, f64)]| Contention::fit("x", &transfers(of)).unwrap_err().code;
        assert_eq!(code(&[]), Code::M48);
        assert_eq!(code(&[(2, 1.0), (2, 1.1)]), Code::M48);
        assert_eq!(code(&[(1, 1.0), (2, 0.0)]), Code::M48);
        assert_eq!(code(&[(0, 1.0), (2, 1.0)]), Code::M48);
        assert_eq!(code(&[(1, 1.0), (2, 0.5), (3, 0.2)]), Code::M49);
    }
}
