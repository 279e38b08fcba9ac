//! The simpler ways to guess a rate, which a model must beat.

use crate::statistics::mean;

use super::jobs::Job;
use super::table::Cell;

/// A simple way to guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Baseline {
    /// The mean of all rates.
    Mean,
    /// Mean of the victim's rates + mean of the rates beside the partner - mean of all.
    RowColumn,
    /// Mean of the rates between the two models, whatever the batch sizes.
    ModelPair,
    /// The same, of the nearest batch sizes only.
    NearestBatch,
}

impl Baseline {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Mean, Self::RowColumn, Self::ModelPair, Self::NearestBatch];

    /// As it stands in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::RowColumn => "row-column",
            Self::ModelPair => "model-pair",
            Self::NearestBatch => "nearest-batch",
        }
    }

    /// The rate of a job beside another, between 0 and 1; 0.5 where nothing is known.
    pub fn rate(self, jobs: &[Job], cells: &[Cell], victim: usize, partner: usize) -> f64 {
        let of = |wanted: &dyn Fn(&&Cell) -> bool| {
            mean(&cells.iter().filter(wanted).map(|cell| cell.rate).collect::<Vec<_>>())
        };
        let all = of(&|_| true).unwrap_or(0.5);
        let row_column = || {
            let row = of(&|cell| cell.victim == victim).unwrap_or(all);
            let column = of(&|cell| cell.partner == partner).unwrap_or(all);
            (row + column - all).clamp(0.0, 1.0)
        };
        let distance = |cell: &Cell| -> Option<f64> {
            let [(v, known_v), (p, known_p)] =
                [(victim, cell.victim), (partner, cell.partner)].map(|(a, b)| (&jobs[a], &jobs[b]));
            let apart = (v.log_batch() - known_v.log_batch()).abs() + (p.log_batch() - known_p.log_batch()).abs();
            (v.model == known_v.model && p.model == known_p.model).then_some(apart)
        };
        match self {
            Self::Mean => all,
            Self::RowColumn => row_column(),
            Self::ModelPair => of(&|cell| distance(cell).is_some()).unwrap_or_else(row_column),
            Self::NearestBatch => {
                let nearest = cells.iter().filter_map(distance).fold(f64::INFINITY, f64::min);
                of(&|cell| distance(cell).is_some_and(|d| d <= nearest)).unwrap_or_else(row_column)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn guesses_by_hand() {
        let job = |model: &str, batch: f64| Job {
            name: String::new(),
            model: model.to_owned(),
            batch: Some(batch),
            alone: BTreeMap::new(),
        };
        let jobs = [job("x", 1.0), job("x", 2.0), job("x", 8.0), job("y", 1.0)];
        let cell = |victim, partner, rate| Cell { victim, partner, rate };
        let cells = [cell(0, 3, 0.4), cell(1, 3, 0.6), cell(3, 0, 0.8)];
        let of = |baseline: Baseline, victim, partner| baseline.rate(&jobs, &cells, victim, partner);
        // All: 0.6. Beside y: 0.5. Job 2 has no row: 0.6 + 0.5 - 0.6. Nearest to batch 8 is batch 2: 0.6.
        for (found, expected) in [
            (of(Baseline::Mean, 2, 3), 0.6),
            (of(Baseline::RowColumn, 2, 3), 0.5),
            (of(Baseline::RowColumn, 0, 3), 0.3),
            (of(Baseline::ModelPair, 2, 3), 0.5),
            (of(Baseline::NearestBatch, 2, 3), 0.6),
            (of(Baseline::NearestBatch, 3, 3), 0.7),
        ] {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }
}
