//! Faults on demand: from the configuration, or from a file that can change during a run.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::SimError;
use crate::state::{MAX_FAULTS, MAX_GPUS, State};

/// The list in the file that `control` names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultFile {
    /// Faults beside those of the configuration.
    pub faults: Vec<Fault>,
}

/// Something that goes wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// What.
    #[serde(flatten)]
    pub kind: FaultKind,
    /// On which GPU; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<u32>,
    /// Beginnings of the names of the calls that are hit or counted; absent: what fits the kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// How many such calls go well first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub after: u64,
    /// How many calls it hits; all later ones if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
}

/// Kinds of fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FaultKind {
    /// Setting is not permitted.
    NoPermission,
    /// Calls are not supported; those that set, if `calls` is absent.
    NotSupported,
    /// Calls answer a code of NVML; those that set, if `calls` is absent.
    Fail {
        /// The code.
        code: u32,
    },
    /// A lock of clocks takes effect this many steps lower than asked for.
    ClockSnapped {
        /// Steps.
        steps: u32,
    },
    /// The clock reached is lower than allowed and nothing says why.
    SilentlyLower {
        /// By how much.
        mhz: u32,
    },
    /// The GPU falls off the bus.
    GpuLost,
    /// The energy counter is not supported.
    CounterMissing,
    /// The energy counter stands still.
    CounterStuck,
    /// All calls of all processes answer a code.
    DriverGone {
        /// 9, driver not loaded, if absent.
        #[serde(default = "driver_not_loaded")]
        code: u32,
    },
    /// Calls do not return in time.
    Hang {
        /// How long, real seconds; for ever if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds: Option<f64>,
    },
}

/// What faults do to one call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effect {
    /// The call answers this at once.
    pub code: Option<u32>,
    /// The call waits first: seconds, infinite for ever.
    pub hang_s: Option<f64>,
    /// Steps that a lock becomes lower.
    pub snapped: u32,
    /// The energy counter stands still.
    pub stuck: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

fn driver_not_loaded() -> u32 {
    9
}

const NOT_SUPPORTED: u32 = 3;
const NO_PERMISSION: u32 = 4;
/// The code of a GPU that fell off the bus.
pub const GPU_IS_LOST: u32 = 15;
const SETTERS: [&str; 2] = ["nvmlDeviceSet", "nvmlDeviceReset"];
const LOCKS: [&str; 2] = ["nvmlDeviceSetGpuLockedClocks", "nvmlDeviceSetApplicationsClocks"];
const COUNTER: [&str; 1] = ["nvmlDeviceGetTotalEnergyConsumption"];

/// Writes the file of faults so that all processes follow it from their next call on.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, faults: &[Fault]) -> Result<(), SimError> {
    let state = |source| SimError::State { path: path.to_owned(), source };
    let file = FaultFile { faults: faults.to_vec() };
    let text = serde_json::to_vec_pretty(&file).map_err(|error| state(error.into()))?;
    rats_system::files::write(path, &text).map_err(|problem| state(std::io::Error::other(problem.message)))
}

/// Counts one call and says what becomes of it.
pub fn judge(faults: &[Fault], state: &mut State, call: &str, gpu: Option<usize>) -> Effect {
    let mut effect = Effect::default();
    let mut lost = [false; MAX_GPUS];
    for (at, fault) in faults.iter().take(MAX_FAULTS).enumerate() {
        let here = fault.gpu.is_none_or(|own| gpu == Some(own as usize));
        let hit = here && fault.concerns(call);
        let seen = state.fault_calls[at];
        state.fault_calls[at] = seen.saturating_add(u64::from(hit));
        let active = seen >= fault.after && fault.times.is_none_or(|times| seen < fault.after.saturating_add(times));
        fault.apply(&mut effect, hit, active);
        if matches!(fault.kind, FaultKind::GpuLost) && seen + u64::from(hit) > fault.after {
            let targets = (0..MAX_GPUS).filter(|&other| fault.gpu.is_none_or(|own| own as usize == other));
            targets.for_each(|other| lost[other] = true);
        }
    }
    for (gpu, lost) in state.gpus.iter_mut().zip(lost) {
        gpu.lost = u32::from(lost);
    }
    if effect.code.is_none() && gpu.is_some_and(|gpu| state.gpus[gpu].lost != 0) {
        effect.code = Some(GPU_IS_LOST);
    }
    effect
}

/// MHz that silent faults take from each GPU.
pub fn lowered(faults: &[Fault]) -> [u32; MAX_GPUS] {
    std::array::from_fn(|gpu| {
        let here = faults.iter().filter(|fault| fault.gpu.is_none_or(|own| own as usize == gpu));
        here.map(|fault| if let FaultKind::SilentlyLower { mhz } = fault.kind { mhz } else { 0 }).max().unwrap_or(0)
    })
}

impl Fault {
    /// Whether a call is among those that it hits or counts.
    fn concerns(&self, call: &str) -> bool {
        let begins = |names: &[&str]| names.iter().any(|name| call.starts_with(name));
        if !self.calls.is_empty() {
            return self.calls.iter().any(|name| call.starts_with(name.as_str()));
        }
        match self.kind {
            FaultKind::NoPermission | FaultKind::NotSupported | FaultKind::Fail { .. } => begins(&SETTERS),
            FaultKind::ClockSnapped { .. } => begins(&LOCKS),
            FaultKind::CounterMissing | FaultKind::CounterStuck => begins(&COUNTER),
            FaultKind::SilentlyLower { .. } => false,
            FaultKind::GpuLost | FaultKind::DriverGone { .. } | FaultKind::Hang { .. } => true,
        }
    }

    fn apply(&self, effect: &mut Effect, hit: bool, active: bool) {
        if !(hit && active) {
            return;
        }
        match self.kind {
            FaultKind::NoPermission => effect.code = effect.code.or(Some(NO_PERMISSION)),
            FaultKind::NotSupported | FaultKind::CounterMissing => effect.code = effect.code.or(Some(NOT_SUPPORTED)),
            FaultKind::Fail { code } => effect.code = effect.code.or(Some(code)),
            FaultKind::DriverGone { code } => effect.code = Some(code),
            FaultKind::Hang { seconds } => effect.hang_s = Some(seconds.unwrap_or(f64::INFINITY)),
            FaultKind::ClockSnapped { steps } => effect.snapped = steps,
            FaultKind::CounterStuck => effect.stuck = true,
            FaultKind::SilentlyLower { .. } | FaultKind::GpuLost => {}
        }
    }
}
