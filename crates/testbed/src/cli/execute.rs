//! `rats execute`: a plan, carried out on the GPUs of this machine.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use clap::Args;
use rats_domain::check::check;
use rats_domain::codes::Code;
use rats_domain::format::{InstanceFile, PlanFile, read};
use rats_domain::instance::Instance;
use rats_domain::problem::{Problem, Problems, Warning};
use rats_system::files::{bytes, place_warnings, placed, write};

use super::live::Live;
use super::{Answer, LibraryArgs, StateArgs};
use crate::custody::guardian::this_program;
use crate::execute::{Hooks, JobsFile, Outcome, Replan, Request, Settings, prepare};
use crate::inventory::Inventory;
use crate::process::expand;
use crate::trace::{Line, TRACE_FILE};

/// The environment variable that names the simulator's configuration.
const SIMULATOR: &str = "NVML_SIM_CONFIG";

/// Of `rats execute`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rats execute instance.json plan.json --inventory inventory.json --dry-run
  rats execute instance.json plan.json --inventory inventory.json --jobs jobs.json --run-dir runs/monday
  rats execute instance.json plan.json --inventory inventory.json --replan

Ctrl-C once: nothing more is started, what runs may end. Twice: what runs is ended. GPUs are put back either way.
Run again with the same --run-dir: what has not run is carried out. Exit code 0 if every job succeeded and every GPU is as
it was found, 1 if not, 2 if nothing could be started.")]
pub struct ExecuteArgs {
    /// The instance.
    pub instance: PathBuf,
    /// A plan for it that breaks no rule.
    pub plan: PathBuf,
    /// Which real GPU each GPU is (`rats discover`).
    #[arg(long, value_name = "FILE")]
    pub inventory: PathBuf,
    /// What jobs are started with, where the instance does not say it.
    #[arg(long, value_name = "FILE")]
    pub jobs: Option<PathBuf>,
    /// Where the trace and the logs of the jobs go.
    #[arg(long, value_name = "DIR", default_value = "rats-run")]
    pub run_dir: PathBuf,
    /// Check everything, say what would be started when, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Print the trace line by line, one JSON document each.
    #[arg(long)]
    pub json: bool,
    /// Readings of power and clocks a second.
    #[arg(long, default_value_t = 10.0)]
    pub hz: f64,
    /// How many more times a job that failed is started.
    #[arg(long, default_value_t = 1)]
    pub retries: u32,
    /// Deviation of a job's time, as a share of its planned time, that counts as drift.
    #[arg(long, default_value_t = 0.1)]
    pub drift: f64,
    /// How many times its planned time a job may take before it is ended.
    #[arg(long, default_value_t = 3.0)]
    pub overrun: f64,
    /// Seconds that a job may take to end after SIGTERM.
    #[arg(long, default_value_t = 10.0)]
    pub grace: f64,
    /// Have what has not started planned anew after drift or a lost GPU, by this command: it reads {instance} and writes {plan}.
    #[arg(long, value_name = "COMMAND")]
    pub replan_with: Option<String>,
    /// Have it planned anew by the solver of this program (`rats` has one, `rats-testbed` has none).
    #[arg(long, conflicts_with = "replan_with")]
    pub replan: bool,
    /// Seconds that the solver may take for a new plan.
    #[arg(long, value_name = "S", default_value_t = 5.0, requires = "replan")]
    pub replan_seconds: f64,
    /// Seconds of plan time in one second; on the simulator only [default there: as it is configured].
    #[arg(long)]
    pub speedup: Option<f64>,
    /// Which NVML.
    #[command(flatten)]
    pub library: LibraryArgs,
    /// Where journals and locks are.
    #[command(flatten)]
    pub state: StateArgs,
}

