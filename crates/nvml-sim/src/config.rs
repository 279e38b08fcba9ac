//! The file that says what is simulated: `rats.sim/1`, named by `NVML_SIM_CONFIG`.
//!
//! It holds everything the library needs, figures of the catalogue and of the profiles included, so that the library
//! reads one file. [`crate::compose`] writes it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::SimError;
use crate::faults::Fault;
use crate::state::MAX_GPUS;

/// What `format` says.
pub const FORMAT: &str = "rats.sim/1";

/// The environment variable that names the file.
pub const VARIABLE: &str = "NVML_SIM_CONFIG";

/// The simulated machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Always `rats.sim/1`.
    pub format: String,
    /// What the driver says of its version.
    #[serde(default = "driver_version")]
    pub driver_version: String,
    /// Seed of the factors by which every GPU differs from its type.
    #[serde(default)]
    pub seed: u64,
    /// Simulated seconds in a real one, > 0.
    #[serde(default = "one")]
    pub speedup: f64,
    /// File of the shared state, relative to this file.
    pub state: PathBuf,
    /// File to which every call that sets something is appended, relative to this file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<PathBuf>,
    /// File of faults that can be changed during a run, relative to this file; see [`crate::faults`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<PathBuf>,
    /// Who may set something.
    #[serde(default)]
    pub settings_need: Privilege,
    /// How far the power of a GPU differs from its type at most, as a share.
    #[serde(default = "power_spread")]
    pub power_spread: f64,
    /// How far the speed of a GPU differs from its type at most, as a share.
    #[serde(default = "speed_spread")]
    pub speed_spread: f64,
    /// Types of GPU, by name.
    pub types: BTreeMap<String, TypeConfig>,
    /// Workloads, by name.
    #[serde(default)]
    pub workloads: BTreeMap<String, WorkloadConfig>,
    /// The GPUs, by index.
    pub gpus: Vec<GpuConfig>,
    /// Direct links between GPUs, or between a GPU and a switch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nvlinks: Vec<NvLinkConfig>,
    /// What gangs exchange gradients over, narrow to wide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<DomainConfig>,
    /// Faults that hold from the start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

/// Who may set clocks and limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Privilege {
    /// Root, as on a real machine.
    Root,
    /// Everybody: tests need no root.
    #[default]
    Anyone,
    /// Nobody, root neither: a container without the capability.
    Nobody,
}

/// A type of GPU: the catalogue's figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TypeConfig {
    /// Name of the product.
    pub name: String,
    /// Generation: what can be set and how power is read depend on it.
    pub architecture: Architecture,
    /// Memory, MiB.
    pub memory_mib: u64,
    /// Supported clocks, the highest memory clock first.
    pub clocks: Vec<ClocksConfig>,
    /// SM clock of the driver's defaults, MHz.
    pub default_sm_mhz: u32,
    /// Memory clock of the driver's defaults, MHz.
    pub default_mem_mhz: u32,
    /// Lowest, default and highest power limit, mW.
    pub power_limit_mw: LimitsConfig,
    /// Power without a job, mW.
    pub idle_mw: f64,
    /// Power of a GPU whose job waits, mW.
    pub blocked_mw: f64,
    /// Whether the power reading is the mean of one second, as on Ampere and later except A100 and A30 (GA100).
    pub averaged_power: bool,
    /// How warm it becomes.
    #[serde(default)]
    pub thermal: ThermalConfig,
}

/// Supported SM clocks at a memory clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClocksConfig {
    /// The memory clock, MHz.
    pub mem_mhz: u32,
    /// SM clocks, ascending, MHz.
    pub sm_mhz: Vec<u32>,
}

/// Range of the power limit, mW.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsConfig {
    /// The lowest.
    pub min: u32,
    /// What holds without a setting.
    pub default: u32,
    /// The highest.
    pub max: u32,
}

