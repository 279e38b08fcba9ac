//! By how much a tree of uplinks promises more than the links carry.
//!
//! # Model
//! In the tree, the children of a domain may talk among themselves with any traffic that keeps each child within its
//! uplink. Split the children into two sides: the tree then *allows* min(sum of uplinks of one side, sum of the
//! other) to flow across, while the links *carry* the maximum flow from the GPUs of one side to those of the other.
//! Links of the whole network count; GPUs outside the domain pass nothing on. The overstatement of the domain is the
//! greatest ratio of the two over the splits tried; it is never below 1, and 1 for a network that is a tree.
//!
//! # Limits
//! All splits are tried for up to [`EXHAUSTIVE`] children; above, halves, prefixes and binary digits of the position.
//! So the figure is exact for what a split can show in small domains and a lower estimate in large ones. Traffic
//! between fixed pairs can be worse than any split by a factor that grows with the logarithm of the number of pairs.
//!
//! # References
//! Leighton and Rao, "Multicommodity max-flow min-cut theorems and their use in designing approximation algorithms",
//! 1999 (how far pairs can fall behind cuts).

use std::collections::BTreeSet;

use rats_domain::units::KilobytesPerSecond;

use super::flow::{Flow, Side};
use super::network::Network;

/// Up to this many children every split is tried.
pub const EXHAUSTIVE: usize = 8;

/// What the worst split of a domain's children shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overstatement {
    /// The area whose children are split.
    pub area: usize,
    /// The children on one side.
    pub side: Vec<usize>,
    /// What the tree allows between the sides.
    pub allowed: KilobytesPerSecond,
    /// What the links carry between them.
    pub carried: KilobytesPerSecond,
    /// Whether every split was tried.
    pub exhaustive: bool,
}

impl Overstatement {
    /// Allowed over carried, at least 1; infinite if nothing is carried.
    pub fn ratio(&self) -> f64 {
        self.allowed.0 as f64 / self.carried.0 as f64
    }

    /// Whether this split is worse than another, compared exactly.
    fn exceeds(&self, other: &Self) -> bool {
        let product = |a: KilobytesPerSecond, b: KilobytesPerSecond| i128::from(a.0) * i128::from(b.0);
        product(self.allowed, other.carried) > product(other.allowed, self.carried)
    }

    /// An uplink so small that this split is no longer overstated.
    pub fn divide(&self, uplink: KilobytesPerSecond) -> KilobytesPerSecond {
        let scaled = i128::from(uplink.0) * i128::from(self.carried.0) / i128::from(self.allowed.0.max(1));
        KilobytesPerSecond(i64::try_from(scaled).unwrap_or(i64::MAX))
    }
}

/// The worst split of an area with at least two children, given the uplink of every area.
pub fn overstatement(
    network: &Network,
    flow: &mut Flow,
    uplinks: &[KilobytesPerSecond],
    area: usize,
) -> Option<Overstatement> {
    let children = &network.areas[area].children;
    let exhaustive = children.len() <= EXHAUSTIVE;
    let mut worst: Option<Overstatement> = None;
    for split in splits(children.len()) {
        let sum = |side: bool| (0..children.len()).filter(|&c| split[c] == side).map(|c| uplinks[children[c]]).sum();
        let (one, other): (KilobytesPerSecond, KilobytesPerSecond) = (sum(true), sum(false));
        let mut sides = vec![Side::Out; network.gpus + 1];
        for (child, in_one) in children.iter().zip(&split) {
            for &gpu in &network.areas[*child].gpus {
                sides[gpu] = if *in_one { Side::From } else { Side::To };
            }
        }
        let carried = flow.cut(|terminal| sides[terminal]);
        let side = (0..children.len()).filter(|&c| split[c]).map(|c| children[c]).collect();
        let found = Overstatement { area, side, allowed: one.min(other), carried, exhaustive };
        if worst.as_ref().is_none_or(|worst| found.exceeds(worst)) {
            worst = Some(found);
        }
    }
    worst
}

/// The splits to try, each with the first child on the true side.
fn splits(children: usize) -> BTreeSet<Vec<bool>> {
    if children < 2 {
        return BTreeSet::new();
    }
    if children <= EXHAUSTIVE {
        let split = |bits: usize| (0..children).map(|c| c == 0 || bits >> (c - 1) & 1 == 1).collect();
        return (0..(1 << (children - 1)) - 1).map(split).collect();
    }
    let prefixes = [1, children / 4, children / 2, children * 3 / 4, children - 1];
    let prefixes = prefixes.into_iter().map(|end| (0..children).map(|c| c < end).collect());
    let digits =
        (0..usize::BITS - children.leading_zeros()).map(|digit| (0..children).map(move |c| c >> digit & 1 == 0));
    let one_sided = |split: &Vec<bool>| split.iter().any(|side| !side) && split[0];
    prefixes.chain(digits.map(Iterator::collect)).filter(one_sided).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_children_are_split_in_every_way() {
        assert_eq!(splits(1).len(), 0);
        assert_eq!(splits(2).len(), 1);
        assert_eq!(splits(4).len(), 7);
        assert_eq!(splits(8).len(), 127);
        assert!(splits(100).iter().all(|split| split[0] && split.contains(&false)));
        // 5 prefixes and 7 digits; the last digit (64) of 0..99 splits too.
        assert_eq!(splits(100).len(), 12);
    }
}
