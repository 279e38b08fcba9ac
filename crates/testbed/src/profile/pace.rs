//! Time as the GPUs live it: on simulated GPUs it runs faster than on the wall.

use std::time::Duration;

use rats_system::clock::{Stopwatch, pause};

/// A stopwatch in seconds of the GPUs.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    watch: Stopwatch,
    speedup: f64,
}

impl Pace {
    /// Starts now; `speedup`: seconds of the GPUs in one of the wall, > 0, 1 on real ones.
    pub fn start(speedup: f64) -> Self {
        Self { watch: Stopwatch::start(), speedup }
    }

    /// Seconds of the GPUs since the start.
    pub fn now_s(&self) -> f64 {
        self.watch.elapsed().as_secs_f64() * self.speedup
    }

    /// Time on the wall since the start.
    pub fn wall(&self) -> Duration {
        self.watch.elapsed()
    }

    /// Waits some seconds of the GPUs, but at least a quarter of a millisecond on the wall.
    pub fn pause(&self, seconds: f64) {
        let wall = Duration::try_from_secs_f64(seconds / self.speedup).unwrap_or_default();
        pause(wall.max(Duration::from_micros(250)));
    }
}