/// A body of one temperature that power heats and air cools.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ThermalConfig {
    /// Temperature of the air, degrees Celsius.
    pub ambient_c: f64,
    /// Degrees above the air at the default power limit, once steady.
    pub rise_c: f64,
    /// Time constant, s.
    pub time_constant_s: f64,
    /// Above this the clock falls, degrees Celsius.
    pub slowdown_c: f64,
    /// Above this a real GPU switches off, degrees Celsius; reported only.
    pub shutdown_c: f64,
}

impl Default for ThermalConfig {
    fn default() -> Self {
        Self { ambient_c: 27.0, rise_c: 42.0, time_constant_s: 30.0, slowdown_c: 87.0, shutdown_c: 92.0 }
    }
}

/// Generation of a GPU, old to new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Architecture {
    /// K80.
    Kepler,
    /// M40.
    Maxwell,
    /// P100.
    Pascal,
    /// V100: locked GPU clocks and the energy counter begin here.
    Volta,
    /// T4.
    Turing,
    /// A100, A40, RTX 3090: locked memory clocks and averaged power begin here.
    Ampere,
    /// L40S.
    Ada,
    /// H100, H200.
    Hopper,
    /// B200.
    Blackwell,
}

/// One workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadConfig {
    /// Bytes summed by an all-reduce per step.
    #[serde(default)]
    pub gradient_bytes: f64,
    /// Share of the step behind which communication hides, 0 to 1.
    #[serde(default)]
    pub overlap: f64,
    /// Memory on each GPU, MiB.
    #[serde(default)]
    pub memory_mib: u64,
    /// Time and power, by type of GPU.
    pub types: BTreeMap<String, TruthConfig>,
}

/// Time and power of a workload on a type of GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TruthConfig {
    /// The profile behind it, and what was assumed.
    pub source: String,
    /// Share of the step's time that goes with the SM clock at the lowest point: used below it.
    pub compute_share: f64,
    /// Share of the step's time that goes with the memory clock.
    #[serde(default)]
    pub memory_share: f64,
    /// Share of the power above idle that goes with the memory clock.
    #[serde(default)]
    pub memory_power_share: f64,
    /// Points by SM clock, ascending: MHz, s, mW.
    pub points: Vec<(u32, f64, f64)>,
}

/// One GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuConfig {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// `GPU-` and 32 hexadecimal digits in five groups.
    pub uuid: String,
    /// Bus id such as `00000000:07:00.0`.
    pub pci: String,
    /// Serial number of the board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// Steps take this many times as long: a planted slow GPU.
    #[serde(default = "one")]
    pub slowness: f64,
    /// Degrees that its air is warmer than the type's.
    #[serde(default)]
    pub warmer_c: f64,
    /// Whether it is divided into instances.
    #[serde(default)]
    pub mig: bool,
    /// Whether the driver stays loaded without a client.
    #[serde(default = "yes")]
    pub persistence: bool,
    /// NUMA node.
    #[serde(default)]
    pub numa: u32,
    /// Host bridge.
    #[serde(default)]
    pub bridge: String,
    /// PCIe switch; switches that share what stands before `/` are below one more switch.
    #[serde(default)]
    pub switch: String,
    /// Board, for two GPUs on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board: Option<String>,
}

/// NVLinks between two ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NvLinkConfig {
    /// A GPU.
    pub gpu: u32,
    /// The other GPU, or none for a switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<u32>,
    /// Bus id of the switch, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch_pci: Option<String>,
    /// How many.
    pub count: u32,
    /// Version of the links.
    #[serde(default = "three")]
    pub version: u32,
}

/// A group of GPUs and what they exchange gradients over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DomainConfig {
    /// The GPUs in it.
    pub gpus: Vec<u32>,
    /// Throughput of one ring, GB/s per direction.
    pub gb_s: f64,
    /// Latency of one hop, s.
    #[serde(default)]
    pub latency_s: f64,
    /// Whether gangs in it share the throughput.
    #[serde(default)]
    pub shared: bool,
}

