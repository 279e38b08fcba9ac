//! `rats.scenario/1`: what `rats build` reads, TOML on the outside.
//!
//! A scenario names measured profiles and says what is wanted of them; [`super::build`] turns it into an instance.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::format::{ClusterFile, Document, NodeFile, PointFile, Read, StepFile, TermFile, from_toml, read};
use rats_domain::problem::{Problem, Problems};
use serde::{Deserialize, Serialize};

/// A cluster and jobs to train on it, in seconds, watts and bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scenario {
    /// Always `rats.scenario/1`.
    pub format: String,
    /// Name of the instance.
    pub name: String,
    /// Length of a tick in whole seconds.
    pub tick_s: i64,
    /// Every job must end at or before this tick.
    #[serde(default)]
    pub horizon: Option<i64>,
    /// The same in seconds.
    #[serde(default)]
    pub horizon_s: Option<f64>,
    /// Share by which every duration is lengthened.
    #[serde(default)]
    pub margin: f64,
    /// Time before the first step where neither job nor profile says, s.
    #[serde(default)]
    pub startup_s: f64,
    /// The phi and psi to try.
    #[serde(default = "stretches")]
    pub stretches: Vec<f64>,
    /// How far apart to fill in points between measured ones; nowhere if left out.
    #[serde(default)]
    pub fill: FillFile,
    /// Latency of one hop by level: `island`, `node` or a switch level, s.
    #[serde(default)]
    pub latency_s: BTreeMap<String, f64>,
    /// GPU types to take from the built-in catalogue.
    #[serde(default)]
    pub catalogue: Vec<String>,
    /// GPU types to take from files of format `rats.gpu/1`, by the name that profiles give them; relative to the
    /// scenario.
    #[serde(default)]
    pub gpu_files: BTreeMap<String, String>,
    /// What GPUs can do, by type; goes before the catalogue.
    #[serde(default)]
    pub hardware: BTreeMap<String, HardwareFile>,
    /// The cluster, as in an instance.
    #[serde(default)]
    pub cluster: Option<ClusterFile>,
    /// An instance file whose cluster to take, relative to the scenario.
    #[serde(default)]
    pub cluster_file: Option<String>,
    /// Many equal nodes.
    #[serde(default)]
    pub groups: Vec<GroupFile>,
    /// Steps of the price per kWh.
    #[serde(default)]
    pub tariff: Option<Vec<StepFile>>,
    /// What the tariff counts.
    #[serde(default)]
    pub tariff_unit: Option<String>,
    /// Upper limit on the total energy, J.
    #[serde(default)]
    pub energy_budget_j: Option<Decimal>,
    /// The weighted sum that is minimized.
    pub objective: Vec<TermFile>,
    /// The jobs.
    #[serde(default)]
    pub jobs: Vec<ScenarioJob>,
}

/// What a type of GPU can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HardwareFile {
    /// Its highest power limit, W.
    #[serde(default)]
    pub power_limit_w: Option<f64>,
    /// Power while waiting for others, W; a profile's own figure goes first.
    #[serde(default)]
    pub blocked_w: Option<f64>,
    /// What one GPU gets of the links inside its island, GB/s; absent: unlimited.
    #[serde(default)]
    pub link_gb_s: Option<f64>,
}

/// Distances of predicted points, from one another and from measured ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FillFile {
    /// For profiles measured over SM clocks, MHz.
    #[serde(default)]
    pub mhz: Option<i64>,
    /// For profiles measured over power limits, W.
    #[serde(default)]
    pub w: Option<i64>,
}

impl FillFile {
    /// Whether anything is to be filled in.
    pub fn asks(self) -> bool {
        self.mhz.is_some() || self.w.is_some()
    }
}

/// Equal nodes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GroupFile {
    /// How many.
    pub count: i64,
    /// What each is like; a number from 0 is added to its id.
    pub node: NodeFile,
}

