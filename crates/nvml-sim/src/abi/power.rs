//! Power, limits, energy and temperature.

use std::ffi::{c_int, c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlEnableState_t, nvmlReturn_t, nvmlTemperatureSensors_t, nvmlTemperatureThresholds_t,
};

use super::{Device, answer, code, getters, put, read, set};
use crate::config::Architecture;
use crate::settings::{self, Code, require_since};
use crate::world::average_mw;

/// The first version of NVML's versioned temperature: size in the low bytes, version in the highest.
const TEMPERATURE_VERSION: c_uint = (1 << 24) + 12;

/// What `nvmlDeviceGetTemperatureV` reads and writes.
#[repr(C)]
pub struct VersionedTemperature {
    version: c_uint,
    sensor: nvmlTemperatureSensors_t,
    degrees: c_int,
}

/// The nearest integer of something >= 0.
pub(super) fn whole<T: TryFrom<u64>>(value: f64) -> Result<T, Code> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let value = value.round() as u64;
    T::try_from(value).map_err(|_| code::UNKNOWN)
}

impl Device<'_> {
    /// What the usual power reading says, mW.
    fn power(&self) -> Result<c_uint, Code> {
        if self.kind().averaged_power { self.average_power() } else { self.instant_power() }
    }

    pub(super) fn instant_power(&self) -> Result<c_uint, Code> {
        whole(self.gpu().power_mw)
    }

    pub(super) fn average_power(&self) -> Result<c_uint, Code> {
        whole(average_mw(self.gpu(), self.state.sim_ns))
    }

    /// The energy counter, mJ.
    pub(super) fn energy(&mut self) -> Result<c_ulonglong, Code> {
        require_since(self.kind(), Architecture::Volta)?;
        let stuck = self.effect.stuck;
        let (_, gpu) = self.parts();
        gpu.stuck_mj = match (stuck, gpu.stuck_mj > 0.0) {
            (false, _) => 0.0,
            (true, true) => gpu.stuck_mj,
            (true, false) => gpu.counter_mj,
        };
        let shown = if stuck { gpu.stuck_mj } else { gpu.counter_mj };
        whole(shown.floor())
    }

    pub(super) fn temperature(&self) -> Result<c_uint, Code> {
        whole(self.gpu().temperature_c)
    }
}

getters! {
    nvmlDeviceGetPowerUsage: c_uint = |device: &mut Device| device.power();
    nvmlDeviceGetTotalEnergyConsumption: c_ulonglong = |device: &mut Device| device.energy();
    nvmlDeviceGetPowerManagementMode: nvmlEnableState_t = |_: &mut Device| Ok(1);
    nvmlDeviceGetPowerManagementLimit: c_uint = |device: &mut Device| Ok(device.gpu().limit_mw);
    nvmlDeviceGetEnforcedPowerLimit: c_uint = |device: &mut Device| Ok(device.gpu().limit_mw);
    nvmlDeviceGetPowerManagementDefaultLimit: c_uint = |device: &mut Device| Ok(device.kind().power_limit_mw.default);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPowerManagementLimitConstraints(
    device: nvmlDevice_t,
    min: *mut c_uint,
    max: *mut c_uint,
) -> nvmlReturn_t {
    answer(|| {
        let limits =
            read("nvmlDeviceGetPowerManagementLimitConstraints", device, |device| Ok(device.kind().power_limit_mw))?;
        // SAFETY: NVML's interface demands that both are null or may be written to.
        unsafe { put(min, limits.min).and_then(|()| put(max, limits.max)) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceSetPowerManagementLimit(device: nvmlDevice_t, limit_mw: c_uint) -> nvmlReturn_t {
    set("nvmlDeviceSetPowerManagementLimit", device, &format!("{limit_mw} mW"), |device| {
        let (kind, gpu) = device.parts();
        settings::set_limit(kind, gpu, limit_mw)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTemperature(
    device: nvmlDevice_t,
    sensor: nvmlTemperatureSensors_t,
    degrees: *mut c_uint,
) -> nvmlReturn_t {
    answer(|| {
        let value = read("nvmlDeviceGetTemperature", device, |device| {
            if sensor == 0 { device.temperature() } else { Err(code::INVALID_ARGUMENT) }
        })?;
        // SAFETY: NVML's interface demands that `degrees` is null or may be written to.
        unsafe { put(degrees, value) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTemperatureV(
    device: nvmlDevice_t,
    out: *mut VersionedTemperature,
) -> nvmlReturn_t {
    if out.is_null() {
        return code::INVALID_ARGUMENT;
    }
    // SAFETY: not null, and NVML's interface demands a structure that may be read and written.
    let asked = unsafe { &mut *out };
    if asked.version != TEMPERATURE_VERSION {
        return nvml_wrapper_sys::bindings::nvmlReturn_enum_NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    }
    answer(|| {
        let degrees = read("nvmlDeviceGetTemperatureV", device, |device| device.temperature())?;
        asked.degrees = c_int::try_from(degrees).map_err(|_| code::UNKNOWN)?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTemperatureThreshold(
    device: nvmlDevice_t,
    which: nvmlTemperatureThresholds_t,
    degrees: *mut c_uint,
) -> nvmlReturn_t {
    answer(|| {
        let value = read("nvmlDeviceGetTemperatureThreshold", device, |device| {
            let thermal = device.kind().thermal;
            match which {
                0 => whole(thermal.shutdown_c),
                1 | 3 => whole(thermal.slowdown_c),
                _ => Err(code::NOT_SUPPORTED),
            }
        })?;
        // SAFETY: NVML's interface demands that `degrees` is null or may be written to.
        unsafe { put(degrees, value) }
    })
}
