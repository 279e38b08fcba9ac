//! `rats.instance/1` as it stands in the file.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::read::Document;
use super::steps::{StepFile, StepsFile};
use crate::decimal::Decimal;

/// A cluster with training jobs to be planned on it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct InstanceFile {
    /// Always `rats.instance/1`.
    pub format: String,
    /// Name of the instance.
    pub name: String,
    /// Length of a tick in whole seconds.
    pub tick_s: i64,
    /// Every job must end at or before this tick.
    pub horizon: i64,
    /// The machines.
    pub cluster: ClusterFile,
    /// Steps `[[tick, price per kWh], ...]`, the first at tick 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tariff: Option<Vec<StepFile>>,
    /// What the tariff counts: money or gCO2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tariff_unit: Option<String>,
    /// Upper limit on the total energy in J.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_budget_j: Option<Decimal>,
    /// The weighted sum that is minimized.
    pub objective: Vec<TermFile>,
    /// The jobs; may be empty.
    pub jobs: Vec<JobFile>,
}

/// The machines, their network and their power limits.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ClusterFile {
    /// Kinds of GPU.
    pub gpu_types: Vec<GpuTypeFile>,
    /// Names of the switch levels, narrow to wide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
    /// Switches of the tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<SwitchFile>,
    /// Nodes of the tree.
    pub nodes: Vec<NodeFile>,
    /// Read capacity of the shared store at the root, GB/s; absent: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_gb_s: Option<Decimal>,
    /// Limit on the whole cluster's power, W.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_cap_w: Option<StepsFile>,
    /// Power of work that is not planned here, W; counts in the cluster's cap only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_w: Option<StepsFile>,
}

/// A kind of GPU.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GpuTypeFile {
    /// Name of the type.
    pub id: String,
    /// Power of one powered GPU that runs nothing, W.
    #[serde(default = "zero")]
    pub idle_w: Decimal,
    /// Memory of one GPU, MiB; absent: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<i64>,
}

/// A switch of the tree.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SwitchFile {
    /// Name of the switch.
    pub id: String,
    /// Its level, one of `levels`.
    pub level: String,
    /// The switch above; absent for the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Capacity towards the parent, per direction, GB/s; absent: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink_gb_s: Option<Decimal>,
    /// Limit on the power of all nodes below, W.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_cap_w: Option<StepsFile>,
}

/// What a node does when it runs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PowerMode {
    /// It can be switched off and woken.
    Sleep,
    /// It stays powered until the last job of the plan ends.
    #[default]
    AlwaysOn,
}

/// A machine with GPUs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NodeFile {
    /// Name of the node.
    pub id: String,
    /// The switch above; absent if the node is the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Capacity towards the parent, per direction, GB/s; absent: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink_gb_s: Option<Decimal>,
    /// The kind of its GPUs.
    pub gpu_type: String,
    /// Number of GPUs.
    pub gpus: i64,
    /// Lists of GPU indices that share NVLink or one PCIe switch; absent: one island.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub islands: Option<Vec<Vec<i64>>>,
    /// Capacity of an island towards the rest of the node, GB/s; absent: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub island_uplink_gb_s: Option<Decimal>,
    /// Power of the powered node without its GPUs, W.
    #[serde(default = "zero")]
    pub base_w: Decimal,
    /// Whether the node can sleep.
    #[serde(default)]
    pub power: PowerMode,
    /// Energy of one wake-up, J.
    #[serde(default = "zero")]
    pub wake_j: Decimal,
    /// Ticks that a wake-up takes.
    #[serde(default)]
    pub wake_ticks: i64,
    /// Whether the node is powered when the plan begins.
    #[serde(default)]
    pub on_at_start: bool,
    /// Capacities, such as `{"cpu_cores": 40}`; a resource not listed is unlimited.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, Decimal>,
    /// When GPUs cannot be used: `[from, to]` for all or `[from, to, [indices]]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<UnavailableFile>,
    /// Limit on the node's power, W.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_cap_w: Option<StepsFile>,
}

