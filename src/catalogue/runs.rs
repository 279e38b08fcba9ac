//! Lists of clocks as runs of equal steps.

use rats_domain::decimal::Decimal;
use rats_domain::format::ClockRunFile;

/// The fewest clocks that are worth a run.
const WORTH: usize = 3;

/// Runs that stand for exactly these clocks, low to high. Steps are multiples of 0.5 MHz, clocks rounded down.
pub fn runs(clocks: &[i64]) -> Vec<ClockRunFile> {
    let mut sorted = clocks.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut rest = sorted.as_slice();
    let mut runs = Vec::new();
    while let Some(&first) = rest.first() {
        let (length, run) = longest(rest).unwrap_or((1, ClockRunFile { from: first, to: first, step: None }));
        runs.push(run);
        rest = &rest[length..];
    }
    runs
}

/// The longest run from the first clock on.
fn longest(clocks: &[i64]) -> Option<(usize, ClockRunFile)> {
    let &[first, second, ..] = clocks else { return None };
    // The first distance is the step rounded down or, in a run of halves, up.
    let around = [2 * (second - first), 2 * (second - first) + 1, 2 * (second - first) - 1];
    let run = |half_steps: i64| {
        let follows = |(position, clock): (i64, &i64)| *clock == first + (position * half_steps).div_euclid(2);
        let length = (0..).zip(clocks).take_while(|&pair| follows(pair)).count();
        let step = Some(Decimal::from_scaled(i128::from(half_steps) * 5, 1));
        (length, ClockRunFile { from: first, to: clocks[length - 1], step })
    };
    let runs = around.into_iter().filter(|&half_steps| half_steps > 0).map(run);
    // Of equally long runs the first, with whole steps.
    runs.rev().max_by_key(|(length, _)| *length).filter(|(length, _)| *length >= WORTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(clocks: &[i64], expected: usize) {
        let runs = runs(clocks);
        assert_eq!(runs.len(), expected, "{runs:?}");
        assert_eq!(runs.iter().flat_map(ClockRunFile::clocks).collect::<Vec<_>>(), clocks);
    }

    #[test]
    fn runs_give_the_clocks_back() {
        check(&[210, 225, 240, 255], 1);
        check(&[135, 142, 150, 157, 165], 1);
        check(&[142, 150, 157, 165], 2);
        check(&[405, 420], 2);
        check(&[300, 645, 660, 675], 2);
        check(&[], 0);
    }
}
