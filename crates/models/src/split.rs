//! Which measurements a model sees and which it is judged by; the same seed gives the same split everywhere.

use std::collections::{BTreeMap, BTreeSet};

/// A stream of random numbers: splitmix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators",
/// 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Evenly spread over [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Normal, mean 0 and standard deviation 1 (G. Box, M. Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// A whole number below `n`, which is above 0. The bias of at most n / 2^64 is of no account here.
    #[expect(clippy::cast_possible_truncation, reason = "the high half of the product is below n")]
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next_u64()) * n as u128) >> 64) as usize
    }

    /// Puts a list into random order (R. Durstenfeld, "Algorithm 235", 1964).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            let chosen = self.below(end + 1);
            items.swap(end, chosen);
        }
    }
}

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
    fn the_stream_is_the_published_one() {
        // First outputs for seed 1234567 as published with the reference implementation.
        let mut random = Random::new(1_234_567);
        assert_eq!([random.next_u64(), random.next_u64()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

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

    #[test]
    fn normal_numbers_have_mean_0_and_variance_1() {
        let mut random = Random::new(5);
        let drawn: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        let mean = drawn.iter().sum::<f64>() / 20_000.0;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 20_000.0;
        // Standard errors: 1/sqrt(20000) = 0.007 and sqrt(2/20000) = 0.01.
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.04);
    }
}
