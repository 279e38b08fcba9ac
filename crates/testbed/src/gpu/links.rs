//! What joins GPUs: NVLinks as each GPU reports them, and how far apart two GPUs are on PCIe.

use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::TopologyLevel;

use super::error::GpuError;
use super::facts::optional;

/// More NVLinks than any GPU has.
const MOST_LINKS: u32 = 18;

/// An NVLink that is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its number on this GPU.
    pub number: u32,
    /// PCI address of the other end, a GPU or an NVLink switch; absent where the driver does not say.
    pub remote_pci: Option<String>,
}

/// How far apart two GPUs are on PCIe, near to far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ancestor {
    /// On one board.
    Board,
    /// Below one PCIe switch.
    Switch,
    /// Below several PCIe switches, without a host bridge between.
    Switches,
    /// Below one host bridge.
    HostBridge,
    /// On one socket.
    Socket,
    /// Anywhere in the machine.
    System,
}

impl Ancestor {
    pub(super) fn of(level: TopologyLevel) -> Self {
        match level {
            TopologyLevel::Internal => Self::Board,
            TopologyLevel::Single => Self::Switch,
            TopologyLevel::Multiple => Self::Switches,
            TopologyLevel::HostBridge => Self::HostBridge,
            TopologyLevel::Node => Self::Socket,
            TopologyLevel::System => Self::System,
        }
    }
}

/// The links that are up. A GPU without NVLink refuses the first number.
pub(super) fn links(device: &Device<'_>) -> Result<Vec<Link>, GpuError> {
    const WHAT: &str = "reading the NVLinks";
    let mut links = Vec::new();
    for number in 0..MOST_LINKS {
        let link = device.link_wrapper_for(number);
        let Some(active) = optional(link.is_active(), WHAT)? else { break };
        if active {
            let remote_pci = optional(link.remote_pci_info(), WHAT)?.map(|pci| pci.bus_id.to_lowercase());
            links.push(Link { number, remote_pci });
        }
    }
    Ok(links)
}
