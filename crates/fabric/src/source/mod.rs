//! Descriptions of networks by others, read as a `rats.fabric/1` network.

pub mod fabric;
pub mod hostlist;
pub mod matrix;
pub mod nccl;
pub mod nvlink;
pub mod slurm;
pub mod smi;

use rats_domain::codes::Code;
use rats_domain::format::{FabricFile, GpuTypeFile};
use rats_domain::problem::{Problem, Problems, Warning};
use rats_domain::units::KilobytesPerSecond;

use super::islands::Joining;
use super::rates::{self, NvLink};

/// A kind of description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `rats.fabric/1`, JSON or TOML.
    Fabric,
    /// NCCL's topology file.
    NcclXml,
    /// A table of NVLinks: `gpu_i,gpu_j,nvlink_links,pcie_path`.
    NvLink,
    /// What `nvidia-smi topo -m` prints.
    Smi,
    /// Slurm's `topology.conf`.
    Slurm,
}

/// What the user adds to a description that lacks it.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// The kind of GPU.
    pub gpu_type: Option<GpuTypeFile>,
    /// GPUs of a host.
    pub gpus_per_node: Option<i64>,
    /// Number of hosts like the one described.
    pub nodes: usize,
    /// One network adapter.
    pub nic: Option<KilobytesPerSecond>,
    /// One PCIe link.
    pub pcie: Option<KilobytesPerSecond>,
    /// Between a socket and the others.
    pub socket: Option<KilobytesPerSecond>,
    /// Generation of NVLink.
    pub nvlink: Option<u8>,
    /// What each GPU reaches the others at, over NVLink switches that the description does not show.
    pub nvswitch: Option<KilobytesPerSecond>,
    /// Uplinks of hosts and of switches, narrow to wide.
    pub uplinks: Vec<KilobytesPerSecond>,
    /// Names of the levels, narrow to wide.
    pub levels: Vec<String>,
    /// The shared store.
    pub storage: Option<KilobytesPerSecond>,
    /// When NVLink makes an island.
    pub joining: Joining,
}

/// A network that was read, and what looked suspicious about it.
#[derive(Clone, Debug)]
pub struct Source {
    /// The network.
    pub file: FabricFile,
    /// What is suspicious.
    pub warnings: Vec<Warning>,
}

/// Reads a description.
///
/// # Errors
/// Every problem found, with code and place.
pub fn read(kind: Kind, bytes: &[u8], figures: &Figures) -> Result<Source, Problems> {
    match kind {
        Kind::Fabric => fabric::read(bytes),
        Kind::NcclXml => nccl::read(text(bytes)?, figures),
        Kind::NvLink => nvlink::read(text(bytes)?, figures),
        Kind::Smi => smi::read(text(bytes)?, figures),
        Kind::Slurm => slurm::read(text(bytes)?, figures),
    }
}

/// What kind of description this looks like: by the end of its name, or else by its content.
pub fn guess(name: &str, bytes: &[u8]) -> Kind {
    let suffix = name.rsplit_once('.').map_or("", |(_, suffix)| suffix).to_ascii_lowercase();
    match suffix.as_str() {
        "json" | "toml" => Kind::Fabric,
        "xml" => Kind::NcclXml,
        "csv" => Kind::NvLink,
        "conf" => Kind::Slurm,
        _ => {
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(65_536)]).to_ascii_lowercase();
            if text.trim_start().starts_with('{') || text.contains("rats.fabric/1") {
                Kind::Fabric
            } else if text.trim_start().starts_with('<') {
                Kind::NcclXml
            } else if text.contains("switchname") {
                Kind::Slurm
            } else if text.contains("nvlink_links") {
                Kind::NvLink
            } else {
                Kind::Smi
            }
        }
    }
}

fn text(bytes: &[u8]) -> Result<&str, Problem> {
    let error = |error: std::str::Utf8Error| {
        Problem::new(Code::T01, format!("byte {}", error.valid_up_to()), "the file is not UTF-8 text.")
    };
    std::str::from_utf8(bytes).map_err(error)
}

impl Figures {
    /// The kind of GPU.
    ///
    /// # Errors
    /// It was not given.
    pub fn gpu_type(&self) -> Result<GpuTypeFile, Problem> {
        self.gpu_type.clone().ok_or_else(|| Problem::new(Code::T09, "--gpu-type", "the input names no kind of GPU."))
    }

    /// NVLink of the generation given, or else of the one that the input suggests.
    ///
    /// # Errors
    /// Neither is known.
    pub fn nvlink(&self, suggested: Option<u8>) -> Result<NvLink, Problem> {
        let generation = self.nvlink.or(suggested).or_else(|| {
            let id = &self.gpu_type.as_ref()?.id;
            let known = [("P100", 1), ("V100", 2), ("A100", 3), ("H100", 4), ("H200", 4), ("B200", 5)];
            known.iter().find(|(name, _)| id.to_ascii_uppercase().starts_with(name)).map(|&(_, generation)| generation)
        });
        let rate = generation.and_then(rates::nvlink);
        rate.ok_or_else(|| Problem::new(Code::T09, "--nvlink", "the generation of NVLink, 1 to 5, is not known."))
    }

    /// The rate between a socket and the others.
    pub fn socket(&self) -> KilobytesPerSecond {
        self.socket.unwrap_or(rates::SOCKET)
    }

    /// Names of `count` levels: those given, then `switch1`, `switch2`, ...
    pub fn level_names(&self, count: usize) -> Vec<String> {
        let name = |level: usize| self.levels.get(level).cloned().unwrap_or_else(|| format!("switch{}", level + 1));
        (0..count).map(name).collect()
    }
}
