//! The arguments of every command, with the help that teaches them.

use std::path::PathBuf;
use std::time::Duration;

use super::bench::BenchArgs;
use super::dataset::DatasetArgs;
use super::edl::EdlArgs;
use super::fit::{FitArgs, PredictArgs};
use super::frontier::FrontierArgs;
use super::import::ImportArgs;
use super::models::ModelsArgs;
use super::scale::ScaleArgs;
use super::schema::SchemaArgs;
use super::share::ShareArgs;
use super::topology::TopologyArgs;
use super::unseen::UnseenArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use nvml_sim::configure::ConfigArguments;
use nvml_sim::job::JobArguments;
use nvml_sim::verify::TruthArguments;
use rats_testbed::cli::TestbedCommand;

use crate::generate::Family;

/// Longest time limit, about 30 years.
const MOST_SECONDS: f64 = 1e9;

/// Plan deep-learning training jobs on a GPU cluster for the least energy, money or time.
#[derive(Debug, Parser)]
#[command(
    name = "rats",
    bin_name = "rats",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
#[command(after_help = "\
To begin with:
  rats info small.json                      what is in the instance
  rats solve small.json -o plan.json        make a plan
  rats check small.json plan.json           have it judged
  rats explain small.json plan.json job-3   why one job runs as it does

Exit codes: 0 done, 1 a valid run with a negative answer, 2 wrong input or environment.
Codes such as I06 or V4 are listed by `rats schema codes`.")]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say what is in an instance.
    #[command(after_help = "Examples:\n  rats info small.json --jobs\n  rats info --table instances/small/*.json")]
    Info(InfoArgs),
    /// Make an instance of a scenario and measured profiles.
    #[command(after_help = "\
Examples:
  rats build scenario.toml -o instance.json
  rats build scenario.toml --profiles instances/profiles --profiles mine -o instance.json

The formulas, the scenario's format and worked cases are in docs/building.md.")]
    Build(BuildArgs),
    /// Make an instance of a benchmark family.
    #[command(after_help = "\
Examples:
  rats generate small --seed 7 -o small-7.json
  rats generate large --seed 1 --jobs 400 --nodes 64 -o large-1.json

A seed gives the same bytes on every machine. Every instance has a plan that keeps all rules.")]
    Generate(GenerateArgs),
    /// Make a plan.
    #[command(after_help = "\
Examples:
  rats solve small.json -o plan.json
  rats solve small.json --solver milp --time-limit 600 --gap 0.01 -o plan.json
  rats solve small.json --warm-start yesterday.json --json | jq .gap
  rats solve small.json -o - | rats check small.json -

Ctrl-C keeps the best plan so far; a second one ends at once.
Exit code 0 with a plan, 1 if there is provably none or none was found.")]
    Solve(SolveArgs),
    /// Judge a plan by every rule of its instance and say what it is worth.
    #[command(
        after_help = "Example:\n  rats check small.json plan.json\n\nExit code 0 if the plan is valid, 1 if not."
    )]
    Check(CheckArgs),
    /// Print a proven lower bound on the objective of every plan, without solving.
    #[command(after_help = "Example:\n  rats bound small.json\n\nExit code 1 if the instance is proved infeasible.")]
    Bound(BoundArgs),
    /// Put plans of one instance side by side.
    #[command(after_help = "\
Example:
  rats compare small.json fifo.json best.json

Exit code 0 also where plans are not valid; the table says which.")]
    Compare(CompareArgs),
    /// Say why one job runs as it does, and what else it could do.
    #[command(after_help = "\
Example:
  rats explain small.json plan.json job-3

Every other job keeps its option, GPUs and start; the job asked about is moved and the plan checked again.")]
    Explain(ExplainArgs),
    /// Write the instance as a mixed-integer program for another solver.
    #[command(after_help = "Example:\n  rats export small.json --format mps -o small.mps")]
    Export(ExportArgs),
    /// Solve instances and keep the best values in a registry.
    #[command(after_help = "\