/// Carries a plan out. `solver`: what `--replan` has new plans made by; absent in a program without solvers.
///
/// # Errors
/// Everything that keeps it from starting.
pub fn run(args: &ExecuteArgs, solver: Option<&Replan<'_>>) -> Result<Answer, Problems> {
    let (request, warnings) = request(args)?;
    if args.replan && solver.is_none() {
        let message = "--replan needs a solver, and this program has none; name a command with --replan-with.";
        return Err(Problem::new(Code::U05, "command line", message).into());
    }
    within("replan-seconds", args.replan_seconds, 0.1, 86_400.0)?;
    let prepared = prepare(request)?;
    if args.dry_run {
        let mut text = String::new();
        for line in prepared.schedule() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{line}");
        }
        return Ok(Answer { text, exit: 0, warnings });
    }
    let by_command = args.replan_with.as_ref().map(|command| {
        let run_dir = args.run_dir.clone();
        move |instance: &InstanceFile| planned_by(command, &run_dir, instance)
    });
    let by_command: Option<&Replan<'_>> = by_command.as_ref().map(|plan| plan as &Replan<'_>);
    let mut live = Live::new(std::io::stderr().is_terminal() && !args.json);
    let mut observe = |line: &Line| {
        if args.json {
            // A reader that has gone away does not stop a run.
            let text = serde_json::to_string(line).unwrap_or_default();
            let _ = writeln!(std::io::stdout().lock(), "{text}");
        } else {
            live.tell(line);
        }
    };
    let hooks = Hooks {
        interrupts: interrupts()?,
        replan: by_command.or(solver.filter(|_| args.replan)),
        observe: &mut observe,
    };
    let outcome = prepared.execute(hooks)?;
    let text = if args.json { String::new() } else { text(&outcome, &args.run_dir) };
    Ok(Answer { text, exit: u8::from(!outcome.is_complete()), warnings })
}

fn request(args: &ExecuteArgs) -> Result<(Request, Vec<Warning>), Problems> {
    let content = bytes(&args.instance)?;
    let read_instance = Instance::read(&content).map_err(|problems| placed(&args.instance, problems))?;
    let file = read::<InstanceFile>(&content).map_err(|problems| placed(&args.instance, problems))?.document;
    let mut warnings = read_instance.warnings;
    place_warnings(&args.instance, &mut warnings);
    let instance = read_instance.instance;
    let plan = read::<PlanFile>(&bytes(&args.plan)?).map_err(|problems| placed(&args.plan, problems))?;
    let mut report = check(&instance, &plan.document).map_err(|problems| placed(&args.plan, problems))?;
    place_warnings(&args.plan, &mut report.warnings);
    warnings.append(&mut report.warnings);
    let plan = report.into_checked().map_err(|violations| {
        let place = args.plan.display().to_string();
        let problem = |violation: rats_domain::check::Violation| {
            Problem::new(Code::U06, &place, format!("{}: {}.", violation.code, violation.message))
        };
        Problems(violations.into_iter().map(problem).collect())
    })?;
    let (inventory, mut more) = Inventory::read(&args.inventory)?;
    warnings.append(&mut more);
    let (jobs, mut more) = args.jobs.as_deref().map(JobsFile::read).transpose()?.unwrap_or_default();
    warnings.append(&mut more);
    let request = Request {
        file,
        instance,
        plan,
        name: args.plan.display().to_string(),
        inventory,
        jobs,
        run_dir: args.run_dir.clone(),
        state: args.state.state(),
        library: args.library.library(),
        program: this_program(),
        settings: settings(args)?,
    };
    Ok((request, warnings))
}

fn settings(args: &ExecuteArgs) -> Result<Settings, Problem> {
    let speedup = match args.speedup {
        Some(speedup) if is_simulated() => within("speedup", speedup, 1e-3, 1e6)?,
        Some(_) => {
            let message = format!("--speedup needs the simulator: {SIMULATOR} is not set.");
            return Err(Problem::new(Code::U05, "command line", message));
        }
        None => simulated_speedup(),
    };
    Ok(Settings {
        hz: within("hz", args.hz, 0.01, 1000.0)?,
        retries: args.retries,
        drift: within("drift", args.drift, 0.0, 1e6)?,
        overrun: within("overrun", args.overrun, 1.0, 1e6)?,
        grace: Duration::from_secs_f64(within("grace", args.grace, 0.0, 86_400.0)?),
        speedup,
    })
}

