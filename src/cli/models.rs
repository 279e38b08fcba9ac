//! `rats models`: how well the models predict what they did not see.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};
use rats_models::data::Dataset;
use rats_models::evaluate::{TASKS, Task, dvfs, plots, sorted, summary};
use rats_models::score::{Quantity, Score};
use rats_system::clock::Stopwatch;
use serde::Serialize;

use super::{Answer, say};
use crate::bench::env::{commit, cores};
use crate::document::json;
use crate::io::write;
use crate::report::count;

/// Of `rats models`.
#[derive(Debug, Args)]
pub struct ModelsArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: ModelsCommand,
}

/// What to do with the models.
#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// Hold measurements out, predict them, and write a report.
    #[command(after_help = "\
Examples:
  rats models evaluate --data dataset -o reports/2026-12-01-models
  rats models evaluate --data dataset --tasks dvfs --seeds 5 -o report

--data is a folder that `rats dataset build` wrote. The same data, tasks and seeds give the same raw.csv, whatever the threads
(RAYON_NUM_THREADS=1 uses one core). What is done is told on standard error.")]
    Evaluate(EvaluateArgs),
}

/// Of `rats models evaluate`.
#[derive(Debug, Args)]
pub struct EvaluateArgs {
    /// The data set.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// Tasks; all if left out.
    #[arg(long, value_name = "TASK", value_delimiter = ',')]
    pub tasks: Vec<String>,
    /// Number of seeds, from 1 on.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub seeds: u64,
    /// The folder to write to.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// No lines of progress on standard error.
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Serialize)]
struct Env<'a> {
    date: String,
    version: &'static str,
    commit: Option<String>,
    cores: usize,
    data: String,
    points: usize,
    pairs: usize,
    gangs: usize,
    tasks: Vec<&'a str>,
    seeds: Vec<u64>,
}

pub(super) fn run(args: &ModelsArgs) -> Result<Answer, Problems> {
    let ModelsCommand::Evaluate(args) = &args.command;
    let known = || TASKS.iter().map(|task| task.id);
    if let Some(task) = args.tasks.iter().find(|task| !known().any(|id| id == task.as_str())) {
        let message = format!("there is no task `{task}`; tasks: {}.", known().collect::<Vec<_>>().join(", "));
        return Err(Problem::new(Code::U05, "command line", message).into());
    }
    let data = Dataset::read(&args.data)?;
    let seeds: Vec<u64> = (1..=args.seeds).collect();
    let chosen: Vec<_> =
        TASKS.iter().filter(|t| args.tasks.is_empty() || args.tasks.iter().any(|id| id == t.id)).collect();
    let started = Stopwatch::start();
    let tell = |task: &str, part: &str| {
        if !args.quiet {
            say(&format!("task {task}: {part}, {:.0} s\n", started.elapsed().as_secs_f64()));
        }
    };
    let of = |task: &&Task| (task.scores)(&data, &seeds, &|part| tell(task.id, part));
    let scores = sorted(chosen.iter().flat_map(of).collect());
    std::fs::create_dir_all(&args.output)
        .map_err(|error| Problem::new(Code::U02, args.output.display().to_string(), format!("{error}.")))?;
    let env = Env {
        date: rats_system::clock::today(),
        version: env!("CARGO_PKG_VERSION"),
        commit: std::env::current_exe().ok().and_then(|program| commit(&program)),
        cores: cores(),
        data: args.data.display().to_string(),
        points: data.points.len(),
        pairs: data.pairs.len(),
        gangs: data.gangs.len(),
        tasks: chosen.iter().map(|task| task.id).collect(),
        seeds,
    };
    write(&args.output.join("env.json"), json(&env).as_bytes())?;
    write(&args.output.join("raw.csv"), &summary::raw(&scores))?;
    write(
        &args.output.join("summary.md"),
        summary::markdown("Models, judged by what they did not see", &scores).as_bytes(),
    )?;
    draw(&data, &scores, &args.output)?;
    tell("all", "written");
    Ok(Answer::done(format!("{} written to {}\n", count(scores.len(), "score"), args.output.display())))
}

fn draw(data: &Dataset, scores: &[Score], folder: &Path) -> Result<(), Problem> {
    let held_out = scores.iter().any(|score| score.task == "every-4th-clock");
    let examples = if held_out { dvfs::examples(data) } else { Vec::new() };
    let mut all = plots::curves(&examples);
    for quantity in [Quantity::Time, Quantity::Power] {
        all.extend(plots::errors(&examples, quantity));
        all.extend(plots::learning(scores, quantity));
        all.extend(plots::learning_unseen(scores, quantity));
    }
    all.iter().try_for_each(|(name, text)| write(&folder.join(name), text.as_bytes()))
}
