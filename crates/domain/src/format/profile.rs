//! `rats.profile/1` as it stands in the file: what was measured of one workload on one GPU type.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::instance::PointFile;
use super::read::Document;
use crate::decimal::Decimal;

/// Time and power of one workload on one type of GPU, over its operating points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileFile {
    /// Always `rats.profile/1`.
    pub format: String,
    /// Name of the profile; the file is named after it.
    pub id: String,
    /// The type of GPU, as in the catalogue: `v100`, `a40`, `a100-sxm-80gb`.
    pub gpu_type: String,
    /// What was run.
    pub workload: WorkloadFile,
    /// Where the figures come from.
    pub source: SourceFile,
    /// How the columns of `points` and `scaling` came about.
    pub origin: OriginFile,
    /// Set if the points were measured on a gang: they hold for gangs of exactly this shape, communication included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gang: Option<GangFile>,
    /// Samples that one GPU handles in one step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_per_gpu: Option<Figure>,
    /// Samples of one pass over the data set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples_per_epoch: Option<Figure>,
    /// Bytes that an all-reduce sums in every step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient_bytes: Option<Figure>,
    /// Bytes that one GPU reads from the shared store in a step; the uncached share only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_bytes_per_step: Option<Figure>,
    /// Share of the step during which communication can hide behind computation, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Figure>,
    /// Power of a GPU that waits for others, W.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_w: Option<Figure>,
    /// Memory on each GPU, MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<Figure>,
    /// Time before the first step, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup_s: Option<Figure>,
    /// Trained parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Figure>,
    /// Tokens of one sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence_tokens: Option<Figure>,
    /// Samples of one GPU in one pass forward and backward; several passes make a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_batch: Option<Figure>,
    /// Hardware counters at the default operating point: shares of a peak or rates, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, f64>,
    /// Measurements, one an operating point; may be empty if there is `scaling`.
    #[serde(default)]
    pub points: Vec<MeasuredPointFile>,
    /// Measurements on several GPUs at the default operating point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scaling: Vec<ScalingFile>,
}

/// What was run.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadFile {
    /// The model or application.
    pub model: String,
    /// What it is trained on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
    /// The optimizer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimizer: Option<String>,
    /// The number format: `fp32`, `bf16`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<String>,
    /// The part that was measured, if not the whole: `stage 3 of 8`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// What else tells it apart: `sharding`, `activation_checkpointing`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// What one step is: `one training step`, `one micro-batch`, `one run of the application`.
    pub step: String,
}

/// How a figure came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Read off an instrument.
    Measured,
    /// Computed from measured and published figures alone.
    Derived,
    /// A guess went in; the note says which.
    Assumed,
}

/// A figure and how it came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// The value, in the unit of the field.
    pub value: f64,
    /// How it came about.
    pub kind: Kind,
    /// From what, or why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// How the columns came about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OriginFile {
    /// Of all `step_s`.
    pub step_s: ColumnOrigin,
    /// Of all `power_w`; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_w: Option<ColumnOrigin>,
    /// Of all counters; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<ColumnOrigin>,
}

/// How one column came about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ColumnOrigin {
    /// How.
    pub kind: Kind,
    /// From what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Where figures come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceFile {
    /// Short name: `zeus`, `ulisboa-ptx`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Title of the publication or data set.
    pub title: String,
    /// Who measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authors: Option<String>,
    /// Where it was published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The revision of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The file inside it, or in the data set as it was imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its licence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
    /// The machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<String>,
    /// How to cite it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub citation: Option<String>,
}

/// The shape of a gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct GangFile {
    /// Number of GPUs; the product of the three degrees.
    pub gpus: i64,
    /// Degree of data parallelism.
    pub dp: i64,
    /// Degree of pipeline parallelism.
    pub pp: i64,
    /// Degree of tensor parallelism.
    pub tp: i64,
}

/// One operating point and what was measured there. At least one of `step_s` and `power_w` is present.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredPointFile {
    /// Locked SM clock, MHz; absent: default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_mhz: Option<i64>,
    /// Locked memory clock, MHz; absent: default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mem_mhz: Option<i64>,
    /// Power limit of the GPU, W; absent: default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_limit_w: Option<Decimal>,
    /// Time of one step, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_s: Option<f64>,
    /// Mean board power of one GPU during it, W.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_w: Option<f64>,
    /// Standard deviation of the time over its mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_s_spread: Option<f64>,
    /// Standard deviation of the power over its mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_w_spread: Option<f64>,
    /// Number of measurements behind the means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<i64>,
    /// Hardware counters at this point: shares of a peak or rates, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, f64>,
    /// What is suspicious about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
}

