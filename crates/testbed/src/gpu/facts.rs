//! What does not change about a GPU while a program runs: read once, when it is opened.

use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::enums::device::DeviceArchitecture;
use nvml_wrapper::error::NvmlError;
use rats_domain::units::{Mebibytes, Milliwatts};

use super::error::GpuError;
use super::links::{Link, links};
use super::names::type_id;
use super::{Megahertz, Uuid};

/// A generation of GPUs, old to new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Architecture {
    /// K80.
    Kepler,
    /// M40, P2000's predecessors.
    Maxwell,
    /// P100.
    Pascal,
    /// V100: clocks can be locked, energy is counted.
    Volta,
    /// T4, RTX 6000.
    Turing,
    /// A100, A40: memory clocks can be locked.
    Ampere,
    /// L40S.
    Ada,
    /// H100, H200.
    Hopper,
    /// B200.
    Blackwell,
}

/// SM clocks that go with one memory clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryClock {
    /// The memory clock.
    pub mem: Megahertz,
    /// Its SM clocks, low to high.
    pub sm: Vec<Megahertz>,
}

/// What the power limit can be set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerRange {
    /// The lowest.
    pub least: Milliwatts,
    /// The highest.
    pub most: Milliwatts,
    /// What holds when nobody set anything; absent where the driver does not say.
    pub default: Option<Milliwatts>,
}

/// The link to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PcieLink {
    /// The highest generation of GPU and slot.
    pub generation: u32,
    /// The most lanes of GPU and slot.
    pub width: u32,
}

/// A GPU as it is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its name for life.
    pub uuid: Uuid,
    /// Where NVML lists it now; for people only, since it changes.
    pub index: u32,
    /// The product, as the driver calls it.
    pub name: String,
    /// The kind of GPU as profiles, scenarios and instances call it.
    pub type_id: String,
    /// PCI address, `00000000:3b:00.0`, lower case.
    pub pci: String,
    /// Generation; absent for one that is not known.
    pub architecture: Option<Architecture>,
    /// Memory, absent where the driver does not say.
    pub memory: Option<Mebibytes>,
    /// Supported clocks, the highest memory clock first; empty where the driver lists none.
    pub clocks: Vec<MemoryClock>,
    /// The highest SM clock that the driver reports.
    pub max_sm: Option<Megahertz>,
    /// Power limits; absent where the limit cannot be set.
    pub power: Option<PowerRange>,
    /// Link to the host.
    pub pcie: Option<PcieLink>,
    /// NVLinks that are up, by number.
    pub links: Vec<Link>,
}

impl Architecture {
    const ALL: [Self; 9] = [
        Self::Kepler,
        Self::Maxwell,
        Self::Pascal,
        Self::Volta,
        Self::Turing,
        Self::Ampere,
        Self::Ada,
        Self::Hopper,
        Self::Blackwell,
    ];

    /// Whether SM clocks can be locked.
    pub fn locks_sm(self) -> bool {
        self >= Self::Volta
    }

    /// Whether memory clocks can be locked.
    pub fn locks_memory(self) -> bool {
        self >= Self::Ampere
    }

    /// Whether there is an energy counter.
    pub fn counts_energy(self) -> bool {
        self >= Self::Volta
    }

    /// Its generation of NVLink, if it has one.
    pub fn nvlink(self) -> Option<u8> {
        match self {
            Self::Pascal => Some(1),
            Self::Volta | Self::Turing => Some(2),
            Self::Ampere => Some(3),
            Self::Hopper => Some(4),
            Self::Blackwell => Some(5),
            Self::Kepler | Self::Maxwell | Self::Ada => None,
        }
    }