Example:
  rats record instances/tiny/*.json --solver exhaustive --into instances/best_known.toml

An entry changes only if the checked plan is better, a proof is new or contradicts it, or the instance file has
changed. Ctrl-C keeps what is done.")]
    Record(RecordArgs),
    /// Run solvers over suites of instances and write a report.
    #[command(after_help = "\
Examples:
  rats bench instances/small --solvers auto,milp --time-limit 60 --seeds 0,1,2
  rats bench instances/small --solvers milp,cp_sat,highs_cli --threads 2 -o reports/2024-02-29-baselines
  rats bench compare reports/2024-02-29-small reports/2024-03-07-small

The report's folder holds raw.csv, summary.md and env.json; a benchmark that was ended goes on where it was. Ctrl-C ends
it after the current run. What the figures mean is in docs/benchmarking.md. Exit code 1 if a bound lies above a plan.")]
    Bench(BenchArgs),
    /// Describe a network as the tree of an instance.
    #[command(after_help = "Example:\n  rats topology reduce clos.json -o cluster.json")]
    Topology(TopologyArgs),
    /// Turn published measurements, and runs of your own, into profiles and GPU types.
    #[command(after_help = "\
Examples:
  rats import zeus zeus-nsdi23 -o instances/profiles
  rats import csv measured.csv -o profiles --json
  rats import trace rats-run -o measured
  rats import clocks gpu-clocks -o instances/gpus

`docs/formats.md` describes the table of `csv` and the profiles. A damaged row makes exit code 2 and nothing is written,
unless --lenient leaves it out and says so.")]
    Import(ImportArgs),
    /// One tidy data set of all measurements: make it, or say what is in it.
    Dataset(DatasetArgs),
    /// Fit time and power over operating points to measurements.
    #[command(after_help = "\
Examples:
  rats fit instances/profiles/v100-ttu-dgemm.json -o models
  rats fit instances/profiles -o models --lenient
  rats fit --dataset dataset --gpu v100 --workload dgemm -o models

Workloads of one GPU that are fitted together share its voltage curve. Rows that no model can be made of and fits that
cannot be trusted are refused with a code; forms, intervals and refusal are described in docs/models.md.")]
    Fit(FitArgs),
    /// Say what a model predicts at an operating point, with an interval.
    #[command(after_help = "\
Examples:
  rats predict models/v100-ttu-dgemm.json --sm-mhz 1005
  rats predict models/v100-ttu-dgemm.json --sm-mhz 900 --sm-mhz 1200 --json")]
    Predict(PredictArgs),
    /// Judge the models by measurements that they did not see.
    Models(ModelsArgs),
    /// Predict the curve of a kernel from a few measurements and from kernels like it, or say what to measure next.
    #[command(after_help = "\
Examples:
  rats unseen dataset --like ulisboa-ptx/gtx-titan-x --next 3
  rats unseen dataset --like ulisboa-ptx/gtx-titan-x --measured sm=975,mem=3505,time=2.1,power=140
  rats unseen dataset --like ttu/v100 --measured sm=1380,power=180 --counter gr_engine_active=1 \\
    --counter dram_active=0.4 --counter fp32_active=0.2 --counter fp64_active=0

The data set is one of `rats dataset build`; without it the rows come from instances/profiles. Codes M20 to M26 say why a kernel is refused; docs/unseen.md says how far to
trust the rest.")]
    Unseen(UnseenArgs),
    /// Say whether two jobs can share a GPU and how fast each runs beside the other, from pairs that were measured.
    #[command(after_help = "\
Examples:
  rats share --gpu v100
  rats share --gpu v100 'ResNet-50 (batch size 64)' 'LM (batch size 20)'
  rats share dataset --gpu v100 'ResNet-50 (batch size 256)' A3C \\
    --alone 'job=ResNet-50 (batch size 256),model=ResNet-50,batch=256,v100=1.5'

With two words they are the jobs; with one or three the first is the data set. Codes M40 to M46 say why pairs or jobs are
refused; docs/interference.md says how far to trust the rest.")]
    Share(ShareArgs),
    /// Say how long a step takes on a gang of another size, from gangs that were measured.
    #[command(after_help = "\
Examples:
  rats scale
  rats scale --workload vgg16-b16 --gpus 16
  rats scale dataset --cluster gavel/k80 --workload physical-cluster-lm-batch-size-20 --gpus 8 --placement spread
  rats scale --cluster mpt/h100 --step 1.2 --gradient-bytes 6e9 --gpus 64 --json

Codes M50 to M54 say why gangs are refused; docs/scaling.md says how far to trust the rest.")]
    Scale(ScaleArgs),
    /// Trade energy against makespan, cost or tardiness: plans of which none is better in both, with bounds.
    #[command(after_help = "\
Examples:
  rats frontier small.json
  rats frontier small.json --against cost --points 20 --time-limit 30 -o frontier
  rats frontier small.json --json | jq '.points[] | [.makespan, .energy]'

With -o the folder gets one plan a point, frontier.json and frontier.svg. Ctrl-C keeps what is done.
Exit code 0 with a plan, 1 if there is provably none or none was found.")]
    Frontier(FrontierArgs),
    /// Do the published experiments with theta-readjustment (EDL) again.
    #[command(after_help = "\
Examples:
  rats edl --seeds 5
  rats edl --online --json | jq '.rows[].difference'
  rats edl --solvers edl,greedy_energy --per-server 1,4,16 --seeds 1 --time-limit 60

docs/edl.md says what was done and what came of it.")]
    Edl(EdlArgs),
    /// Print the JSON Schema of a format, or the index of all codes.
    #[command(after_help = "Example:\n  rats schema instance > instance.schema.json")]
    Schema(SchemaArgs),
    /// List the solvers.
    #[command(after_help = "Example:\n  rats solvers")]
    Solvers(SolversArgs),
    /// Print a completion script for a shell.
    #[command(after_help = "Example:\n  rats completions bash > ~/.local/share/bash-completion/completions/rats")]
    Completions(CompletionsArgs),
    /// Commands on real GPUs.
    #[command(flatten)]
    Testbed(TestbedCommand),
    /// Write a machine of simulated GPUs, for trying things out.
    #[command(after_help = "\
Example:
  rats sim-config --gpus 4xA100-SXM4-80GB,4xV100 --workload bloom=a100-sxm-80gb-perseus-bloom-stage0 --speedup 40 -o sim/config.json

Commands on GPUs use it where NVML_SIM_CONFIG names the file and RATS_NVML_LIB names libnvml_sim.so; see docs/simulator.md.")]
    SimConfig(ConfigArguments),
    /// Stand in for a training process on simulated GPUs.
    #[command(after_help = "\
Example:
  NVML_SIM_CONFIG=sim/config.json rats sim-job --gpus 0,1 --workload bloom --steps 500")]
    SimJob(JobArguments),
    /// Compare profiles with what simulated GPUs really do.
    #[command(after_help = "\
Example:
  NVML_SIM_CONFIG=sim/config.json rats sim-truth a100-bloom.json --within 0.015

Exit code 1 if a point is further off.")]
    SimTruth(TruthArguments),
}

/// Of `rats info`.
#[derive(Debug, Args)]
pub struct InfoArgs {
    /// The instance file, `-` for standard input; several with `--table`.
    #[arg(required = true, value_name = "INSTANCE")]
    pub instances: Vec<PathBuf>,
    /// List every job.
    #[arg(long)]
    pub jobs: bool,
    /// One line an instance, as a Markdown table.
    #[arg(long, conflicts_with_all = ["jobs", "json"])]
    pub table: bool,
    /// With `--table`: a registry of best known values to show, as `rats record` writes it.
    #[arg(long, value_name = "FILE", requires = "table")]
    pub best_known: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Of `rats build`.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// The scenario, a TOML file, `-` for standard input.
    pub scenario: PathBuf,
    /// Where to write the instance, `-` for standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// A directory of profiles, or one profile; may be given more than once. The built-in ones are always there.
    #[arg(long, value_name = "DIR")]
    pub profiles: Vec<PathBuf>,
    /// Print what became of the options as one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Of `rats generate`.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// The family.
    #[arg(value_enum)]
    pub family: Family,
    /// Seed of everything random; also says which features the instance has.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Number of jobs, instead of the family's.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub jobs: Option<u32>,
    /// Number of nodes, instead of the family's.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub nodes: Option<u32>,
    /// GPUs of a node, instead of the family's; of `edl` 1, 2, 4, 8 or 16.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub gpus_per_node: Option<u32>,
    /// Where to write the instance, `-` for standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Where to write the witness: a plan that keeps all rules.
    #[arg(long, value_name = "PLAN")]
    pub witness: Option<PathBuf>,
}

/// Of `rats solve`.
#[derive(Debug, Args)]
pub struct SolveArgs {
    /// The instance file, `-` for standard input.
    pub instance: PathBuf,
    /// The method; see `rats solvers`.
    #[arg(long, value_name = "ID", default_value = "auto")]
    pub solver: String,
    /// Where to write the plan, `-` for standard output instead of the summary.
    #[arg(short, long, value_name = "PLAN")]
    pub output: Option<PathBuf>,
    /// Print one JSON document; it holds the plan unless that is written to a file.
    #[arg(long)]
    pub json: bool,
    /// Most time to take, in seconds.
    #[arg(long, value_name = "S", default_value = "60", allow_negative_numbers = true, value_parser = seconds)]
    pub time_limit: Duration,
    /// Most iterations of methods that iterate; makes a run repeatable whatever the machine.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    pub iterations: Option<u64>,
    /// Seed of everything random.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = whole)]
    pub seed: u64,
    /// Threads to use; all if not given.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Relative gap at which the plan is good enough, such as 0.01.
    #[arg(long, value_name = "G", allow_negative_numbers = true, value_parser = share)]
    pub gap: Option<f64>,
    /// A valid plan to start from.
    #[arg(long, value_name = "PLAN")]
    pub warm_start: Option<PathBuf>,
    /// Refuse a warm start that was made for another file (W1).
    #[arg(long)]
    pub strict: bool,
    /// No live line on standard error.
    #[arg(short, long)]
    pub quiet: bool,
}

/// Of `rats check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The instance file, `-` for standard input.
    pub instance: PathBuf,
    /// The plan file.
    pub plan: PathBuf,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
    /// A plan that was made for another file (W1) is an error.
    #[arg(long)]
    pub strict: bool,
}

/// Of `rats bound`.
#[derive(Debug, Args)]
pub struct BoundArgs {
    /// The instance file, `-` for standard input.
    pub instance: PathBuf,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Of `rats compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The instance file, `-` for standard input.
    pub instance: PathBuf,
    /// The plan files; differences are to the first.
    #[arg(required = true, value_name = "PLAN")]
    pub plans: Vec<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Of `rats explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The instance file, `-` for standard input.
    pub instance: PathBuf,
    /// The plan file; the plan must be valid.
    pub plan: PathBuf,
    /// Name of the job.
    pub job: String,
    /// Most plans to check.
    #[arg(long, value_name = "N", default_value_t = 20_000, allow_negative_numbers = true, value_parser = whole)]
    pub checks: u64,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Of `rats export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The instance file, `-` for standard input.
    pub instance: PathBuf,
    /// The format.
    #[arg(long, value_enum)]
    pub format: ModelFormat,
    /// Where to write it; standard output if not given.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// A format of mixed-integer programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModelFormat {
    /// Free MPS.
    Mps,
    /// CPLEX LP.
    Lp,
}

/// Of `rats record`.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// The instance files.
    #[arg(required = true)]
    pub instances: Vec<PathBuf>,
    /// The registry, a TOML file; made if it does not exist.
    #[arg(long, value_name = "FILE")]
    pub into: PathBuf,
    /// The method; see `rats solvers`.
    #[arg(long, value_name = "ID", default_value = "auto")]
    pub solver: String,
    /// Most time to take for each instance, in seconds; none if left out.
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = seconds)]
    pub time_limit: Option<Duration>,
}

/// Of `rats solvers`.
#[derive(Debug, Args)]
pub struct SolversArgs {
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Of `rats completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "must be a number of seconds, such as 60".to_owned())?;
    if !(0.0..=MOST_SECONDS).contains(&seconds) {
        return Err("must be from 0 to 1000000000 seconds, such as 60".to_owned());
    }
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

pub(super) fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("must be a whole number from 0 to {}", u64::MAX))
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "must be a number from 0 to 1, such as 0.01".to_owned())?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("must be from 0 to 1, such as 0.01".to_owned()) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example() {
        let shows = |command: &clap::Command, name: &str| {
            command.get_after_help().is_some_and(|help| help.to_string().contains(&format!("rats {name}")))
        };
        for command in Arguments::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = command.get_name();
            // A family of commands may leave the examples to its members.
            let mut members = command.get_subcommands().peekable();
            let in_members = members.peek().is_some()
                && members.all(|member| shows(member, &format!("{name} {}", member.get_name())));
            assert!(shows(command, name) || in_members, "{name}");
        }
    }
}
