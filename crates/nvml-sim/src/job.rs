//! A stand-in for a training process: takes GPUs, advances its steps by the hidden truth, prints progress, ends as told.
//!
//! The steps are integrated inside the shared state at the clocks that the GPUs reach, so a change of clock in the middle of
//! a step counts, however rarely this process looks. All times it prints are simulated.

use std::env;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::{Args, ValueEnum};
use rats_system::clock;

use crate::config::{Config, path_from_environment};
use crate::error::SimError;
use crate::simulator::{JobSpec, Progress, Simulator};

/// Longest real time between two looks at the progress.
const PATIENCE: Duration = Duration::from_millis(100);
/// Shortest.
const BREATH: Duration = Duration::from_micros(500);

/// What the process should do.
#[derive(Args, Clone, Debug)]
pub struct JobArguments {
    /// Workload, as the configuration names it.
    #[arg(long)]
    pub workload: String,
    /// Steps to do.
    #[arg(long, default_value_t = 100)]
    pub steps: u64,
    /// Simulated seconds before the first step.
    #[arg(long, default_value_t = 0.0)]
    pub startup: f64,
    /// Exit code after the last step.
    #[arg(long, default_value_t = 0)]
    pub exit_code: u8,
    /// Fail with exit code 1 after this step.
    #[arg(long)]
    pub crash_at: Option<u64>,
    /// Do nothing more after this step, but stay on the GPUs.
    #[arg(long)]
    pub hang_at: Option<u64>,
    /// Print progress every so many steps; a twentieth of them if absent.
    #[arg(long)]
    pub every: Option<u64>,
    /// Ignore SIGTERM and SIGINT.
    #[arg(long)]
    pub ignore_term: bool,
    /// Start a child that stays on the GPUs when this process ends.
    #[arg(long, value_enum)]
    pub leave: Option<Leave>,
    /// Real seconds after which such a child ends by itself.
    #[arg(long, default_value_t = 300)]
    pub child_seconds: u64,
    /// GPUs, as UUIDs or indices with commas between; `CUDA_VISIBLE_DEVICES` if absent, else the first GPU.
    #[arg(long)]
    pub gpus: Option<String>,
    /// Configuration; `NVML_SIM_CONFIG` if absent.
    #[arg(long)]
    pub config: Option<PathBuf>,
    /// What a child is told.
    #[arg(long, hide = true, value_enum)]
    pub as_child: Option<Leave>,
}

/// How a child gets away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Leave {
    /// In the same process group.
    Fork,
    /// In a session of its own.
    Setsid,
    /// In a session of its own and with a parent that ended at once.
    Daemon,
}

/// Does what the arguments say; the exit code.
///
/// # Errors
/// The configuration, a GPU or the workload is wrong, or output is impossible.
pub fn run(arguments: &JobArguments, out: &mut impl Write) -> Result<u8, SimError> {
    if arguments.ignore_term {
        let failed = |error: ctrlc::Error| SimError::Compose(format!("cannot ignore signals: {error}"));
        ctrlc::set_handler(|| {}).map_err(failed)?;
    }
    let path = arguments.config.clone().map_or_else(path_from_environment, Ok)?;
    let config = Config::load(&path)?;
    let gpus = gpus(arguments, &config)?;
    let simulator = Simulator::open(config)?;
    if let Some(leave) = arguments.as_child {
        return child(arguments, leave, &simulator, gpus, out);
    }
    let target =
        [Some(arguments.steps), arguments.crash_at, arguments.hang_at].into_iter().flatten().min().unwrap_or(0);
    let hangs = arguments.hang_at.is_some_and(|at| at <= target);
    let spec = JobSpec {
        gpus,
        workload: arguments.workload.clone(),
        steps: target as f64,
        startup_s: arguments.startup,
        lingers: hangs,
    };
    let id = simulator.attach(std::process::id(), &spec)?;
    if let Some(leave) = arguments.leave {
        start_child(arguments, leave, &spec.gpus)?;
    }
    let ended = watch(&simulator, id, target, arguments, out)?;
    if !ended {
        eprintln!("sim-job: CUDA error: a GPU is lost");
        return Ok(1);
    }
    if hangs {
        loop {
            clock::pause(Duration::from_secs(3600));
        }
    }
    if arguments.crash_at.is_some_and(|at| at <= target) {
        eprintln!("sim-job: crashed after step {target} as told");
        return Ok(1);
    }
    simulator.detach(id)?;
    Ok(arguments.exit_code)
}

