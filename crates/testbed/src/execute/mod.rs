//! Carrying out a plan on the GPUs of this machine.
//!
//! # Idea
//! [`crate::engine`] says what starts when. Here its actions become real: GPUs are set through [`crate::custody`], jobs
//! are started through [`crate::process`], power and clocks are read, and everything is written to a trace.
//!
//! # Model
//! * [`preflight`]: everything that forbids the run, found before anything is changed.
//! * `work`: command, steps and environment of each job; `jobs_file`: the file that states them.
//! * `run`: the loop; `active`: one job from setting its GPUs to putting them back; `gpus`: the threads that talk to GPUs.
//! * `sampler`: readings at a fixed rate.
//! * `replan`: what is left of an instance, to be planned anew.
//! * `resume`: what an earlier run of the same directory has done.
//!
//! # Limits
//! Nodes are not switched on or off: energy of nodes is the plan's, not measured. All GPUs must be of this machine.

mod active;
mod gpus;
mod jobs_file;
mod leg;
mod lifecycle;
mod outcome;
pub mod preflight;
mod replan;
mod resume;
mod run;
mod sampler;
mod work;

use std::path::PathBuf;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use rats_domain::check::CheckedPlan;
use rats_domain::codes::Code;
use rats_domain::format::{InstanceFile, PlanFile};
use rats_domain::ids::JobId;
use rats_domain::instance::Instance;
use rats_domain::problem::{Problem, Problems};
use rats_domain::schedule::Placement;
use rats_system::clock::Stopwatch;

use crate::custody::{Custody, StateDir, Terms};
use crate::gpu::{Gpu, Gpus};
use crate::inventory::Inventory;
use crate::trace::{Line, Record, TRACE_FILE, Writer};

pub use self::jobs_file::JobsFile;
use self::leg::Leg;
pub use self::outcome::{JobOutcome, Outcome};
use self::preflight::Machines;
use self::resume::Past;
use self::run::Run;
pub use self::work::{Assumed, DEFAULT_LEAST, DEFAULT_PROGRESS};

/// Makes a plan for an instance whose running jobs are fixed; the document is valid.
pub type Replan<'a> = dyn Fn(&InstanceFile) -> Result<PlanFile, Problems> + Sync + 'a;

/// What is to be carried out, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// The instance as it stands in its file: commands and what is behind options.
    pub file: InstanceFile,
    /// The same instance, validated.
    pub instance: Instance,
    /// A plan for it that breaks no rule.
    pub plan: CheckedPlan,
    /// What the plan is called, for others who find the GPUs locked.
    pub name: String,
    /// Which real GPU each GPU is.
    pub inventory: Inventory,
    /// What jobs are started with.
    pub jobs: JobsFile,
    /// Where the trace and the logs of the jobs go.
    pub run_dir: PathBuf,
    /// Where the machine's journals and locks are.
    pub state: StateDir,
    /// NVML's library; absent: the driver's.
    pub library: Option<PathBuf>,
    /// The program whose `guardian` command guards.
    pub program: PathBuf,
    /// How it is to be done.
    pub settings: Settings,
}

/// How a plan is carried out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Readings a second.
    pub hz: f64,
    /// How many more times a job that failed is started.
    pub retries: u32,
    /// Deviation of a job's time, as a share of its planned time, that counts as drift.
    pub drift: f64,
    /// How many times its planned time a job may take before it is ended.
    pub overrun: f64,
    /// How long a job may take to end after SIGTERM.
    pub grace: Duration,
    /// Seconds of plan time in one second; other than 1 on the simulator only.
    pub speedup: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { hz: 10.0, retries: 1, drift: 0.1, overrun: 3.0, grace: Duration::from_secs(10), speedup: 1.0 }
    }
}

/// What the caller gives and takes while a plan is carried out.
pub struct Hooks<'h> {
    /// How often the user asked to stop: once, nothing more is started; twice, what runs is ended.
    pub interrupts: &'h AtomicU32,
    /// Makes new plans; absent: drift is reported, and work on lost GPUs is skipped.
    pub replan: Option<&'h Replan<'h>>,
    /// Is told every line of the trace.
    pub observe: &'h mut dyn FnMut(&Line),
}

/// A request that could be carried out: what is to be done, with the real GPUs.
#[derive(Debug)]
pub struct Prepared {
    request: Request,
    gpus: Gpus,
    machines: Machines,
    past: Past,
    leg: Leg,
}

