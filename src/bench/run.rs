//! Runs what a report lacks, one row after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rats_domain::check::CheckedPlan;
use rats_domain::codes::Code;
use rats_domain::instance::sha256_hex;
use rats_domain::problem::{Problem, Problems};
use rats_solvers::registry;

use super::case::Case;
use super::child::{How, Job};
use super::env::{Conditions, Env, commit};
use super::judge::judge;
use super::raw::RawFile;
use super::report::{ENV, RAW};
use super::row::{Ending, Row, Trajectory};
use crate::document::json;
use crate::io::{bytes, write};
use crate::report::{number, percent};
use rats_system::clock::today;

/// What is asked of a benchmark.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The folder of the report.
    pub folder: PathBuf,
    /// The instances.
    pub cases: Vec<Case>,
    /// Ids of solvers, in the order of the tables.
    pub solvers: Vec<String>,
    /// Seeds.
    pub seeds: Vec<u64>,
    /// Threads of each run.
    pub threads: usize,
    /// Seconds of each run.
    pub time_limit_s: f64,
    /// Iterations of each run, for methods of our own that iterate.
    pub iterations: Option<u64>,
    /// This program.
    pub program: PathBuf,
    /// The interpreter of the baselines.
    pub python: PathBuf,
    /// The folder of the baselines.
    pub baselines: PathBuf,
}

/// What a benchmark tells while it goes on.
pub trait Listener {
    /// A line about a run.
    fn say(&mut self, line: &str);
    /// A row and its plan.
    fn row(&mut self, case: &Case, row: &Row, plan: Option<&CheckedPlan>);
}

/// How a benchmark ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// Every row is there.
    Complete,
    /// The user ended it.
    Interrupted,
}

/// Runs all rows that are missing.
///
/// # Errors
/// The report was begun under other conditions, a baseline is missing, or a file cannot be read or written.
pub fn run(plan: &Plan, interrupts: &AtomicUsize, listener: &mut dyn Listener) -> Result<Ran, Problems> {
    let env = circumstances(plan)?;
    std::fs::create_dir_all(&plan.folder)
        .map_err(|error| Problem::new(Code::U02, plan.folder.display().to_string(), format!("{error}.")))?;
    write(&plan.folder.join(ENV), json(&env).as_bytes())?;
    let mut raw = RawFile::open(&plan.folder.join(RAW))?;
    let done: BTreeSet<_> = raw.rows.iter().map(Row::key).collect();
    let missing = |case: &&Case| requests(plan, case).any(|row| !done.contains(&row.key()));
    let cases: Vec<&Case> = plan.cases.iter().filter(missing).collect();
    let total =
        plan.cases.iter().flat_map(|case| requests(plan, case)).filter(|row| !done.contains(&row.key())).count();
    let mut count = 0;
    for case in cases {
        let instance = case.instance()?;
        for row in requests(plan, case).filter(|row| !done.contains(&row.key())) {
            count += 1;
            let ended = job(plan, case, &row).run(interrupts).map_err(|error| {
                Problem::new(Code::U01, plan.program_of(&row.solver).display().to_string(), format!("{error}."))
            })?;
            if ended.how == How::Abandoned {
                return Ok(Ran::Interrupted);
            }
            let (row, checked) = judge(&instance, row, &ended);
            listener.say(&format!("{count} of {total}  {}", line(&row)));
            listener.row(case, &row, checked.as_ref());
            raw.append(row)?;
            if interrupts.load(Ordering::Relaxed) > 0 && count < total {
                return Ok(Ran::Interrupted);
            }
        }
    }
    Ok(Ran::Complete)
}

/// The circumstances, joined with those of the report if there is one already.
fn circumstances(plan: &Plan) -> Result<Env, Problems> {
    let mut baselines = BTreeMap::new();
    for solver in plan.solvers.iter().filter(|solver| !is_ours(solver)) {
        baselines.insert(solver.clone(), baseline_version(plan, solver)?);
    }
    let env = Env {
        date: today(),
        conditions: Conditions::here(&plan.program, plan.threads, plan.time_limit_s, plan.iterations),
        commit: commit(&plan.program),
        baselines,
        solvers: plan.solvers.clone(),
        seeds: plan.seeds.clone(),
        instances: plan.cases.clone(),
    };
    let path = plan.folder.join(ENV);
    if !path.exists() {
        let raw = plan.folder.join(RAW);
        if raw.exists() {
            let message = format!("has no {ENV} beside it: under which conditions its rows were made is not known.");
            return Err(Problem::new(Code::U02, raw.display().to_string(), message).into());
        }
        return Ok(env);
    }
    env.after(super::report::read_env(&path)?, &path.display().to_string())
}