/// A weighted term of the objective.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TermFile {
    /// `energy`, `cost`, `makespan`, `completion` or `tardiness`.
    pub term: String,
    /// Its weight, at least 0.
    pub weight: Decimal,
}

/// A training job.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JobFile {
    /// Name of the job.
    pub id: String,
    /// First tick in which it may run.
    #[serde(default)]
    pub release: i64,
    /// Tick by which it must have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<i64>,
    /// Tick by which it should have ended; later counts as tardiness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<i64>,
    /// Weight in completion and tardiness.
    #[serde(default = "one")]
    pub weight: Decimal,
    /// Jobs that must have ended before this one starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// The ways in which it can run.
    pub options: Vec<OptionFile>,
    /// Index of the option that its user would have asked for.
    #[serde(default)]
    pub requested: i64,
    /// Set for a job that already runs or is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<FixedFile>,
    /// Who runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What it trains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// The command to launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Measured quantities behind the options, for simulator and executor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physics: Option<serde_json::Value>,
}

/// One way to run a job.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OptionFile {
    /// The kind of GPU.
    pub gpu_type: String,
    /// Gang size.
    pub gpus: i64,
    /// Widest domain over which the gang may be spread: `island`, `node` or a level.
    pub span: String,
    /// The operating point of its GPUs.
    #[serde(default)]
    pub point: PointFile,
    /// Occupancy in ticks.
    pub ticks: i64,
    /// Mean power of the whole gang over the occupancy, W.
    pub power_w: Decimal,
    /// Sustained power while it runs, W; absent: `power_w`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_w: Option<Decimal>,
    /// All-reduce traffic through every uplink that the gang straddles, GB/s per direction.
    #[serde(default = "zero")]
    pub ring_gb_s: Decimal,
    /// Reading rate of the whole gang from the shared store, GB/s.
    #[serde(default = "zero")]
    pub read_gb_s: Decimal,
    /// Node resources that one GPU of the gang needs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub per_gpu: BTreeMap<String, Decimal>,
    /// Memory that it needs on each GPU, MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<i64>,
}

/// An operating point; what is absent stays at the GPU's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PointFile {
    /// Locked SM clock, MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_mhz: Option<i64>,
    /// Locked memory clock, MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mem_mhz: Option<i64>,
    /// Power limit of each GPU, W.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_limit_w: Option<Decimal>,
}

/// Where and how a fixed job runs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FixedFile {
    /// Index of its option.
    pub option: i64,
    /// Its first tick; may be below 0.
    pub start: i64,
    /// Names of its GPUs.
    pub gpus: Vec<String>,
}

/// An interval in which GPUs of a node cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnavailableFile {
    /// First tick.
    pub from: i64,
    /// First tick after.
    pub to: i64,
    /// The GPU indices; `None` for all.
    pub gpus: Option<Vec<i64>>,
}

impl Document for InstanceFile {
    const FORMAT: &'static str = "rats.instance/1";
}

impl Serialize for UnavailableFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.gpus {
            None => (self.from, self.to).serialize(serializer),
            Some(gpus) => (self.from, self.to, gpus).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for UnavailableFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entry;
        impl<'de> Visitor<'de> for Entry {
            type Value = UnavailableFile;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("[from, to] or [from, to, [GPU indices]]")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<UnavailableFile, A::Error> {
                let from = entries.next_element()?.ok_or_else(|| de::Error::invalid_length(0, &self))?;
                let to = entries.next_element()?.ok_or_else(|| de::Error::invalid_length(1, &self))?;
                let gpus = entries.next_element()?;
                Ok(UnavailableFile { from, to, gpus })
            }
        }
        deserializer.deserialize_seq(Entry)
    }
}

impl JsonSchema for UnavailableFile {
    fn schema_name() -> Cow<'static, str> {
        "Unavailable".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let index = generator.subschema_for::<Vec<i64>>();
        json_schema!({
            "type": "array",
            "prefixItems": [{ "type": "integer" }, { "type": "integer" }, index],
            "minItems": 2,
            "maxItems": 3
        })
    }
}

fn zero() -> Decimal {
    0.into()
}

fn one() -> Decimal {
    1.into()
}
