//! `rats record`: solves instances, checks the plans, and keeps the best values in the registry.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rats_domain::check::CheckedPlan;
use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};
use rats_domain::solver::{Request, Solver};
use rats_solvers::{Solved, Status, registry, run};

use super::Answer;
use super::args::RecordArgs;
use crate::best_known::{BestKnown, Change, Entry};
use crate::control::{Display, RunControl};
use crate::io::{read_text, write};

pub(super) fn run_command(args: &RecordArgs) -> Result<Answer, Problems> {
    let solver = registry::find(&args.solver)
        .ok_or_else(|| Problem::new(Code::U03, "--solver", format!("there is no solver `{}`.", args.solver)))?;
    let mut known = read_registry(&args.into)?;
    let mut text = String::new();
    for path in &args.instances {
        let (name, change) = record(&mut known, solver, path, args.time_limit)?;
        let word = match change {
            Some(Change::New) => "new",
            Some(Change::Better) => "better",
            Some(Change::Renewed) => "renewed, the instance has changed",
            Some(Change::None) => "nothing new",
            None => "no plan and no proof",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name}: {word}");
    }
    write(&args.into, known.to_text().as_bytes())?;
    Ok(Answer::done(text))
}

fn read_registry(path: &Path) -> Result<BestKnown, Problems> {
    if !path.exists() {
        return Ok(BestKnown::default());
    }
    let text = read_text(path)?;
    let wrong = |error: String| Problem::new(Code::R04, path.display().to_string(), format!("{error}."));
    Ok(BestKnown::parse(&text).map_err(wrong)?)
}

fn record(
    known: &mut BestKnown,
    solver: &dyn Solver,
    path: &Path,
    limit: Option<Duration>,
) -> Result<(String, Option<Change>), Problems> {
    let instance = super::instance(path)?;
    let control = RunControl::start(limit, Arc::new(AtomicBool::new(false)), Display::Quiet);
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let family = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    let outcome = run(solver, &instance, &Request::default(), &control)
        .map_err(|fault| Problem::new(Code::U04, path.display().to_string(), format!("{fault}.")))?;
    let hash = instance.sha256.clone().unwrap_or_default();
    let change = entry(&outcome, solver.about().id, hash).map(|entry| known.offer(&family, &name, entry));
    Ok((name, change))
}

/// The entry that a run earns; `None` without plan and proof.
fn entry(outcome: &Solved, method: &str, instance_sha256: String) -> Option<Entry> {
    let evaluation = outcome.plan.as_ref().map(CheckedPlan::evaluation);
    if evaluation.is_none() && outcome.status != Status::Infeasible {
        return None;
    }
    Some(Entry {
        status: outcome.status.word().to_owned(),
        objective: evaluation.map(|evaluation| evaluation.objective),
        bound: outcome.bound,
        energy_mj: evaluation.and_then(|evaluation| i64::try_from(evaluation.terms.energy.0).ok()),
        solver: method.to_owned(),
        instance_sha256,
    })
}
