//! The instance: a validated problem, in integers and dense ids.
//!
//! An [`Instance`] comes only out of [`Instance::read`] or [`Instance::from_file`], which report every broken rule;
//! nothing after them checks again.

mod placeable;
mod validate;

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::format::{InstanceFile, PointFile, PowerMode, read};
use crate::ids::{GpuId, GpuTypeId, Id, JobId, NodeId, OptionId, ResourceId, SwitchId, Table};
use crate::interval::Interval;
use crate::objective::Objective;
use crate::problem::{Problems, Warning};
use crate::schedule::Placement;
use crate::steps::Steps;
use crate::topology::{Rank, Topology};
use crate::units::{
    GpuCount, KilobytesPerSecond, Mebibytes, MicrosPerKwh, Millijoules, Milliwatts, Thousandths, TickLength, Ticks,
};

pub use placeable::Placeability;

/// Ticks lie within +-2^31.
pub const MAX_TICK: i64 = 1 << 31;

/// A validated problem.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Instance {
    /// Name of the instance.
    pub name: String,
    /// SHA-256 of the file's bytes, lower-case hex; `None` if it did not come from a file.
    pub sha256: Option<String>,
    /// Length of a tick.
    pub tick: TickLength,
    /// Every job must end at or before it.
    pub horizon: Ticks,
    /// The machines.
    pub cluster: Cluster,
    /// Price of energy over time.
    pub tariff: Option<Steps<MicrosPerKwh>>,
    /// What the tariff counts.
    pub tariff_unit: Option<String>,
    /// Upper limit on the total energy.
    pub energy_budget: Option<Millijoules>,
    /// What is minimized.
    pub objective: Objective,
    /// The jobs.
    pub jobs: Table<JobId, Job>,
}

/// The machines, their network and their power limits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Cluster {
    /// Kinds of GPU.
    pub gpu_types: Table<GpuTypeId, GpuType>,
    /// Names of the switch levels, narrow to wide.
    pub levels: Vec<String>,
    /// Switches.
    pub switches: Table<SwitchId, Switch>,
    /// Nodes.
    pub nodes: Table<NodeId, Node>,
    /// GPUs of all nodes.
    pub gpus: Table<GpuId, Gpu>,
    /// Names of the node resources.
    pub resources: Table<ResourceId, String>,
    /// The tree of domains.
    pub topology: Topology,
    /// Read capacity of the shared store; `None` is unlimited.
    pub storage: Option<KilobytesPerSecond>,
    /// Limit on the cluster's power.
    pub power_cap: Option<Steps<Milliwatts>>,
    /// Power of work not planned here.
    pub foreign: Option<Steps<Milliwatts>>,
}

/// A kind of GPU.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GpuType {
    /// Name of the type.
    pub id: String,
    /// Power of a powered GPU that runs nothing.
    pub idle: Milliwatts,
    /// Memory of one GPU; `None` is unlimited.
    pub memory: Option<Mebibytes>,
}

/// A switch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Switch {
    /// Name of the switch.
    pub id: String,
    /// Limit on the power of all nodes below.
    pub power_cap: Option<Steps<Milliwatts>>,
}

/// A machine with GPUs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Node {
    /// Name of the node.
    pub id: String,
    /// The kind of its GPUs.
    pub gpu_type: GpuTypeId,
    /// Number of its GPUs.
    pub gpus: GpuCount,
    /// The GPU of index 0; the others follow.
    pub first_gpu: GpuId,
    /// Power of the powered node without its GPUs.
    pub base: Milliwatts,
    /// Power of the powered node with all GPUs idle.
    pub idle: Milliwatts,
    /// Whether it can sleep.
    pub power: PowerMode,
    /// Energy of one wake-up.
    pub wake: Millijoules,
    /// Ticks that a wake-up takes.
    pub wake_ticks: Ticks,
    /// Whether it is powered when the plan begins: declared, or a fixed job runs on it through tick 0.
    pub on_at_start: bool,
    /// Capacity by resource; `None` is unlimited.
    pub resources: Table<ResourceId, Option<Thousandths>>,
    /// Limit on its power.
    pub power_cap: Option<Steps<Milliwatts>>,
}

/// One GPU.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Gpu {
    /// The node it sits in.
    pub node: NodeId,
    /// Its index within the node.
    pub index: u32,
    /// When it cannot be used: sorted, disjoint.
    pub unavailable: Vec<Interval>,
}

