//! The simpler ways to guess the time of a step, which the ring must beat.

use super::ring::{Measured, Placement};

/// A simple way to guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Baseline {
    /// The smallest gang's time: communication costs nothing.
    Linear,
    /// A line in the logarithm of the size through the gangs placed alike, one GPU among them.
    LogLinear,
}

impl Baseline {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Linear, Self::LogLinear];

    /// As it stands in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::LogLinear => "log-linear",
        }
    }

    /// Seconds of a step; `None` without measurements.
    pub fn step_s(self, rows: &[Measured], at: Placement) -> Option<f64> {
        match self {
            Self::Linear => rows.iter().min_by_key(|row| row.0).map(|row| row.1),
            Self::LogLinear => {
                let alike = |row: &&Measured| row.0.gpus == 1 || row.0.across_nodes == at.across_nodes;
                let near: Vec<Measured> = rows.iter().filter(alike).copied().collect();
                line(&near, at).or_else(|| line(rows, at)).or_else(|| Self::Linear.step_s(rows, at))
            }
        }
    }
}

/// The line through (log2 of the size, time); `None` for fewer than two sizes.
fn line(rows: &[Measured], at: Placement) -> Option<f64> {
    let size = |row: &Measured| f64::from(row.0.gpus).log2();
    let n = rows.len() as f64;
    let (x, y) = rows.iter().fold((0.0, 0.0), |(x, y), row| (x + size(row) / n, y + row.1 / n));
    let (xx, xy) = rows
        .iter()
        .fold((0.0, 0.0), |(xx, xy), row| (xx + (size(row) - x).powi(2), xy + (size(row) - x) * (row.1 - y)));
    (xx > 1e-9).then(|| (y + xy / xx * (f64::from(at.gpus).log2() - x)).max(1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_by_hand() {
        let at = |gpus, across_nodes| Placement { gpus, across_nodes };
        let rows = [(at(1, false), 1.0), (at(4, false), 3.0), (at(4, true), 5.0)];
        // Near: 1 + log2 g. Far: 1 + 2 log2 g.
        assert_eq!(Baseline::Linear.step_s(&rows, at(8, false)), Some(1.0));
        assert!((Baseline::LogLinear.step_s(&rows, at(8, false)).unwrap() - 4.0).abs() < 1e-12);
        assert!((Baseline::LogLinear.step_s(&rows, at(8, true)).unwrap() - 7.0).abs() < 1e-12);
        assert_eq!(Baseline::Linear.step_s(&[], at(8, true)), None);
    }
}
