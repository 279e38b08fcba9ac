//! Calls of NVML that nvml-wrapper 0.13 gets wrong, with its own types.
//!
//! `Device::supported_graphics_clocks` takes "the buffer is too small" for success. A GPU with more than 128 SM clocks,
//! such as V100 (167), L40S (155) or B200 (247), then shows a list of zeros.

use nvml_wrapper::Device;
use nvml_wrapper::error::{NvmlError, nvml_try, nvml_try_count};

/// More clocks than any GPU has; guards memory against a driver that asks for more.
const MOST: u32 = 65_536;

/// The SM clocks that go with a memory clock, MHz, in the driver's order.
///
/// # Errors
/// Those of `nvmlDeviceGetSupportedGraphicsClocks`.
pub fn supported_sm_clocks(device: &Device<'_>, mem_mhz: u32) -> Result<Vec<u32>, NvmlError> {
    let symbol = device.nvml().lib().nvmlDeviceGetSupportedGraphicsClocks.as_ref();
    let call = symbol.map_err(|error| NvmlError::FailedToLoadSymbol(error.to_string()))?;
    let mut count = 0;
    // SAFETY: the handle is that of a device whose library is loaded for as long as `device` lives; with a count of 0 NVML
    // writes nothing but the count, and the null pointer is what its documentation asks for.
    nvml_try_count(unsafe { call(device.handle(), mem_mhz, &raw mut count, std::ptr::null_mut()) })?;
    if count > MOST {
        return Err(NvmlError::InsufficientSize(Some(count as usize)));
    }
    let mut clocks = vec![0; count as usize];
    if clocks.is_empty() {
        return Ok(clocks);
    }
    // SAFETY: as above; `clocks` has room for `count` numbers, of which NVML writes no more.
    nvml_try(unsafe { call(device.handle(), mem_mhz, &raw mut count, clocks.as_mut_ptr()) })?;
    clocks.truncate(count as usize);
    Ok(clocks)
}
