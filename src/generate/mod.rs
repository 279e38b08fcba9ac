//! `rats generate`: instances of benchmark families, from measured profiles and a seed.
//!
//! # Idea
//! Cluster and jobs are drawn and built; a witness plan is made without deadlines and caps; then horizon, releases,
//! deadlines, caps, budget and prices are drawn around it. What is promised ([`promises`]) is asked of the finished
//! instance; if it does not hold, the next sub-seed is tried.
//!
//! # Limits
//! Only basic arithmetic and square roots of doubles are used, which IEEE 754 fixes: same seed, same bytes anywhere.

mod around;
mod cluster;
mod edl;
mod family;
mod features;
mod jobs;
pub mod measured;
pub mod promises;
#[cfg(test)]
mod tests;
mod witness;

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::format::{InstanceFile, PlanFile, StepFile, TermFile};
use rats_domain::instance::Instance;
use rats_domain::problem::Problem;
use rats_domain::schedule::Schedule;
use rats_solvers::random::Random;

pub use family::{Family, Scale};

use self::around::{Draft, spoil_baseline};
use self::features::Features;
use self::jobs::{Drawer, STARTUP_S};
use crate::build::hardware;
use crate::build::scenario::{FillFile, HardwareFile, Scenario};
use crate::build::site::Site;
use crate::build::{Files, Library, build};

/// Version of the families: it changes when the same seed gives other bytes.
pub const VERSION: u32 = 1;

/// Sub-seeds tried before giving up.
const ATTEMPTS: u64 = 200;
/// More horizon than any witness needs.
const FAR: i64 = 1 << 30;

/// What to generate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The family.
    pub family: Family,
    /// Seed of everything random; its remainder by twelve says which features there are.
    pub seed: u64,
    /// Number of jobs, instead of the family's.
    pub jobs: Option<u32>,
    /// Number of nodes, instead of the family's.
    pub nodes: Option<u32>,
    /// GPUs of a node, instead of the family's.
    pub gpus_per_node: Option<u32>,
}

/// An instance and a plan that keeps all its rules.
#[derive(Clone, Debug)]
pub struct Generated {
    /// As it stands in the file.
    pub file: InstanceFile,
    /// As solvers see it.
    pub instance: Instance,
    /// The plan.
    pub witness: Schedule,
}

impl Generated {
    /// The witness as a plan file.
    pub fn plan(&self) -> PlanFile {
        PlanFile { solver: Some("witness".to_owned()), ..self.witness.to_plan(&self.instance) }
    }
}

/// Generates an instance.
///
/// # Errors
/// None of the sub-seeds gave what is promised: the sizes asked for do not suit the family.
pub fn generate(wanted: &Wanted) -> Result<Generated, Problem> {
    if matches!(wanted.family, Family::Edl | Family::EdlOnline) {
        return edl::generate(wanted);
    }
    let library = measured::library();
    let features = if wanted.family == Family::Huge { features::HUGE } else { features::of_seed(wanted.seed) };
    let family = wanted.family as u64;
    (0..ATTEMPTS)
        .find_map(|attempt| {
            let seed = Random::new(wanted.seed.wrapping_mul(8).wrapping_add(family)).bits().wrapping_add(attempt);
            attempt_at(wanted, &features, &library, &mut Random::new(seed))
        })
        .ok_or_else(|| {
            let message =
                format!("{ATTEMPTS} attempts at `{}` with seed {} failed.", wanted.family.name(), wanted.seed);
            Problem::new(Code::B08, "rats generate", message)
        })
}

/// The name of an instance: family, version and seed.
fn name(wanted: &Wanted) -> String {
    format!("{}-v{VERSION}-{:02}", wanted.family.name(), wanted.seed)
}

