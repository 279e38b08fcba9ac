//! The built-in catalogue: what GPU types draw and can do where a scenario does not say.

use rats_domain::decimal::Decimal;
use rats_domain::format::GpuTypeFile;

use super::scenario::HardwareFile;

/// One kind of GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// Its name, as profiles have it.
    pub id: &'static str,
    /// Power of a powered GPU that runs nothing, W; assumed, near what `nvidia-smi` shows of such boards.
    pub idle_w: i64,
    /// Memory, MiB; from public specifications.
    pub memory_mib: i64,
    /// Its highest power limit, W; from public specifications.
    pub limit_w: f64,
    /// Power while waiting, W, where it was measured (Perseus, SOSP 2024; the SXM board has that of the PCIe board).
    pub blocked_w: Option<f64>,
    /// What one GPU gets inside its island, GB/s: PCIe 3.0 or 4.0 x16 or NVLink 3, less protocol overhead; assumed.
    pub link_gb_s: f64,
}

/// The catalogue.
pub const CATALOGUE: &[Known] = &[
    Known { id: "v100", idle_w: 50, memory_mib: 32_768, limit_w: 250.0, blocked_w: None, link_gb_s: 10.0 },
    Known { id: "p100", idle_w: 30, memory_mib: 16_384, limit_w: 250.0, blocked_w: None, link_gb_s: 10.0 },
    Known { id: "rtx6000", idle_w: 25, memory_mib: 24_576, limit_w: 260.0, blocked_w: None, link_gb_s: 10.0 },
    Known { id: "a40", idle_w: 30, memory_mib: 46_068, limit_w: 300.0, blocked_w: Some(70.38), link_gb_s: 20.0 },
    Known {
        id: "a100-pcie-80gb",
        idle_w: 50,
        memory_mib: 81_920,
        limit_w: 300.0,
        blocked_w: Some(83.64),
        link_gb_s: 20.0,
    },
    Known {
        id: "a100-sxm-80gb",
        idle_w: 67,
        memory_mib: 81_920,
        limit_w: 400.0,
        blocked_w: Some(83.64),
        link_gb_s: 200.0,
    },
];

/// The entry of this name.
pub fn known(id: &str) -> Option<&'static Known> {
    CATALOGUE.iter().find(|known| known.id == id)
}

impl Known {
    /// As an instance has it.
    pub fn gpu_type(&self) -> GpuTypeFile {
        GpuTypeFile { id: self.id.to_owned(), idle_w: Decimal::from(self.idle_w), memory_mib: Some(self.memory_mib) }
    }

    /// What it can do.
    pub fn hardware(&self) -> HardwareFile {
        HardwareFile { power_limit_w: Some(self.limit_w), blocked_w: self.blocked_w, link_gb_s: Some(self.link_gb_s) }
    }
}