/// A training job.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Job {
    /// Name of the job.
    pub id: String,
    /// First tick in which it may run.
    pub release: Ticks,
    /// Tick by which it must have ended.
    pub deadline: Option<Ticks>,
    /// Tick by which it should have ended.
    pub due: Option<Ticks>,
    /// Weight in completion and tardiness.
    pub weight: f64,
    /// Jobs that must have ended before it starts.
    pub after: Vec<JobId>,
    /// The ways in which it can run.
    pub options: Table<OptionId, JobOption>,
    /// What its user would have asked for.
    pub requested: OptionId,
    /// Where it already runs or is decided to run.
    pub fixed: Option<Placement>,
    /// Who runs it.
    pub user: Option<String>,
    /// What it trains.
    pub workload: Option<String>,
    /// The command to launch.
    pub command: Option<String>,
}

/// One way to run a job.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JobOption {
    /// The kind of GPU.
    pub gpu_type: GpuTypeId,
    /// Gang size.
    pub gpus: GpuCount,
    /// Widest domain over which the gang may be spread.
    pub span: Rank,
    /// Operating point of its GPUs.
    pub point: PointFile,
    /// Occupancy.
    pub ticks: Ticks,
    /// Mean power of the gang over the occupancy.
    pub power: Milliwatts,
    /// Sustained power while it runs; judged by caps.
    pub peak: Milliwatts,
    /// All-reduce traffic through every uplink that the gang straddles.
    pub ring: KilobytesPerSecond,
    /// Reading rate of the gang from the shared store.
    pub read: KilobytesPerSecond,
    /// Node resources that one GPU of the gang needs.
    pub per_gpu: Vec<(ResourceId, Thousandths)>,
    /// Memory that it needs on each GPU.
    pub memory: Mebibytes,
    /// Whether some placement on the empty cluster satisfies V2, V3 and V7-V9.
    pub placeable: bool,
}

/// A valid instance and what looked suspicious about its file.
#[derive(Clone, Debug)]
pub struct ReadInstance {
    /// The instance.
    pub instance: Instance,
    /// What looked suspicious.
    pub warnings: Vec<Warning>,
}

impl Instance {
    /// Reads an instance from the bytes of a file.
    ///
    /// # Errors
    /// Every problem of the file, with code and place.
    pub fn read(bytes: &[u8]) -> Result<ReadInstance, Problems> {
        let read = read::<InstanceFile>(bytes)?;
        let mut result = Self::from_file(&read.document)?;
        result.instance.sha256 = Some(sha256_hex(bytes));
        result.warnings.splice(0..0, read.warnings);
        Ok(result)
    }

    /// Validates an instance.
    ///
    /// # Errors
    /// Every broken rule, with code and place.
    pub fn from_file(file: &InstanceFile) -> Result<ReadInstance, Problems> {
        validate::instance(file)
    }

    /// The option that a placement uses.
    pub fn option(&self, job: JobId, option: OptionId) -> &JobOption {
        &self.jobs[job].options[option]
    }

    /// The latest tick at which a job may end.
    pub fn latest_end(&self, job: JobId) -> Ticks {
        self.jobs[job].deadline.map_or(self.horizon, |deadline| deadline.min(self.horizon))
    }

    /// The job of this name.
    pub fn job_named(&self, name: &str) -> Option<JobId> {
        self.jobs.iter().find(|(_, job)| job.id == name).map(|(id, _)| id)
    }
}

impl Cluster {
    /// The name of a GPU, `node/index`.
    pub fn gpu_name(&self, gpu: GpuId) -> String {
        let Gpu { node, index, .. } = self.gpus[gpu];
        format!("{}/{index}", self.nodes[node].id)
    }

    /// All GPUs by name.
    pub fn gpu_names(&self) -> BTreeMap<String, GpuId> {
        self.gpus.ids().map(|gpu| (self.gpu_name(gpu), gpu)).collect()
    }

    /// The GPUs of a node, by index.
    pub fn gpus_of(&self, node: NodeId) -> impl Iterator<Item = GpuId> + use<> {
        let Node { first_gpu, gpus, .. } = &self.nodes[node];
        let first = first_gpu.position();
        (first..first + gpus.0 as usize).map(GpuId::from_position)
    }

    /// Whether any place has a power cap.
    pub fn has_power_caps(&self) -> bool {
        self.power_cap.is_some()
            || self.switches.values().any(|switch| switch.power_cap.is_some())
            || self.nodes.values().any(|node| node.power_cap.is_some())
    }

    /// The kind of a GPU.
    pub fn type_of(&self, gpu: GpuId) -> GpuTypeId {
        self.nodes[self.gpus[gpu].node].gpu_type
    }

    /// Whether an option's GPU type has enough memory for it.
    pub fn memory_fits(&self, option: &JobOption) -> bool {
        self.gpu_types[option.gpu_type].memory.is_none_or(|memory| option.memory <= memory)
    }
}

/// SHA-256 in lower-case hex.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        for digit in [byte >> 4, byte & 0xf] {
            hex.extend(char::from_digit(u32::from(digit), 16));
        }
    }
    hex
}
