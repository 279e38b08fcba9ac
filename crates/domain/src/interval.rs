//! Half-open intervals of ticks.

use crate::units::Ticks;

/// The ticks `from <= t < to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interval {
    /// First tick inside.
    pub from: Ticks,
    /// First tick after.
    pub to: Ticks,
}

impl Interval {
    /// The ticks `[from, to)`.
    pub fn new(from: Ticks, to: Ticks) -> Self {
        Self { from, to }
    }

    /// Number of ticks; 0 if empty.
    pub fn len(self) -> Ticks {
        Ticks((self.to.0 - self.from.0).max(0))
    }

    /// Whether no tick lies inside.
    pub fn is_empty(self) -> bool {
        self.from >= self.to
    }

    /// Whether both share a tick.
    pub fn overlaps(self, other: Self) -> bool {
        self.from < other.to && other.from < self.to
    }

    /// The ticks in both.
    pub fn intersection(self, other: Self) -> Self {
        Self { from: self.from.max(other.from), to: self.to.min(other.to) }
    }
}

/// Sorts, drops empty intervals and merges those that overlap or touch.
pub fn union(mut intervals: Vec<Interval>) -> Vec<Interval> {
    intervals.retain(|interval| !interval.is_empty());
    intervals.sort_unstable();
    let mut merged: Vec<Interval> = Vec::with_capacity(intervals.len());
    for interval in intervals {
        match merged.last_mut() {
            Some(last) if interval.from <= last.to => last.to = last.to.max(interval.to),
            _ => merged.push(interval),
        }
    }
    merged
}

/// The parts of `whole` (sorted, disjoint) that `cover` (sorted, disjoint) leaves out.
pub fn difference(whole: &[Interval], cover: &[Interval]) -> Vec<Interval> {
    let mut left = Vec::new();
    let mut next = 0;
    for &interval in whole {
        let mut from = interval.from;
        while next < cover.len() && cover[next].to <= from {
            next += 1;
        }
        let mut at = next;
        while at < cover.len() && cover[at].from < interval.to {
            if from < cover[at].from {
                left.push(Interval::new(from, cover[at].from));
            }
            from = from.max(cover[at].to);
            at += 1;
        }
        if from < interval.to {
            left.push(Interval::new(from, interval.to));
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(pairs: &[(i64, i64)]) -> Vec<Interval> {
        pairs.iter().map(|&(from, to)| Interval::new(Ticks(from), Ticks(to))).collect()
    }

    #[test]
    fn touching_intervals_merge() {
        assert_eq!(union(ticks(&[(5, 7), (0, 2), (2, 3), (6, 6)])), ticks(&[(0, 3), (5, 7)]));
    }

    #[test]
    fn difference_leaves_uncovered_parts() {
        let left = difference(&ticks(&[(0, 10), (12, 14)]), &ticks(&[(2, 4), (9, 13)]));
        assert_eq!(left, ticks(&[(0, 2), (4, 9), (13, 14)]));
    }
}