fn driver_version() -> String {
    "550.54.15".into()
}

fn one() -> f64 {
    1.0
}

fn yes() -> bool {
    true
}

fn three() -> u32 {
    3
}

fn power_spread() -> f64 {
    0.05
}

fn speed_spread() -> f64 {
    0.03
}

impl Config {
    /// Reads and checks a file; paths in it become relative to where it lies.
    ///
    /// # Errors
    /// The file cannot be read or is wrong; the message says what and where.
    pub fn load(path: &Path) -> Result<Self, SimError> {
        let wrong = |message: String| SimError::Config { path: path.to_owned(), message };
        let bytes = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
        let mut config: Self = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        config.check().map_err(wrong)?;
        let base = path.parent().unwrap_or(Path::new(".")).to_owned();
        config.state = base.join(&config.state);
        config.journal = config.journal.map(|journal| base.join(journal));
        config.control = config.control.map(|control| base.join(control));
        Ok(config)
    }

    /// The file that `NVML_SIM_CONFIG` names.
    ///
    /// # Errors
    /// The variable is not set, or as [`Config::load`].
    pub fn from_environment() -> Result<Self, SimError> {
        Self::load(&path_from_environment()?)
    }

    /// The type of a GPU.
    ///
    /// # Panics
    /// Never: every GPU of a checked file has a type, and indices come from the list of GPUs.
    pub fn kind(&self, gpu: usize) -> &TypeConfig {
        &self.types[&self.gpus[gpu].kind]
    }

    /// Index of the GPU with a UUID.
    pub fn index_of(&self, uuid: &str) -> Option<usize> {
        self.gpus.iter().position(|gpu| gpu.uuid == uuid)
    }

    /// The number of a workload, in order of names, and the workload.
    pub fn workload(&self, name: &str) -> Option<(usize, &WorkloadConfig)> {
        self.workloads
            .iter()
            .enumerate()
            .find(|(_, (id, _))| *id == name)
            .map(|(number, (_, workload))| (number, workload))
    }

    /// The first thing that is wrong.
    fn check(&self) -> Result<(), String> {
        require(self.format == FORMAT, || format!("format: `{}` is not `{FORMAT}`", self.format))?;
        require(self.speedup.is_finite() && self.speedup > 0.0, || "speedup: must be > 0".into())?;
        for (name, share) in [("power_spread", self.power_spread), ("speed_spread", self.speed_spread)] {
            require((0.0..0.5).contains(&share), || format!("{name}: must be in [0, 0.5)"))?;
        }
        require(!self.gpus.is_empty() && self.gpus.len() <= MAX_GPUS, || {
            format!("gpus: 1 to {MAX_GPUS} are possible")
        })?;
        for (name, kind) in &self.types {
            kind.check().map_err(|message| format!("types.{name}.{message}"))?;
        }
        for (name, workload) in &self.workloads {
            workload.check().map_err(|message| format!("workloads.{name}.{message}"))?;
        }
        self.check_gpus()?;
        let exists = |gpu: u32| (gpu as usize) < self.gpus.len();
        for (at, link) in self.nvlinks.iter().enumerate() {
            let ends = exists(link.gpu) && link.peer.is_none_or(exists) && link.peer != Some(link.gpu);
            require(ends, || format!("nvlinks[{at}]: ends must be two GPUs of the list"))?;
            require(link.peer.is_some() != link.switch_pci.is_some(), || {
                format!("nvlinks[{at}]: give `peer` or `switch_pci`")
            })?;
        }
        for (at, domain) in self.domains.iter().enumerate() {
            let valid = domain.gpus.iter().all(|&gpu| exists(gpu)) && domain.gb_s > 0.0 && domain.latency_s >= 0.0;
            require(valid, || format!("domains[{at}]: needs GPUs of the list, gb_s > 0, latency_s >= 0"))?;
        }
        self.faults.iter().enumerate().try_for_each(|(at, fault)| {
            require(fault.gpu.is_none_or(exists), || format!("faults[{at}].gpu: no such GPU"))
        })
    }

