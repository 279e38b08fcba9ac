//! How devices are connected.

use std::ffi::{c_int, c_uint, c_ulong};

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlEnableState_t, nvmlGpuP2PCapsIndex_t, nvmlGpuP2PStatus_t, nvmlGpuTopologyLevel_t,
    nvmlIntNvLinkDeviceType_t, nvmlNvLinkCapability_t, nvmlPciInfo_t, nvmlReturn_t,
};

use super::identity::pci_info;
use super::{Device, answer, code, device, getters, handle, put, put_list, read};
use crate::config::GpuConfig;
use crate::settings::Code;

/// One NVLink of a device.
pub(super) struct Link {
    pci: String,
    to_switch: bool,
    version: u32,
}

impl Device<'_> {
    /// Its NVLinks in order.
    pub(super) fn links(&self) -> Vec<Link> {
        let config = &self.world.config;
        let own = u32::try_from(self.index).unwrap_or(u32::MAX);
        let mut links = Vec::new();
        for bundle in &config.nvlinks {
            let other = match bundle.peer {
                Some(peer) if bundle.gpu == own => Some(peer),
                Some(peer) if peer == own => Some(bundle.gpu),
                _ => None,
            };
            let peer = other.map(|other| (config.gpus[other as usize].pci.clone(), false));
            let switch = bundle.switch_pci.clone().filter(|_| bundle.gpu == own).map(|pci| (pci, true));
            if let Some((pci, to_switch)) = peer.or(switch) {
                links.extend((0..bundle.count).map(|_| Link { pci: pci.clone(), to_switch, version: bundle.version }));
            }
        }
        links
    }

    fn link(&self, at: c_uint) -> Result<Link, Code> {
        self.links().into_iter().nth(at as usize).ok_or(code::INVALID_ARGUMENT)
    }
}

/// The narrowest level that holds two devices, as NVML numbers them.
fn level(first: &GpuConfig, second: &GpuConfig) -> nvmlGpuTopologyLevel_t {
    let root = |gpu: &GpuConfig| gpu.switch.split_once('/').map(|(root, _)| root.to_owned());
    if first.board.is_some() && first.board == second.board {
        0
    } else if first.numa != second.numa {
        50
    } else if first.bridge != second.bridge {
        40
    } else if !first.switch.is_empty() && first.switch == second.switch {
        10
    } else if root(first).is_some() && root(first) == root(second) {
        20
    } else {
        30
    }
}

