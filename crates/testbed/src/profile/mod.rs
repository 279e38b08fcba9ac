//! A workload profiled: time and power of one command over the operating points of real GPUs.
//!
//! # Idea
//! A sweep takes custody of its GPUs and brings them to one operating point after the other while the command runs. Each
//! point is measured when clocks and power stand still, written down at once, and marked where it cannot be trusted. A grid
//! comes first, then the points of which a fitted model knows least.
//!
//! # Model
//! * [`mod@grid`]: which points there are; [`order`]: in which order; [`choose`]: which come after the grid.
//! * [`mod@bench`]: the command on its GPUs; [`output`]: its steps; [`readings`] and [`counter`]: its power.
//! * [`measure`]: one point. [`sweep`]: all of them, with reference points that show drift, and repeats.
//! * [`record`]: the file of measurements, from which an interrupted sweep goes on.
//! * [`result`]: the profile. [`pool`]: one of several GPUs.
//!
//! # Limits
//! One command at a time, alone on its GPUs. Power is that of the boards. See `docs/profiling.md`.

pub mod axis;
pub mod bench;
pub mod choose;
pub mod counter;
pub mod event;
pub mod grid;
pub mod measure;
pub mod order;
pub mod output;
mod pace;
pub mod pool;
pub mod readings;
pub mod record;
pub mod result;
pub mod spread;
pub mod sweep;
pub mod target;

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use rats_domain::codes::Code;
use rats_domain::format::{GangFile, ProfileFile, WorkloadFile};
use rats_domain::problem::{Problem, Problems, Warning};
use rats_system::files;

use self::bench::Bench;
use self::event::Event;
use self::grid::{Axes, Grid, grid};
use self::output::StepPattern;
use self::record::{Book, FORMAT, Head, Taint};
use self::sweep::{End, Sweep};
use self::target::Target;
use crate::custody::{Custody, Terms};
use crate::gpu::{Gpu, GpuError, Gpus, Mig};

/// What to profile.
#[derive(Clone, Debug)]
pub struct Request {
    /// The command and its arguments.
    pub command: Vec<String>,
    /// What to sweep.
    pub axes: Axes,
    /// How.
    pub settings: Settings,
    /// Where the output of the command goes; appended to.
    pub log: PathBuf,
    /// Where measurements are kept.
    pub measurements: PathBuf,
    /// Where the profile goes.
    pub out: PathBuf,
    /// Name of the profile.
    pub id: String,
    /// What is run.
    pub workload: WorkloadFile,
    /// How the GPUs share the work; of as many GPUs as are profiled.
    pub gang: Option<GangFile>,
    /// Samples that one GPU handles in one step.
    pub batch_per_gpu: Option<f64>,
}

/// How to measure. Times are in seconds of the GPUs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How a step is read off the output; absent: a step is a whole run.
    pub pattern: Option<StepPattern>,
    /// Whether the command is started anew for each point.
    pub restart: bool,
    /// Time after the first step that counts for nothing, s.
    pub warmup_s: f64,
    /// Length of a window, s.
    pub window_s: f64,
    /// Most windows of a point.
    pub windows: usize,
    /// Relative half width of the confidence intervals at which no more windows follow.
    pub precision: f64,
    /// How long clocks and power may take to be steady, s.
    pub settle_s: f64,
    /// How long a line of output may take, s.
    pub patience_s: f64,
    /// By how much energy counter and integrated power may differ, relative.
    pub agree: f64,
    /// By how much the reference point may move, relative.
    pub drift: f64,
    /// Points between two measurements of the reference point.
    pub reference_every: usize,
    /// How often a tainted point is measured again.
    pub repeats: usize,
    /// When to stop in any case.
    pub budget: Option<Budget>,
    /// Relative half width of the model's widest interval at which to stop.
    pub until: Option<f64>,
    /// Of the order.
    pub seed: u64,
    /// How long the command may take to end after SIGTERM, on the wall.
    pub grace: Duration,
    /// Seconds of the GPUs in one of the wall: 1 but for simulated ones.
    pub speedup: f64,
}

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// After so many points, references not counted.
    Points(usize),
    /// When measurements have taken so long, s.
    Seconds(f64),
}

/// What came of a sweep.
#[derive(Clone, Debug)]
pub struct Report {
    /// The profile that was written; absent where nothing was measured.
    pub profile: Option<ProfileFile>,
    /// How it ended.
    pub end: End,
    /// Points that stay tainted, and why.
    pub tainted: Vec<(Target, Vec<Taint>)>,
    /// Power of the idle GPUs, W.
    pub idle_w: Vec<Option<f64>>,
    /// Warnings.
    pub warnings: Vec<Warning>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            pattern: None,
            restart: false,
            warmup_s: 5.0,
            window_s: 3.0,
            windows: 10,
            precision: 0.01,
            settle_s: 60.0,
            patience_s: 300.0,
            agree: 0.05,
            drift: 0.02,
            reference_every: 8,
            repeats: 1,
            budget: None,
            until: None,
            seed: 1,
            grace: Duration::from_secs(10),
            speedup: 1.0,
        }
    }
}