/// Finds everything that forbids carrying a request out, without changing anything.
///
/// # Errors
/// Every reason, each with its code: N01 to N10, N16, U02, X01 to X04, X17.
pub fn prepare(request: Request) -> Result<Prepared, Problems> {
    let past = Past::read(&request)?;
    let gpus = Gpus::open(request.library.as_deref()).map_err(|error| error.problem("NVML"))?;
    let placed: Vec<(JobId, Placement)> = request
        .plan
        .schedule()
        .placed()
        .filter(|(job, _)| !past.is_done(&request.instance.jobs[*job].id))
        .map(|(job, placement)| (job, placement.clone()))
        .collect();
    let work = work::all(&request.instance, &request.file, &request.jobs, &placed);
    let machines = Machines::find(&gpus, &request.instance, &request.inventory, &placed);
    let checked = machines.as_ref().map(|machines| preflight::check(&request.instance, machines, &placed));
    let mut problems: Vec<Problem> = checked.unwrap_or_default();
    problems.extend(work.as_ref().err().into_iter().flat_map(|found| found.0.clone()));
    problems.extend(machines.as_ref().err().into_iter().flat_map(|found| found.0.clone()));
    match (work, machines) {
        (Ok(work), Ok(machines)) if problems.is_empty() => {
            let leg = Leg::first(&request, work, &past);
            Ok(Prepared { request, gpus, machines, past, leg })
        }
        _ => Err(Problems(problems)),
    }
}

impl Prepared {
    /// What would be started when, in the order of the plan.
    pub fn schedule(&self) -> Vec<String> {
        self.leg.lines()
    }

    /// Names of jobs that an earlier run of the same directory has done.
    pub fn done_before(&self) -> impl Iterator<Item = &str> {
        self.past.done()
    }

    /// Carries it out. GPUs are locked, set for each job, and put back after it and at the end.
    ///
    /// # Errors
    /// What forbids it, found before anything was started: N04, N11 to N14, U02.
    pub fn execute(self, hooks: Hooks<'_>) -> Result<Outcome, Problems> {
        let Self { request, gpus, machines, past, leg } = self;
        past.begin(&request)?;
        let mut trace = Writer::open(&request.run_dir.join(TRACE_FILE), Stopwatch::start())?;
        let read: Vec<Gpu> = machines.iter().map(|(_, gpu)| gpu.clone()).collect();
        let rounds = gpus.rounds(&read).map_err(|error| error.problem("NVML"))?;
        let mut used: Vec<Gpu> = machines.iter().map(|(_, gpu)| gpu.clone()).collect();
        used.sort_by(|a, b| a.uuid().cmp(b.uuid()));
        let terms =
            Terms { state: request.state.clone(), plan: request.name.clone(), program: request.program.clone() };
        let custody = Custody::take(&gpus, &used, terms)?;
        if let Err(problems) = may_set(&request.instance, &leg, &machines) {
            // Nothing was changed, so nothing can stay.
            let _ = custody.end(&used);
            return Err(problems);
        }
        // Time counts from here: locks and the guardian are no part of the plan.
        let watch = Stopwatch::start();
        trace.count_from(watch);
        let observe = hooks.observe;
        let mut run = Run::new(&request, &machines, &custody, leg, trace, watch, &mut *observe);
        run.carry_out(&past, rounds, hooks.interrupts, hooks.replan);
        let (mut outcome, mut trace) = run.close();
        outcome.restored(custody.end(&used));
        let (line, _) = trace.write(Record::End(outcome.end()));
        observe(&line);
        Ok(outcome)
    }
}

/// Whether this user may change the GPUs, if the plan changes any.
fn may_set(instance: &Instance, leg: &Leg, machines: &Machines) -> Result<(), Problems> {
    let changes = |gpu| leg.points(gpu).any(|point| point != rats_domain::format::PointFile::default());
    let denied = machines.iter().filter(|(id, _)| changes(*id));
    let denied = denied.filter_map(|(id, gpu)| preflight::may_set(gpu, &instance.cluster.gpu_name(id)).err());
    let problems: Vec<Problem> = denied.collect();
    if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
}

/// A problem of the run as a whole.
fn run_problem(code: Code, message: impl Into<String>) -> Problem {
    Problem::new(code, "run", message)
}
