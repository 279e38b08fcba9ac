//! Quantities with their units, kept as integers so that sums are exact.
//!
//! A unit supports only the operations that mean something: powers add, a power over a time gives an energy.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

macro_rules! unit {
    ($(#[$doc:meta])* $name:ident($repr:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $repr);

        impl $name {
            /// The neutral element of addition.
            pub const ZERO: Self = Self(0);
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl Neg for $name {
            type Output = Self;
            fn neg(self) -> Self {
                Self(-self.0)
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
                values.fold(Self::ZERO, Add::add)
            }
        }
    };
}

unit!(
    /// A point in time or a duration, in ticks of the instance.
    Ticks(i64)
);
unit!(
    /// Power in mW.
    Milliwatts(i64)
);
unit!(
    /// Energy in mJ; 128 bits because a cluster's total can pass 2^53.
    Millijoules(i128)
);
unit!(
    /// Bandwidth in kB/s, the exact form of GB/s with six decimals (1 GB = 1e9 bytes).
    KilobytesPerSecond(i64)
);
unit!(
    /// An amount of a node resource, in thousandths.
    Thousandths(i64)
);
unit!(
    /// A price in millionths of the tariff's unit per kWh; may be negative.
    MicrosPerKwh(i64)
);
unit!(
    /// Memory of one GPU in MiB.
    Mebibytes(i64)
);

/// Millijoules in one kilowatt-hour.
const MILLIJOULES_PER_KWH: f64 = 3.6e9;

/// The length of one tick in whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickLength(pub i64);

/// A number of GPUs, at least one where it is a gang size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GpuCount(pub u32);

impl Milliwatts {
    /// Energy of this power held for `duration`.
    pub fn over(self, duration: Ticks, tick: TickLength) -> Millijoules {
        Millijoules(i128::from(self.0) * i128::from(duration.0) * i128::from(tick.0))
    }

    /// The power of `count` devices that draw this much each.
    pub fn times(self, count: GpuCount) -> Self {
        Self(self.0 * i64::from(count.0))
    }

    /// The share of `part` out of `whole` GPUs, rounded up to mW.
    pub fn share(self, part: GpuCount, whole: GpuCount) -> Self {
        Self(ceil_div(self.0 * i64::from(part.0), i64::from(whole.0)))
    }

    /// In watts, for display and relaxations.
    pub fn watts(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl Millijoules {
    /// In joules, for the objective and display.
    pub fn joules(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// In kilowatt-hours, for display.
    pub fn kwh(self) -> f64 {
        self.0 as f64 / MILLIJOULES_PER_KWH
    }
}

impl KilobytesPerSecond {
    /// The share of `part` out of `whole` GPUs, rounded up to kB/s.
    pub fn share(self, part: GpuCount, whole: GpuCount) -> Self {
        Self(ceil_div(self.0 * i64::from(part.0), i64::from(whole.0)))
    }
}

impl Thousandths {
    /// What `count` GPUs need when one needs this much.
    pub fn times(self, count: GpuCount) -> Self {
        Self(self.0 * i64::from(count.0))
    }
}

impl MicrosPerKwh {
    /// The price of `energy`, in the tariff's unit.
    pub fn of(self, energy: Millijoules) -> f64 {
        (self.0 as f64 / 1e6) * (energy.0 as f64 / MILLIJOULES_PER_KWH)
    }
}

impl Ticks {
    /// In seconds.
    pub fn seconds(self, tick: TickLength) -> f64 {
        (i128::from(self.0) * i128::from(tick.0)) as f64
    }
}

impl fmt::Display for Ticks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Milliwatts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} W", thousandths(i128::from(self.0)))
    }
}

impl fmt::Display for Millijoules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} J", thousandths(self.0))
    }
}

impl fmt::Display for KilobytesPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} GB/s", decimal(i128::from(self.0), 6))
    }
}

impl fmt::Display for Thousandths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&thousandths(i128::from(self.0)))
    }
}

impl fmt::Display for GpuCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn ceil_div(numerator: i64, denominator: i64) -> i64 {
    numerator.div_euclid(denominator) + i64::from(numerator.rem_euclid(denominator) != 0)
}

fn thousandths(value: i128) -> String {
    decimal(value, 3)
}

/// `value` x 10^-`places` in decimal notation, without trailing zeros.
fn decimal(value: i128, places: u32) -> String {
    let scale = 10_u128.pow(places);
    let (whole, rest) = (value.unsigned_abs() / scale, value.unsigned_abs() % scale);
    let sign = if value < 0 { "-" } else { "" };
    if rest == 0 {
        return format!("{sign}{whole}");
    }
    let fraction = format!("{rest:0width$}", width = places as usize);
    format!("{sign}{whole}.{}", fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_over_time_is_energy() {
        // 600 W for 10 ticks of 60 s = 360 000 J.
        let energy = Milliwatts(600_000).over(Ticks(10), TickLength(60));
        assert_eq!(energy, Millijoules(360_000_000));
        assert_eq!(energy.to_string(), "360000 J");
    }

    #[test]
    fn shares_round_up() {
        // 100 mW over 3 GPUs, 2 here: 66.67 -> 67 mW.
        assert_eq!(Milliwatts(100).share(GpuCount(2), GpuCount(3)), Milliwatts(67));
        assert_eq!(KilobytesPerSecond(9).share(GpuCount(1), GpuCount(3)), KilobytesPerSecond(3));
    }

    #[test]
    fn quantities_print_without_trailing_zeros() {
        assert_eq!(Milliwatts(83_640).to_string(), "83.64 W");
        assert_eq!(Milliwatts(-5).to_string(), "-0.005 W");
        assert_eq!(KilobytesPerSecond(917_000).to_string(), "0.917 GB/s");
    }

    #[test]
    fn price_of_energy() {
        // 0.1 per kWh, 3.6 MJ = 1 kWh.
        let cost = MicrosPerKwh(100_000).of(Millijoules(3_600_000_000));
        assert!((cost - 0.1).abs() < 1e-15);
    }
}