    fn check_gpus(&self) -> Result<(), String> {
        for (at, gpu) in self.gpus.iter().enumerate() {
            require(self.types.contains_key(&gpu.kind), || format!("gpus[{at}].type: `{}` is not in types", gpu.kind))?;
            require(crate::pci::parse(&gpu.pci).is_some(), || format!("gpus[{at}].pci: `{}` is no bus id", gpu.pci))?;
            require(gpu.uuid.starts_with("GPU-") && gpu.uuid.len() < 80, || {
                format!("gpus[{at}].uuid: must begin with GPU-")
            })?;
            require(gpu.slowness.is_finite() && gpu.slowness > 0.0, || format!("gpus[{at}].slowness: must be > 0"))?;
            let twice = self.gpus[..at].iter().any(|other| other.uuid == gpu.uuid || other.pci == gpu.pci);
            require(!twice, || format!("gpus[{at}]: its uuid or pci is another GPU's too"))?;
        }
        Ok(())
    }
}

/// The path in `NVML_SIM_CONFIG`.
///
/// # Errors
/// The variable is not set.
pub fn path_from_environment() -> Result<PathBuf, SimError> {
    std::env::var_os(VARIABLE).map(PathBuf::from).ok_or(SimError::NoConfig)
}

impl TypeConfig {
    fn check(&self) -> Result<(), String> {
        require(!self.clocks.is_empty(), || "clocks: none".into())?;
        for (at, clocks) in self.clocks.iter().enumerate() {
            let ascending = clocks.sm_mhz.is_sorted_by(|low, high| low < high);
            require(!clocks.sm_mhz.is_empty() && ascending && clocks.sm_mhz[0] > 0, || {
                format!("clocks[{at}].sm_mhz: must ascend from above 0")
            })?;
        }
        require(self.clocks.is_sorted_by(|high, low| high.mem_mhz > low.mem_mhz), || "clocks: must descend".into())?;
        require(self.clocks.iter().any(|clocks| clocks.mem_mhz == self.default_mem_mhz), || {
            "default_mem_mhz: not supported".into()
        })?;
        let LimitsConfig { min, default, max } = self.power_limit_mw;
        require(0 < min && min <= default && default <= max, || "power_limit_mw: min <= default <= max".into())?;
        require(self.idle_mw >= 0.0 && self.blocked_mw >= self.idle_mw, || "blocked_mw: below idle_mw".into())?;
        require(self.thermal.time_constant_s > 0.0, || "thermal.time_constant_s: must be > 0".into())
    }

    /// Supported SM clocks at a memory clock, ascending.
    pub fn sm_clocks(&self, mem_mhz: u32) -> Option<&[u32]> {
        self.clocks.iter().find(|clocks| clocks.mem_mhz == mem_mhz).map(|clocks| clocks.sm_mhz.as_slice())
    }
}

impl WorkloadConfig {
    fn check(&self) -> Result<(), String> {
        require(self.gradient_bytes >= 0.0, || "gradient_bytes: must be >= 0".into())?;
        require((0.0..=1.0).contains(&self.overlap), || "overlap: must be in [0, 1]".into())?;
        for (name, truth) in &self.types {
            let points = &truth.points;
            let positive = points.iter().all(|&(mhz, step, power)| mhz > 0 && step > 0.0 && power > 0.0);
            require(!points.is_empty() && positive && points.is_sorted_by(|low, high| low.0 < high.0), || {
                format!("types.{name}.points: must ascend, all numbers > 0")
            })?;
            let shares = [truth.compute_share, truth.memory_share, truth.memory_power_share];
            require(shares.iter().all(|share| (0.0..=1.0).contains(share)), || {
                format!("types.{name}: shares must be in [0, 1]")
            })?;
        }
        Ok(())
    }
}

fn require(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}
