//! The workload of the EDL family: tasks of one GPU each whose time and power follow an analytic model of DVFS.
//!
//! # Model
//! V = 2 (fc - 0.5)^2 + 0.5, t = D (delta/fc + (1 - delta)/fm) + t0, P = P0 + gamma fm + c V^2 fc, all clocks and the
//! voltage relative to the default. For a voltage V the core clock is fc = 0.5 + sqrt((V - 0.5)/2), and the best memory
//! clock for it fm = sqrt((P0 + c V^2 fc) D (1 - delta) / (gamma (t0 + D delta/fc))), between 0.5 and 1.2. One option
//! per voltage of 0.50, 0.55 ... 1.25, and the default clocks, which are what is asked for.
//!
//! Tasks: P* of 175-206 W, P0 20-41 % and gamma 10-20 % of it, the rest c; D of 1.66-7.61 and t0 of 0.1-0.95, times
//! k = 10..50 units of time; delta of 0.07-0.91; deadline = default time / u, u of 0.25-0.75. Idle GPUs draw 85 W; a GPU
//! costs 200 W x unit to turn on, so that gaps of up to 2 units stay powered.
//!
//! Offline all tasks are there at tick 0, 1.0 a GPU. Online 0.4 a GPU are, 1.6 a GPU come over 1440 units, and u is
//! 0.15-0.85.
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
use rats_solvers::random::Random;

use crate::build::bare;

use super::{Family, Generated, Wanted, name, promises};
use crate::build::physics::{Frame, GangStep, Length, outcome};
use crate::build::prune::{Pruning, kept};
use crate::build::{Choice, Needs};

const GPUS: u32 = 2048;
const TICK_S: i64 = 60;
const IDLE_W: i64 = 85;
/// Turning on one GPU, W x units.
const TURN_ON: i64 = 200;
/// Ticks over which tasks come online.
const ONLINE: i64 = 1440;
/// Default core and memory clock that stand for 1.0, MHz; assumed.
const CORE_MHZ: f64 = 1600.0;
const MEM_MHZ: f64 = 5000.0;

/// One task.
struct Task {
    p0: f64,
    gamma: f64,
    c: f64,
    d: f64,
    t0: f64,
    delta: f64,
    urgency: f64,
}

/// Generates an instance; `--jobs` is the number of tasks, `--gpus-per-node` that of GPUs of a server.
pub(super) fn generate(wanted: &Wanted) -> Result<Generated, Problem> {
    let mut random = Random::new(wanted.seed.wrapping_mul(8).wrapping_add(7));
    let per_node = i64::from(wanted.gpus_per_node.unwrap_or(1));
    let nodes = wanted.nodes.map_or(i64::from(GPUS) / per_node, i64::from);
    let online = wanted.family == Family::EdlOnline;
    let tasks = i64::from(wanted.jobs.unwrap_or(if online { 2 * GPUS } else { GPUS }));
    let digits = tasks.to_string().len();
    let mut jobs: Vec<JobFile> = (0..tasks)
        .map(|number| {
            // A fifth of the tasks is there at the beginning: 0.4 of 2.0 a GPU.
            let release = if online && 5 * number >= tasks { random.within(1, ONLINE) } else { 0 };
            let urgency = if online { (0.15, 0.85) } else { (0.25, 0.75) };
            job(&mut random, format!("t{number:0digits$}"), release, urgency)
        })
        .collect();
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

fn job(random: &mut Random, id: String, release: i64, urgency: (f64, f64)) -> JobFile {
    let task = Task::draw(random, urgency);
    let mut choices = vec![task.choice(1.0, 1.0)];
    for step in 0..=15 {
        let voltage = 0.5 + 0.05 * f64::from(step);
        let core = 0.5 + ((voltage - 0.5) / 2.0).sqrt();
        choices.push(task.choice(core, task.best_memory(voltage, core)));
    }
    let stays = kept(&choices, 0, Pruning::ByEnergy);
    let options: Vec<OptionFile> =
        choices.iter().zip(stays).filter(|(_, stays)| *stays).map(|(c, _)| c.to_file()).collect();
    let deadline = (task.seconds(1.0, 1.0) / task.urgency / TICK_S as f64).floor();
    JobFile {
        release,
        // What rounds up to one tick more must still fit.
        deadline: Some(release + crate::build::physics::whole(deadline).max(options[0].ticks)),
        ..bare(id, options)
    }
}

impl Task {
    fn draw(random: &mut Random, (least, most): (f64, f64)) -> Self {
        let mut uniform =
            |low: f64, high: f64| low + (high - low) * (random.bits() >> 11) as f64 / (1_u64 << 53) as f64;
        let watts = uniform(175.0, 206.0);
        let (p0, gamma) = (watts * uniform(0.20, 0.41), watts * uniform(0.1, 0.2));
        let (d, t0) = (uniform(1.66, 7.61), uniform(0.1, 0.95));
        let (delta, urgency) = (uniform(0.07, 0.91), uniform(least, most));
        let k = random.within(10, 50) as f64 * TICK_S as f64;
        Self { p0, gamma, c: watts - p0 - gamma, d: d * k, t0: t0 * k, delta, urgency }
    }

    fn seconds(&self, core: f64, memory: f64) -> f64 {
        self.d * (self.delta / core + (1.0 - self.delta) / memory) + self.t0
    }

    fn watts(&self, core: f64, memory: f64) -> f64 {
        let voltage = 2.0 * (core - 0.5) * (core - 0.5) + 0.5;
        self.p0 + self.gamma * memory + self.c * voltage * voltage * core
    }

    fn best_memory(&self, voltage: f64, core: f64) -> f64 {
        let dynamic = (self.p0 + self.c * voltage * voltage * core) * self.d * (1.0 - self.delta);
        (dynamic / (self.gamma * (self.t0 + self.d * self.delta / core))).sqrt().clamp(0.5, 1.2)
    }

    fn choice(&self, core: f64, memory: f64) -> Choice {
        let step = GangStep {
            seconds: self.seconds(core, memory),
            watts: self.watts(core, memory),
            ring_kb_s: 0.0,
            read_kb_s: 0.0,
        };
        let length = Length { startup_s: 0.0, steps: 1.0, margin: 0.0 };
        let frame = Frame { tick_s: TICK_S as f64, idle_w: IDLE_W as f64 };
        let clock = |share: f64, mhz: f64| Some(crate::build::physics::whole((share * mhz).round()));
        Choice {
            gpu_type: "gpu".to_owned(),
            idle: Milliwatts(IDLE_W * 1000),
            gpus: 1,
            span: Rank::ISLAND,
            span_name: "island".to_owned(),
            point: PointFile { sm_mhz: clock(core, CORE_MHZ), mem_mhz: clock(memory, MEM_MHZ), power_limit_w: None },
            outcome: outcome(&step, 1, 0.0, &length, &frame),
            per_gpu: Needs::new(),
            memory_mib: None,
        }
    }
}