fn within(name: &str, value: f64, least: f64, most: f64) -> Result<f64, Problem> {
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(Problem::new(Code::U05, "command line", format!("--{name} must lie between {least} and {most}.")))
}

fn is_simulated() -> bool {
    std::env::var_os(SIMULATOR).is_some()
}

/// Seconds of the simulated GPUs in one of the wall; 1 for real ones.
pub(super) fn simulated_speedup() -> f64 {
    let configured = |config: PathBuf| {
        let document: serde_json::Value = serde_json::from_slice(&bytes(&config).ok()?).ok()?;
        document["speedup"].as_f64()
    };
    std::env::var_os(SIMULATOR).map(PathBuf::from).and_then(configured).unwrap_or(1.0)
}

/// Counts how often the user asks to stop, from the first call on.
pub(super) fn interrupts() -> Result<&'static AtomicU32, Problem> {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let counted = ctrlc::set_handler(|| {
        ASKED.fetch_add(1, Ordering::AcqRel);
    });
    match counted {
        // A second run of one process counts on.
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(&ASKED),
        Err(error) => Err(Problem::new(Code::U05, "signals", format!("{error}."))),
    }
}

/// The plan that a command makes.
fn planned_by(command: &str, run_dir: &Path, instance: &InstanceFile) -> Result<PlanFile, Problems> {
    let (input, output) = (run_dir.join("replan-instance.json"), run_dir.join("replan-plan.json"));
    let failed = |message: String| Problem::new(Code::X16, "--replan-with", message);
    write(&input, &serde_json::to_vec_pretty(instance).unwrap_or_default())?;
    let paths = [("instance", &input), ("plan", &output)];
    let values = paths.map(|(name, path)| (name, path.display().to_string())).into_iter().collect();
    let line = expand(command, &values).map_err(|name| failed(format!("`{{{name}}}` has no value here.")))?;
    // What an earlier call has written is no answer to this one.
    let _ = std::fs::remove_file(&output);
    let ran = Command::new("/bin/sh").arg("-c").arg(&line).stdin(std::process::Stdio::null()).output();
    let ran = ran.map_err(|error| failed(format!("{error}.")))?;
    if !ran.status.success() {
        let said = String::from_utf8_lossy(&ran.stderr);
        let last = said.lines().last().unwrap_or_default();
        return Err(failed(format!("`{line}` ended with {}: {last}", ran.status)).into());
    }
    Ok(read::<PlanFile>(&bytes(&output)?).map_err(|problems| placed(&output, problems))?.document)
}

fn text(outcome: &Outcome, run_dir: &Path) -> String {
    let mut text = String::new();
    let counts: Vec<String> = outcome.counts().iter().map(|(state, count)| format!("{count} {state}")).collect();
    let _ = writeln!(text, "jobs: {}", if counts.is_empty() { "none".to_owned() } else { counts.join(", ") });
    for problem in outcome.jobs.iter().filter_map(|job| job.problem.as_ref()).chain(&outcome.problems) {
        let _ = writeln!(text, "  {problem}");
    }
    let sampling = outcome.sampling;
    let (median, high, most) = sampling.jitter_ms;
    let _ = writeln!(
        text,
        "readings: {} rounds, late by {median:.1} ms (median), {high:.1} ms (99 %), {most:.1} ms (most); {:.2} % of a core",
        sampling.rounds,
        100.0 * sampling.core_share
    );
    if outcome.marks_left.is_empty() {
        text.push_str("GPUs: as they were found\n");
    }
    for problem in &outcome.marks_left {
        let _ = writeln!(text, "  {problem}");
    }
    let _ = writeln!(text, "trace: {}", run_dir.join(TRACE_FILE).display());
    text
}
