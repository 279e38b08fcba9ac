//! Which measurements a model sees and which it is judged by; the same seed gives the same split everywhere.

use std::collections::{BTreeMap, BTreeSet};

use rats_domain::random::Random;

/// Positions of a list, those a model is fitted to and those it is judged by; both ascending, disjoint, together all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// What the model sees.
    pub fitted: Vec<usize>,
    /// What it is judged by.
    pub held: Vec<usize>,
}

impl Split {
    /// Fits what `fit` says of a position.
    pub fn by(n: usize, fit: impl Fn(usize) -> bool) -> Self {
        let (fitted, held) = (0..n).partition(|&position| fit(position));
        Self { fitted, held }
    }
}

/// Fits every `stride`-th distinct key in ascending order, beginning with the one at `phase`: all positions of a key fall on
/// the same side.
pub fn every<K: Ord>(keys: &[K], stride: usize, phase: usize) -> Split {
    let ranks: BTreeMap<&K, usize> =
        keys.iter().collect::<BTreeSet<_>>().into_iter().enumerate().map(|(rank, key)| (key, rank)).collect();
    Split::by(keys.len(), |position| ranks[&keys[position]] % stride.max(1) == phase % stride.max(1))
}

/// Holds out a random share of the distinct keys, rounded to the nearest whole number of keys.
pub fn hold_out<K: Ord>(keys: &[K], share: f64, seed: u64) -> Split {
    let mut distinct: Vec<&K> = keys.iter().collect::<BTreeSet<_>>().into_iter().collect();
    Random::new(seed).shuffle(&mut distinct);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and their number")]
    let count = (share.clamp(0.0, 1.0) * distinct.len() as f64).round() as usize;
    let held: BTreeSet<&K> = distinct.into_iter().take(count).collect();
    Split::by(keys.len(), |position| !held.contains(&keys[position]))
}

/// Splits whose held-out parts are `folds` random groups of the distinct keys, as equal in size as they can be.
pub fn folds<K: Ord>(keys: &[K], folds: usize, seed: u64) -> Vec<Split> {
    let mut distinct: Vec<&K> = keys.iter().collect::<BTreeSet<_>>().into_iter().collect();
    Random::new(seed).shuffle(&mut distinct);
    let folds = folds.clamp(1, distinct.len().max(1));
    let of: BTreeMap<&K, usize> = distinct.into_iter().enumerate().map(|(at, key)| (key, at % folds)).collect();
    (0..folds).map(|fold| Split::by(keys.len(), |position| of[&keys[position]] != fold)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fourth_clock_is_fitted_with_all_its_rows() {
        let split = every(&[40, 10, 20, 30, 50, 10], 4, 0);
        assert_eq!((split.fitted, split.held), (vec![1, 4, 5], vec![0, 2, 3]));
    }

    #[test]
    fn folds_hold_each_position_out_once_and_keep_keys_together() {
        let keys = ["a", "b", "a", "c", "d", "e", "b"];
        let splits = folds(&keys, 3, 9);
        assert_eq!(splits.len(), 3);
        for position in 0..keys.len() {
            assert_eq!(splits.iter().filter(|split| split.held.contains(&position)).count(), 1);
        }
        for split in &splits {
            let held: BTreeSet<_> = split.held.iter().map(|&position| keys[position]).collect();
            assert!(split.fitted.iter().all(|&position| !held.contains(keys[position])));
        }
        assert_eq!(splits, folds(&keys, 3, 9));
        assert_ne!(hold_out(&keys, 0.4, 1), hold_out(&keys, 0.4, 3));
        assert_eq!(hold_out(&["x"; 4], 1.0, 1).fitted, [0; 0]);
    }
}
