//! `rats bench`: run solvers over suites, summarize a report, compare two.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use rats_domain::check::CheckedPlan;
use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};

use super::Answer;
use super::args::{seconds, whole};
use super::record::{entry, read_registry, word};
use crate::bench::case::{Case, cases};
use crate::bench::compare::{Compared, Measure, SIGNIFICANCE, SolverChange, Verdict, compare};
use crate::bench::env::cores;
use crate::bench::report::{RAW, Report, SUMMARY};
use crate::bench::row::Row;
use crate::bench::run::{Listener, Plan, Ran, is_ours, run as run_plan};
use crate::bench::summary::Summary;
use crate::best_known::BestKnown;
use crate::control::count_interrupts;
use crate::io::{can_write, write_or_rescue};
use crate::report::{Align, number, percent, printable, signed, table};
use rats_system::clock::today;

/// The registry that reports are held against.
const REGISTRY: &str = "instances/best_known.toml";

/// Of `rats bench`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct BenchArgs {
    /// What else to do than run.
    #[command(subcommand)]
    pub command: Option<BenchCommand>,
    /// What to run.
    #[command(flatten)]
    pub run: RunArgs,
}

/// What to do with reports.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Write the summary of a report again.
    #[command(after_help = "Example:\n  rats bench summary reports/2024-02-29-small")]
    Summary(SummaryArgs),
    /// Tell regression and improvement from noise between two reports.
    #[command(after_help = "\
Example:
  rats bench compare reports/2024-02-29-small reports/2024-03-07-small

Exit code 1 if a solver became worse.")]
    Compare(CompareReportsArgs),
}

/// Of a benchmark.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Folders of instances, or instance files.
    #[arg(required = true, value_name = "SUITE")]
    pub suites: Vec<PathBuf>,
    /// The methods, separated by commas; see `rats solvers`. Also `cp_sat` and `highs_cli`, after `make baselines`.
    #[arg(long, value_name = "ID,...", value_delimiter = ',', default_value = "auto")]
    pub solvers: Vec<String>,
    /// Most time of a run, in seconds.
    #[arg(long, value_name = "S", default_value = "60", allow_negative_numbers = true, value_parser = seconds)]
    pub time_limit: Duration,
    /// Seeds, separated by commas.
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "0", value_parser = whole)]
    pub seeds: Vec<u64>,
    /// Threads of a run; all if not given.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Most iterations of methods of our own that iterate.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    pub iterations: Option<u64>,
    /// Name of the report: it goes to `reports/<date>-<NAME>`; the suites' names if not given.
    #[arg(long, value_name = "NAME", conflicts_with = "output")]
    pub slug: Option<String>,
    /// The report's folder; one that exists is continued.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Offer every checked plan, and what our own solvers prove, to `instances/best_known.toml`.
    #[arg(long)]
    pub record: bool,
    /// The folder of the baselines.
    #[arg(long, value_name = "DIR", default_value = "benches/baselines")]
    pub baselines: PathBuf,
    /// The interpreter of the baselines.
    #[arg(long, value_name = "FILE", default_value = "target/baselines-venv/bin/python")]
    pub python: PathBuf,
}

/// Of `rats bench summary`.
#[derive(Debug, Args)]
pub struct SummaryArgs {
    /// The report's folder.
    pub report: PathBuf,
}

/// Of `rats bench compare`.
#[derive(Debug, Args)]
pub struct CompareReportsArgs {
    /// The folder of the first report.
    pub before: PathBuf,
    /// The folder of the second report.
    pub after: PathBuf,
}

pub(super) fn run(args: &BenchArgs) -> Result<Answer, Problems> {
    match &args.command {
        Some(BenchCommand::Summary(args)) => summarize(&args.report),
        Some(BenchCommand::Compare(args)) => compare_reports(args),
        None => run_suites(&args.run),
    }
}

fn run_suites(args: &RunArgs) -> Result<Answer, Problems> {
    let registry = Path::new(REGISTRY);
    let known = read_registry(registry)?;
    if args.record {
        can_write(registry)?;
    }
    let mut plan = Plan {
        folder: PathBuf::new(),
        cases: cases(&args.suites, &known)?,
        solvers: distinct(&args.solvers),
        seeds: distinct(&args.seeds),
        threads: args.threads.map_or_else(cores, usize::from),
        time_limit_s: args.time_limit.as_secs_f64(),
        iterations: args.iterations,
        program: this_program()?,
        python: args.python.clone(),
        baselines: args.baselines.clone(),
    };
    plan.folder = args.output.clone().map_or_else(|| default_folder(args, &plan.cases), Ok)?;
    let interrupts = count_interrupts().unwrap_or_default();
    let mut keeper = Keeper { known, record: args.record, lines: Vec::new() };
    let ran = run_plan(&plan, &interrupts, &mut keeper);
    if args.record {
        write_or_rescue(registry, keeper.known.to_text().as_bytes())?;
    }
    let ran = ran?;
    let mut answer = summarize(&plan.folder)?;
    answer.text.insert_str(0, &keeper.lines.concat());
    if ran == Ran::Interrupted {
        let folder = plan.folder.display();
        super::say(&format!("interrupted; the same command with `-o {folder}` goes on\n"));
    }
    Ok(answer)
}

fn this_program() -> Result<PathBuf, Problem> {
    std::env::current_exe().map_err(|error| Problem::new(Code::U01, "this program", format!("{error}.")))
}

