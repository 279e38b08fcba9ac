//! Begin and end, versions, and the way to a device.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::sync::{Arc, PoisonError};

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlReturn_t};

use super::{CLIENT, Client, answer, client, code, handle, put, put_text};
use crate::settings::Code;
use crate::simulator::Simulator;
use crate::{pci, process};

/// CUDA 12.4, as the default driver version has it.
const CUDA_VERSION: c_int = 12_040;

fn begin(name: &str) -> nvmlReturn_t {
    answer(|| {
        let mut client = CLIENT.lock().unwrap_or_else(PoisonError::into_inner);
        let simulator = match client.as_ref() {
            Some(client) => Arc::clone(&client.simulator),
            None => Arc::new(Simulator::from_environment().map_err(|error| {
                // NVML has no way to say more than a code.
                eprintln!("libnvml_sim: {error}");
                code::DRIVER_NOT_LOADED
            })?),
        };
        simulator.call(name, None, |_, _, _| Ok(()))?;
        client.get_or_insert(Client { uses: 0, simulator }).uses += 1;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> nvmlReturn_t {
    begin("nvmlInit_v2")
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit() -> nvmlReturn_t {
    begin("nvmlInit")
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInitWithFlags(_flags: c_uint) -> nvmlReturn_t {
    begin("nvmlInitWithFlags")
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> nvmlReturn_t {
    answer(|| {
        let mut client = CLIENT.lock().unwrap_or_else(PoisonError::into_inner);
        let uses = client.as_mut().map(|client| {
            client.uses -= 1;
            client.uses
        });
        if uses == Some(0) {
            *client = None;
        }
        uses.map(drop).ok_or(code::UNINITIALIZED)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(result: nvmlReturn_t) -> *const c_char {
    let text = match result {
        0 => c"Success",
        1 => c"Uninitialized",
        2 => c"Invalid Argument",
        3 => c"Not Supported",
        4 => c"Insufficient Permissions",
        5 => c"Already Initialized",
        6 => c"Not Found",
        7 => c"Insufficient Size",
        8 => c"Insufficient External Power",
        9 => c"Driver Not Loaded",
        10 => c"Timeout",
        13 => c"Function Not Found",
        15 => c"GPU is lost",
        17 => c"GPU access blocked by the operating system",
        19 => c"In use by another client",
        20 => c"Insufficient Memory",
        21 => c"No Data",
        _ => c"Unknown Error",
    };
    text.as_ptr()
}

fn text(
    name: &str,
    out: *mut c_char,
    length: c_uint,
    body: impl Fn(&Simulator) -> Result<String, Code>,
) -> nvmlReturn_t {
    answer(|| {
        let simulator = client()?;
        simulator.call(name, None, |_, _, _| Ok(()))?;
        // SAFETY: NVML's interface demands that `length` bytes at `out` may be written to.
        unsafe { put_text(out, length, &body(&simulator)?) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetDriverVersion(version: *mut c_char, length: c_uint) -> nvmlReturn_t {
    text("nvmlSystemGetDriverVersion", version, length, |simulator| Ok(simulator.config().driver_version.clone()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetNVMLVersion(version: *mut c_char, length: c_uint) -> nvmlReturn_t {
    text("nvmlSystemGetNVMLVersion", version, length, |simulator| {
        Ok(format!("12.{}", simulator.config().driver_version))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetProcessName(pid: c_uint, name: *mut c_char, length: c_uint) -> nvmlReturn_t {
    text("nvmlSystemGetProcessName", name, length, |_| {
        let mut name = process::name(pid).ok_or(code::NOT_FOUND)?;
        let room = (length as usize).saturating_sub(1);
        name.truncate((0..=room.min(name.len())).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0));
        Ok(name)
    })
}

fn number<T>(name: &str, out: *mut T, body: impl Fn(&Simulator) -> Result<T, Code>) -> nvmlReturn_t {
    answer(|| {
        let simulator = client()?;
        simulator.call(name, None, |_, _, _| Ok(()))?;
        // SAFETY: NVML's interface demands that `out` is null or may be written to.
        unsafe { put(out, body(&simulator)?) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetCudaDriverVersion(version: *mut c_int) -> nvmlReturn_t {
    number("nvmlSystemGetCudaDriverVersion", version, |_| Ok(CUDA_VERSION))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetCudaDriverVersion_v2(version: *mut c_int) -> nvmlReturn_t {
    number("nvmlSystemGetCudaDriverVersion_v2", version, |_| Ok(CUDA_VERSION))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlUnitGetCount(count: *mut c_uint) -> nvmlReturn_t {
    number("nvmlUnitGetCount", count, |_| Ok(0))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGetExcludedDeviceCount(count: *mut c_uint) -> nvmlReturn_t {
    number("nvmlGetExcludedDeviceCount", count, |_| Ok(0))
}

fn count(name: &str, out: *mut c_uint) -> nvmlReturn_t {
    number(name, out, |simulator| u32::try_from(simulator.config().gpus.len()).map_err(|_| code::UNKNOWN))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount(out: *mut c_uint) -> nvmlReturn_t {
    count("nvmlDeviceGetCount", out)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(out: *mut c_uint) -> nvmlReturn_t {
    count("nvmlDeviceGetCount_v2", out)
}

/// Finds a device, which must not be lost.
fn find(name: &str, out: *mut nvmlDevice_t, at: impl Fn(&Simulator) -> Result<usize, Code>) -> nvmlReturn_t {
    answer(|| {
        let simulator = client()?;
        let index = at(&simulator)?;
        simulator.call(name, Some(index), |_, _, _| Ok(()))?;
        // SAFETY: NVML's interface demands that `out` is null or may be written to.
        unsafe { put(out, handle(index)) }
    })
}

fn by_index(name: &str, index: c_uint, out: *mut nvmlDevice_t) -> nvmlReturn_t {
    find(name, out, |simulator| {
        let index = index as usize;
        if index < simulator.config().gpus.len() { Ok(index) } else { Err(code::INVALID_ARGUMENT) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex(index: c_uint, device: *mut nvmlDevice_t) -> nvmlReturn_t {
    by_index("nvmlDeviceGetHandleByIndex", index, device)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, device: *mut nvmlDevice_t) -> nvmlReturn_t {
    by_index("nvmlDeviceGetHandleByIndex_v2", index, device)
}

fn by_text(
    name: &str,
    text: *const c_char,
    out: *mut nvmlDevice_t,
    at: impl Fn(&Simulator, &str) -> Option<usize>,
) -> nvmlReturn_t {
    if text.is_null() {
        return code::INVALID_ARGUMENT;
    }
    // SAFETY: not null, and NVML's interface demands a text that ends in zero.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    find(name, out, |simulator| at(simulator, &text).ok_or(code::NOT_FOUND))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, device: *mut nvmlDevice_t) -> nvmlReturn_t {
    by_text("nvmlDeviceGetHandleByUUID", uuid, device, |simulator, uuid| simulator.config().index_of(uuid))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleBySerial(serial: *const c_char, device: *mut nvmlDevice_t) -> nvmlReturn_t {
    by_text("nvmlDeviceGetHandleBySerial", serial, device, |simulator, serial| {
        simulator.config().gpus.iter().position(|gpu| gpu.serial.as_deref() == Some(serial))
    })
}

fn by_bus(simulator: &Simulator, bus: &str) -> Option<usize> {
    let wanted = pci::parse(bus)?;
    simulator.config().gpus.iter().position(|gpu| pci::parse(&gpu.pci) == Some(wanted))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId(bus: *const c_char, device: *mut nvmlDevice_t) -> nvmlReturn_t {
    by_text("nvmlDeviceGetHandleByPciBusId", bus, device, by_bus)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(
    bus: *const c_char,
    device: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    by_text("nvmlDeviceGetHandleByPciBusId_v2", bus, device, by_bus)
}
