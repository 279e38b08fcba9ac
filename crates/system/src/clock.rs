//! The one place that reads the clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time since it was started.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    started: Instant,
}

impl Stopwatch {
    /// Starts now.
    #[expect(clippy::disallowed_methods, reason = "this is the clock module")]
    pub fn start() -> Self {
        Self { started: Instant::now() }
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

/// Time since a moment that is the same for all processes and lasts until the machine restarts.
pub fn monotonic() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// Time since 1970-01-01 in UTC, as the machine has it; it may jump.
#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
pub fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Waits. Only for polling what cannot be waited for; everything else waits for events.
#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
pub fn pause(duration: Duration) {
    std::thread::sleep(duration);
}

/// The date in UTC, such as `2024-02-29`.
pub fn today() -> String {
    date(since_epoch().as_secs() / 86_400)
}

/// The Gregorian date of a day counted from 1970-01-01.
///
/// Years are taken to begin in March, so that the leap day is their last: H. Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms", 2014.
fn date(day: u64) -> String {
    let day = day + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day_of_month:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_know_leap_days_and_the_turn_of_the_year() {
        // 19782 = 54 years x 365 + 13 leap days (1972 to 2020) + 31 (January) + 28, so the 29th of February.
        let dates = [(0, "1970-01-01"), (19_722, "2023-12-31"), (19_782, "2024-02-29"), (19_783, "2024-03-01")];
        for (day, expected) in dates {
            assert_eq!(date(day), expected);
        }
    }
}
