//! A load over time, built from intervals and swept once.

use crate::interval::Interval;
use crate::steps::Steps;
use crate::units::{Milliwatts, Ticks};

/// A sum of constant loads over intervals.
#[derive(Clone, Debug, Default)]
pub(crate) struct Profile {
    changes: Vec<(Ticks, i64)>,
}

/// A maximal interval in which a load exceeds its limit, with the worst of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Excess {
    pub interval: Interval,
    pub load: i64,
    pub limit: i64,
}

impl Profile {
    /// Adds `load` during `interval`.
    pub fn add(&mut self, interval: Interval, load: i64) {
        if load != 0 && !interval.is_empty() {
            self.changes.push((interval.from, load));
            self.changes.push((interval.to, -load));
        }
    }

    /// The load as disjoint segments in time order; where it is 0 segments are left out.
    ///
    /// A load that does not fit 64 bits, far above every limit an instance can state, becomes the largest that does.
    pub fn segments(&self) -> Vec<(Interval, i64)> {
        let mut changes = self.changes.clone();
        changes.sort_unstable_by_key(|&(at, _)| at);
        let mut segments: Vec<(Interval, i64)> = Vec::new();
        let (mut load, mut since) = (0_i128, Ticks::ZERO);
        let mut next = 0;
        while next < changes.len() {
            let at = changes[next].0;
            let before = load;
            while next < changes.len() && changes[next].0 == at {
                load += i128::from(changes[next].1);
                next += 1;
            }
            if before != load {
                if before != 0 {
                    segments.push((Interval::new(since, at), i64::try_from(before).unwrap_or(i64::MAX)));
                }
                since = at;
            }
        }
        segments
    }

    /// Maximal intervals within which the load exceeds a constant limit.
    pub fn above(&self, limit: i64) -> Vec<Excess> {
        merge(self.segments().into_iter().filter(|&(_, load)| load > limit).map(|(interval, load)| Excess {
            interval,
            load,
            limit,
        }))
    }

    /// Maximal intervals in `[0, end)` within which the load exceeds a limit that changes over time.
    pub fn above_cap(&self, limits: &Steps<Milliwatts>, end: Ticks) -> Vec<Excess> {
        let window = Interval::new(Ticks::ZERO, end);
        let mut excesses = Vec::new();
        for (interval, load) in self.segments() {
            for (interval, limit) in limits.pieces(interval.intersection(window)) {
                if let Some(limit) = limit.map(|limit| limit.0).filter(|&limit| load > limit) {
                    excesses.push(Excess { interval, load, limit });
                }
            }
        }
        merge(excesses.into_iter())
    }
}

fn merge(excesses: impl Iterator<Item = Excess>) -> Vec<Excess> {
    let mut merged: Vec<Excess> = Vec::new();
    for excess in excesses {
        match merged.last_mut() {
            Some(last) if last.interval.to == excess.interval.from => {
                last.interval.to = excess.interval.to;
                if excess.load - excess.limit > last.load - last.limit {
                    (last.load, last.limit) = (excess.load, excess.limit);
                }
            }
            _ => merged.push(excess),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(from: i64, to: i64) -> Interval {
        Interval::new(Ticks(from), Ticks(to))
    }

    #[test]
    fn loads_add_up_and_excesses_are_maximal() {
        let mut profile = Profile::default();
        profile.add(ticks(0, 10), 3);
        profile.add(ticks(2, 4), 4);
        profile.add(ticks(4, 6), 5);
        assert_eq!(profile.segments(), vec![(ticks(0, 2), 3), (ticks(2, 4), 7), (ticks(4, 6), 8), (ticks(6, 10), 3)]);
        assert_eq!(profile.above(6), vec![Excess { interval: ticks(2, 6), load: 8, limit: 6 }]);
    }
}
