//! `rats.fabric/1`: GPUs, switches and links of a network, before it is reduced to the tree of a cluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::instance::{GpuTypeFile, NodeFile};
use super::read::Document;
use crate::decimal::Decimal;

/// A network of GPUs with declared layers.
///
/// Vertices are the hosts, their GPUs `host/index` and the switches; links join them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FabricFile {
    /// Always `rats.fabric/1`.
    pub format: String,
    /// Kinds of GPU.
    pub gpu_types: Vec<GpuTypeFile>,
    /// Names of the levels of the domains, narrow to wide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
    /// The machines: nodes of an instance without `parent`, `uplink_gb_s` and `island_uplink_gb_s`.
    pub hosts: Vec<NodeFile>,
    /// Everything that only passes data on: network switches, NVLink switches, PCIe switches, sockets, adapters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<String>,
    /// What joins them.
    pub links: Vec<LinkFile>,
    /// Which hosts belong together, level by level; the widest holds all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<DomainFile>,
    /// The shared store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageFile>,
}

/// A link or several alike.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LinkFile {
    /// One end: a host, a GPU `host/index` or a switch.
    pub a: String,
    /// The other end.
    pub b: String,
    /// Capacity of one link in each direction, GB/s.
    pub gb_s: Decimal,
    /// How many such links there are.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: i64,
}

/// A domain of the tree.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DomainFile {
    /// Name of the domain; it becomes a switch of the instance.
    pub id: String,
    /// Its level, one of `levels`.
    pub level: String,
    /// The hosts and narrower domains in it.
    pub members: Vec<String>,
}

/// Where the shared store is attached.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StorageFile {
    /// The host or switch.
    pub at: String,
    /// What the store delivers, GB/s.
    pub gb_s: Decimal,
}

impl Document for FabricFile {
    const FORMAT: &'static str = "rats.fabric/1";
}

fn one() -> i64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(count: &i64) -> bool {
    *count == 1
}
