//! `rats record`: solves instances, checks the plans, and keeps the best values in the registry.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rats_domain::check::CheckedPlan;
use rats_domain::codes::Code;
use rats_domain::evaluate::Evaluation;
use rats_domain::problem::{Problem, Problems};
use rats_domain::solver::{Request, Solver};
use rats_solvers::{Status, registry, run};

use super::Answer;
use super::args::RecordArgs;
use crate::best_known::{BestKnown, Change, Entry};
use crate::control::{Display, RunControl, catch_interrupts};
use crate::io::{can_write, keep_apart, read_best_known, standard_once, write_or_rescue};
use crate::report::{count, printable};

pub(super) fn run_command(args: &RecordArgs) -> Result<Answer, Problems> {
    let solver = registry::find(&args.solver)
        .ok_or_else(|| Problem::new(Code::U03, "--solver", format!("there is no solver `{}`.", args.solver)))?;
    let inputs = || args.instances.iter().map(PathBuf::as_path);
    standard_once(inputs())?;
    keep_apart(&args.into, inputs())?;
    can_write(&args.into)?;
    let mut known = read_registry(&args.into)?;
    let interrupted = catch_interrupts().unwrap_or_default();
    let mut lines = Vec::new();
    let mut failure = None;
    for (done, path) in args.instances.iter().enumerate() {
        let control = RunControl::start(args.time_limit, Arc::clone(&interrupted), Display::Quiet);
        match record(&mut known, solver, path, &control) {
            Ok((name, change)) => lines.push(format!("{}: {}\n", printable(&name), word(change))),
            Err(problems) => failure = Some(problems),
        }
        if interrupted.load(Ordering::Relaxed) {
            let all = count(args.instances.len(), "instance");
            lines.push(format!("interrupted in {} of {all}\n", done + 1));
        }
        if failure.is_some() || interrupted.load(Ordering::Relaxed) {
            break;
        }
    }
    // What was done is kept, whatever came after.
    write_or_rescue(&args.into, known.to_text().as_bytes())?;
    let text = lines.concat();
    match failure {
        None => Ok(Answer::done(text)),
        Some(problems) => {
            super::say(&text);
            Err(problems)
        }
    }
}

pub(super) fn word(change: Option<Change>) -> String {
    match change {
        Some(Change::New) => "new".to_owned(),
        Some(Change::Better) => "better".to_owned(),
        Some(Change::Renewed) => "renewed, the instance has changed".to_owned(),
        Some(Change::Contradicted(words)) => format!("CONTRADICTED: {words}; the entry is replaced"),
        Some(Change::None) => "nothing new".to_owned(),
        None => "no plan and no proof".to_owned(),
    }
}

/// The registry, empty if there is none yet.
pub(super) fn read_registry(path: &Path) -> Result<BestKnown, Problems> {
    if !path.exists() {
        return Ok(BestKnown::default());
    }
    read_best_known(path)
}

fn record(
    known: &mut BestKnown,
    solver: &dyn Solver,
    path: &Path,
    control: &RunControl,
) -> Result<(String, Option<Change>), Problems> {
    let instance = super::instance(path)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let family = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    let outcome = run(solver, &instance, &Request::default(), control)
        .map_err(|fault| Problem::new(Code::U04, path.display().to_string(), format!("{fault}.")))?;
    let hash = instance.sha256.clone().unwrap_or_default();
    let evaluation = outcome.plan.as_ref().map(CheckedPlan::evaluation);
    let change = entry(evaluation, outcome.status.word(), outcome.bound, solver.about().id, hash)
        .map(|entry| known.offer(&family, &name, entry));
    Ok((name, change))
}

/// The entry that a run earns; `None` without plan and proof.
pub(super) fn entry(
    plan: Option<&Evaluation>,
    status: &str,
    bound: Option<f64>,
    method: &str,
    instance_sha256: String,
) -> Option<Entry> {
    if plan.is_none() && status != Status::Infeasible.word() {
        return None;
    }
    Some(Entry {
        status: status.to_owned(),
        objective: plan.map(|evaluation| evaluation.objective),
        bound,
        energy_mj: plan.and_then(|evaluation| i64::try_from(evaluation.terms.energy.0).ok()),
        solver: method.to_owned(),
        instance_sha256,
    })
}
