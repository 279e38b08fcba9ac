//! A fitted model of interference as a file: `rats.interference/1`.
//!
//! The file holds what was measured, what cannot be computed again at once, and the choices made; the rest is computed
//! when it is read.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::problem::Problem;
use serde::{Deserialize, Serialize};

use super::jobs::{Job, features};
use super::kriging::Choice;
use super::members::{MEMBERS, Members};
use super::memory::Memory;
use super::table::Table;
use super::waiting::Waiting;
use super::{Fitted, InterferenceModel};

const FORMAT: &str = "rats.interference/1";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    jobs: Vec<Job>,
    gpus: BTreeMap<String, GpuFile>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GpuFile {
    table: Table,
    waiting: Waiting,
    kriging: Choice,
    weights: [f64; MEMBERS],
    half_width: f64,
    half_width_of_new: Option<f64>,
    memory: Memory,
}

impl InterferenceModel {
    /// The model as JSON.
    pub fn to_json(&self) -> String {
        let of = |fitted: &Fitted| GpuFile {
            table: fitted.table.clone(),
            waiting: fitted.members.waiting.clone(),
            kriging: fitted.members.kriging.choice,
            weights: fitted.weights,
            half_width: fitted.half_widths.0,
            half_width_of_new: fitted.half_widths.1,
            memory: fitted.memory.clone(),
        };
        let gpus = self.gpus.iter().map(|(gpu, fitted)| (gpu.clone(), of(fitted))).collect();
        let file = File { format: FORMAT.to_owned(), jobs: self.jobs.clone(), gpus };
        // Maps have text keys and all numbers are finite, so there is nothing to fail on.
        serde_json::to_string(&file).unwrap_or_default()
    }

    /// Reads a model; `place` names it in messages.
    ///
    /// # Errors
    /// It is no such file, or its parts do not fit together (M47).
    pub fn from_json(place: &str, text: &str) -> Result<Self, Problem> {
        let problem = |message: String| Problem::new(Code::M47, place, message);
        let file: File = serde_json::from_str(text).map_err(|error| problem(format!("{error}.")))?;
        if file.format != FORMAT {
            return Err(problem(format!("Its format is `{}`, not `{FORMAT}`.", file.format)));
        }
        let mut gpus = BTreeMap::new();
        for (gpu, part) in file.gpus {
            let fitted = restore(&file.jobs, &gpu, part).ok_or_else(|| problem(format!("`{gpu}` does not fit.")))?;
            gpus.insert(gpu, fitted);
        }
        Ok(Self { jobs: file.jobs, gpus })
    }
}

fn restore(jobs: &[Job], gpu: &str, part: GpuFile) -> Option<Fitted> {
    let GpuFile { table, waiting, kriging, weights, half_width, half_width_of_new, memory } = part;
    let n = jobs.len();
    let cells_fit = table.cells.iter().all(|cell| cell.victim < n && cell.partner < n && cell.rate > 0.0);
    let pairs_fit = table.sharing.iter().all(|&(a, b, _)| a < n && b < n);
    let numbers = weights.iter().chain([&half_width]).chain(&half_width_of_new);
    let plausible = numbers.into_iter().all(|number| number.is_finite() && *number >= 0.0);
    if !(cells_fit && pairs_fit && plausible && waiting.fits(n) && memory.fits(n) && kriging.usable()) {
        return None;
    }
    let features = features(jobs, gpu);
    let partners = table.partners(n);
    let members = Members::fit(jobs, &features, &table.cells, Some(waiting), Some(kriging))?;
    let half_widths = (half_width, half_width_of_new);
    Some(Fitted { table, features, partners, members, weights, half_widths, memory })
}
