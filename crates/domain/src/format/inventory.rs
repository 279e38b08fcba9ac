//! `rats.inventory/1`: which real GPU each GPU of an instance is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::read::Document;

/// The GPUs of a cluster as they are found on its machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InventoryFile {
    /// Always `rats.inventory/1`.
    pub format: String,
    /// One entry a GPU; each place and each UUID once.
    pub gpus: Vec<InventoryGpuFile>,
}

/// One GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InventoryGpuFile {
    /// Node of the instance.
    pub node: String,
    /// Index on that node.
    pub index: i64,
    /// UUID as NVML and `CUDA_VISIBLE_DEVICES` have it.
    pub uuid: String,
    /// Name of the machine.
    pub host: String,
    /// PCI address on that machine.
    pub pci: String,
    /// Kind of GPU, as in the instance.
    pub gpu_type: String,
    /// Name of the product.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Document for InventoryFile {
    const FORMAT: &'static str = "rats.inventory/1";
}
