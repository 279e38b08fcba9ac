//! Where the difference between plan and measurement comes from.
//!
//! # Model
//! A job's energy differs by dE = (T - T') P' + (P - P') T, with time T and mean power P, primes as planned. The time part
//! is divided, in this order, each part no larger than what is left of the difference in its direction:
//! * start-up: measured less planned time before the first step, where both are known;
//! * a slow GPU: planned time x the excess of a GPU that [`super::slow`] names;
//! * throttling: the time that a lower clock than the one applied costs at most, T (1 - mean clock / applied clock), where
//!   heat, the power limit or the power supply held the clock down in more than 5 % of the readings;
//! * contention: the rest, times the share of the time in which others used the store or an uplink too, if it is late;
//! * model: what is left.
//!
//! The power part is throttling's where the job was throttled, the model's elsewhere.
//!
//! # Limits
//! Causes that act together are not told apart: the order decides.

use serde::Serialize;

use super::measure::JobMeasured;
use super::slow::Slow;

/// Share of readings from which on a job counts as throttled.
const THROTTLED: f64 = 0.05;

/// Parts of a difference: of one job's time, s, or of energy, J.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Parts {
    /// Of the time before the first step.
    pub startup: f64,
    /// Of a GPU that is slower than others.
    pub slow_gpu: f64,
    /// Of clocks held down.
    pub throttling: f64,
    /// Of others that used the store or an uplink too.
    pub contention: f64,
    /// Of the predictions.
    pub model: f64,
}

/// Why a job differs from its plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Causes {
    /// Parts of T - T', s.
    pub time_s: Parts,
    /// Parts of E - E', J.
    pub energy_j: Parts,
}

impl Parts {
    /// Their sum.
    pub fn sum(&self) -> f64 {
        self.startup + self.slow_gpu + self.throttling + self.contention + self.model
    }

    fn times(&self, factor: f64) -> Self {
        Self {
            startup: self.startup * factor,
            slow_gpu: self.slow_gpu * factor,
            throttling: self.throttling * factor,
            contention: self.contention * factor,
            model: self.model * factor,
        }
    }

    /// Adds other parts.
    pub fn add(&mut self, other: &Self) {
        self.startup += other.startup;
        self.slow_gpu += other.slow_gpu;
        self.throttling += other.throttling;
        self.contention += other.contention;
        self.model += other.model;
    }
}

/// Why a job differs from its plan.
pub(super) fn causes(job: &JobMeasured, slow: &[Slow]) -> Causes {
    let (planned, measured) = (&job.planned, &job.measured);
    let is_throttled = job.throttled_share > THROTTLED;
    let mut left = measured.run_s - planned.run_s;
    let mut part = |wanted: f64| {
        // A cause explains no more than there is, and nothing in the other direction.
        let taken = if left > 0.0 { wanted.clamp(0.0, left) } else { wanted.clamp(left, 0.0) };
        left -= taken;
        taken
    };
    let startup = measured.startup_s.zip(planned.startup_s).map_or(0.0, |(measured, planned)| part(measured - planned));
    let excess = slow.iter().filter(|slow| slow.of.contains(&job.job)).map(|slow| slow.excess).fold(0.0, f64::max);
    let slow_gpu = part(planned.run_s * excess);
    let held_down =
        job.clock_share.filter(|_| is_throttled).map_or(0.0, |share| measured.run_s * (1.0 - share).max(0.0));
    let throttling = part(held_down);
    let rest = measured.run_s - planned.run_s - startup - slow_gpu - throttling;
    let contention = part(rest.max(0.0) * job.shared_share);
    let time_s = Parts { startup, slow_gpu, throttling, contention, model: rest - contention };
    let mut energy_j = time_s.times(planned.power_w);
    let power_part = (measured.power_w - planned.power_w) * measured.run_s;
    if is_throttled {
        energy_j.throttling += power_part;
    } else {
        energy_j.model += power_part;
    }
    Causes { time_s, energy_j }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::tests::measured;
    use super::*;

    #[test]
    fn parts_add_up_to_the_difference() {
        // 100 s at 200 W planned, 130 s at 190 W measured: 30 s, of which 5 start-up, 10 by a GPU 10 % slow, 15 left.
        let mut job = measured("a", &["n/0"], 100.0, 130.0);
        job.measured.power_w = 190.0;
        job.measured.energy_j = 130.0 * 190.0;
        (job.planned.startup_s, job.measured.startup_s) = (Some(5.0), Some(10.0));
        job.shared_share = 0.4;
        let of = BTreeSet::from(["a".to_owned()]);
        let slow = [Slow { gpus: vec!["n/0".to_owned()], excess: 0.1, jobs: 1, of }];
        let found = causes(&job, &slow);
        let time = found.time_s;
        assert_eq!(
            (time.startup, time.slow_gpu, time.throttling, time.contention, time.model),
            (5.0, 10.0, 0.0, 6.0, 9.0)
        );
        // 30 x 200 - 10 x 130 = 4700 J.
        assert!((found.energy_j.sum() - 4700.0).abs() < 1e-9);
        assert!((found.energy_j.sum() - (job.measured.energy_j - job.planned.energy_j)).abs() < 1e-9);
        assert!((found.energy_j.model - (9.0 * 200.0 - 1300.0)).abs() < 1e-9);
    }

    #[test]
    fn no_cause_explains_more_than_there_is() {
        // 4 s late, throttled to 90 % of its clock for 104 s: at most 10.4 s, of which there are 4.
        let mut job = measured("a", &["n/0"], 100.0, 104.0);
        (job.clock_share, job.throttled_share) = (Some(0.9), 1.0);
        assert!((causes(&job, &[]).time_s.throttling - 4.0).abs() < 1e-9);
        // An early job is early by its model.
        let job = measured("a", &["n/0"], 100.0, 90.0);
        assert!((causes(&job, &[]).time_s.model + 10.0).abs() < 1e-9);
    }
}
