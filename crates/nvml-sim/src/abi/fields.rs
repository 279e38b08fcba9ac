//! Values by field number.
#![expect(non_snake_case, reason = "names of NVML")]

use std::ffi::c_int;

use nvml_wrapper_sys::bindings::{field_id, nvmlDevice_t, nvmlFieldValue_t, nvmlReturn_t, nvmlValue_t};

use super::{Device, answer, code, read};
use crate::settings::Code;

const UNSIGNED_INT: u32 = 1;
const UNSIGNED_LONG_LONG: u32 = 3;

fn value(device: &mut Device, field: u32) -> Result<(u32, nvmlValue_t), Code> {
    let limits = device.kind().power_limit_mw;
    let number = match field {
        field_id::NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION => {
            return device.energy().map(|ullVal| (UNSIGNED_LONG_LONG, nvmlValue_t { ullVal }));
        }
        field_id::NVML_FI_DEV_POWER_AVERAGE => device.average_power()?,
        field_id::NVML_FI_DEV_POWER_INSTANT => device.instant_power()?,
        field_id::NVML_FI_DEV_POWER_MIN_LIMIT => limits.min,
        field_id::NVML_FI_DEV_POWER_MAX_LIMIT => limits.max,
        field_id::NVML_FI_DEV_POWER_DEFAULT_LIMIT => limits.default,
        field_id::NVML_FI_DEV_POWER_CURRENT_LIMIT | field_id::NVML_FI_DEV_POWER_REQUESTED_LIMIT => {
            device.gpu().limit_mw
        }
        field_id::NVML_FI_DEV_NVLINK_LINK_COUNT => u32::try_from(device.links().len()).unwrap_or(u32::MAX),
        _ => return Err(code::NOT_SUPPORTED),
    };
    Ok((UNSIGNED_INT, nvmlValue_t { ullVal: u64::from(number) }))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetFieldValues(
    device: nvmlDevice_t,
    count: c_int,
    values: *mut nvmlFieldValue_t,
) -> nvmlReturn_t {
    let Ok(count) = usize::try_from(count) else { return code::INVALID_ARGUMENT };
    if values.is_null() {
        return code::INVALID_ARGUMENT;
    }
    // SAFETY: not null, and NVML's interface demands `count` structures that may be read and written.
    let values = unsafe { std::slice::from_raw_parts_mut(values, count) };
    answer(|| {
        for entry in values {
            let field = entry.fieldId;
            // Faults of the counter hit the field of the same content.
            let energy = field == field_id::NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION;
            let name = if energy { "nvmlDeviceGetTotalEnergyConsumption" } else { "nvmlDeviceGetFieldValues" };
            let result = read(name, device, |device| Ok((value(device, field)?, device.state.sim_ns)));
            match result {
                Ok(((kind, value), sim_ns)) => {
                    (entry.valueType, entry.value, entry.nvmlReturn) = (kind, value, code::SUCCESS);
                    entry.timestamp = i64::try_from(sim_ns / 1000).unwrap_or(i64::MAX);
                    entry.latencyUsec = 0;
                }
                // One field that is missing is the field's own matter; a device that is gone is everybody's.
                Err(code::NOT_SUPPORTED) => entry.nvmlReturn = code::NOT_SUPPORTED,
                Err(code) => return Err(code),
            }
        }
        Ok(())
    })
}
