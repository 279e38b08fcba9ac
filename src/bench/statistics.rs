//! The few statistics that reports need.
//!
//! References: F. Wilcoxon, "Individual Comparisons by Ranking Methods", 1945; T. Berthold, "Measuring the impact of
//! primal heuristics", 2013 (primal integral); E. D. Dolan, J. J. More, "Benchmarking optimization software with
//! performance profiles", 2002.

use rats_domain::objective::gap;
pub use rats_models::statistics::{largest, mean, median};

/// Seconds by which times are shifted in geometric means, so that short times do not rule them.
pub const SHIFT_S: f64 = 1.0;
/// Most pairs for which the distribution of the rank sum is worked out exactly.
const MOST_EXACT: usize = 100;

/// exp(mean(ln(value + shift))) - shift.
pub fn shifted_geometric_mean(values: &[f64], shift: f64) -> Option<f64> {
    let logarithms: Vec<f64> = values.iter().map(|value| (value + shift).ln()).collect();
    Some(mean(&logarithms)?.exp() - shift)
}

/// Mean gap to `best` over the time from 0 to `limit_s`: 1 while there is no plan. Between 0 and 1, or above it where
/// objectives have both signs.
pub fn primal_integral(plans: impl IntoIterator<Item = (f64, f64)>, best: f64, limit_s: f64) -> f64 {
    let (mut sum, mut since, mut height) = (0.0, 0.0, 1.0);
    for (at, objective) in plans {
        let at = at.clamp(since, limit_s.max(since));
        sum += (at - since) * height;
        (since, height) = (at, gap(objective, best));
    }
    sum += (limit_s - since).max(0.0) * height;
    if limit_s > 0.0 { sum / limit_s } else { height }
}

/// The probability that paired differences without a tendency are as much in favor of positive ones as these
/// (Wilcoxon's signed ranks, one-sided). Differences of 0 are left out; 1 if none is left.
///
/// Up to 100 differences the distribution is exact, ties with their mean ranks; above it is taken to be normal.
pub fn signed_rank(differences: &[f64]) -> f64 {
    let mut moved: Vec<f64> = differences.iter().copied().filter(|difference| *difference != 0.0).collect();
    if moved.is_empty() {
        return 1.0;
    }
    moved.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let ranks = double_ranks(&moved);
    let positive: usize = ranks.iter().zip(&moved).filter(|(_, value)| **value > 0.0).map(|(rank, _)| rank).sum();
    if moved.len() <= MOST_EXACT { exact_tail(&ranks, positive) } else { normal_tail(&ranks, positive) }
}

/// Twice the rank of each value by magnitude, values of one magnitude sharing their mean rank.
fn double_ranks(sorted: &[f64]) -> Vec<usize> {
    let mut ranks = Vec::with_capacity(sorted.len());
    for group in sorted.chunk_by(|a, b| a.abs().total_cmp(&b.abs()).is_eq()) {
        let first = ranks.len() + 1;
        ranks.extend(std::iter::repeat_n(2 * first + group.len() - 1, group.len()));
    }
    ranks
}

/// The share of the 2^n choices of signs with a positive rank sum of at least `positive`.
fn exact_tail(ranks: &[usize], positive: usize) -> f64 {
    let total: usize = ranks.iter().sum();
    let mut share = vec![0.0; total + 1];
    share[0] = 1.0;
    let mut reach = 0;
    for &rank in ranks {
        for sum in (0..=reach).rev() {
            let half = share[sum] / 2.0;
            share[sum] = half;
            share[sum + rank] += half;
        }
        reach += rank;
    }
    share[positive..].iter().sum::<f64>().min(1.0)
}

/// The same by the normal distribution, with correction for continuity.
fn normal_tail(ranks: &[usize], positive: usize) -> f64 {
    let mean = ranks.iter().sum::<usize>() as f64 / 2.0;
    let variance = ranks.iter().map(|&rank| (rank as f64).powi(2)).sum::<f64>() / 4.0;
    // Sums are of doubled ranks, so that half a step is 1.
    upper_normal((positive as f64 - 1.0 - mean) / variance.sqrt())
}

/// Upper tail of the standard normal distribution.
///
/// Formula 26.2.17 of M. Abramowitz, I. A. Stegun, "Handbook of Mathematical Functions", 1964; error below 1e-7.
fn upper_normal(z: f64) -> f64 {
    const COEFFICIENTS: [f64; 5] = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    if z < 0.0 {
        return 1.0 - upper_normal(-z);
    }
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let polynomial = COEFFICIENTS.iter().rev().fold(0.0, |sum, coefficient| (sum + coefficient) * t);
    (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt() * polynomial
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-6, "{value} is not {expected}");
    }

    #[test]
    fn the_middle_of_a_few_values() {
        assert_eq!((median(&[]), mean(&[])), (None, None));
        near(median(&[5.0, 1.0, 2.0]).unwrap(), 2.0);
        near(median(&[5.0, 1.0, 2.0, 4.0]).unwrap(), 3.0);
    }

    #[test]
    fn the_shift_is_taken_off_again() {
        // (0 + 1) x (3 + 1) = 4, its root is 2, less 1.
        near(shifted_geometric_mean(&[0.0, 3.0], 1.0).unwrap(), 1.0);
        near(shifted_geometric_mean(&[7.5, 7.5, 7.5], 1.0).unwrap(), 7.5);
    }

    #[test]
    fn the_primal_integral_is_the_mean_height_of_the_gap() {
        // No plan for 2 s of 10 (height 1), then gap (200 - 100) / 200 for 3 s, then 0: (2 + 1.5) / 10.
        near(primal_integral([(2.0, 200.0), (5.0, 100.0)], 100.0, 10.0), 0.35);
        near(primal_integral([], 100.0, 10.0), 1.0);
        // A plan after the limit helps nothing.
        near(primal_integral([(12.0, 100.0)], 100.0, 10.0), 1.0);
    }

    #[test]
    fn signed_ranks_by_hand() {
        // All five positive: 1 of 32 choices of signs.
        near(signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0]), 1.0 / 32.0);
        // Rank sum of 1, 2 and 4 positive is 7 of at most 10; 5 of 16 subsets of {1, 2, 3, 4} reach 7:
        // {3,4}, {1,2,4}, {1,3,4}, {2,3,4}, {1,2,3,4}.
        near(signed_rank(&[1.0, 2.0, -3.0, 4.0]), 5.0 / 16.0);
        // Two ties of mean rank 1.5, one of each sign: 3 of 4 choices reach 1.5.
        near(signed_rank(&[1.0, -1.0, 0.0]), 0.75);
        near(signed_rank(&[0.0, 0.0]), 1.0);
        near(signed_rank(&[-1.0, -2.0]), 1.0);
    }

    #[test]
    fn many_pairs_agree_with_the_exact_distribution() {
        let differences: Vec<f64> = (1..=100).map(|i| if i % 5 < 2 { -f64::from(i) } else { f64::from(i) }).collect();
        let ranks = double_ranks(&differences);
        let positive = ranks.iter().zip(&differences).filter(|(_, value)| **value > 0.0).map(|(rank, _)| rank).sum();
        assert!((exact_tail(&ranks, positive) - normal_tail(&ranks, positive)).abs() < 2e-3);
        near(upper_normal(1.644_853_6), 0.05);
        near(upper_normal(-1.644_853_6), 0.95);
    }
}