/// The values without repetition, in their order.
fn distinct<T: Clone + PartialEq>(values: &[T]) -> Vec<T> {
    let mut kept: Vec<T> = Vec::new();
    for value in values {
        if !kept.contains(value) {
            kept.push(value.clone());
        }
    }
    kept
}

/// `reports/<date>-<slug>`.
fn default_folder(args: &RunArgs, cases: &[Case]) -> Result<PathBuf, Problem> {
    let slug = args.slug.clone().unwrap_or_else(|| {
        let suites: Vec<_> = cases.iter().map(|case| case.suite.clone()).collect();
        distinct(&suites).join("-")
    });
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if slug.is_empty() || !slug.chars().all(is_plain) {
        let message = format!("`{}` is no name for a folder; use letters, digits, `-`, `_` and `.`.", printable(&slug));
        return Err(Problem::new(Code::U05, "--slug", message));
    }
    Ok(Path::new("reports").join(format!("{}-{slug}", today())))
}

/// Prints progress and keeps best values if that was asked for.
struct Keeper {
    known: BestKnown,
    record: bool,
    lines: Vec<String>,
}

impl Listener for Keeper {
    fn say(&mut self, line: &str) {
        super::say(&format!("{}\n", printable(line)));
    }

    fn row(&mut self, case: &Case, row: &Row, plan: Option<&CheckedPlan>) {
        if !self.record {
            return;
        }
        // Bounds and proofs of baselines are claims of programs that are not ours; their plans are checked.
        let trusted = is_ours(&row.solver);
        let status = if trusted || plan.is_none() { row.status.word() } else { "feasible" };
        if !trusted && plan.is_none() {
            return;
        }
        let bound = row.bound.filter(|_| trusted);
        let evaluation = plan.map(CheckedPlan::evaluation);
        if let Some(entry) = entry(evaluation, status, bound, &row.solver, case.sha256.clone()) {
            let change = self.known.offer(&case.suite, &case.name, entry);
            self.lines.push(format!("recorded {}: {}\n", printable(&case.name), word(Some(change))));
        }
    }
}

fn summarize(folder: &Path) -> Result<Answer, Problems> {
    let report = Report::read(folder)?;
    let summary = Summary::of(&report);
    summary.write(folder)?;
    let rows = crate::report::count(report.rows.len(), "row");
    let (raw, page) = (folder.join(RAW), folder.join(SUMMARY));
    let mut text = format!("{rows} in {}, summary in {}\n", raw.display(), page.display());
    for contradiction in &summary.contradictions {
        let _ = writeln!(text, "{}", contradiction.text());
    }
    Ok(Answer { text, exit: u8::from(!summary.contradictions.is_empty()) })
}

fn compare_reports(args: &CompareReportsArgs) -> Result<Answer, Problems> {
    let (before, after) = (Report::read(&args.before)?, Report::read(&args.after)?);
    for (name, here, there) in after.env.conditions.differences(&before.env.conditions) {
        if name != "program_sha256" {
            super::say(&format!("note: {name} was {}, then {}\n", printable(&there), printable(&here)));
        }
    }
    let changes = compare(&before, &after);
    if changes.is_empty() {
        let message = "the reports have no run in common: no instance, solver and seed is in both.";
        return Err(Problem::new(Code::U05, "command line", message).into());
    }
    let mut text = format!(
        "Noise: mean changes up to {}, and tendencies with a probability above {} by chance (signed ranks, one-sided, \
         over instances).\n",
        Measure::ALL.map(|measure| format!("{} of {}", shown(measure, measure.threshold()), measure.name())).join(", "),
        percent(SIGNIFICANCE)
    );
    for change in &changes {
        text.push_str(&section(change));
    }
    let is_worse = changes.iter().any(|change| change.verdict() == Verdict::Regression);
    Ok(Answer { text, exit: u8::from(is_worse) })
}

fn section(change: &SolverChange) -> String {
    let mut text = format!(
        "\n{}: {}; {}, plans {} lost {} gained, proofs {} lost {} gained, {}\n",
        printable(&change.solver),
        verdict(change.verdict()),
        crate::report::count(change.pairs, "pair"),
        change.plans_lost,
        change.plans_gained,
        change.proofs_lost,
        change.proofs_gained,
        crate::report::count(change.new_failures, "new failure"),
    );
    let head = ["", "instances", "mean change", "worse", "better", "by chance", "verdict", "worst"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(change.measures.iter().map(measured));
    text.push_str(&table(&rows, &[Align::Left, Align::Right]));
    text
}

fn measured(compared: &Compared) -> Vec<String> {
    let worst = compared.worst.as_ref().map_or_else(
        || "-".to_owned(),
        |((suite, name), change)| format!("{suite}/{name} {}", shown(compared.measure, *change)),
    );
    vec![
        compared.measure.name().to_owned(),
        compared.instances.to_string(),
        shown(compared.measure, compared.change),
        compared.worse.to_string(),
        compared.better.to_string(),
        percent(compared.chance),
        verdict(compared.verdict).to_owned(),
        worst,
    ]
}

fn shown(measure: Measure, change: f64) -> String {
    match measure {
        Measure::Objective => format!("{} %", signed(change * 100.0)),
        Measure::Gap => format!("{} points", signed(change * 100.0)),
        Measure::Time => format!("x {}", number(change.exp())),
    }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regression => "REGRESSION",
        Verdict::Improvement => "improvement",
        Verdict::Noise => "noise",
    }
}
