//! Energy and what it costs, as exact sums that can be added and taken back.

use std::ops::{AddAssign, Neg, SubAssign};

use rats_domain::interval::Interval;
use rats_domain::steps::Steps;
use rats_domain::units::{MicrosPerKwh, Millijoules, Milliwatts, TickLength, Ticks};

/// Energy, and energy times price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Energy.
    pub energy: Millijoules,
    /// Sum of energy in mJ x price in millionths per kWh; 0 without a tariff.
    priced: i128,
}

impl Spent {
    /// The cost, in the tariff's unit.
    pub fn cost(self) -> f64 {
        self.priced as f64 / 1e6 / 3.6e9
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.energy += other.energy;
        // At the ends of all ranges together the product passes 128 bits; the checker recomputes the cost anyway.
        self.priced = self.priced.saturating_add(other.priced);
    }
}

impl SubAssign for Spent {
    fn sub_assign(&mut self, other: Self) {
        *self += -other;
    }
}

impl Neg for Spent {
    type Output = Self;
    fn neg(self) -> Self {
        Self { energy: -self.energy, priced: self.priced.saturating_neg() }
    }
}

/// Energy and cost of a constant power over any interval, from sums made once.
#[derive(Clone, Debug)]
pub struct Meter {
    tick: TickLength,
    /// Per step of the tariff: its tick, its price, and the sum of prices over all ticks from 0 to it.
    steps: Vec<(Ticks, i64, i128)>,
}

impl Meter {
    /// A meter for ticks of this length under this tariff.
    pub fn new(tick: TickLength, tariff: Option<&Steps<MicrosPerKwh>>) -> Self {
        let mut steps: Vec<(Ticks, i64, i128)> = Vec::new();
        for &(at, price) in tariff.map_or(&[][..], Steps::steps) {
            let at = at.max(Ticks::ZERO);
            let sum = steps.last().map_or(0, |&(from, price, sum)| sum + i128::from(price) * i128::from((at - from).0));
            steps.push((at, price.0, sum));
        }
        Self { tick, steps }
    }

    /// Draws `power` during `interval`, which must not begin before tick 0.
    pub fn draw(&self, power: Milliwatts, interval: Interval) -> Spent {
        if interval.is_empty() {
            return Spent::default();
        }
        let energy = power.over(interval.len(), self.tick);
        if self.steps.is_empty() {
            return Spent { energy, priced: 0 };
        }
        let prices = self.prices_until(interval.to) - self.prices_until(interval.from);
        let each = i128::from(power.0) * i128::from(self.tick.0);
        Spent { energy, priced: each.saturating_mul(prices) }
    }

    /// Uses `energy` in one tick.
    pub fn burst(&self, energy: Millijoules, at: Ticks) -> Spent {
        let price = self.step(at).map_or(0, |&(_, price, _)| price);
        Spent { energy, priced: energy.0.saturating_mul(i128::from(price)) }
    }

    fn prices_until(&self, at: Ticks) -> i128 {
        self.step(at).map_or(0, |&(from, price, sum)| sum + i128::from(price) * i128::from((at - from).0))
    }

    fn step(&self, at: Ticks) -> Option<&(Ticks, i64, i128)> {
        let after = self.steps.partition_point(|&(from, _, _)| from <= at);
        after.checked_sub(1).map(|position| &self.steps[position])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Size, random_instance};

    #[test]
    fn sums_equal_the_price_of_every_tick() {
        let mut with_tariff = 0;
        for seed in 0..60 {
            let instance = random_instance(seed, Size::Tiny);
            let Some(tariff) = &instance.tariff else { continue };
            with_tariff += 1;
            let meter = Meter::new(instance.tick, Some(tariff));
            let from = i64::try_from(seed % 5).unwrap();
            let to = from + 9;
            let spent = meter.draw(Milliwatts(7), Interval::new(Ticks(from), Ticks(to)));
            let prices: i64 = (from..to).map(|tick| tariff.at(Ticks(tick)).unwrap().0).sum();
            assert_eq!(spent.priced, i128::from(prices) * 7 * i128::from(instance.tick.0));
            assert_eq!(spent.energy.0, 7 * 9 * i128::from(instance.tick.0));
        }
        assert!(with_tariff > 10);
    }
}
