//! Step functions of time: caps, foreign power, tariffs.

use crate::interval::Interval;
use crate::units::Ticks;

/// A piecewise constant function of the tick; `None` before its first step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steps<V> {
    steps: Vec<(Ticks, V)>,
}

/// Before every tick that an instance or a plan can name; no extreme, so that one can calculate with it.
const BEGINNING: Ticks = Ticks(-(1 << 32));

impl<V: Copy> Steps<V> {
    /// From steps in strictly increasing tick order; the last holds for ever.
    pub(crate) fn new(steps: Vec<(Ticks, V)>) -> Self {
        Self { steps }
    }

    /// A constant from the beginning of time.
    pub(crate) fn constant(value: V) -> Self {
        Self { steps: vec![(BEGINNING, value)] }
    }

    /// The value in tick `at`, or `None` before the first step.
    pub fn at(&self, at: Ticks) -> Option<V> {
        let after = self.steps.partition_point(|&(from, _)| from <= at);
        after.checked_sub(1).map(|position| self.steps[position].1)
    }

    /// The pieces of `interval` on which the value is constant.
    pub fn pieces(&self, interval: Interval) -> impl Iterator<Item = (Interval, Option<V>)> + '_ {
        let first = self.steps.partition_point(|&(from, _)| from <= interval.from);
        let mut from = interval.from;
        let mut next = first;
        std::iter::from_fn(move || {
            if from >= interval.to {
                return None;
            }
            let to = self.steps.get(next).map_or(interval.to, |&(tick, _)| tick.min(interval.to));
            let value = next.checked_sub(1).map(|position| self.steps[position].1);
            let piece = Interval::new(from, to);
            from = to;
            next += 1;
            Some((piece, value))
        })
    }

    /// All steps in order.
    pub fn steps(&self) -> &[(Ticks, V)] {
        &self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_interval_and_know_their_value() {
        let steps = Steps::new(vec![(Ticks(2), 'a'), (Ticks(5), 'b')]);
        let pieces: Vec<_> = steps.pieces(Interval::new(Ticks(0), Ticks(7))).collect();
        let expected = [(0, 2, None), (2, 5, Some('a')), (5, 7, Some('b'))];
        assert_eq!(pieces, expected.map(|(from, to, value)| (Interval::new(Ticks(from), Ticks(to)), value)));
        assert_eq!(steps.at(Ticks(1)), None);
        assert_eq!(steps.at(Ticks(100)), Some('b'));
    }
}
