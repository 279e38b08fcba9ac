//! Who runs on a device.

use std::ffi::c_uint;

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlProcessInfo_v1_t, nvmlProcessInfo_v2_t, nvmlReturn_t};

use super::{Device, answer, put_list, read};
use crate::settings::Code;

/// What a GPU that is not divided says of instances.
const NO_INSTANCE: c_uint = u32::MAX;

fn running(name: &str, handle: nvmlDevice_t) -> Result<Vec<nvmlProcessInfo_v2_t>, Code> {
    read(name, handle, |device: &mut Device| {
        let jobs = device.state.jobs.iter().filter(|job| job.uses(device.index) && crate::simulator::lives(job));
        let info = |(pid, workload)| nvmlProcessInfo_v2_t {
            pid,
            usedGpuMemory: device.job_bytes(workload),
            gpuInstanceId: NO_INSTANCE,
            computeInstanceId: NO_INSTANCE,
        };
        Ok(jobs.map(|job| (job.pid, job.workload)).map(info).collect())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses(
    device: nvmlDevice_t,
    count: *mut c_uint,
    infos: *mut nvmlProcessInfo_v1_t,
) -> nvmlReturn_t {
    answer(|| {
        let first =
            |info: nvmlProcessInfo_v2_t| nvmlProcessInfo_v1_t { pid: info.pid, usedGpuMemory: info.usedGpuMemory };
        let all: Vec<_> = running("nvmlDeviceGetComputeRunningProcesses", device)?.into_iter().map(first).collect();
        // SAFETY: NVML's interface demands that `count` holds the room at `infos`.
        unsafe { put_list(count, infos, &all) }
    })
}

/// Exports functions that list processes in the second layout.
macro_rules! lists {
    ($($name:ident = $all:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            device: nvmlDevice_t, count: *mut c_uint, infos: *mut nvmlProcessInfo_v2_t,
        ) -> nvmlReturn_t {
            // SAFETY: NVML's interface demands that `count` holds the room at `infos`.
            answer(|| unsafe { put_list(count, infos, &$all(stringify!($name), device)?) })
        }
    )*};
}

fn none(name: &str, handle: nvmlDevice_t) -> Result<Vec<nvmlProcessInfo_v2_t>, Code> {
    read(name, handle, |_| Ok(Vec::new()))
}

lists! {
    nvmlDeviceGetComputeRunningProcesses_v2 = running;
    nvmlDeviceGetComputeRunningProcesses_v3 = running;
    nvmlDeviceGetGraphicsRunningProcesses = none;
    nvmlDeviceGetGraphicsRunningProcesses_v2 = none;
    nvmlDeviceGetGraphicsRunningProcesses_v3 = none;
    nvmlDeviceGetMPSComputeRunningProcesses = none;
    nvmlDeviceGetMPSComputeRunningProcesses_v2 = none;
    nvmlDeviceGetMPSComputeRunningProcesses_v3 = none;
}
