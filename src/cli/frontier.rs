//! `rats frontier`: plans of which none is better in both energy and another term, and what is proved of all others.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rats_domain::codes::Code;
use rats_domain::format::{InstanceFile, PlanFile, read};
use rats_domain::instance::Instance;
use rats_domain::objective::gap;
use rats_domain::problem::{Problem, Problems};
use rats_domain::solver::{Control, Request};
use rats_domain::units::Millijoules;
use rats_solvers::registry;
use serde::Serialize;

use super::Answer;
use super::args::{seconds, whole};
use crate::control::{Display, RunControl, catch_interrupts};
use crate::document::{Terms, json};
use crate::frontier::plot::svg;
use crate::frontier::{Against, Frontier, Point, Stair, Trace, trace};
use crate::io::{bytes, place_warnings, placed, write};
use crate::report::{Align, kwh, number, percent, printable, table};

/// Of `rats frontier`.
#[derive(Debug, Args)]
pub struct FrontierArgs {
    /// The instance file, `-` for standard input.
    pub instance: PathBuf,
    /// What to trade energy against.
    #[arg(long, value_enum, default_value = "makespan")]
    pub against: Against,
    /// Number of limits to try between the ends; with as many as there are units in between, none is left out.
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..))]
    pub points: u32,
    /// Most time to take for each point, in seconds.
    #[arg(long, value_name = "S", default_value = "10", allow_negative_numbers = true, value_parser = seconds)]
    pub time_limit: Duration,
    /// The method; see `rats solvers`.
    #[arg(long, value_name = "ID", default_value = "auto")]
    pub solver: String,
    /// Seed of everything random.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = whole)]
    pub seed: u64,
    /// Threads to use; all if not given.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// A folder to write plans, frontier.json and frontier.svg to; made if it does not exist.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Document {
    instance: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance_sha256: Option<String>,
    against: &'static str,
    solver: &'static str,
    seed: u64,
    /// Whether the points are proved to be the whole frontier.
    complete: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    infeasible: Option<String>,
    points: Vec<PointPart>,
    /// What is limited, and of what the stairs are bounds.
    limited: &'static str,
    bounded: &'static str,
    /// A bound on what is limited.
    least: Option<f64>,
    stairs: Vec<Stair>,
}

#[derive(Serialize)]
struct PointPart {
    #[serde(flatten)]
    terms: Terms,
    bound: Option<f64>,
    gap: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
}

