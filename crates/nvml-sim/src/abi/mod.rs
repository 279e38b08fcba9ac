//! The C interface: one exported function for each of NVML's that is simulated.
//!
//! A device handle is a number dressed as a pointer; nothing is ever read through it. Signatures and structures are those
//! of `nvml-wrapper-sys`, which are generated from NVML's header. Where two versions of a function differ in name only,
//! both exist. Functions in `absent` exist because readers look them up, and answer "not supported".

mod absent;
mod clocks;
mod fields;
mod identity;
mod power;
mod processes;
mod simulation;
mod system;
mod topology;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use nvml_wrapper_sys::bindings::{nvmlDevice_st, nvmlDevice_t, nvmlReturn_t};

use crate::faults::Effect;
use crate::settings::Code;
use crate::simulator::Simulator;
use crate::state::State;
use crate::world::World;

/// Codes of NVML.
pub mod code {
    pub use nvml_wrapper_sys::bindings::{
        nvmlReturn_enum_NVML_ERROR_DRIVER_NOT_LOADED as DRIVER_NOT_LOADED,
        nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE as INSUFFICIENT_SIZE,
        nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT as INVALID_ARGUMENT,
        nvmlReturn_enum_NVML_ERROR_NOT_FOUND as NOT_FOUND, nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED as NOT_SUPPORTED,
        nvmlReturn_enum_NVML_ERROR_UNINITIALIZED as UNINITIALIZED, nvmlReturn_enum_NVML_ERROR_UNKNOWN as UNKNOWN,
        nvmlReturn_enum_NVML_SUCCESS as SUCCESS,
    };
}

/// Handles are this plus the index, so that 0 and small numbers are none.
const FIRST_HANDLE: usize = 0x6e76_0000;

/// The library between the first `nvmlInit` and the last `nvmlShutdown`.
static CLIENT: Mutex<Option<Client>> = Mutex::new(None);

struct Client {
    uses: usize,
    simulator: Arc<Simulator>,
}

/// What a call on a device sees.
struct Device<'s> {
    world: &'s World,
    state: &'s mut State,
    effect: &'s Effect,
    index: usize,
}

/// Runs the body of an exported function: its result as a code; a panic must not cross into C.
fn answer(body: impl FnOnce() -> Result<(), Code>) -> nvmlReturn_t {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => code::SUCCESS,
        Ok(Err(code)) => code,
        Err(_) => code::UNKNOWN,
    }
}

/// The simulator of an initialized library.
fn client() -> Result<Arc<Simulator>, Code> {
    let client = CLIENT.lock().unwrap_or_else(PoisonError::into_inner);
    client.as_ref().map(|client| Arc::clone(&client.simulator)).ok_or(code::UNINITIALIZED)
}

fn handle(index: usize) -> nvmlDevice_t {
    std::ptr::without_provenance_mut::<nvmlDevice_st>(FIRST_HANDLE + index)
}

/// The simulator and the index of a handle.
fn device(handle: nvmlDevice_t) -> Result<(Arc<Simulator>, usize), Code> {
    let simulator = client()?;
    let index = handle.addr().checked_sub(FIRST_HANDLE).filter(|&index| index < simulator.config().gpus.len());
    index.map(|index| (simulator, index)).ok_or(code::INVALID_ARGUMENT)
}

/// Reads something of a device.
fn read<T>(name: &str, handle: nvmlDevice_t, body: impl Fn(&mut Device) -> Result<T, Code>) -> Result<T, Code> {
    let (simulator, index) = device(handle)?;
    simulator.call(name, Some(index), |world, state, effect| body(&mut Device { world, state, effect, index }))
}

/// Changes something of a device.
fn set(
    name: &str,
    handle: nvmlDevice_t,
    arguments: &str,
    body: impl Fn(&mut Device) -> Result<(), Code>,
) -> nvmlReturn_t {
    answer(|| {
        let (simulator, index) = device(handle)?;
        simulator.set(name, index, arguments, |world, state, effect| body(&mut Device { world, state, effect, index }))
    })
}

/// Writes a result to where the caller wants it.
///
/// # Safety
/// `out` is null or may be written to as a `T`.
unsafe fn put<T>(out: *mut T, value: T) -> Result<(), Code> {
    if out.is_null() {
        return Err(code::INVALID_ARGUMENT);
    }
    // SAFETY: not null, so by the contract of this function it may be written to.
    unsafe { out.write(value) };
    Ok(())
}

/// Writes a text with its final zero.
///
/// # Safety
/// `out` is null or `length` bytes at it may be written to.
unsafe fn put_text(out: *mut std::ffi::c_char, length: u32, text: &str) -> Result<(), Code> {
    if out.is_null() {
        return Err(code::INVALID_ARGUMENT);
    }
    if text.len() >= length as usize {
        return Err(code::INSUFFICIENT_SIZE);
    }
    // SAFETY: text.len() + 1 <= length bytes may be written to, and a fresh text does not overlap them.
    unsafe {
        out.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
        out.add(text.len()).write(0);
    }
    Ok(())
}

/// Writes a list by NVML's protocol: `count` holds the room before and the number after; too little room is an error.
///
/// # Safety
/// `count` is null or may be read and written; `out` is null or has room for `count` values.
unsafe fn put_list<T: Copy>(count: *mut u32, out: *mut T, values: &[T]) -> Result<(), Code> {
    if count.is_null() {
        return Err(code::INVALID_ARGUMENT);
    }
    // SAFETY: not null, so it may be read by the contract of this function.
    let room = unsafe { count.read() } as usize;
    // SAFETY: not null, so it may be written by the contract of this function.
    unsafe { count.write(u32::try_from(values.len()).unwrap_or(u32::MAX)) };
    if values.is_empty() {
        return Ok(());
    }
    if room < values.len() || out.is_null() {
        return Err(code::INSUFFICIENT_SIZE);
    }
    // SAFETY: there is room for values.len() values, and `values` is a list of ours that does not overlap it.
    unsafe { out.copy_from_nonoverlapping(values.as_ptr(), values.len()) };
    Ok(())
}

/// A text of at most `N - 1` bytes in a field of a structure.
fn chars<const N: usize>(text: &str) -> [std::ffi::c_char; N] {
    let mut field = [0; N];
    for (to, from) in field[..N - 1].iter_mut().zip(text.bytes()) {
        *to = std::ffi::c_char::from_ne_bytes([from]);
    }
    field
}

/// Exports functions that read one value of a device.
macro_rules! getters {
    ($($name:ident: $type:ty = $body:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(device: nvmlDevice_t, out: *mut $type) -> nvmlReturn_t {
            // SAFETY: NVML's interface demands that `out` is null or may be written to.
            answer(|| unsafe { put(out, read(stringify!($name), device, $body)?) })
        }
    )*};
}

/// Exports functions that read a text of a device.
macro_rules! texts {
    ($($name:ident = $body:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(device: nvmlDevice_t, out: *mut c_char, length: c_uint) -> nvmlReturn_t {
            // SAFETY: NVML's interface demands that `length` bytes at `out` may be written to.
            answer(|| unsafe { put_text(out, length, &read(stringify!($name), device, $body)?) })
        }
    )*};
}

use {getters, texts};
