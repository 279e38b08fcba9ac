//! What a device is.
#![expect(non_snake_case, reason = "names of NVML")]

use std::ffi::{c_char, c_int, c_uint};

use nvml_wrapper_sys::bindings::{
    nvmlBAR1Memory_t, nvmlBrandType_t, nvmlComputeMode_t, nvmlDevice_t, nvmlDeviceArchitecture_t, nvmlEnableState_t,
    nvmlMemory_t, nvmlMemory_v2_t, nvmlPciInfo_t, nvmlPstates_t, nvmlReturn_t, nvmlUtilization_t,
};

use super::{Device, answer, chars, code, getters, put, put_text, read, set, texts};
use crate::config::{Architecture, TypeConfig};
use crate::pci;
use crate::settings::{Code, require_since};

const MIB: u64 = 1 << 20;

impl Device<'_> {
    /// The type.
    pub(super) fn kind(&self) -> &TypeConfig {
        self.world.config.kind(self.index)
    }

    /// Memory in use by its processes, bytes.
    fn used_bytes(&self) -> u64 {
        let jobs = self.state.jobs.iter().filter(|job| job.uses(self.index));
        jobs.map(|job| self.job_bytes(job.workload)).sum::<u64>().min(self.kind().memory_mib * MIB)
    }

    /// Memory of a process on one GPU, bytes.
    pub(super) fn job_bytes(&self, workload: u32) -> u64 {
        let workload = self.world.config.workloads.values().nth(workload as usize);
        workload.map_or(0, |workload| workload.memory_mib * MIB)
    }

    /// Whether the type can be divided into instances.
    fn divisible(&self) -> bool {
        let name = &self.kind().name;
        ["A30", "A100", "H100", "H200", "B200"].iter().any(|known| name.contains(known))
    }

    fn pci(&self) -> Result<nvmlPciInfo_t, Code> {
        pci_info(&self.world.config.gpus[self.index].pci)
    }
}

/// What NVML says of a bus id.
pub(super) fn pci_info(bus: &str) -> Result<nvmlPciInfo_t, Code> {
    let address = pci::parse(bus).ok_or(code::UNKNOWN)?;
    let (domain, bus, device) = address;
    let (busId, busIdLegacy) = (chars(&pci::long(address)), chars(&pci::short(address)));
    Ok(nvmlPciInfo_t { busIdLegacy, domain, bus, device, pciDeviceId: 0, pciSubSystemId: 0, busId })
}

fn capability(kind: &TypeConfig) -> (c_int, c_int) {
    let ga100 = kind.name.contains("A100") || kind.name.contains("A30");
    match kind.architecture {
        Architecture::Kepler => (3, 7),
        Architecture::Maxwell => (5, 2),
        Architecture::Pascal => (6, 0),
        Architecture::Volta => (7, 0),
        Architecture::Turing => (7, 5),
        Architecture::Ampere if ga100 => (8, 0),
        Architecture::Ampere => (8, 6),
        Architecture::Ada => (8, 9),
        Architecture::Hopper => (9, 0),
        Architecture::Blackwell => (10, 0),
    }
}

fn brand(kind: &TypeConfig) -> nvmlBrandType_t {
    let brands = [("GeForce RTX", 15), ("GeForce", 5), ("Quadro RTX", 12), ("Quadro", 1), ("Tesla", 2), ("RTX", 13)];
    brands.iter().find(|(word, _)| kind.name.contains(word)).map_or(14, |&(_, brand)| brand)
}

fn pcie_generation(kind: &TypeConfig) -> c_uint {
    match kind.architecture {
        Architecture::Hopper | Architecture::Blackwell => 5,
        Architecture::Ampere | Architecture::Ada => 4,
        _ => 3,
    }
}

/// A percentage of a share.
fn percent(share: f64) -> c_uint {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in 0..=100")]
    let percent = (share.clamp(0.0, 1.0) * 100.0).round() as c_uint;
    percent
}

texts! {
    nvmlDeviceGetName = |device: &mut Device| Ok(device.kind().name.clone());
    nvmlDeviceGetUUID = |device: &mut Device| Ok(device.world.config.gpus[device.index].uuid.clone());
    nvmlDeviceGetSerial = |device: &mut Device| {
        device.world.config.gpus[device.index].serial.clone().ok_or(code::NOT_SUPPORTED)
    };
}

