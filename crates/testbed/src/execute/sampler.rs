//! Readings of all GPUs at a fixed rate, in a thread of their own.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use rats_system::clock::Stopwatch;

use super::gpus::{Message, reading};
use crate::gpu::{Depth, GpuError, Rounds};
use crate::trace::Sampling;

/// Width of a class of deviations.
const CLASS_MS: f64 = 0.1;

/// Deviations of rounds from their due time, counted in classes of [`CLASS_MS`]; the last takes all beyond.
#[derive(Clone, Debug)]
pub(super) struct Jitter {
    counts: Vec<u64>,
    most_ms: f64,
}

impl Default for Jitter {
    fn default() -> Self {
        Self { counts: vec![0; 10_000], most_ms: 0.0 }
    }
}

impl Jitter {
    fn add(&mut self, deviation: Duration) {
        let ms = deviation.as_secs_f64() * 1e3;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative; the class is bounded"
        )]
        let class = (ms / CLASS_MS) as usize;
        let last = self.counts.len() - 1;
        self.counts[class.min(last)] += 1;
        self.most_ms = self.most_ms.max(ms);
    }

    /// Number of rounds, and deviations: median, 99 %, most.
    pub fn summary(&self, core_share: f64) -> Sampling {
        let rounds: u64 = self.counts.iter().sum();
        let jitter_ms = (self.quantile(rounds, 0.5), self.quantile(rounds, 0.99), self.most_ms);
        Sampling { rounds, core_share, jitter_ms }
    }

    /// The upper end of the class in which a quantile lies.
    fn quantile(&self, rounds: u64, share: f64) -> f64 {
        let mut seen = 0;
        let class = self.counts.iter().position(|&count| {
            seen += count;
            seen as f64 >= share * rounds as f64
        });
        class.map_or(0.0, |class| (class + 1) as f64 * CLASS_MS).min(self.most_ms)
    }
}

/// Reads GPUs until `stop` is closed, everything about them every `whole` only. One that is lost is not asked again.
pub(super) fn sample(
    rounds: &mut Rounds,
    (period, whole): (Duration, Duration),
    stop: &Receiver<()>,
    messages: &Sender<Message>,
) -> Jitter {
    let (watch, mut jitter) = (Stopwatch::start(), Jitter::default());
    let mut dead = vec![false; rounds.count()];
    let (mut due, mut whole_due) = (Duration::ZERO, Duration::ZERO);
    loop {
        match stop.recv_timeout(due.saturating_sub(watch.elapsed())) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return jitter,
        }
        jitter.add(watch.elapsed().saturating_sub(due));
        let depth = if whole_due <= due { Depth::Whole } else { Depth::Brief };
        if depth == Depth::Whole {
            whole_due = due + whole;
        }
        let depths = dead.iter().map(|&dead| if dead { Depth::Nothing } else { depth }).collect();
        let (mut readings, mut errors) = (Vec::with_capacity(dead.len()), Vec::new());
        for (position, result) in rounds.read(depths).into_iter().enumerate() {
            match result {
                Some(Ok(sample)) => readings.push(Some(reading(&sample))),
                Some(Err(error)) => {
                    dead[position] = matches!(error, GpuError::Lost { .. } | GpuError::Unresponsive { .. });
                    errors.push((position, error));
                    readings.push(None);
                }
                None => readings.push(None),
            }
        }
        if messages.send(Message::Readings(readings, errors)).is_err() {
            return jitter;
        }
        // Rounds that a slow one has swallowed are left out, not made up for.
        while due <= watch.elapsed() {
            due += period;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_deviations() {
        let mut jitter = Jitter::default();
        for _ in 0..99 {
            jitter.add(Duration::from_micros(250));
        }
        jitter.add(Duration::from_millis(7));
        let Sampling { rounds, jitter_ms: (median, high, most), .. } = jitter.summary(0.0);
        assert_eq!(rounds, 100);
        // 0.25 ms lies in the class up to 0.3 ms.
        assert!((median - 0.3).abs() < 1e-9 && (high - 0.3).abs() < 1e-9 && (most - 7.0).abs() < 1e-9);
    }
}