/// A training job.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ScenarioJob {
    /// Name of the job.
    pub id: String,
    /// Profiles, one for each type of GPU that it may use; the user asks for the first.
    #[serde(default)]
    pub profiles: Vec<String>,
    /// Gang sizes; the user asks for the first.
    #[serde(default)]
    pub gpus: Vec<i64>,
    /// Samples to train on altogether.
    #[serde(default)]
    pub samples: Option<f64>,
    /// Passes over the data set.
    #[serde(default)]
    pub epochs: Option<f64>,
    /// Steps at the first gang size.
    #[serde(default)]
    pub steps: Option<f64>,
    /// Steps by gang size, `[[gang, steps], ...]`.
    #[serde(default)]
    pub steps_table: Vec<(i64, f64)>,
    /// Spans to offer; all if left out.
    #[serde(default)]
    pub spans: Vec<String>,
    /// Operating points to offer; all that were measured or filled in if left out.
    #[serde(default)]
    pub points: Vec<PointFile>,
    /// Distances of predicted points, instead of the scenario's.
    #[serde(default)]
    pub fill: Option<FillFile>,
    /// The phi and psi to try, instead of the scenario's.
    #[serde(default)]
    pub stretches: Option<Vec<f64>>,
    /// Share by which durations are lengthened, instead of the scenario's.
    #[serde(default)]
    pub margin: Option<f64>,
    /// Time before the first step, s.
    #[serde(default)]
    pub startup_s: Option<f64>,
    /// Instead of the profile's figure.
    #[serde(default)]
    pub gradient_bytes: Option<f64>,
    /// Instead of the profile's figure.
    #[serde(default)]
    pub input_bytes_per_step: Option<f64>,
    /// Instead of the profile's figure.
    #[serde(default)]
    pub overlap: Option<f64>,
    /// Instead of the profile's figure.
    #[serde(default)]
    pub blocked_w: Option<f64>,
    /// Instead of the profile's figure.
    #[serde(default)]
    pub memory_mib: Option<i64>,
    /// Node resources that one GPU of the gang needs.
    #[serde(default)]
    pub per_gpu: BTreeMap<String, Decimal>,
    /// First tick in which it may run.
    #[serde(default)]
    pub release: Option<i64>,
    /// The same in seconds, rounded up to a tick.
    #[serde(default)]
    pub release_s: Option<f64>,
    /// Tick by which it must have ended.
    #[serde(default)]
    pub deadline: Option<i64>,
    /// The same in seconds, rounded down to a tick.
    #[serde(default)]
    pub deadline_s: Option<f64>,
    /// The same as release + factor x fastest time, rounded down to a tick.
    #[serde(default)]
    pub deadline_factor: Option<f64>,
    /// Tick by which it should have ended.
    #[serde(default)]
    pub due: Option<i64>,
    /// The same in seconds, rounded down to a tick.
    #[serde(default)]
    pub due_s: Option<f64>,
    /// The same as release + factor x fastest time, rounded down to a tick.
    #[serde(default)]
    pub due_factor: Option<f64>,
    /// Weight in completion and tardiness.
    #[serde(default)]
    pub weight: Option<Decimal>,
    /// Jobs that must have ended before.
    #[serde(default)]
    pub after: Vec<String>,
    /// Who runs it.
    #[serde(default)]
    pub user: Option<String>,
    /// What it trains; the profile's model if left out.
    #[serde(default)]
    pub workload: Option<String>,
    /// The command to launch.
    #[serde(default)]
    pub command: Option<String>,
}

impl Document for Scenario {
    const FORMAT: &'static str = "rats.scenario/1";
}

impl Scenario {
    /// Reads a scenario from TOML.
    ///
    /// # Errors
    /// The first thing that is no TOML, missing or of the wrong type, with its place.
    pub fn read(text: &str) -> Result<Read<Self>, Problems> {
        let mut value = from_toml(text, Code::B01)?;
        for list in ["gpu_types", "nodes"] {
            if let Some(cluster) = value.get_mut("cluster").and_then(serde_json::Value::as_object_mut) {
                cluster.entry(list).or_insert_with(|| serde_json::Value::Array(Vec::new()));
            }
        }
        read::<Self>(value.to_string().as_bytes()).map_err(without_lines)
    }
}

/// Lines and columns of the JSON in between mean nothing to anyone.
fn without_lines(problems: Problems) -> Problems {
    let short = |problem: Problem| {
        let place = problem.place.split(" (line ").next().unwrap_or_default().to_owned();
        let message = problem.message.split(" at line ").next().unwrap_or_default();
        Problem { message: format!("{}.", message.trim_end_matches('.')), place, ..problem }
    };
    Problems(problems.0.into_iter().map(short).collect())
}

fn stretches() -> Vec<f64> {
    vec![1.0, 2.0, 4.0]
}