/// Prints progress until the last step; false if a GPU was lost before.
fn watch(
    simulator: &Simulator,
    id: u64,
    target: u64,
    arguments: &JobArguments,
    out: &mut impl Write,
) -> Result<bool, SimError> {
    let every = arguments.every.unwrap_or(arguments.steps.div_ceil(20)).max(1);
    let gone = || SimError::Compose("the simulator knows this process no more".into());
    let (mut next, mut last) = (every.min(target), None);
    loop {
        let progress = simulator.progress(id)?.ok_or_else(gone)?;
        let (mut done, mut time) = last.unwrap_or((0, progress.began_s));
        while done < target && progress.steps >= next as f64 {
            let now = reached(&progress, next);
            let step_s = (now - time) / (next - done) as f64;
            writeln!(out, "step {next}/{} time {step_s:.6} s", arguments.steps)
                .and_then(|()| out.flush())
                .map_err(output)?;
            (done, time) = (next, now);
            next = (next + every).min(target);
        }
        last = (done > 0).then_some((done, time));
        if progress.ended_s.is_some() || done == target {
            return Ok(true);
        }
        if progress.lost {
            return Ok(false);
        }
        clock::pause(wait(&progress, next, simulator.config().speedup));
    }
}

/// Simulated time at which a step that is done ended, by the rate of this moment.
fn reached(progress: &Progress, step: u64) -> f64 {
    let (until, rate) = (progress.ended_s.unwrap_or(progress.now_s), progress.rate);
    let behind = progress.steps - step as f64;
    if rate > 0.0 { until - behind / rate } else { until }
}

/// Real time until the next step to print, within bounds.
fn wait(progress: &Progress, next: u64, speedup: f64) -> Duration {
    let start = (progress.began_s - progress.now_s).max(0.0);
    let left = if progress.rate > 0.0 { (next as f64 - progress.steps) / progress.rate } else { start };
    Duration::try_from_secs_f64(left.max(0.0) / speedup).unwrap_or(PATIENCE).clamp(BREATH, PATIENCE)
}

/// UUIDs of the GPUs to use.
fn gpus(arguments: &JobArguments, config: &Config) -> Result<Vec<String>, SimError> {
    let listed = arguments.gpus.clone().or_else(|| env::var("CUDA_VISIBLE_DEVICES").ok()).unwrap_or_else(|| "0".into());
    let uuid = |name: &str| {
        let index = name.parse::<usize>().ok().and_then(|index| config.gpus.get(index));
        let index = index.map(|gpu| gpu.uuid.clone());
        index.or_else(|| config.index_of(name).map(|_| name.into())).ok_or_else(|| SimError::UnknownGpu(name.into()))
    };
    listed.split(',').map(str::trim).map(uuid).collect()
}

/// Starts this program again as a child that outlives it.
fn start_child(arguments: &JobArguments, leave: Leave, gpus: &[String]) -> Result<(), SimError> {
    let name = match leave {
        Leave::Fork => "fork",
        Leave::Setsid => "setsid",
        Leave::Daemon => "daemon",
    };
    let mut command = Command::new(env::current_exe().map_err(output)?);
    // The first argument that is no option names a subcommand, if this is one.
    command.args(env::args().nth(1).filter(|first| !first.starts_with('-')));
    command.args(["--workload", &arguments.workload, "--gpus", &gpus.join(","), "--as-child", name]);
    command.args(["--child-seconds", &arguments.child_seconds.to_string()]);
    if let Some(config) = &arguments.config {
        command.arg("--config").arg(config);
    }
    if arguments.ignore_term {
        command.arg("--ignore-term");
    }
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(output)?;
    if leave == Leave::Daemon {
        child.wait().map_err(output)?;
    }
    Ok(())
}

/// Stays on the GPUs until its time is over.
fn child(
    arguments: &JobArguments,
    leave: Leave,
    simulator: &Simulator,
    gpus: Vec<String>,
    out: &mut impl Write,
) -> Result<u8, SimError> {
    if leave != Leave::Fork {
        rustix::process::setsid().map_err(|error| output(error.into()))?;
    }
    if leave == Leave::Daemon {
        let again = JobArguments { as_child: None, ..arguments.clone() };
        return start_child(&again, Leave::Fork, &gpus).map(|()| 0);
    }
    let workload = arguments.workload.clone();
    let spec = JobSpec { gpus, workload, steps: f64::INFINITY, startup_s: 0.0, lingers: false };
    let id = simulator.attach(std::process::id(), &spec)?;
    writeln!(out, "child {}", std::process::id()).map_err(output)?;
    clock::pause(Duration::from_secs(arguments.child_seconds));
    simulator.detach(id)?;
    Ok(0)
}

fn output(source: io::Error) -> SimError {
    SimError::State { path: "standard output".into(), source }
}
