//! What is ours and not NVML's: processes that want to run register here.

use std::ffi::{CStr, c_char, c_double, c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::nvmlReturn_t;

use super::{answer, client, code, put};
use crate::settings::Code;
use crate::simulator::JobSpec;

/// A text of the caller.
///
/// # Safety
/// `text` is null or ends in zero.
unsafe fn text(text: *const c_char) -> Result<String, Code> {
    if text.is_null() {
        return Err(code::INVALID_ARGUMENT);
    }
    // SAFETY: not null, so it ends in zero by the contract of this function.
    Ok(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// Registers a process on GPUs (UUIDs with commas between); a number of steps <= 0 means as long as it lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratsSimAttach(
    uuids: *const c_char,
    pid: c_uint,
    workload: *const c_char,
    steps: c_double,
    startup_s: c_double,
    id: *mut c_ulonglong,
) -> nvmlReturn_t {
    answer(|| {
        // SAFETY: the caller passes texts that end in zero.
        let (uuids, workload) = unsafe { (text(uuids)?, text(workload)?) };
        let steps = if steps > 0.0 { steps } else { f64::INFINITY };
        let spec =
            JobSpec { gpus: uuids.split(',').map(Into::into).collect(), workload, steps, startup_s, lingers: false };
        let number = client()?.attach(pid, &spec).map_err(|_| code::INVALID_ARGUMENT)?;
        // SAFETY: `id` is null or may be written to.
        unsafe { put(id, number) }
    })
}

/// Removes a process from its GPUs.
#[unsafe(no_mangle)]
pub extern "C" fn ratsSimDetach(id: c_ulonglong) -> nvmlReturn_t {
    answer(|| client()?.detach(id).map_err(|_| code::UNKNOWN))
}

/// Steps that a process has done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratsSimProgress(id: c_ulonglong, steps: *mut c_double) -> nvmlReturn_t {
    answer(|| {
        let progress = client()?.progress(id).map_err(|_| code::UNKNOWN)?.ok_or(code::NOT_FOUND)?;
        // SAFETY: `steps` is null or may be written to.
        unsafe { put(steps, progress.steps) }
    })
}

/// Simulated seconds in a real one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratsSimSpeedup(speedup: *mut c_double) -> nvmlReturn_t {
    // SAFETY: `speedup` is null or may be written to.
    answer(|| unsafe { put(speedup, client()?.config().speedup) })
}
