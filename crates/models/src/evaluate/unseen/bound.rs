//! Why one power figure is not enough: kernels that look alike at the first point and differ elsewhere.
//!
//! # Model
//! Two kernels whose power at the first point differs by no more than the tolerance are one to a model that sees only that.
//! Whatever curve it says for both, at a point where their times relative to the first are `a <= b` the mean relative error
//! of the two is at least `(1 - a/b) / 2` (attained by saying `a`). Disjoint pairs are taken greedily along the power, each
//! kernel with the partner within the tolerance that makes the bound greatest; kernels without a partner count as 0.
//!
//! # Limits
//! A lower bound for what sees nothing else; pairs use the worst two of each neighborhood only, so no model need reach it.

use std::collections::BTreeSet;

use crate::score::{Score, Subject};
use crate::statistics::{largest, mean};
use crate::unseen::kernels::Kernels;

/// Relative difference of power that is taken for none.
const TOLERANCE: f64 = 0.01;

/// The bound as a score; `None` where times or powers are missing.
pub fn score(subject: Subject, kernels: &Kernels, first: usize) -> Option<Score> {
    let curves: Vec<(f64, Vec<f64>)> = kernels
        .kernels
        .iter()
        .map(|kernel| {
            let time = kernel.time.as_ref()?;
            let hidden = time.iter().enumerate().filter(|(at, _)| *at != first);
            Some((kernel.power.as_ref()?[first], hidden.map(|(_, value)| value - time[first]).collect()))
        })
        .collect::<Option<_>>()?;
    let least = least_errors(curves);
    Some(Score {
        groups: least.len(),
        n: least.len(),
        mape: mean(&least),
        worst_group: largest(&least),
        ..Score::empty(subject)
    })
}

/// The least mean relative error of each kernel, given the logarithm of its power and of its relative times.
pub fn least_errors(mut curves: Vec<(f64, Vec<f64>)>) -> Vec<f64> {
    curves.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut least = vec![0.0; curves.len()];
    let mut paired = BTreeSet::new();
    for at in 0..curves.len() {
        if paired.contains(&at) {
            continue;
        }
        let near = (at + 1..curves.len()).take_while(|&other| curves[other].0 - curves[at].0 <= TOLERANCE);
        let bounds = near
            .filter(|other| !paired.contains(other))
            .map(|other| (pair_bound(&curves[at].1, &curves[other].1), other));
        if let Some((bound, other)) = bounds.max_by(|a, b| a.0.total_cmp(&b.0)) {
            paired.extend([at, other]);
            (least[at], least[other]) = (bound, bound);
        }
    }
    least
}

fn pair_bound(a: &[f64], b: &[f64]) -> f64 {
    let at: Vec<f64> = a.iter().zip(b).map(|(a, b)| (1.0 - (-(a - b).abs()).exp()) / 2.0).collect();
    mean(&at).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_kernels_of_equal_power_cannot_both_be_predicted() {
        // Times 1 and 4 at one hidden point, equal at the other: (1 - 1/4)/2 and 0, mean 3/16 for both. The third kernel
        // needs 10 % more power and stands alone.
        let curves = vec![(0.0, vec![0.0, 0.0]), (0.1, vec![9.0, 9.0]), (0.005, vec![4f64.ln(), 0.0])];
        let least = least_errors(curves);
        assert!((least[0] - 3.0 / 16.0).abs() < 1e-12 && (least[1] - 3.0 / 16.0).abs() < 1e-12, "{least:?}");
        assert!(least[2].abs() < 1e-12);
    }
}
