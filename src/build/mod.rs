//! `rats build`: measured profiles and a scenario in, an instance out.
//!
//! # Idea
//! Everything that was measured, fitted or assumed becomes a finite list of options per job, as section 5 of the model
//! says: [`options`] lists every combination of gang size, operating point, span and stretch, [`physics`] gives each
//! its ticks, watts and rates, [`prune`] drops what another option makes superfluous.

mod choice;
pub mod fill;
pub mod hardware;
mod jobs;
pub mod options;
pub mod physics;
#[cfg(test)]
mod physics_tests;
pub mod prune;
pub mod scenario;
pub(crate) mod site;
#[cfg(test)]
mod tests;
mod validate;

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::format::{ClusterFile, Document, GpuFile, GpuTypeFile, InstanceFile, NodeFile};
use rats_domain::instance::Instance;
use rats_domain::problem::{Problem, Problems, Warning};

pub use choice::{Behind, Choice, Needs};
pub(crate) use jobs::bare;
pub use options::Library;

use self::fill::Fills;
use self::options::Enumerator;
use self::prune::Pruning;
use self::scenario::{GroupFile, HardwareFile, Scenario};
use self::site::Site;

/// Most nodes that groups may make.
const MOST_NODES: i64 = 1 << 20;

/// What the files say that a scenario names.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The cluster of `cluster_file`.
    pub cluster: Option<ClusterFile>,
    /// The GPU types of `gpu_files`, by the scenario's name.
    pub gpus: BTreeMap<String, GpuFile>,
}

/// An instance made of a scenario.
#[derive(Clone, Debug)]
pub struct Built {
    /// As it will stand in a file.
    pub file: InstanceFile,
    /// As solvers see it.
    pub instance: Instance,
    /// What is suspicious.
    pub warnings: Vec<Warning>,
    /// What became of the options of every job.
    pub jobs: Vec<JobReport>,
}

/// What became of the options of one job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobReport {
    /// Name of the job.
    pub id: String,
    /// Combinations of gang size, operating point, span and stretch.
    pub combinations: usize,
    /// Of these, without bandwidth left for their ring.
    pub starved: usize,
    /// Of these, without any placement on the empty cluster, by the rule that forbids it.
    pub unplaceable: BTreeMap<Code, usize>,
    /// Of these, superfluous beside another.
    pub pruned: usize,
    /// Options of the instance.
    pub options: usize,
    /// Of these, at a point that was predicted.
    pub predicted: usize,
}

/// Builds an instance of a scenario, the profiles and the files that it names.
///
/// # Errors
/// Everything wrong with the scenario, with code and place.
pub fn build(scenario: &Scenario, library: &Library, files: &Files) -> Result<Built, Problems> {
    let mut problems = validate::problems(scenario);
    let base = base(scenario, files);
    let read = match Instance::from_file(&base) {
        Ok(read) => read,
        Err(more) => {
            problems.extend(more.0);
            return Err(Problems(problems));
        }
    };
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    let site = Site::new(&read.instance.cluster, &hardware(scenario, files), scenario.latency_s.clone());
    let mut warnings = read.warnings;
    let fills = Fills::new(scenario, library, files, &mut problems, &mut warnings);
    let mut enumerator = Enumerator { scenario, library, fills: &fills, site: &site, problems, warnings };
    let enumerated: Vec<_> = (0_usize..)
        .zip(&scenario.jobs)
        .map(|(position, job)| enumerator.enumerate(&format!("jobs[{position}]"), job))
        .collect();
    let Enumerator { problems, mut warnings, .. } = enumerator;
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    let (jobs, reports) = jobs::jobs(scenario, library, &base, enumerated, Pruning::of(&base))?;
    let file = InstanceFile { jobs, ..base };
    let read = Instance::from_file(&file)?;
    for warning in read.warnings.into_iter().filter(|warning| warning.place.starts_with("jobs")) {
        warnings.push(warning);
    }
    Ok(Built { file, instance: read.instance, warnings, jobs: reports })
}

/// The instance without its jobs.
fn base(scenario: &Scenario, files: &Files) -> InstanceFile {
    let tick_s = scenario.tick_s;
    let in_ticks = |seconds: f64| physics::whole((seconds / tick_s.max(1) as f64 + 1e-9).floor());
    InstanceFile {
        format: InstanceFile::FORMAT.to_owned(),
        name: scenario.name.clone(),
        tick_s,
        horizon: scenario.horizon.or(scenario.horizon_s.map(in_ticks)).unwrap_or(1),
        cluster: cluster(scenario, files),
        tariff: scenario.tariff.clone(),
        tariff_unit: scenario.tariff_unit.clone(),
        energy_budget_j: scenario.energy_budget_j,
        objective: scenario.objective.clone(),
        jobs: Vec::new(),
    }
}

fn cluster(scenario: &Scenario, files: &Files) -> ClusterFile {
    let empty = ClusterFile {
        gpu_types: Vec::new(),
        levels: Vec::new(),
        switches: Vec::new(),
        nodes: Vec::new(),
        storage_gb_s: None,
        power_cap_w: None,
        foreign_w: None,
    };
    let mut cluster = files.cluster.clone().or_else(|| scenario.cluster.clone()).unwrap_or(empty);
    let from_files = files.gpus.iter().map(|(id, gpu)| GpuTypeFile {
        id: id.clone(),
        idle_w: gpu.idle_w.value,
        memory_mib: Some(gpu.memory_mib.value),
    });
    let built_in = scenario.catalogue.iter().filter_map(|id| hardware::known(id)).map(hardware::Known::gpu_type);
    for new in from_files.chain(built_in) {
        if cluster.gpu_types.iter().all(|kind| kind.id != new.id) {
            cluster.gpu_types.push(new);
        }
    }
    for GroupFile { count, node } in &scenario.groups {
        let member = |number: i64| NodeFile { id: format!("{}{number}", node.id), ..node.clone() };
        cluster.nodes.extend((0..(*count).min(MOST_NODES)).map(member));
    }
    cluster
}

/// What the scenario says of its GPU types, its files where it says nothing, else the built-in catalogue.
fn hardware(scenario: &Scenario, files: &Files) -> BTreeMap<String, HardwareFile> {
    let mut found: BTreeMap<String, HardwareFile> =
        hardware::CATALOGUE.iter().map(|known| (known.id.to_owned(), known.hardware())).collect();
    for (id, gpu) in &files.gpus {
        let known = found.entry(id.clone()).or_default();
        known.power_limit_w = Some(gpu.power_limit_w.max.value.to_f64());
        known.blocked_w = Some(gpu.blocked_w.value.to_f64());
    }
    for (id, given) in &scenario.hardware {
        let known = found.entry(id.clone()).or_default();
        known.power_limit_w = given.power_limit_w.or(known.power_limit_w);
        known.blocked_w = given.blocked_w.or(known.blocked_w);
        known.link_gb_s = given.link_gb_s.or(known.link_gb_s);
    }
    found
}

/// The problem of a job of which nothing is left.
fn no_option(position: usize, message: String) -> Problem {
    Problem::new(Code::B07, format!("jobs[{position}]"), message)
}