    /// The architecture of this name, in any case.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        Self::ALL.into_iter().find(|architecture| name.contains(architecture.name()))
    }

    /// Its name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kepler => "kepler",
            Self::Maxwell => "maxwell",
            Self::Pascal => "pascal",
            Self::Volta => "volta",
            Self::Turing => "turing",
            Self::Ampere => "ampere",
            Self::Ada => "ada",
            Self::Hopper => "hopper",
            Self::Blackwell => "blackwell",
        }
    }

    fn of(architecture: &DeviceArchitecture) -> Option<Self> {
        Some(match architecture {
            DeviceArchitecture::Kepler => Self::Kepler,
            DeviceArchitecture::Maxwell => Self::Maxwell,
            DeviceArchitecture::Pascal => Self::Pascal,
            DeviceArchitecture::Volta => Self::Volta,
            DeviceArchitecture::Turing => Self::Turing,
            DeviceArchitecture::Ampere => Self::Ampere,
            DeviceArchitecture::Ada => Self::Ada,
            DeviceArchitecture::Hopper => Self::Hopper,
            DeviceArchitecture::Blackwell => Self::Blackwell,
            DeviceArchitecture::Unknown => return None,
        })
    }
}

impl Facts {
    /// The SM clocks at a memory clock, low to high; at the highest memory clock if none is named. Empty for a memory
    /// clock that is not listed.
    pub fn sm_clocks(&self, mem: Option<Megahertz>) -> &[Megahertz] {
        let entry = match mem {
            Some(mem) => self.clocks.iter().find(|entry| entry.mem == mem),
            None => self.clocks.first(),
        };
        entry.map_or(&[], |entry| &entry.sm)
    }

    /// Reads them all; what a GPU does not support is absent.
    pub(super) fn read(device: &Device<'_>) -> Result<Self, GpuError> {
        const WHAT: &str = "reading what the GPU is";
        let needed = |error: NvmlError| GpuError::of(&error, WHAT);
        let name = device.name().map_err(needed)?;
        let range = optional(device.power_management_limit_constraints(), WHAT)?;
        let default = optional(device.power_management_limit_default(), WHAT)?;
        let power = range.map(|range| PowerRange {
            least: Milliwatts(range.min_limit.into()),
            most: Milliwatts(range.max_limit.into()),
            default: default.map(|limit| Milliwatts(limit.into())),
        });
        let generation = optional(device.max_pcie_link_gen(), WHAT)?;
        let width = optional(device.max_pcie_link_width(), WHAT)?;
        Ok(Self {
            uuid: Uuid::new(device.uuid().map_err(needed)?),
            index: device.index().map_err(needed)?,
            type_id: type_id(&name),
            name,
            pci: device.pci_info().map_err(needed)?.bus_id.to_lowercase(),
            architecture: optional(device.architecture(), WHAT)?.as_ref().and_then(Architecture::of),
            memory: optional(device.memory_info(), WHAT)?.map(|memory| mebibytes(memory.total)),
            clocks: clocks(device)?,
            max_sm: optional(device.max_clock_info(Clock::SM), WHAT)?.map(|mhz| Megahertz(mhz.into())),
            power,
            pcie: generation.zip(width).map(|(generation, width)| PcieLink { generation, width }),
            links: links(device)?,
        })
    }
}

/// A value that a GPU need not have: absent where it is not supported, unknown to the wrapper, or not there just now.
pub(super) fn optional<T>(result: Result<T, NvmlError>, what: &'static str) -> Result<Option<T>, GpuError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) => {
            let error = GpuError::of(&error, what);
            if error.is_unreachable() { Err(error) } else { Ok(None) }
        }
    }
}

fn clocks(device: &Device<'_>) -> Result<Vec<MemoryClock>, GpuError> {
    const WHAT: &str = "reading the supported clocks";
    let mut memory = optional(device.supported_memory_clocks(), WHAT)?.unwrap_or_default();
    memory.sort_unstable_by(|a, b| b.cmp(a));
    memory.dedup();
    let mut clocks = Vec::with_capacity(memory.len());
    for mem in memory {
        let mut sm = optional(nvml_extra::supported_sm_clocks(device, mem), WHAT)?.unwrap_or_default();
        sm.sort_unstable();
        sm.dedup();
        let sm = sm.into_iter().map(|mhz| Megahertz(mhz.into())).collect();
        clocks.push(MemoryClock { mem: Megahertz(mem.into()), sm });
    }
    Ok(clocks)
}

fn mebibytes(bytes: u64) -> Mebibytes {
    Mebibytes(i64::try_from(bytes >> 20).unwrap_or(i64::MAX))
}
