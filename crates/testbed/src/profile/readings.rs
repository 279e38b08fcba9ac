//! Readings of one GPU: power from its energy counter or from its power readings, clocks, heat, and what held it down.

use super::counter::{Look, Rate, rate};
use crate::gpu::{Sample, Throttle};

/// One reading and when it was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// When it began, s.
    pub from_s: f64,
    /// When it ended, s.
    pub to_s: f64,
    /// What was read.
    pub sample: Sample,
}

/// Mean power by two instruments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// From the energy counter; absent where there is none or it does not move.
    pub counter: Option<Rate>,
    /// From power readings, integrated by trapezoids, W.
    pub integrated_w: Option<f64>,
}

impl Reading {
    fn at_s(&self) -> f64 {
        f64::midpoint(self.from_s, self.to_s)
    }

    /// Power at this moment, W.
    pub fn watts(&self) -> Option<f64> {
        Some(self.sample.power_instant.or(self.sample.power)?.watts())
    }
}

impl Power {
    /// Power of a span of readings.
    pub fn of(readings: &[Reading]) -> Self {
        let look = |reading: &Reading| {
            let value = reading.sample.energy?.joules();
            Some(Look { from_s: reading.from_s, to_s: reading.to_s, value })
        };
        let looks: Vec<Look> = readings.iter().filter_map(look).collect();
        Self { counter: rate(&looks), integrated_w: integrated(readings) }
    }

    /// The better one that there is, W.
    pub fn watts(&self) -> Option<f64> {
        self.counter.map(|rate| rate.per_s).or(self.integrated_w)
    }

    /// Integrated power over that of the counter.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.integrated_w? / self.counter?.per_s)
    }
}

/// Time-weighted mean of the power readings, W; `None` of fewer than two.
fn integrated(readings: &[Reading]) -> Option<f64> {
    let points: Vec<(f64, f64)> = readings.iter().filter_map(|r| Some((r.at_s(), r.watts()?))).collect();
    let span = points.last()?.0 - points.first()?.0;
    let area: f64 = points.windows(2).map(|p| (p[1].0 - p[0].0) * f64::midpoint(p[0].1, p[1].1)).sum();
    (span > 0.0 && area > 0.0).then(|| area / span)
}

/// Whether clocks and power stand still over a window: the halves agree.
///
/// Powers of the halves may differ by `tolerance` of their mean, or by half a watt. The clock that is seen most must be the
/// same.
pub fn is_steady(window: &[Reading], tolerance: f64) -> bool {
    let (first, second) = window.split_at(window.len() / 2);
    let clocks = |half: &[Reading]| (usual(half, sm), usual(half, mem));
    let (Some(a), Some(b)) = (mean_w(first), mean_w(second)) else { return false };
    first.len() >= 3 && clocks(first) == clocks(second) && (a - b).abs() <= (tolerance * f64::midpoint(a, b)).max(0.5)
}

fn mean_w(readings: &[Reading]) -> Option<f64> {
    let watts: Vec<f64> = readings.iter().filter_map(Reading::watts).collect();
    (!watts.is_empty()).then(|| watts.iter().sum::<f64>() / watts.len() as f64)
}

/// The SM clock of a reading, MHz.
pub fn sm(sample: &Sample) -> Option<i64> {
    sample.sm.map(|clock| clock.0)
}

/// The memory clock of a reading, MHz.
pub fn mem(sample: &Sample) -> Option<i64> {
    sample.mem.map(|clock| clock.0)
}

/// The median of a clock.
pub fn usual(readings: &[Reading], clock: fn(&Sample) -> Option<i64>) -> Option<i64> {
    let mut clocks: Vec<i64> = readings.iter().filter_map(|reading| clock(&reading.sample)).collect();
    clocks.sort_unstable();
    clocks.get(clocks.len() / 2).copied()
}

/// Share of the readings for which something holds.
pub fn share(readings: &[Reading], holds: impl Fn(&Sample) -> bool) -> f64 {
    let count = readings.iter().filter(|reading| holds(&reading.sample)).count();
    count as f64 / readings.len().max(1) as f64
}

/// All reasons that were seen.
pub fn reasons(readings: &[Reading]) -> Throttle {
    Throttle(readings.iter().filter_map(|reading| reading.sample.throttle).fold(0, |all, one| all | one.0))
}

/// The highest temperature, degrees Celsius.
pub fn warmest(readings: &[Reading]) -> Option<i64> {
    readings.iter().filter_map(|reading| reading.sample.temperature_c).max()
}

#[cfg(test)]
mod tests {
    use rats_domain::units::{Millijoules, Milliwatts};

    use super::*;
    use crate::gpu::Megahertz;

    /// 250 W at a steady clock, looked at every 10 ms; the counter ticks every 100 ms.
    fn readings(counter: bool) -> Vec<Reading> {
        let reading = |step: i64| {
            let at = step as f64 / 100.0;
            let sample = Sample {
                sm: Some(Megahertz(1000)),
                power: Some(Milliwatts(250_000)),
                energy: counter.then_some(Millijoules((5_000_000 + 25_000 * (step / 10)).into())),
                ..Sample::default()
            };
            Reading { from_s: at, to_s: at + 0.001, sample }
        };
        (0..200).map(reading).collect()
    }

    #[test]
    fn counter_and_integral_agree_on_steady_power() {
        let power = Power::of(&readings(true));
        assert!((power.watts().unwrap() - 250.0).abs() < 0.5, "{power:?}");
        assert!((power.ratio().unwrap() - 1.0).abs() < 0.002, "{power:?}");
    }

    #[test]
    fn a_missing_counter_is_never_0_joules() {
        let power = Power::of(&readings(false));
        assert_eq!(power.counter, None);
        assert!((power.watts().unwrap() - 250.0).abs() < 1e-9);
        assert_eq!(power.ratio(), None);
        assert_eq!(Power::of(&[]).watts(), None);
    }

    #[test]
    fn a_ramp_or_a_change_of_clock_is_not_steady() {
        let steady = readings(true);
        assert!(is_steady(&steady, 0.01));
        let mut ramp = steady.clone();
        for (at, reading) in ramp.iter_mut().enumerate() {
            // 250 to 270 W: halves of 255 and 265 W, 3.8 % apart.
            reading.sample.power = Some(Milliwatts(250_000 + 100 * i64::try_from(at).unwrap()));
        }
        assert!(!is_steady(&ramp, 0.01) && is_steady(&ramp, 0.05));
        let mut jump = steady;
        jump[120..].iter_mut().for_each(|reading| reading.sample.sm = Some(Megahertz(900)));
        assert!(!is_steady(&jump, 0.01));
        assert!(!is_steady(&[], 0.01));
    }
}
