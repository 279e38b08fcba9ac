//! Clocks: supported, reached, locked.
#![expect(non_snake_case, reason = "names of NVML")]

use std::ffi::{c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::{
    nvmlClockId_t, nvmlClockType_t, nvmlDevice_t, nvmlEnableState_t, nvmlPerfPolicyType_t, nvmlPstates_t,
    nvmlRestrictedAPI_t, nvmlReturn_t, nvmlViolationTime_t,
};

use super::{Device, answer, code, getters, put, put_list, read, set};
use crate::config::{Privilege, TypeConfig};
use crate::settings::{self, Code};
use crate::state::GpuState;
use crate::world::reason;

const MEMORY: nvmlClockType_t = 2;
const VIDEO: nvmlClockType_t = 3;

impl Device<'_> {
    pub(super) fn gpu(&self) -> &GpuState {
        &self.state.gpus[self.index]
    }

    /// The type and the state, to be changed.
    pub(super) fn parts(&mut self) -> (&TypeConfig, &mut GpuState) {
        (self.world.config.kind(self.index), &mut self.state.gpus[self.index])
    }

    fn clock(&self, which: nvmlClockType_t) -> Result<c_uint, Code> {
        match which {
            0 | 1 | VIDEO => Ok(self.gpu().sm_mhz),
            MEMORY => Ok(self.gpu().mem_mhz),
            _ => Err(code::INVALID_ARGUMENT),
        }
    }

    fn highest(&self, which: nvmlClockType_t) -> Result<c_uint, Code> {
        let clocks = &self.kind().clocks;
        let top = clocks.iter().filter_map(|clocks| clocks.sm_mhz.last()).max().copied();
        match which {
            0 | 1 | VIDEO => top.ok_or(code::UNKNOWN),
            MEMORY => Ok(clocks[0].mem_mhz),
            _ => Err(code::INVALID_ARGUMENT),
        }
    }

    fn lowest(&self, which: nvmlClockType_t) -> Result<c_uint, Code> {
        let clocks = &self.kind().clocks;
        let bottom = clocks.iter().map(|clocks| clocks.sm_mhz[0]).min();
        match which {
            0 | 1 | VIDEO => bottom.ok_or(code::UNKNOWN),
            MEMORY => Ok(clocks[clocks.len() - 1].mem_mhz),
            _ => Err(code::INVALID_ARGUMENT),
        }
    }

    fn default_application(&self, which: nvmlClockType_t) -> Result<c_uint, Code> {
        settings::require_application(self.kind())?;
        match which {
            0 | 1 => Ok(self.kind().default_sm_mhz),
            MEMORY => Ok(self.kind().default_mem_mhz),
            _ => Err(code::NOT_SUPPORTED),
        }
    }

    fn application(&self, which: nvmlClockType_t) -> Result<c_uint, Code> {
        let default = self.default_application(which)?;
        let set = if which == MEMORY { self.gpu().app_mem } else { self.gpu().app_sm };
        Ok(if set == 0 { default } else { set })
    }
}

/// Exports functions that read a clock by its type.
macro_rules! by_type {
    ($($name:ident = $method:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(device: nvmlDevice_t, which: nvmlClockType_t, clock: *mut c_uint) -> nvmlReturn_t {
            // SAFETY: NVML's interface demands that `clock` is null or may be written to.
            answer(|| unsafe { put(clock, read(stringify!($name), device, |device| device.$method(which))?) })
        }
    )*};
}

by_type! {
    nvmlDeviceGetClockInfo = clock;
    nvmlDeviceGetMaxClockInfo = highest;
    nvmlDeviceGetMaxCustomerBoostClock = highest;
    nvmlDeviceGetApplicationsClock = application;
    nvmlDeviceGetDefaultApplicationsClock = default_application;
}

getters! {
    nvmlDeviceGetCurrentClocksThrottleReasons: c_ulonglong = |device: &mut Device| Ok(device.gpu().reasons);
    nvmlDeviceGetCurrentClocksEventReasons: c_ulonglong = |device: &mut Device| Ok(device.gpu().reasons);
    nvmlDeviceGetSupportedClocksThrottleReasons: c_ulonglong = |_: &mut Device| Ok(REASONS);
    nvmlDeviceGetSupportedClocksEventReasons: c_ulonglong = |_: &mut Device| Ok(REASONS);
}