pub(super) fn run(args: &FrontierArgs) -> Result<Answer, Problems> {
    let content = bytes(&args.instance)?;
    let located = |problems| placed(&args.instance, problems);
    let mut valid = Instance::read(&content).map_err(located)?;
    place_warnings(&args.instance, &mut valid.warnings);
    super::warn(&valid.warnings);
    let file = read::<InstanceFile>(&content).map_err(located)?.document;
    let solver = registry::find(&args.solver)
        .ok_or_else(|| Problem::new(Code::U03, &args.solver, "there is no such solver."))?;
    if let Some(folder) = &args.output {
        let failed = |error| Problem::new(Code::U02, folder.display().to_string(), format!("{error}."));
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let threads = args.threads.map_or_else(super::solve::all_threads, usize::from);
    let interrupted = catch_interrupts().unwrap_or_default();
    let control = || -> Box<dyn Control> {
        Box::new(RunControl::start(Some(args.time_limit), Arc::clone(&interrupted), Display::Quiet))
    };
    let instance = &valid.instance;
    let found = trace(&Trace {
        file: &file,
        instance,
        against: args.against,
        solver,
        request: Request { seed: args.seed, threads, ..Request::default() },
        points: args.points,
        control: &control,
    })?;
    let document = document(args, instance, solver.about().id, &found);
    if let Some(folder) = &args.output {
        write_all(folder, args, instance, &found, &document)?;
    }
    let text = if args.json { json(&document) } else { text(args, instance, &found) };
    Ok(Answer { text, exit: u8::from(found.points.is_empty()) })
}

/// The name of the plan file of a point.
fn plan_name(position: usize) -> String {
    format!("plan-{:02}.json", position + 1)
}

fn document(args: &FrontierArgs, instance: &Instance, solver: &'static str, found: &Frontier) -> Document {
    let part = |(position, point): (usize, &Point)| {
        let bound = found.bound_at(args.against, point);
        PointPart {
            terms: Terms::of(instance, point.plan.evaluation()),
            bound,
            gap: bound.map(|bound| gap(minimized(args.against, point), bound)),
            plan: args.output.is_some().then(|| plan_name(position)),
        }
    };
    let other = args.against.name();
    let (limited, bounded) = if args.against == Against::Makespan { (other, "energy") } else { ("energy", other) };
    Document {
        instance: instance.name.clone(),
        instance_sha256: instance.sha256.clone(),
        against: other,
        solver,
        seed: args.seed,
        complete: found.complete,
        infeasible: found.infeasible.clone(),
        points: found.points.iter().enumerate().map(part).collect(),
        limited,
        bounded,
        least: found.least,
        stairs: found.stairs.clone(),
    }
}

/// The term of a point that bounds are about.
fn minimized(against: Against, point: &Point) -> f64 {
    if against == Against::Makespan { Millijoules(point.energy_mj).joules() } else { point.other }
}

fn write_all(
    folder: &Path,
    args: &FrontierArgs,
    instance: &Instance,
    found: &Frontier,
    document: &Document,
) -> Result<(), Problem> {
    for (position, point) in found.points.iter().enumerate() {
        let plan = PlanFile {
            solver: Some(args.solver.clone()),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            seed: Some(args.seed),
            objective: Some(point.plan.evaluation().objective),
            ..point.plan.schedule().to_plan(instance)
        };
        write(&folder.join(plan_name(position)), json(&plan).as_bytes())?;
    }
    write(&folder.join("frontier.json"), json(document).as_bytes())?;
    let unit =
        if args.against == Against::Cost { instance.tariff_unit.as_deref().unwrap_or("tariff unit") } else { "h" };
    match svg(found, args.against, &instance.name, unit) {
        Some(picture) => write(&folder.join("frontier.svg"), picture.as_bytes()),
        None => Ok(()),
    }
}

fn text(args: &FrontierArgs, instance: &Instance, found: &Frontier) -> String {
    let name = printable(&instance.name);
    if let Some(reason) = &found.infeasible {
        return format!("{name}: infeasible\n\nNo plan can be valid: {}\n", printable(reason));
    }
    let against = args.against.name();
    let whole = if found.complete { "the whole frontier, proved" } else { "not proved to be the whole frontier" };
    let mut text = format!("{name}: energy against {against}, {}: {whole}\n\n", args.solver);
    let bound_of = if args.against == Against::Makespan { "energy at least" } else { "at least" };
    let mut rows = vec![["point", against, "energy", bound_of, "gap"].map(str::to_owned).to_vec()];
    for (position, point) in found.points.iter().enumerate() {
        let bound = found.bound_at(args.against, point);
        let shown = |bound: f64| match args.against {
            Against::Makespan => format!("{:.6} kWh", bound / 3.6e6),
            Against::Cost | Against::Tardiness => number(bound),
        };
        rows.push(vec![
            (position + 1).to_string(),
            number(point.other) + if args.against == Against::Cost { "" } else { " s" },
            kwh(Millijoules(point.energy_mj)),
            bound.map_or_else(|| "-".to_owned(), shown),
            bound.map_or_else(|| "-".to_owned(), |bound| percent(gap(minimized(args.against, point), bound))),
        ]);
    }
    text += &table(&rows, &[Align::Right]);
    if let Some(folder) = &args.output {
        let _ = write!(text, "\nplans, frontier.json and frontier.svg written to {}\n", folder.display());
    }
    text
}