fn attempt_at(wanted: &Wanted, features: &Features, library: &Library, random: &mut Random) -> Option<Generated> {
    let scenario = scenario(wanted, features, library, random)?;
    let built = build(&scenario, library, &Files::default()).ok()?;
    let mut file = built.file;
    file.jobs.iter_mut().for_each(|job| job.physics = None);
    let free = without_caps(&file)?;
    let witness = witness::pack(random, &free)?;
    let mut draft = Draft { random, features, instance: &free, witness: &witness, file };
    draft.draw()?;
    let Draft { file: mut drawn, .. } = draft;
    let mut instance = Instance::from_file(&drawn).ok()?.instance;
    let (baseline, report) = promises::baseline(&instance);
    if !promises::baseline_fails(report.as_ref()) {
        // A deadline changes nothing that the baseline does.
        if !spoil_baseline(&mut drawn, (&free, &witness.schedule), &baseline, random) {
            return None;
        }
        instance = Instance::from_file(&drawn).ok()?.instance;
    }
    let enough = wanted.family != Family::Huge || promises::work(&instance) >= 3.0;
    (enough && promises::kept(&instance, &witness.schedule)).then_some(Generated {
        file: drawn,
        instance,
        witness: witness.schedule,
    })
}

fn without_caps(file: &InstanceFile) -> Option<Instance> {
    let mut free = file.clone();
    free.cluster.power_cap_w = None;
    free.cluster.nodes.iter_mut().for_each(|node| node.power_cap_w = None);
    free.cluster.switches.iter_mut().for_each(|switch| switch.power_cap_w = None);
    Some(Instance::from_file(&free).ok()?.instance)
}

/// Cluster and jobs; the horizon is far away and caps are out of reach.
fn scenario(wanted: &Wanted, features: &Features, library: &Library, random: &mut Random) -> Option<Scenario> {
    let scale = wanted.family.scale();
    let jobs = wanted.jobs.map_or_else(|| random.within(scale.jobs.0, scale.jobs.1), i64::from);
    let gpus_per_node = wanted.gpus_per_node.unwrap_or_else(|| random.pick(scale.gpus_per_node));
    // About as many GPUs as jobs: with the gangs of the mix, some four times what all GPUs do in one job length.
    let matching = (jobs * random.within(70, 120) / 100 / i64::from(gpus_per_node)).clamp(scale.nodes.0, scale.nodes.1);
    let nodes = usize::try_from(wanted.nodes.map_or(matching, i64::from)).ok()?;
    let cluster = cluster::draw(random, features, cluster::Size { nodes, gpus_per_node, rack: scale.rack });
    let tariff = features.tariff.then(|| vec![StepFile(0, Decimal::from(1))]);
    let mut scenario = Scenario {
        format: "rats.scenario/1".to_owned(),
        name: name(wanted),
        tick_s: scale.tick_s,
        horizon: Some(FAR),
        horizon_s: None,
        margin: 0.0,
        startup_s: STARTUP_S,
        stretches: scale.stretches.to_vec(),
        fill: FillFile::default(),
        latency_s: BTreeMap::new(),
        gpu_files: BTreeMap::new(),
        catalogue: Vec::new(),
        hardware: BTreeMap::new(),
        cluster: Some(cluster),
        cluster_file: None,
        groups: Vec::new(),
        tariff,
        tariff_unit: None,
        energy_budget_j: None,
        objective: objective(features),
        jobs: Vec::new(),
    };
    let empty = build(&scenario, library, &Files::default()).ok()?;
    let hardware = hardware::CATALOGUE.iter().map(|known| (known.id.to_owned(), known.hardware()));
    let hardware: BTreeMap<String, HardwareFile> = hardware.collect();
    let site = Site::new(&empty.instance.cluster, &hardware, scenario.latency_s.clone());
    let drawer = Drawer { library, site: &site, features, scale: &scale };
    let digits = jobs.to_string().len();
    for number in 0..jobs {
        scenario.jobs.push(drawer.job(random, &format!("j{number:0digits$}"))?);
    }
    Some(scenario)
}

fn objective(features: &Features) -> Vec<TermFile> {
    let term = |&(term, weight): &(&str, i64)| TermFile { term: term.to_owned(), weight: Decimal::from(weight) };
    features.objective.iter().map(term).collect()
}
