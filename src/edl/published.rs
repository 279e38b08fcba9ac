//! What the paper reports, and at what prices.

use super::simulate::Prices;

/// GPUs of a server.
pub const PER_SERVER: [usize; 5] = [1, 2, 4, 8, 16];

/// The values of theta.
pub const THETAS: [f64; 2] = [1.0, 0.5];

/// The prices with which the published tables add up: the authors' result files hold energies of idling and powering
/// on that are multiples of these.
pub const TABLES: Prices = Prices { idle_w: 37.0, turn_on: 90.0 };

/// The prices in the authors' program as it was published last.
pub const PROGRAM: Prices = Prices { idle_w: 85.0, turn_on: 200.0 };

/// Published mean saving of a task at its cheapest clocks, and what bounds the saving of any task set, percent.
pub const CEILINGS: (f64, f64) = (33.8, 36.0);

/// Published savings against the same heuristic without DVFS, percent, by GPUs of a server; for theta = 0.5 the paper
/// states one figure for all theta <= 0.5.
pub fn savings(online: bool, theta: f64) -> [Option<f64>; 5] {
    match (online, theta >= 1.0) {
        (false, true) => [33.4, 31.7, 29.2, 25.9, 22.7].map(Some),
        (false, false) => [None, Some(30.8), Some(29.8), Some(28.9), Some(27.9)],
        (true, true) => [33.6, 32.8, 30.2, 27.6, 26.1].map(Some),
        (true, false) => [32.9, 32.6, 30.8, 30.2, 30.7].map(Some),
    }
}
