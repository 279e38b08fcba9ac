//! The command line: arguments in, one answer out.
//!
//! A command is a function from its arguments to an [`Answer`]; only this module writes to standard output. Errors go
//! to standard error, one line each: `error [CODE] place: message remedy`.

mod args;
mod bench;
mod bound;
mod build;
mod check;
mod clocks;
mod compare;
mod conflict;
mod dataset;
mod edl;
mod explain;
mod export;
mod fit;
#[cfg(test)]
pub(crate) mod fixtures;
mod frontier;
mod generate;
mod import;
mod info;
mod info_table;
mod models;
mod record;
mod rows;
mod scale;
mod schema;
mod share;
mod simulated;
mod solve;
mod solvers;
mod testbed;
mod topology;
mod unseen;

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind as Usage;
use clap::{CommandFactory, Parser};
use rats_domain::check::{Report, Violation, check as check_plan};
use rats_domain::codes::Code;
use rats_domain::instance::{Instance, ReadInstance};
use rats_domain::problem::{Problem, Problems, Warning};

use self::args::{Arguments, Command};
use crate::io::{place_warnings, placed, read_instance, read_plan};
use crate::report::printable;

/// What a command has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// For standard output.
    pub text: String,
    /// 0 done, 1 a valid run with a negative answer.
    pub exit: u8,
}

impl Answer {
    fn done(text: String) -> Self {
        Self { text, exit: 0 }
    }
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(|| "rats".to_owned(), ToString::to_string);
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let message = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("panic");
        complain(&Problem::new(Code::U08, place, format!("{message}.")).into());
        std::process::exit(2);
    }));
    let answer = match Arguments::try_parse() {
        Ok(arguments) => answer(arguments.command),
        Err(error) => usage(&error),
    };
    match answer.and_then(|answer| print(&answer)) {
        Ok(exit) => exit.into(),
        Err(problems) => {
            complain(&problems);
            ExitCode::from(2)
        }
    }
}

fn answer(command: Command) -> Result<Answer, Problems> {
    match command {
        Command::Info(args) => info::run(&args),
        Command::Build(args) => build::run(&args),
        Command::Edl(args) => edl::run(&args),
        Command::Fit(args) => fit::run(&args),
        Command::Predict(args) => fit::predict(&args),
        Command::Models(args) => models::run(&args),
        Command::Frontier(args) => frontier::run(&args),
        Command::Generate(args) => generate::run(&args),
        Command::Solve(args) => solve::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Bound(args) => bound::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Record(args) => record::run_command(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Topology(args) => topology::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Dataset(args) => dataset::run(&args),
        Command::Unseen(args) => unseen::run(&args),
        Command::Share(args) => share::run(&args),
        Command::Scale(args) => scale::run(&args),
        Command::Testbed(command) => testbed::run(&command),
        Command::SimConfig(args) => simulated::config(&args),
        Command::SimJob(args) => simulated::job(&args),
        Command::SimTruth(args) => simulated::truth(&args),
        Command::Schema(args) => Ok(Answer::done(schema::text(args.what))),
        Command::Solvers(args) => Ok(solvers::run(&args)),
        Command::Completions(args) => {
            let mut script = Vec::new();
            clap_complete::generate(args.shell, &mut Arguments::command(), "rats", &mut script);
            Ok(Answer::done(String::from_utf8_lossy(&script).into_owned()))
        }
    }
}

/// Help and version are answers; anything else is a wrong command line.
fn usage(error: &clap::Error) -> Result<Answer, Problems> {
    let text = error.render().to_string();
    match error.kind() {
        Usage::DisplayHelp | Usage::DisplayVersion => Ok(Answer::done(text)),
        Usage::DisplayHelpOnMissingArgumentOrSubcommand => {
            say(&format!("{text}\n"));
            Err(Problem::new(Code::U05, "command line", "a command is missing.").into())
        }
        _ => {
            let message = text.strip_prefix("error: ").unwrap_or(&text);
            let message = message.split("\n\nUsage:").next().unwrap_or(message);
            let message = message.split("\n\nFor more information").next().unwrap_or(message);
            let words: Vec<_> = message.split_whitespace().collect();
            Err(Problem::new(Code::U05, "command line", format!("{}.", words.join(" "))).into())
        }
    }
}

/// Prints an answer; a reader that has gone away (`| head`) is no error.
fn print(answer: &Answer) -> Result<u8, Problems> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(answer.text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Problem::new(Code::U02, "standard output", format!("{error}.")).into())
        }
        _ => Ok(answer.exit),
    }
}

fn complain(problems: &Problems) {
    for problem in &problems.0 {
        say(&format!("error {}\n", printable(&problem.to_string())));
    }
}

fn warn(warnings: &[Warning]) {
    for warning in warnings {
        say(&format!("warning {}\n", printable(&warning.to_string())));
    }
}

/// Writes to standard error; that nobody reads it is no reason to fail.
fn say(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Reads an instance; its warnings go to standard error.
fn instance(path: &Path) -> Result<Instance, Problems> {
    Ok(told(read_instance(path)?))
}

/// The instance; what looked suspicious about it goes to standard error.
fn told(read: ReadInstance) -> Instance {
    warn(&read.warnings);
    read.instance
}

/// Reads and judges a plan; the report's warnings include those of the file, with its name.
fn judged(instance: &Instance, path: &Path, strict: bool) -> Result<(Report, Option<f64>), Problems> {
    let read = read_plan(path)?;
    let mut report = check_plan(instance, &read.document).map_err(|problems| placed(path, problems))?;
    place_warnings(path, &mut report.warnings);
    report.warnings.splice(0..0, read.warnings);
    if strict && let Some(warning) = report.warnings.iter().find(|warning| warning.code == Code::W1) {
        return Err(Problem::new(Code::W1, &warning.place, &warning.message).into());
    }
    Ok((report, read.document.objective))
}

/// The problem of a command that needs a valid plan and was given another: one line for each broken rule.
fn needs_valid(path: &Path, violations: &[Violation]) -> Problems {
    let place = path.display().to_string();
    let problem =
        |violation: &Violation| Problem::new(Code::U06, &place, format!("{}: {}.", violation.code, violation.message));
    Problems(violations.iter().map(problem).collect())
}
