//! What a caller can set, by the rules of the GPU's generation.

use nvml_wrapper_sys::bindings::{
    nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT as INVALID_ARGUMENT,
    nvmlReturn_enum_NVML_ERROR_NO_PERMISSION as NO_PERMISSION,
    nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED as NOT_SUPPORTED,
};
use serde::Serialize;

use crate::config::{Architecture, Privilege, TypeConfig};
use crate::state::{GpuState, State};
use crate::world::{World, at_most};

/// A code of NVML other than success.
pub type Code = u32;

/// What someone left on a GPU that is not as the driver starts it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mark {
    /// The GPU.
    pub uuid: String,
    /// Lowest and highest locked SM clock, MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked_sm_mhz: Option<(u32, u32)>,
    /// Lowest and highest locked memory clock, MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked_mem_mhz: Option<(u32, u32)>,
    /// Memory and SM application clock, MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application_mhz: Option<(u32, u32)>,
    /// Power limit that is not the default, mW.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_limit_mw: Option<u32>,
}

/// Everything that is set on any GPU.
pub fn marks(world: &World, state: &State) -> Vec<Mark> {
    let mark = |(index, gpu): (usize, &GpuState)| {
        let pair = |low: u32, high: u32| (high != 0).then_some((low, high));
        let mark = Mark {
            uuid: world.config.gpus[index].uuid.clone(),
            locked_sm_mhz: pair(gpu.lock_min, gpu.lock_max),
            locked_mem_mhz: pair(gpu.mem_lock_min, gpu.mem_lock_max),
            application_mhz: pair(gpu.app_mem, gpu.app_sm),
            power_limit_mw: (gpu.limit_mw != world.config.kind(index).power_limit_mw.default).then_some(gpu.limit_mw),
        };
        let clean = mark.locked_sm_mhz.is_none() && mark.locked_mem_mhz.is_none() && mark.application_mhz.is_none();
        (!clean || mark.power_limit_mw.is_some()).then_some(mark)
    };
    state.gpus[..world.config.gpus.len()].iter().enumerate().filter_map(mark).collect()
}

/// Whether this process may set something.
///
/// # Errors
/// No permission.
pub fn permitted(privilege: Privilege) -> Result<(), Code> {
    match privilege {
        Privilege::Anyone => Ok(()),
        Privilege::Root if rustix::process::geteuid().is_root() => Ok(()),
        Privilege::Root | Privilege::Nobody => Err(NO_PERMISSION),
    }
}

/// Locks the SM clock to a range; `snapped` steps lower than asked for.
///
/// # Errors
/// Before Volta not supported; a range that is none.
pub fn lock_sm(kind: &TypeConfig, gpu: &mut GpuState, min: u32, max: u32, snapped: u32) -> Result<(), Code> {
    require_since(kind, Architecture::Volta)?;
    require_range(min, max)?;
    let clocks = &kind.clocks[0].sm_mhz;
    let step = |mhz: u32| (0..snapped).fold(at_most(clocks, mhz), |clock, _| at_most(clocks, clock - 1));
    (gpu.lock_min, gpu.lock_max) = (step(min), step(max));
    Ok(())
}

/// Ends the lock of the SM clock.
///
/// # Errors
/// Before Volta not supported.
pub fn unlock_sm(kind: &TypeConfig, gpu: &mut GpuState) -> Result<(), Code> {
    require_since(kind, Architecture::Volta)?;
    (gpu.lock_min, gpu.lock_max) = (0, 0);
    Ok(())
}

/// Locks the memory clock to a range.
///
/// # Errors
/// Before Ampere not supported; a range that is none.
pub fn lock_mem(kind: &TypeConfig, gpu: &mut GpuState, min: u32, max: u32) -> Result<(), Code> {
    require_since(kind, Architecture::Ampere)?;
    require_range(min, max)?;
    let clocks: Vec<u32> = kind.clocks.iter().rev().map(|clocks| clocks.mem_mhz).collect();
    (gpu.mem_lock_min, gpu.mem_lock_max) = (at_most(&clocks, min), at_most(&clocks, max));
    Ok(())
}

/// Ends the lock of the memory clock.
///
/// # Errors
/// Before Ampere not supported.
pub fn unlock_mem(kind: &TypeConfig, gpu: &mut GpuState) -> Result<(), Code> {
    require_since(kind, Architecture::Ampere)?;
    (gpu.mem_lock_min, gpu.mem_lock_max) = (0, 0);
    Ok(())
}

/// Sets application clocks.
///
/// # Errors
/// Not supported on `GeForce`; a pair that is not supported.
pub fn set_application(kind: &TypeConfig, gpu: &mut GpuState, mem: u32, sm: u32) -> Result<(), Code> {
    require_application(kind)?;
    let supported = kind.sm_clocks(mem).is_some_and(|clocks| clocks.contains(&sm));
    (gpu.app_mem, gpu.app_sm) = if supported { (mem, sm) } else { return Err(INVALID_ARGUMENT) };
    Ok(())
}

/// Back to the driver's application clocks.
///
/// # Errors
/// Not supported on `GeForce`.
pub fn reset_application(kind: &TypeConfig, gpu: &mut GpuState) -> Result<(), Code> {
    require_application(kind)?;
    (gpu.app_mem, gpu.app_sm) = (0, 0);
    Ok(())
}

/// Sets the power limit, mW.
///
/// # Errors
/// Outside of the range.
pub fn set_limit(kind: &TypeConfig, gpu: &mut GpuState, limit_mw: u32) -> Result<(), Code> {
    let range = kind.power_limit_mw.min..=kind.power_limit_mw.max;
    gpu.limit_mw = if range.contains(&limit_mw) { limit_mw } else { return Err(INVALID_ARGUMENT) };
    Ok(())
}

/// Whether a GPU has application clocks.
///
/// # Errors
/// Not supported.
pub fn require_application(kind: &TypeConfig) -> Result<(), Code> {
    if kind.name.contains("GeForce") { Err(NOT_SUPPORTED) } else { Ok(()) }
}

/// Whether a GPU is of a generation or later.
///
/// # Errors
/// Not supported.
pub fn require_since(kind: &TypeConfig, architecture: Architecture) -> Result<(), Code> {
    if kind.architecture >= architecture { Ok(()) } else { Err(NOT_SUPPORTED) }
}

fn require_range(min: u32, max: u32) -> Result<(), Code> {
    if min <= max && max > 0 { Ok(()) } else { Err(INVALID_ARGUMENT) }
}
