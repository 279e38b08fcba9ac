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
    for (at, fault) in faults.iter().take(MAX_FAULTS).enumerate() {
        let here = fault.gpu.is_none_or(|own| gpu == Some(own as usize));
        let hit = here && fault.concerns(call);
        let seen = state.fault_calls[at];
        state.fault_calls[at] = seen.saturating_add(u64::from(hit));
        let active = seen >= fault.after && fault.times.is_none_or(|times| seen < fault.after.saturating_add(times));
        fault.apply(&mut effect, hit, active);
    }
    lose(faults, state);
    if effect.code.is_none() && gpu.is_some_and(|gpu| state.gpus[gpu].lost != 0) {
        effect.code = Some(GPU_IS_LOST);
    }
    effect
}

/// Marks the GPUs that have fallen off the bus: at once, or after as many calls as the fault lets go well.
pub fn lose(faults: &[Fault], state: &mut State) {
    let mut lost = [false; MAX_GPUS];
    for (fault, calls) in faults.iter().zip(state.fault_calls) {
        if matches!(fault.kind, FaultKind::GpuLost) && (fault.after == 0 || calls > fault.after) {
            let targets = (0..MAX_GPUS).filter(|&other| fault.gpu.is_none_or(|own| own as usize == other));
            targets.for_each(|other| lost[other] = true);
        }
    }
    for (gpu, lost) in state.gpus.iter_mut().zip(lost) {
        gpu.lost = u32::from(lost);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "nvmlDeviceSetGpuLockedClocks";
    const READ: &str = "nvmlDeviceGetPowerUsage";

    fn faults(text: &str) -> Vec<Fault> {
        serde_json::from_str(text).unwrap()
    }

    fn codes(faults: &[Fault], calls: &[(&str, Option<usize>)]) -> Vec<Option<u32>> {
        let mut state = State::new(1);
        calls.iter().map(|&(call, gpu)| judge(faults, &mut state, call, gpu).code).collect()
    }

    #[test]
    fn no_permission_hits_what_sets_and_nothing_else() {
        let faults = faults(r#"[{"kind": "no_permission", "gpu": 1}]"#);
        let calls = [(LOCK, Some(1)), (READ, Some(1)), (LOCK, Some(0)), ("nvmlDeviceResetGpuLockedClocks", Some(1))];
        assert_eq!(codes(&faults, &calls), [Some(4), None, None, Some(4)]);
    }

    #[test]
    fn the_kth_set_fails_and_the_next_does_not() {
        let faults = faults(r#"[{"kind": "fail", "code": 999, "after": 2, "times": 1}]"#);
        let calls = [(LOCK, Some(0)), (READ, Some(0)), (LOCK, Some(1)), (LOCK, Some(2)), (LOCK, Some(3))];
        assert_eq!(codes(&faults, &calls), [None, None, None, Some(999), None]);
    }

    #[test]
    fn a_lost_gpu_stays_lost_and_others_do_not_notice() {
        let faults = faults(r#"[{"kind": "gpu_lost", "gpu": 0, "after": 1}]"#);
        let calls = [(READ, Some(0)), (READ, Some(1)), (READ, Some(0)), (READ, Some(1)), (LOCK, Some(0))];
        assert_eq!(codes(&faults, &calls), [None, None, Some(15), None, Some(15)]);
    }

    #[test]
    fn a_driver_that_is_gone_answers_every_call_so() {
        let faults = faults(r#"[{"kind": "driver_gone", "after": 1}, {"kind": "no_permission"}]"#);
        let calls = [(READ, Some(0)), ("nvmlInit_v2", None), (LOCK, Some(0))];
        assert_eq!(codes(&faults, &calls), [None, Some(9), Some(9)]);
    }

    #[test]
    fn hangs_and_counters_hit_the_calls_they_name() {
        let faults = faults(
            r#"[{"kind": "hang", "seconds": 0.5, "calls": ["nvmlDeviceSet"]}, {"kind": "counter_missing", "gpu": 0},
                {"kind": "counter_stuck", "gpu": 1}, {"kind": "clock_snapped", "steps": 2}]"#,
        );
        let mut state = State::new(1);
        let counter = "nvmlDeviceGetTotalEnergyConsumption";
        let set = judge(&faults, &mut state, LOCK, Some(2));
        assert_eq!(set, Effect { hang_s: Some(0.5), snapped: 2, ..Effect::default() });
        assert_eq!(judge(&faults, &mut state, counter, Some(0)).code, Some(3));
        assert_eq!(judge(&faults, &mut state, counter, Some(1)), Effect { stuck: true, ..Effect::default() });
    }

    #[test]
    fn unknown_kinds_are_refused() {
        assert!(serde_json::from_str::<Fault>(r#"{"kind": "gpu_lots"}"#).is_err());
    }
}
