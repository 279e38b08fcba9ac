//! The EDL family: the tasks of [`crate::edl::task`] as jobs of one GPU each.
//!
//! # Model
//! One option for each voltage of the grid, and the default clocks, which are what is asked for. Offline all tasks are
//! there at tick 0, 1.0 a GPU. Online 0.4 a GPU are, 1.6 a GPU come over 1440 units. Idle GPUs draw 85 W; a GPU costs
//! 200 W x unit to turn on, so that gaps of up to 2 units stay powered.
//!
//! # Limits
//! A unit of time is one tick of 60 s; times round up, the mean power
//! accounts for the idle rest. The promises on load and baseline of the other families do not apply: with a GPU for
//! every task the baseline meets all deadlines.
//!
//! # References
//! X. Mei, Q. Wang, X. Chu et al., "Energy-aware task scheduling with deadline constraint in DVFS-enabled heterogeneous
//! clusters", IEEE TPDS 2022.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::format::{
    ClusterFile, Document, GpuTypeFile, InstanceFile, JobFile, NodeFile, OptionFile, PointFile, PowerMode, SwitchFile,
    TermFile,
};
use rats_domain::instance::Instance;
use rats_domain::problem::Problem;
use rats_domain::topology::Rank;
use rats_domain::units::Milliwatts;
use rats_solvers::fifo_max;

use super::{Family, Generated, Wanted, name, promises};
use crate::build::bare;
use crate::build::physics::{Frame, GangStep, Length, outcome};
use crate::build::prune::{Pruning, kept};
use crate::build::{Behind, Choice, Needs};
use crate::edl::GPUS;
use crate::edl::task::{Clocks, DEFAULT, Task, UNIT_S};

const TICK_S: i64 = UNIT_S;
const IDLE_W: i64 = 85;
/// Turning on one GPU, W x units.
const TURN_ON: i64 = 200;
/// Default core and memory clock that stand for 1.0, MHz; assumed.
const CORE_MHZ: f64 = 1600.0;
const MEM_MHZ: f64 = 5000.0;

/// Generates an instance; `--jobs` is the number of tasks, `--gpus-per-node` that of GPUs of a server.
pub(super) fn generate(wanted: &Wanted) -> Result<Generated, Problem> {
    let per_node = i64::from(wanted.gpus_per_node.unwrap_or(1));
    let nodes = wanted.nodes.map_or(i64::from(GPUS) / per_node, i64::from);
    let online = wanted.family == Family::EdlOnline;
    let tasks = i64::from(wanted.jobs.unwrap_or(if online { 2 * GPUS } else { GPUS }));
    let digits = tasks.to_string().len();
    let tasks = Task::draw_all(wanted.seed, tasks, online);
    let named = tasks.iter().enumerate();
    let mut jobs: Vec<JobFile> = named.map(|(number, task)| job(task, format!("t{number:0digits$}"))).collect();
    let far = jobs.iter().filter_map(|job| job.deadline).max().unwrap_or(1);
    let mut file = InstanceFile {
        format: InstanceFile::FORMAT.to_owned(),
        name: format!("{}-l{per_node}", name(wanted)),
        tick_s: TICK_S,
        horizon: far,
        cluster: cluster(nodes, per_node),
        tariff: None,
        tariff_unit: None,
        energy_budget_j: None,
        objective: vec![TermFile { term: "energy".to_owned(), weight: Decimal::from(1) }],
        jobs: Vec::new(),
    };
    std::mem::swap(&mut file.jobs, &mut jobs);
    let failed = |message: String| Problem::new(Code::B08, "rats generate edl", message);
    let instance = Instance::from_file(&file).map_err(|problems| failed(format!("{problems}")))?.instance;
    let witness = fifo_max::schedule(&instance);
    if promises::keeps_all(&instance, &witness) {
        return Ok(Generated { file, instance, witness });
    }
    match rats_solvers::edf_max::schedule(&instance, &rats_domain::solver::Unlimited) {
        Ok(witness) if promises::keeps_all(&instance, &witness) => Ok(Generated { file, instance, witness }),
        _ => Err(failed("no plan was found that meets all deadlines; ask for fewer jobs or more nodes.".to_owned())),
    }
}

fn cluster(nodes: i64, per_node: i64) -> ClusterFile {
    let node = |position: i64| NodeFile {
        id: format!("n{position}"),
        parent: (nodes > 1).then(|| "core".to_owned()),
        uplink_gb_s: None,
        gpu_type: "gpu".to_owned(),
        gpus: per_node,
        islands: None,
        island_uplink_gb_s: None,
        base_w: Decimal::from(0),
        power: PowerMode::Sleep,
        wake_j: Decimal::from(TURN_ON * TICK_S * per_node),
        wake_ticks: 0,
        on_at_start: false,
        resources: BTreeMap::new(),
        unavailable: Vec::new(),
        power_cap_w: None,
    };
    let core = SwitchFile {
        id: "core".to_owned(),
        level: "cluster".to_owned(),
        parent: None,
        uplink_gb_s: None,
        power_cap_w: None,
    };
    ClusterFile {
        gpu_types: vec![GpuTypeFile { id: "gpu".to_owned(), idle_w: Decimal::from(IDLE_W), memory_mib: None }],
        levels: if nodes > 1 { vec!["cluster".to_owned()] } else { Vec::new() },
        switches: if nodes > 1 { vec![core] } else { Vec::new() },
        nodes: (0..nodes).map(node).collect(),
        storage_gb_s: None,
        power_cap_w: None,
        foreign_w: None,
    }
}

fn job(task: &Task, id: String) -> JobFile {
    let choices: Vec<Choice> = std::iter::once(DEFAULT).chain(task.grid()).map(|clocks| choice(task, clocks)).collect();
    let stays = kept(&choices, 0, Pruning::ByEnergy);
    let options: Vec<OptionFile> =
        choices.iter().zip(stays).filter(|(_, stays)| *stays).map(|(c, _)| c.to_file()).collect();
    let deadline = (task.window() / TICK_S as f64).floor();
    let release = task.arrival;
    JobFile {
        release,
        // What rounds up to one tick more must still fit.
        deadline: Some(release + crate::build::physics::whole(deadline).max(options[0].ticks)),
        ..bare(id, options)
    }
}

fn choice(task: &Task, clocks: Clocks) -> Choice {
    let step = GangStep { seconds: task.seconds(clocks), watts: task.watts(clocks), ring_kb_s: 0.0, read_kb_s: 0.0 };
    let length = Length { startup_s: 0.0, steps: 1.0, margin: 0.0 };
    let frame = Frame { tick_s: TICK_S as f64, idle_w: IDLE_W as f64 };
    let clock = |share: f64, mhz: f64| Some(crate::build::physics::whole((share * mhz).round()));
    Choice {
        gpu_type: "gpu".to_owned(),
        idle: Milliwatts(IDLE_W * 1000),
        gpus: 1,
        span: Rank::ISLAND,
        span_name: "island".to_owned(),
        point: PointFile {
            sm_mhz: clock(clocks.core, CORE_MHZ),
            mem_mhz: clock(clocks.memory, MEM_MHZ),
            power_limit_w: None,
        },
        predicted: None,
        outcome: outcome(&step, 1, 0.0, &length, &frame),
        per_gpu: Needs::new(),
        memory_mib: None,
        behind: Behind::default(),
    }
}
