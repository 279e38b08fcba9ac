//! What GPUs draw while nothing runs.

use std::time::Duration;

use rats_domain::units::Milliwatts;
use rats_system::clock::{Stopwatch, pause};

use crate::gpu::{Gpu, Sample};

/// Power of an idle GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Idle {
    /// Mean, to the mW.
    pub mean: Milliwatts,
    /// Standard deviation / mean.
    pub spread: f64,
    /// Number of readings; 1 in a dump.
    pub samples: usize,
}

/// Time between readings. NVML's own reading changes no faster.
const PERIOD: Duration = Duration::from_millis(100);

/// Reads all GPUs in turn until the window is over; none where power cannot be read.
pub(super) fn measure(gpus: &[Gpu], window: Duration) -> Vec<Option<Idle>> {
    let mut readings: Vec<Vec<Milliwatts>> = vec![Vec::new(); gpus.len()];
    let watch = Stopwatch::start();
    loop {
        for (gpu, readings) in gpus.iter().zip(&mut readings) {
            readings.extend(gpu.sample().ok().as_ref().and_then(Sample::any_power));
        }
        if watch.elapsed() + PERIOD > window {
            return readings.iter().map(|readings| of(readings)).collect();
        }
        pause(PERIOD);
    }
}

/// Mean and spread of readings.
pub(super) fn of(readings: &[Milliwatts]) -> Option<Idle> {
    let count = i64::try_from(readings.len()).ok().filter(|count| *count > 0)?;
    let sum: Milliwatts = readings.iter().copied().sum();
    let mean = sum.0 as f64 / count as f64;
    let variance = readings.iter().map(|power| (power.0 as f64 - mean).powi(2)).sum::<f64>() / count as f64;
    let spread = if mean > 0.0 { variance.sqrt() / mean } else { 0.0 };
    Some(Idle { mean: Milliwatts((sum.0 + count / 2) / count), spread, samples: readings.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_spread_of_three_readings() {
        // Mean 20 W; deviations -1, 0, 1 W: sqrt(2/3) / 20 = 0.0408.
        let idle = of(&[19_000, 20_000, 21_000].map(Milliwatts)).unwrap();
        assert_eq!(idle.mean, Milliwatts(20_000));
        assert!((idle.spread - 0.0408).abs() < 1e-4, "{}", idle.spread);
        assert_eq!(of(&[]), None);
    }
}