getters! {
    nvmlDeviceGetIndex: c_uint = |device: &mut Device| Ok(u32::try_from(device.index).unwrap_or(u32::MAX));
    nvmlDeviceGetMinorNumber: c_uint = |device: &mut Device| Ok(u32::try_from(device.index).unwrap_or(u32::MAX));
    nvmlDeviceGetPciInfo: nvmlPciInfo_t = |device: &mut Device| device.pci();
    nvmlDeviceGetPciInfo_v2: nvmlPciInfo_t = |device: &mut Device| device.pci();
    nvmlDeviceGetPciInfo_v3: nvmlPciInfo_t = |device: &mut Device| device.pci();
    nvmlDeviceGetBrand: nvmlBrandType_t = |device: &mut Device| Ok(brand(device.kind()));
    nvmlDeviceGetArchitecture: nvmlDeviceArchitecture_t = |device: &mut Device| {
        // NVML counts generations from Kepler = 2.
        Ok(2 + device.kind().architecture as u32)
    };
    nvmlDeviceGetMemoryInfo: nvmlMemory_t = |device: &mut Device| {
        let (total, used) = (device.kind().memory_mib * MIB, device.used_bytes());
        Ok(nvmlMemory_t { total, free: total - used, used })
    };
    nvmlDeviceGetMemoryInfo_v2: nvmlMemory_v2_t = |device: &mut Device| {
        let (total, used) = (device.kind().memory_mib * MIB, device.used_bytes());
        let version = u32::try_from(size_of::<nvmlMemory_v2_t>()).unwrap_or(0) | 2 << 24;
        Ok(nvmlMemory_v2_t { version, total, reserved: 0, free: total - used, used })
    };
    nvmlDeviceGetBAR1MemoryInfo: nvmlBAR1Memory_t = |device: &mut Device| {
        let bar1Total = device.kind().memory_mib.next_power_of_two() * MIB;
        Ok(nvmlBAR1Memory_t { bar1Total, bar1Free: bar1Total, bar1Used: 0 })
    };
    nvmlDeviceGetUtilizationRates: nvmlUtilization_t = |device: &mut Device| {
        let busy = device.state.gpus[device.index].busy;
        let kind = &device.world.config.gpus[device.index].kind;
        let jobs = device.state.jobs.iter().filter(|job| job.uses(device.index));
        let workloads = jobs.filter_map(|job| device.world.config.workloads.values().nth(job.workload as usize));
        let shares = workloads.filter_map(|workload| workload.types.get(kind)).map(|truth| truth.memory_share);
        Ok(nvmlUtilization_t { gpu: percent(busy), memory: percent(busy * shares.fold(0.0, f64::max)) })
    };
    nvmlDeviceGetPersistenceMode: nvmlEnableState_t = |device: &mut Device| {
        Ok(device.state.gpus[device.index].persistence)
    };
    nvmlDeviceGetComputeMode: nvmlComputeMode_t = |_: &mut Device| Ok(0);
    nvmlDeviceGetDisplayMode: nvmlEnableState_t = |_: &mut Device| Ok(0);
    nvmlDeviceGetDisplayActive: nvmlEnableState_t = |_: &mut Device| Ok(0);
    nvmlDeviceGetPerformanceState: nvmlPstates_t = |device: &mut Device| {
        Ok(if device.state.gpus[device.index].busy > 0.0 { 0 } else { 8 })
    };
    nvmlDeviceGetPowerState: nvmlPstates_t = |device: &mut Device| {
        Ok(if device.state.gpus[device.index].busy > 0.0 { 0 } else { 8 })
    };
    nvmlDeviceGetMaxPcieLinkGeneration: c_uint = |device: &mut Device| Ok(pcie_generation(device.kind()));
    nvmlDeviceGetCurrPcieLinkGeneration: c_uint = |device: &mut Device| Ok(pcie_generation(device.kind()));
    nvmlDeviceGetMaxPcieLinkWidth: c_uint = |_: &mut Device| Ok(16);
    nvmlDeviceGetCurrPcieLinkWidth: c_uint = |_: &mut Device| Ok(16);
    nvmlDeviceGetMaxMigDeviceCount: c_uint = |device: &mut Device| Ok(if device.divisible() { 7 } else { 0 });
    nvmlDeviceIsMigDeviceHandle: c_uint = |_: &mut Device| Ok(0);
    nvmlDeviceGetNumFans: c_uint = |_: &mut Device| Ok(0);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCudaComputeCapability(
    device: nvmlDevice_t,
    major: *mut c_int,
    minor: *mut c_int,
) -> nvmlReturn_t {
    answer(|| {
        let (of_major, of_minor) =
            read("nvmlDeviceGetCudaComputeCapability", device, |device| Ok(capability(device.kind())))?;
        // SAFETY: NVML's interface demands that both are null or may be written to.
        unsafe { put(major, of_major).and_then(|()| put(minor, of_minor)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigMode(
    device: nvmlDevice_t,
    current: *mut c_uint,
    pending: *mut c_uint,
) -> nvmlReturn_t {
    answer(|| {
        let mode = read("nvmlDeviceGetMigMode", device, |device| {
            require_since(device.kind(), Architecture::Ampere)?;
            let mode = u32::from(device.world.config.gpus[device.index].mig);
            if device.divisible() { Ok(mode) } else { Err(code::NOT_SUPPORTED) }
        })?;
        // SAFETY: NVML's interface demands that both are null or may be written to.
        unsafe { put(current, mode).and_then(|()| put(pending, mode)) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
    device: nvmlDevice_t,
    _index: c_uint,
    _mig: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    answer(|| read("nvmlDeviceGetMigDeviceHandleByIndex", device, |_| Err(code::NOT_FOUND)))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceSetPersistenceMode(device: nvmlDevice_t, mode: nvmlEnableState_t) -> nvmlReturn_t {
    set("nvmlDeviceSetPersistenceMode", device, &format!("mode {mode}"), |device| {
        device.state.gpus[device.index].persistence =
            if mode <= 1 { mode } else { return Err(code::INVALID_ARGUMENT) };
        Ok(())
    })
}