/// Whether the registry has the solver; others are baselines.
pub fn is_ours(solver: &str) -> bool {
    registry::find(solver).is_some()
}

fn baseline_version(plan: &Plan, solver: &str) -> Result<String, Problems> {
    let script = plan.script(solver);
    if !script.is_file() {
        let message = format!("there is no solver `{solver}`, and no baseline `{}`.", script.display());
        return Err(Problem::new(Code::U03, "--solvers", message).into());
    }
    let unusable = |reason: &str| {
        let message =
            format!("the baseline {solver} cannot be run: {reason}; `make baselines` installs what it needs.");
        Problem::new(Code::U01, plan.python.display().to_string(), message)
    };
    let output = std::process::Command::new(&plan.python).arg(&script).arg("--version").output();
    let output = output.map_err(|error| unusable(&error.to_string()))?;
    let last = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().last().unwrap_or_default().trim().to_owned();
    if !output.status.success() {
        return Err(unusable(&last(&output.stderr)).into());
    }
    Ok(format!("{}, scripts {}", last(&output.stdout), &scripts_sha256(&plan.baselines)?[..12]))
}

/// One hash of all scripts of the baselines: rows of different models must not mix.
fn scripts_sha256(folder: &Path) -> Result<String, Problems> {
    let unreadable = |error: std::io::Error| Problem::new(Code::U01, folder.display().to_string(), format!("{error}."));
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        paths.push(entry.map_err(unreadable)?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "py"));
    paths.sort();
    let mut content = Vec::new();
    for path in paths {
        content.extend(bytes(&path)?);
    }
    Ok(sha256_hex(&content))
}

impl Plan {
    fn script(&self, solver: &str) -> PathBuf {
        self.baselines.join(format!("{solver}.py"))
    }

    fn program_of(&self, solver: &str) -> &Path {
        if is_ours(solver) { &self.program } else { &self.python }
    }
}

/// The rows of an instance, with everything about the request filled in.
fn requests<'p>(plan: &'p Plan, case: &'p Case) -> impl Iterator<Item = Row> + 'p {
    let pairs = plan.seeds.iter().flat_map(|&seed| plan.solvers.iter().map(move |solver| (seed, solver)));
    pairs.map(move |(seed, solver)| Row {
        suite: case.suite.clone(),
        instance: case.name.clone(),
        solver: solver.clone(),
        seed,
        threads: plan.threads,
        time_limit_s: plan.time_limit_s,
        iterations: plan.iterations,
        status: Ending::Unknown,
        stop: None,
        objective: None,
        bound: None,
        gap: None,
        wall_s: 0.0,
        first_plan_s: None,
        peak_memory_mib: 0,
        valid: None,
        instance_sha256: case.sha256.clone(),
        trajectory: Trajectory::default(),
        message: String::new(),
    })
}

/// The command that makes a row.
fn job(plan: &Plan, case: &Case, row: &Row) -> Job {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let ours = is_ours(&row.solver);
    let mut arguments = if ours {
        vec!["solve".to_owned(), text(&case.path), "--json".to_owned(), "--quiet".to_owned()]
    } else {
        vec![text(&plan.script(&row.solver)), text(&case.path), "--rats".to_owned(), text(&plan.program)]
    };
    let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    if ours {
        option("--solver", row.solver.clone());
        if let Some(iterations) = row.iterations {
            option("--iterations", iterations.to_string());
        }
    }
    option("--time-limit", row.time_limit_s.to_string());
    option("--threads", row.threads.to_string());
    option("--seed", row.seed.to_string());
    Job { program: plan.program_of(&row.solver).to_owned(), arguments, time_limit_s: row.time_limit_s }
}

fn line(row: &Row) -> String {
    let value = |value: Option<f64>, show: fn(f64) -> String| value.map_or_else(|| "-".to_owned(), show);
    let (objective, gap) = (value(row.objective, number), value(row.gap, percent));
    let line = format!(
        "{} {} seed {}: {}, objective {objective}, gap {gap}, {:.2} s, {} MiB  {}",
        row.instance,
        row.solver,
        row.seed,
        row.status.word(),
        row.wall_s,
        row.peak_memory_mib,
        row.message
    );
    line.trim_end().to_owned()
}