const REASONS: u64 = reason::IDLE | reason::SETTING | reason::POWER | reason::HEAT;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetClock(
    device: nvmlDevice_t,
    which: nvmlClockType_t,
    id: nvmlClockId_t,
    clock: *mut c_uint,
) -> nvmlReturn_t {
    answer(|| {
        let value = read("nvmlDeviceGetClock", device, |device| match id {
            0 => device.clock(which),
            1 => device.application(which),
            2 => device.default_application(which),
            3 => device.highest(which),
            _ => Err(code::INVALID_ARGUMENT),
        })?;
        // SAFETY: NVML's interface demands that `clock` is null or may be written to.
        unsafe { put(clock, value) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMinMaxClockOfPState(
    device: nvmlDevice_t,
    which: nvmlClockType_t,
    _state: nvmlPstates_t,
    min: *mut c_uint,
    max: *mut c_uint,
) -> nvmlReturn_t {
    answer(|| {
        let (low, high) = read("nvmlDeviceGetMinMaxClockOfPState", device, |device| {
            Ok((device.lowest(which)?, device.highest(which)?))
        })?;
        // SAFETY: NVML's interface demands that both are null or may be written to.
        unsafe { put(min, low).and_then(|()| put(max, high)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetSupportedMemoryClocks(
    device: nvmlDevice_t,
    count: *mut c_uint,
    clocks: *mut c_uint,
) -> nvmlReturn_t {
    answer(|| {
        let all = read("nvmlDeviceGetSupportedMemoryClocks", device, |device| {
            Ok(device.kind().clocks.iter().map(|clocks| clocks.mem_mhz).collect::<Vec<_>>())
        })?;
        // SAFETY: NVML's interface demands that `count` holds the room at `clocks`.
        unsafe { put_list(count, clocks, &all) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetSupportedGraphicsClocks(
    device: nvmlDevice_t,
    memory: c_uint,
    count: *mut c_uint,
    clocks: *mut c_uint,
) -> nvmlReturn_t {
    answer(|| {
        let all = read("nvmlDeviceGetSupportedGraphicsClocks", device, |device| {
            let clocks = device.kind().sm_clocks(memory).ok_or(code::NOT_FOUND)?;
            // The highest first, as drivers list them.
            Ok(clocks.iter().rev().copied().collect::<Vec<_>>())
        })?;
        // SAFETY: NVML's interface demands that `count` holds the room at `clocks`.
        unsafe { put_list(count, clocks, &all) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetViolationStatus(
    device: nvmlDevice_t,
    policy: nvmlPerfPolicyType_t,
    time: *mut nvmlViolationTime_t,
) -> nvmlReturn_t {
    answer(|| {
        let value = read("nvmlDeviceGetViolationStatus", device, |device| {
            let violationTime = match policy {
                0 => device.gpu().power_capped_ns,
                1 => device.gpu().heat_capped_ns,
                2..=5 | 10 | 11 => 0,
                _ => return Err(code::INVALID_ARGUMENT),
            };
            Ok(nvmlViolationTime_t { referenceTime: device.state.sim_ns / 1000, violationTime })
        })?;
        // SAFETY: NVML's interface demands that `time` is null or may be written to.
        unsafe { put(time, value) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetAPIRestriction(
    device: nvmlDevice_t,
    api: nvmlRestrictedAPI_t,
    restricted: *mut nvmlEnableState_t,
) -> nvmlReturn_t {
    answer(|| {
        let value = read("nvmlDeviceGetAPIRestriction", device, |device| {
            settings::require_application(device.kind())?;
            let root = device.world.config.settings_need != Privilege::Anyone;
            if api == 0 { Ok(u32::from(root)) } else { Err(code::NOT_SUPPORTED) }
        })?;
        // SAFETY: NVML's interface demands that `restricted` is null or may be written to.
        unsafe { put(restricted, value) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceSetGpuLockedClocks(device: nvmlDevice_t, min: c_uint, max: c_uint) -> nvmlReturn_t {
    set("nvmlDeviceSetGpuLockedClocks", device, &format!("{min} to {max} MHz"), |device| {
        let snapped = device.effect.snapped;
        let (kind, gpu) = device.parts();
        settings::lock_sm(kind, gpu, min, max, snapped)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceResetGpuLockedClocks(device: nvmlDevice_t) -> nvmlReturn_t {
    set("nvmlDeviceResetGpuLockedClocks", device, "", |device| {
        let (kind, gpu) = device.parts();
        settings::unlock_sm(kind, gpu)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceSetMemoryLockedClocks(device: nvmlDevice_t, min: c_uint, max: c_uint) -> nvmlReturn_t {
    set("nvmlDeviceSetMemoryLockedClocks", device, &format!("{min} to {max} MHz"), |device| {
        let (kind, gpu) = device.parts();
        settings::lock_mem(kind, gpu, min, max)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceResetMemoryLockedClocks(device: nvmlDevice_t) -> nvmlReturn_t {
    set("nvmlDeviceResetMemoryLockedClocks", device, "", |device| {
        let (kind, gpu) = device.parts();
        settings::unlock_mem(kind, gpu)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceSetApplicationsClocks(device: nvmlDevice_t, memory: c_uint, sm: c_uint) -> nvmlReturn_t {
    set("nvmlDeviceSetApplicationsClocks", device, &format!("memory {memory} SM {sm} MHz"), |device| {
        let (kind, gpu) = device.parts();
        settings::set_application(kind, gpu, memory, sm)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceResetApplicationsClocks(device: nvmlDevice_t) -> nvmlReturn_t {
    set("nvmlDeviceResetApplicationsClocks", device, "", |device| {
        let (kind, gpu) = device.parts();
        settings::reset_application(kind, gpu)
    })
}
