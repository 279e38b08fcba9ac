//! The rows of the data set: a measured point, a pair of jobs on one GPU, a gang.

use std::collections::BTreeMap;

use rats_domain::format::Flag;

/// Where a row comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Provenance {
    /// The file inside the repository, or as it was imported.
    pub file: Option<String>,
    /// Revision of the repository.
    pub commit: Option<String>,
    /// Where it was published.
    pub repository: Option<String>,
    /// Its licence.
    pub licence: Option<String>,
}

/// One workload measured at one operating point of one type of GPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Short name of the source: `zeus`, `ttu`, `ulisboa-ptx`.
    pub source: String,
    /// Type of GPU: `v100`, `a100-sxm-80gb`.
    pub gpu: String,
    /// Name of what ran, unique within source and GPU; points of one workload differ in their operating point only.
    pub workload: String,
    /// The model, application or kernel alone.
    pub model: String,
    /// What one step is.
    pub step: String,
    /// Samples of one GPU in one step.
    pub batch: Option<f64>,
    /// GPUs that ran it together, communication included.
    pub gpus: i64,
    /// Locked SM clock, MHz.
    pub sm_mhz: Option<i64>,
    /// Locked memory clock, MHz.
    pub mem_mhz: Option<i64>,
    /// Power limit of one GPU, W.
    pub power_limit_w: Option<f64>,
    /// Time of one step, s; in an unknown unit if flagged `time_relative`.
    pub time_s: Option<f64>,
    /// Mean board power of one GPU, W.
    pub power_w: Option<f64>,
    /// Energy of one GPU in one step, J: always power x time.
    pub energy_j: Option<f64>,
    /// Standard deviation of the time over its mean.
    pub time_spread: Option<f64>,
    /// Standard deviation of the power over its mean.
    pub power_spread: Option<f64>,
    /// Measurements behind the means.
    pub samples: Option<i64>,
    /// What is suspicious about it.
    pub flags: Vec<Flag>,
    /// Where it comes from.
    pub provenance: Provenance,
    /// Hardware counters by name: shares of a peak (0 to 1) or rates.
    pub counters: BTreeMap<String, f64>,
}

/// One job of a pair.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// The job as the source names it.
    pub job: String,
    /// The model alone.
    pub model: String,
    /// The batch size.
    pub batch: Option<f64>,
    /// Steps per second with the GPU to itself.
    pub alone_rate: Option<f64>,
    /// Steps per second next to the other job; 0 if they cannot share.
    pub shared_rate: f64,
}

/// Two jobs side by side on the same GPUs. Unordered: `a.job <= b.job`, each pair once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pair {
    /// Short name of the source.
    pub source: String,
    /// The series of measurements within the source: `oracle-motivation`.
    pub series: String,
    /// Type of GPU.
    pub gpu: String,
    /// GPUs that both gangs have.
    pub gpus: i64,
    /// Whether they sat on as few nodes as possible.
    pub consolidated: Option<bool>,
    /// The job whose name comes first.
    pub a: Side,
    /// The other.
    pub b: Side,
    /// Whether the two can share a GPU at all.
    pub can_share: bool,
    /// What is suspicious about it.
    pub flags: Vec<Flag>,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// One step of a gang.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gang {
    /// Short name of the source.
    pub source: String,
    /// Type of GPU.
    pub gpu: String,
    /// Name of what ran, unique within source and GPU; gangs of one workload differ in size and placement only.
    pub workload: String,
    /// The model alone.
    pub model: String,
    /// Samples of one GPU in one step.
    pub batch: Option<f64>,
    /// Number of GPUs.
    pub gpus: i64,
    /// Nodes they were spread over.
    pub nodes: Option<i64>,
    /// Whether they sat on as few nodes as possible.
    pub consolidated: Option<bool>,
    /// Time of one step, communication included, s.
    pub time_s: f64,
    /// Mean board power of one GPU, W.
    pub power_w: Option<f64>,
    /// Loading and preparing the input of one step, s; the three stages overlap.
    pub load_s: Option<f64>,
    /// Computing on the GPU, s.
    pub compute_s: Option<f64>,
    /// Communicating, s.
    pub network_s: Option<f64>,
    /// Bytes of one all-reduce.
    pub gradient_bytes: Option<f64>,
    /// Tokens per second of the whole gang.
    pub tokens_per_s: Option<f64>,
    /// Trained parameters.
    pub parameters: Option<f64>,
    /// Tokens of one sample.
    pub sequence_tokens: Option<f64>,
    /// Samples of one GPU in one pass forward and backward; several make a step.
    pub micro_batch: Option<f64>,
    /// Number format.
    pub precision: Option<String>,
    /// How weights, gradients and optimizer state are spread over the GPUs.
    pub sharding: Option<String>,
    /// Whether activations are computed again in the backward pass.
    pub recompute: Option<bool>,
    /// Whether activations are kept in host memory.
    pub offload: Option<bool>,
    /// What is suspicious about it.
    pub flags: Vec<Flag>,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// All rows, in the order of source, GPU and workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dataset {
    /// Measured points.
    pub points: Vec<Point>,
    /// Pairs of jobs on one GPU.
    pub pairs: Vec<Pair>,
    /// Gangs.
    pub gangs: Vec<Gang>,
}

impl Point {
    /// Whether it carries a flag.
    pub fn has(&self, flag: Flag) -> bool {
        self.flags.contains(&flag)
    }

    /// The time, unless it is missing or flagged as unusable.
    pub fn usable_time(&self) -> Option<f64> {
        self.time_s.filter(|_| !self.has(Flag::TimeUnusable))
    }

    /// The power, unless it is missing or flagged as unusable.
    pub fn usable_power(&self) -> Option<f64> {
        self.power_w.filter(|_| !self.has(Flag::PowerUnusable))
    }
}

impl Side {
    /// Rate next to the other job over the rate alone; `None` without the latter.
    pub fn normalized_rate(&self) -> Option<f64> {
        self.alone_rate.map(|alone| self.shared_rate / alone)
    }
}

impl Dataset {
    /// Brings the rows into their order, which does not depend on the order of files.
    pub fn sort(&mut self) {
        let milliwatts = |limit: Option<f64>| limit.map(|limit| (limit * 1000.0).round().to_bits());
        self.points.sort_by(|a, b| {
            let key = |point: &Point| (point.gpus, point.mem_mhz, point.sm_mhz, milliwatts(point.power_limit_w));
            let names = (&a.source, &a.gpu, &a.workload).cmp(&(&b.source, &b.gpu, &b.workload));
            names.then_with(|| key(a).cmp(&key(b))).then_with(|| a.provenance.cmp(&b.provenance))
        });
        self.pairs.sort_by(|a, b| {
            let head = (&a.source, &a.series, &a.gpu, a.gpus).cmp(&(&b.source, &b.series, &b.gpu, b.gpus));
            head.then_with(|| a.consolidated.cmp(&b.consolidated))
                .then_with(|| (&a.a.job, &a.b.job).cmp(&(&b.a.job, &b.b.job)))
        });
        self.gangs.sort_by(|a, b| {
            let names = (&a.source, &a.gpu, &a.workload).cmp(&(&b.source, &b.gpu, &b.workload));
            names.then_with(|| (a.gpus, a.nodes, a.consolidated).cmp(&(b.gpus, b.nodes, b.consolidated)))
        });
    }
}
