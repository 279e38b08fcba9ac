//! Scenarios built, pruned and damaged.

mod fill;
mod fuzz;
mod placing;
mod pruning;
mod reading;
mod testbed;

use rats_domain::problem::Problems;

use super::scenario::Scenario;
use super::{Built, Files, Library, build};
use crate::generate::measured;

/// Two nodes of four V100 and two jobs.
pub(super) const SCENARIO: &str = r#"
format = "rats.scenario/1"
name = "two-jobs"
tick_s = 300
horizon_s = 36000
margin = 0.1
startup_s = 60
stretches = [1, 2]
catalogue = ["v100"]
latency_s = { island = 0.00001, cluster = 0.00005 }
objective = [{ term = "energy", weight = 1 }]

[cluster]
levels = ["cluster"]
switches = [{ id = "tor", level = "cluster" }]
storage_gb_s = 0.2
power_cap_w = [[0, 4000], [60, 2500]]

[[groups]]
count = 2
node = { id = "n", parent = "tor", uplink_gb_s = 0.917, gpu_type = "v100", gpus = 4, base_w = 260, power = "sleep", wake_j = 54000, wake_ticks = 1, resources = { cpu_cores = 40 } }

[[jobs]]
id = "bert"
profiles = ["v100-bert-base-squad-b24"]
gpus = [2, 4]
epochs = 4
deadline_factor = 1.5
per_gpu = { cpu_cores = 4 }
user = "ana"

[[jobs]]
id = "resnet"
profiles = ["v100-resnet50-imagenet-b64"]
gpus = [4]
samples = 2_000_000
spans = ["node", "cluster"]
release_s = 700
deadline_s = 35999
due = 90
after = ["bert"]
"#;

pub(super) fn built(text: &str) -> Result<Built, Problems> {
    built_from(text, &measured::library())
}

pub(super) fn built_from(text: &str, library: &Library) -> Result<Built, Problems> {
    build(&Scenario::read(text)?.document, library, &Files::default())
}