impl Settings {
    /// What a point takes at least, s.
    pub fn point_s(&self) -> f64 {
        let start_s = if self.restart { self.warmup_s } else { 0.0 };
        start_s + measure::least_s(self.window_s)
    }
}

/// Profiles a command; `stop` counts presses of Ctrl-C, `tell` hears what goes on.
///
/// # Errors
/// Nothing was measured, and why; no GPU keeps a mark, or N14 says which does.
pub fn run(
    request: &Request,
    gpus: &Gpus,
    wanted: &[Gpu],
    terms: Terms,
    stop: &AtomicU32,
    tell: &mut dyn FnMut(&Event<'_>),
) -> Result<Report, Problems> {
    let grid = preflight(request, wanted)?;
    let head = head(request, gpus, wanted);
    let custody = Custody::take(gpus, wanted, terms)?;
    let result = held(request, wanted, &custody, &grid, &head, stop, tell);
    let restored = custody.end(wanted);
    match (result, restored) {
        (Ok(report), Ok(_)) => Ok(report),
        (Ok(_), Err(problems)) | (Err(problems), Ok(_)) => Err(problems),
        (Err(mut problems), Err(more)) => {
            problems.0.extend(more.0);
            Err(problems)
        }
    }
}

/// Everything that can be known to be wrong before a GPU is touched; the points.
///
/// # Errors
/// Every problem found.
pub fn preflight(request: &Request, wanted: &[Gpu]) -> Result<Grid, Problems> {
    let grid = grid(wanted, &request.axes)?;
    let mut problems = Vec::new();
    problems.extend(find_program(&request.command).err());
    for gpu in wanted {
        match gpu.mig() {
            Ok(Mig::On) => problems.push(GpuError::Mig.problem(gpu.uuid().as_str())),
            Ok(_) => {}
            Err(error) => problems.push(error.problem(gpu.uuid().as_str())),
        }
    }
    for path in [&request.out, &request.measurements, &request.log] {
        problems.extend(files::can_write(path).err());
    }
    if problems.is_empty() { Ok(grid) } else { Err(Problems(problems)) }
}

fn held(
    request: &Request,
    wanted: &[Gpu],
    custody: &Custody,
    grid: &Grid,
    head: &Head,
    stop: &AtomicU32,
    tell: &mut dyn FnMut(&Event<'_>),
) -> Result<Report, Problems> {
    free(wanted)?;
    let (book, past) = Book::open(&request.measurements, head)?;
    let bench = Bench::new(request, wanted, custody, stop);
    let mut sweep = Sweep::new(request, bench, grid, book, past);
    let end = sweep.run(tell);
    let report = sweep.report(head, end)?;
    if let Some(profile) = &report.profile {
        let mut text = serde_json::to_vec_pretty(profile).unwrap_or_default();
        text.push(b'\n');
        files::write_or_rescue(&request.out, &text)?;
    }
    Ok(report)
}

/// Nobody else uses the GPUs.
fn free(wanted: &[Gpu]) -> Result<(), Problems> {
    let mut problems = Vec::new();
    for gpu in wanted {
        match gpu.processes() {
            Ok(users) if users.is_empty() => {}
            Ok(users) => {
                let who: Vec<String> = users.iter().map(ToString::to_string).collect();
                let message = format!("is in use by process {}.", who.join(", "));
                problems.push(Problem::new(Code::N16, gpu.uuid().as_str(), message));
            }
            Err(error) => problems.push(error.problem(gpu.uuid().as_str())),
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
}

fn head(request: &Request, gpus: &Gpus, wanted: &[Gpu]) -> Head {
    let facts = wanted.first().map(Gpu::facts);
    Head {
        format: FORMAT.to_owned(),
        command: request.command.clone(),
        pattern: request.settings.pattern.as_ref().map(|pattern| pattern.as_str().to_owned()),
        gpus: wanted.iter().map(|gpu| gpu.uuid().to_string()).collect(),
        gpu_type: facts.map(|facts| facts.type_id.clone()).unwrap_or_default(),
        gpu_name: facts.map(|facts| facts.name.clone()).unwrap_or_default(),
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        driver: gpus.driver_version().ok(),
    }
}

/// Whether the command can be found and run.
fn find_program(command: &[String]) -> Result<(), Problem> {
    let problem = |message: String| Problem::new(Code::Y01, "command", message);
    let Some(program) = command.first() else { return Err(problem("is empty.".to_owned())) };
    let runs = |path: &Path| fs::metadata(path).is_ok_and(|at| at.is_file() && at.permissions().mode() & 0o111 != 0);
    let found = if program.contains('/') {
        runs(Path::new(program))
    } else {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path).any(|folder| runs(&folder.join(program)))
    };
    if found { Ok(()) } else { Err(problem(format!("`{program}` is no program that can be run."))) }
}
