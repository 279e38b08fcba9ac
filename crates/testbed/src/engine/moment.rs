//! Time of the plan, finer than a tick.

use std::ops::Sub;

use rats_domain::units::{TickLength, Ticks};

/// Milliseconds of plan time since tick 0; below 0 before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub i64);

impl Moment {
    /// The beginning of a tick.
    pub fn of(tick: Ticks, length: TickLength) -> Self {
        Self(tick.0.saturating_mul(milliseconds(length)))
    }

    /// The tick that contains it.
    pub fn tick(self, length: TickLength) -> Ticks {
        Ticks(self.0.div_euclid(milliseconds(length)))
    }

    /// Seconds of plan time since tick 0.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl Sub for Moment {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

fn milliseconds(length: TickLength) -> i64 {
    length.0.saturating_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_lies_in_the_tick_that_began_last() {
        // Ticks of 2 s: tick 3 is [6000, 8000) ms; before tick 0 lies tick -1.
        let length = TickLength(2);
        assert_eq!(Moment::of(Ticks(3), length), Moment(6000));
        assert_eq!(Moment(7999).tick(length), Ticks(3));
        assert_eq!(Moment(-1).tick(length), Ticks(-1));
    }
}
