//! A load over time that changes by intervals: a sorted list of steps.

use rats_domain::interval::Interval;
use rats_domain::units::Ticks;

/// A piecewise constant number over time, 0 before its first step and after its last.
///
/// Adding costs a search and the steps inside the interval; nothing depends on the length of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// From this tick on, this load; neighbors differ.
    steps: Vec<(Ticks, i64)>,
}

impl Load {
    /// Adds `amount` during `interval`.
    pub fn add(&mut self, interval: Interval, amount: i64) {
        if amount == 0 || interval.is_empty() {
            return;
        }
        let first = self.split(interval.from);
        let last = self.split(interval.to);
        for step in &mut self.steps[first..last] {
            step.1 += amount;
        }
        self.fuse(last);
        self.fuse(first);
    }

    /// The load in tick `at`.
    pub fn at(&self, at: Ticks) -> i64 {
        self.before(self.position(at))
    }

    /// The highest load during `interval`; 0 if that is empty.
    pub fn highest(&self, interval: Interval) -> i64 {
        self.segments(interval).map(|(_, load)| load).max().unwrap_or(0)
    }

    /// Whether there is no load during `interval`.
    pub fn is_zero(&self, interval: Interval) -> bool {
        let next = self.position(interval.from);
        let until = self.steps.get(next).map(|&(at, _)| at);
        interval.is_empty() || (self.before(next) == 0 && until.is_none_or(|until| interval.to <= until))
    }

    /// The pieces of `interval` with their loads, those without load included.
    pub fn segments(&self, interval: Interval) -> impl Iterator<Item = (Interval, i64)> + '_ {
        let mut next = self.position(interval.from);
        let mut from = interval.from;
        std::iter::from_fn(move || {
            if from >= interval.to {
                return None;
            }
            let to = self.steps.get(next).map_or(interval.to, |&(at, _)| at.min(interval.to));
            let segment = (Interval::new(from, to), self.before(next));
            next += 1;
            from = to;
            Some(segment)
        })
    }

    /// Where the load is positive: maximal intervals in order.
    pub fn positive(&self) -> Vec<Interval> {
        let mut found: Vec<Interval> = Vec::new();
        for pair in self.steps.windows(2).filter(|pair| pair[0].1 > 0) {
            match found.last_mut() {
                Some(last) if last.to == pair[0].0 => last.to = pair[1].0,
                _ => found.push(Interval::new(pair[0].0, pair[1].0)),
            }
        }
        found
    }

    /// The end of the last stretch above `limit` that meets `interval`: a job of the same length that starts at or
    /// after the interval's begin and before this tick meets it too.
    pub fn above_until(&self, interval: Interval, limit: i64) -> Option<Ticks> {
        if interval.is_empty() {
            return None;
        }
        let end = self.position(interval.to - Ticks(1));
        let begin = self.position(interval.from);
        let worst = (begin..=end).rev().find(|&next| self.before(next) > limit)?;
        // After the last step the load is 0; a negative limit is exceeded for ever.
        Some(self.steps.get(worst).map_or(Ticks(i64::MAX), |&(at, _)| at))
    }

    /// The ticks at which the load changes.
    pub fn changes(&self) -> impl Iterator<Item = Ticks> + '_ {
        self.steps.iter().map(|&(at, _)| at)
    }

    /// The ticks after `after` at which the load falls.
    pub fn falls(&self, after: Ticks) -> impl Iterator<Item = Ticks> + '_ {
        let first = self.position(after);
        (first..self.steps.len()).filter(|&next| self.steps[next].1 < self.before(next)).map(|next| self.steps[next].0)
    }

    /// The number of steps at or before `at`.
    fn position(&self, at: Ticks) -> usize {
        // Most questions are about the end of the known future.
        if self.steps.last().is_none_or(|last| last.0 <= at) {
            return self.steps.len();
        }
        self.steps.partition_point(|&(tick, _)| tick <= at)
    }

    /// The load just before the step `next`.
    fn before(&self, next: usize) -> i64 {
        next.checked_sub(1).map_or(0, |position| self.steps[position].1)
    }

    /// Makes a step at `at`, perhaps one that changes nothing, and returns its position.
    fn split(&mut self, at: Ticks) -> usize {
        let next = self.position(at);
        if next > 0 && self.steps[next - 1].0 == at {
            return next - 1;
        }
        self.steps.insert(next, (at, self.before(next)));
        next
    }

    /// Drops the step at `position` if it changes nothing.
    fn fuse(&mut self, position: usize) {
        if self.steps[position].1 == self.before(position) {
            self.steps.remove(position);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(from: i64, to: i64) -> Interval {
        Interval::new(Ticks(from), Ticks(to))
    }

    #[test]
    fn loads_add_up_and_vanish_again() {
        let mut load = Load::default();
        load.add(ticks(0, 10), 3);
        load.add(ticks(2, 4), 4);
        let segments: Vec<_> = load.segments(ticks(-1, 12)).collect();
        let expected = [(-1, 0, 0), (0, 2, 3), (2, 4, 7), (4, 10, 3), (10, 12, 0)];
        assert_eq!(segments, expected.map(|(from, to, load)| (ticks(from, to), load)));
        assert_eq!((load.highest(ticks(4, 20)), load.highest(ticks(1, 3)), load.at(Ticks(3))), (3, 7, 7));
        assert_eq!(
            [(-1, 0), (-1, 1), (9, 10), (10, 12), (3, 3)].map(|(a, b)| load.is_zero(ticks(a, b))),
            [true, false, false, true, true]
        );
        assert_eq!(load.positive(), [ticks(0, 10)]);
        assert_eq!(load.falls(Ticks(0)).collect::<Vec<_>>(), [Ticks(4), Ticks(10)]);
        load.add(ticks(2, 4), -4);
        load.add(ticks(0, 10), -3);
        assert_eq!(load, Load::default());
    }

    #[test]
    fn touching_loads_of_equal_size_are_one_step() {
        let mut load = Load::default();
        load.add(ticks(0, 5), 1);
        load.add(ticks(5, 9), 1);
        assert_eq!(load.changes().collect::<Vec<_>>(), [Ticks(0), Ticks(9)]);
    }

    #[test]
    fn last_excess_within_an_interval_tells_when_to_try_again() {
        let mut load = Load::default();
        load.add(ticks(0, 3), 5);
        load.add(ticks(6, 8), 5);
        // The job [0, 7) meets both; it can start at 8 at the earliest.
        assert_eq!(load.above_until(ticks(0, 7), 4), Some(Ticks(8)));
        assert_eq!(load.above_until(ticks(3, 6), 4), None);
        assert_eq!(load.above_until(ticks(2, 6), 4), Some(Ticks(3)));
        assert_eq!(load.above_until(ticks(2, 6), 5), None);
    }
}
