//! From a mark back to what was found.

use std::time::Duration;

use rats_domain::units::Milliwatts;
use rats_system::clock::pause;

use super::journal::{Mark, PowerMark};
use crate::gpu::{Gpu, GpuError, Setting};

/// How often a failed call is made again, and after how long.
const REPEATS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(50);

/// How a mark was dealt with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undone {
    /// A lock was taken off. What had been locked before, if anything, NVML cannot say.
    Reset(Setting),
    /// The power limit was put back.
    PutBack {
        /// What it was set to by the run.
        from: Milliwatts,
        /// What it is again.
        to: Milliwatts,
    },
    /// The power limit is what it was.
    AsFound(Milliwatts),
    /// Somebody else has set the power limit since; it is left alone.
    Foreign {
        /// What it is.
        now: Milliwatts,
        /// What it was before the run.
        before: Milliwatts,
    },
}

impl Undone {
    /// Which setting.
    pub fn setting(&self) -> Setting {
        match self {
            Self::Reset(setting) => *setting,
            _ => Setting::PowerLimit,
        }
    }

    /// What was done, in words.
    pub fn text(&self) -> String {
        match self {
            Self::Reset(setting) => format!("{}: reset", setting.name()),
            Self::PutBack { from, to } => format!("power limit: back from {from} to {to}"),
            Self::AsFound(limit) => format!("power limit: {limit} as found"),
            Self::Foreign { now, before } => {
                format!("power limit: {now} is not ours and stays (it was {before} before the run)")
            }
        }
    }
}

/// Undoes one mark; what fails for no reason that would stay is tried again, a few times.
///
/// # Errors
/// The GPU does not answer or the user may not: the mark stays.
pub fn undo(gpu: &Gpu, mark: &Mark) -> Result<Undone, GpuError> {
    for _ in 0..REPEATS {
        match once(gpu, mark) {
            Err(GpuError::Failed { .. }) => pause(PAUSE),
            result => return result,
        }
    }
    once(gpu, mark)
}

fn once(gpu: &Gpu, mark: &Mark) -> Result<Undone, GpuError> {
    match mark {
        Mark::SmLock => reset(gpu.reset_sm(), Setting::SmLock),
        Mark::MemLock => reset(gpu.reset_mem(), Setting::MemLock),
        Mark::PowerLimit(mark) => put_back(gpu, mark),
    }
}

/// A GPU that cannot reset a clock could not lock it either.
fn reset(result: Result<(), GpuError>, setting: Setting) -> Result<Undone, GpuError> {
    match result {
        Ok(()) | Err(GpuError::NotSupported { .. }) => Ok(Undone::Reset(setting)),
        Err(error) => Err(error),
    }
}

fn put_back(gpu: &Gpu, mark: &PowerMark) -> Result<Undone, GpuError> {
    let now = gpu.power_limit()?.ok_or(GpuError::NotSupported { what: "reading the power limit" })?;
    if now == mark.before {
        return Ok(Undone::AsFound(now));
    }
    if !mark.ours.contains(&now) {
        return Ok(Undone::Foreign { now, before: mark.before });
    }
    let set = gpu.set_power_limit(mark.before)?;
    if set.applied != mark.before {
        let reason = format!("{} was set and {} is in force", mark.before, set.applied);
        return Err(GpuError::Failed { what: "putting the power limit back", reason });
    }
    Ok(Undone::PutBack { from: now, to: mark.before })
}