/// Two devices, neither of them lost.
fn pair(name: &str, first: nvmlDevice_t, second: nvmlDevice_t) -> Result<(GpuConfig, GpuConfig), Code> {
    let (_, other) = device(second)?;
    read(name, second, |_| Ok(()))?;
    read(name, first, |device| {
        Ok((device.world.config.gpus[device.index].clone(), device.world.config.gpus[other].clone()))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTopologyCommonAncestor(
    first: nvmlDevice_t,
    second: nvmlDevice_t,
    path: *mut nvmlGpuTopologyLevel_t,
) -> nvmlReturn_t {
    answer(|| {
        let (first, second) = pair("nvmlDeviceGetTopologyCommonAncestor", first, second)?;
        // SAFETY: NVML's interface demands that `path` is null or may be written to.
        unsafe { put(path, level(&first, &second)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceOnSameBoard(
    first: nvmlDevice_t,
    second: nvmlDevice_t,
    same: *mut c_int,
) -> nvmlReturn_t {
    answer(|| {
        let (first, second) = pair("nvmlDeviceOnSameBoard", first, second)?;
        // SAFETY: NVML's interface demands that `same` is null or may be written to.
        unsafe { put(same, c_int::from(level(&first, &second) == 0)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTopologyNearestGpus(
    device: nvmlDevice_t,
    wanted: nvmlGpuTopologyLevel_t,
    count: *mut c_uint,
    devices: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    answer(|| {
        let near = read("nvmlDeviceGetTopologyNearestGpus", device, |device| {
            let gpus = &device.world.config.gpus;
            let own = &gpus[device.index];
            let near = |index: &usize| *index != device.index && level(own, &gpus[*index]) == wanted;
            Ok((0..gpus.len()).filter(near).map(handle).collect::<Vec<_>>())
        })?;
        // SAFETY: NVML's interface demands that `count` holds the room at `devices`.
        unsafe { put_list(count, devices, &near) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetP2PStatus(
    first: nvmlDevice_t,
    second: nvmlDevice_t,
    what: nvmlGpuP2PCapsIndex_t,
    status: *mut nvmlGpuP2PStatus_t,
) -> nvmlReturn_t {
    const NVLINK: nvmlGpuP2PCapsIndex_t = 2;
    const OK: nvmlGpuP2PStatus_t = 0;
    const NOT_SUPPORTED: nvmlGpuP2PStatus_t = 5;
    answer(|| {
        let (one, other) = pair("nvmlDeviceGetP2PStatus", first, second)?;
        let links = |handle| read("nvmlDeviceGetP2PStatus", handle, |device| Ok(device.links()));
        let (of_one, of_other) = (links(first)?, links(second)?);
        let direct = of_one.iter().any(|link| link.pci == other.pci);
        let switched = of_one.iter().any(|link| link.to_switch && of_other.iter().any(|end| end.pci == link.pci));
        let possible = if what == NVLINK { direct || switched } else { direct || switched || one.numa == other.numa };
        // SAFETY: NVML's interface demands that `status` is null or may be written to.
        unsafe { put(status, if possible { OK } else { NOT_SUPPORTED }) }
    })
}

getters! {
    nvmlDeviceGetNumaNodeId: c_uint = |device: &mut Device| Ok(device.world.config.gpus[device.index].numa);
    nvmlDeviceGetMultiGpuBoard: c_uint = |device: &mut Device| {
        Ok(u32::from(device.world.config.gpus[device.index].board.is_some()))
    };
    nvmlDeviceGetBoardId: c_uint = |device: &mut Device| {
        let gpus = &device.world.config.gpus;
        let own = &gpus[device.index];
        let first = gpus.iter().position(|gpu| own.board.is_some() && gpu.board == own.board);
        Ok(u32::try_from(first.unwrap_or(device.index)).unwrap_or(u32::MAX))
    };
}

/// Exports functions that read something of one NVLink.
macro_rules! of_link {
    ($($name:ident: $type:ty = $body:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(device: nvmlDevice_t, link: c_uint, out: *mut $type) -> nvmlReturn_t {
            // SAFETY: NVML's interface demands that `out` is null or may be written to.
            answer(|| unsafe { put(out, read(stringify!($name), device, |device| $body(&device.link(link)?))?) })
        }
    )*};
}

of_link! {
    nvmlDeviceGetNvLinkState: nvmlEnableState_t = |_: &Link| Ok(1);
    nvmlDeviceGetNvLinkVersion: c_uint = |link: &Link| Ok(link.version);
    nvmlDeviceGetNvLinkRemotePciInfo: nvmlPciInfo_t = |link: &Link| pci_info(&link.pci);
    nvmlDeviceGetNvLinkRemotePciInfo_v2: nvmlPciInfo_t = |link: &Link| pci_info(&link.pci);
    nvmlDeviceGetNvLinkRemoteDeviceType: nvmlIntNvLinkDeviceType_t = |link: &Link| {
        Ok(if link.to_switch { 2 } else { 0 })
    };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetNvLinkCapability(
    device: nvmlDevice_t,
    link: c_uint,
    capability: nvmlNvLinkCapability_t,
    result: *mut c_uint,
) -> nvmlReturn_t {
    answer(|| {
        read("nvmlDeviceGetNvLinkCapability", device, |device| device.link(link).map(drop))?;
        // SAFETY: NVML's interface demands that `result` is null or may be written to.
        unsafe { put(result, u32::from(capability <= 3)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryAffinity(
    device: nvmlDevice_t,
    size: c_uint,
    nodes: *mut c_ulong,
    _scope: c_uint,
) -> nvmlReturn_t {
    answer(|| {
        let numa =
            read("nvmlDeviceGetMemoryAffinity", device, |device| Ok(device.world.config.gpus[device.index].numa))?;
        let words: Vec<c_ulong> =
            (0..size).map(|word| if numa / c_ulong::BITS == word { 1 << (numa % c_ulong::BITS) } else { 0 }).collect();
        let mut room = size;
        // SAFETY: NVML's interface demands room for `size` words at `nodes`.
        unsafe { put_list(&raw mut room, nodes, &words) }
    })
}