macro_rules! flags {
    ($($flag:ident $name:literal $meaning:literal)*) => {
        /// Why a measurement is suspicious.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Flag {
            $(#[doc = $meaning] $flag,)*
        }

        impl Flag {
            /// All flags.
            pub const ALL: &'static [Self] = &[$(Self::$flag,)*];

            /// The flag as it is written.
            pub fn name(self) -> &'static str {
                match self { $(Self::$flag => $name,)* }
            }

            /// What it means, one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$flag => $meaning,)* }
            }
        }
    };
}

flags! {
    TimeUnusable "time_unusable"
        "The time cannot be that of this workload: another has the very same column, or it is in another unit."
    PowerUnusable "power_unusable"
        "The power cannot be that of this workload: another has the very same column, or it is in another unit."
    TimeRelative "time_relative"
        "The unit of the time is unknown: use it only in proportion to other times of the same workload."
    TimeQuantized "time_quantized"
        "The times take few distinct values: their steps are the instrument's, not the GPU's."
    TimeNoisy "time_noisy" "The time lies off its neighbors by more than the sweep can explain."
    Throttled "throttled" "The power limit held the clock below the one that was asked for."
    AboveLimit "above_limit" "The mean power is above the power limit."
    ClockUnlisted "clock_unlisted" "The clock is not on the list of clocks of this GPU type."
    NameTwice "name_twice" "Two different measurements have this name in the source; which is which is unknown."
    CounterAboveOne "counter_above_one" "A counter that is a share of a peak is above 1."
    Repeated "repeated" "Another series of the source states the very same measurement: count it once."
    Disagrees "disagrees" "Two statements of the source that should agree do not; the first was kept."
    ThrottledHeat "throttled_heat" "Heat held the clock below the one that was asked for."
    ClockMissed "clock_missed" "The clock was not the one that was asked for, and the GPU did not say why."
    Unsteady "unsteady" "Clocks or power did not stand still while it was measured."
    Shared "shared" "Another process used the GPU while it was measured."
    Drifted "drifted" "A point measured again and again moved meanwhile."
    PowerIntegrated "power_integrated" "The GPU has no energy counter: power readings were integrated."
}

/// A measurement on several GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScalingFile {
    /// Number of GPUs.
    pub gpus: i64,
    /// Number of nodes they were spread over, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<i64>,
    /// Whether they sat on as few nodes as possible, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consolidated: Option<bool>,
    /// Time of one step of the gang, communication included, s.
    pub step_s: f64,
    /// Mean power of one GPU, W.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_w: Option<f64>,
    /// What the step consists of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<StagesFile>,
    /// What is suspicious about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
}

/// The parts of a step; they may overlap.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StagesFile {
    /// Loading and preparing the input, s.
    pub load_s: f64,
    /// Computing on the GPU, s.
    pub compute_s: f64,
    /// Communicating, s.
    pub network_s: f64,
}

impl Flag {
    /// Whether no option of a plan can be made of a point with it: seconds and watts are needed.
    pub fn is_unusable(self) -> bool {
        matches!(self, Self::TimeUnusable | Self::PowerUnusable | Self::TimeRelative)
    }
}

impl Document for ProfileFile {
    const FORMAT: &'static str = "rats.profile/1";
}

impl ProfileFile {
    /// A profile without figures and measurements.
    pub fn new(id: String, gpu_type: String, workload: WorkloadFile, source: SourceFile, origin: OriginFile) -> Self {
        Self {
            format: Self::FORMAT.to_owned(),
            id,
            gpu_type,
            workload,
            source,
            origin,
            gang: None,
            batch_per_gpu: None,
            samples_per_epoch: None,
            gradient_bytes: None,
            input_bytes_per_step: None,
            overlap: None,
            blocked_w: None,
            memory_mib: None,
            startup_s: None,
            parameters: None,
            sequence_tokens: None,
            micro_batch: None,
            counters: BTreeMap::new(),
            points: Vec::new(),
            scaling: Vec::new(),
        }
    }
}

impl MeasuredPointFile {
    /// The operating point alone, as options of an instance have it.
    pub fn point(&self) -> PointFile {
        PointFile { sm_mhz: self.sm_mhz, mem_mhz: self.mem_mhz, power_limit_w: self.power_limit_w }
    }
}

impl Figure {
    /// A measured figure.
    pub fn measured(value: f64, note: impl Into<String>) -> Self {
        Self { value, kind: Kind::Measured, note: Some(note.into()) }
    }

    /// A derived figure.
    pub fn derived(value: f64, note: impl Into<String>) -> Self {
        Self { value, kind: Kind::Derived, note: Some(note.into()) }
    }

    /// An assumed figure.
    pub fn assumed(value: f64, note: impl Into<String>) -> Self {
        Self { value, kind: Kind::Assumed, note: Some(note.into()) }
    }
}

impl ColumnOrigin {
    /// A column of this kind.
    pub fn new(kind: Kind, note: impl Into<String>) -> Self {
        Self { kind, note: Some(note.into()) }
    }
}
