//! `rats profile`: time and power of a command over the operating points of GPUs.

mod show;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use rats_domain::codes::Code;
use rats_domain::format::{GangFile, WorkloadFile};
use rats_domain::problem::{Problem, Problems};

use self::show::{Show, dry_run, summary};
use super::execute::{interrupts, simulated_speedup};
use super::{Answer, LibraryArgs, StateArgs};
use crate::custody::Terms;
use crate::custody::guardian::this_program;
use crate::gpu::{Gpu, Gpus, Uuid};
use crate::profile::axis::Axis;
use crate::profile::grid::Axes;
use crate::profile::output::StepPattern;
use crate::profile::sweep::End;
use crate::profile::{self, Budget, Request, Settings};

/// Of `rats profile`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rats profile --step-pattern 'step (?<step>\\d+)' -- python train.py --steps 1000000
  rats profile --gpus 0,1 --sm-mhz 12points --mem-mhz all --budget 30m --restart --step-pattern 'it (?<time_ms>\\S+) ms' -- ./train
  rats profile --power-limit-w all --until 0.02 -- ./one_run.sh

An axis is `all`, a count such as `8points`, or a list such as `600,900,1410`. Without an axis 8 SM clocks are swept. Exit code
0: done; 1: interrupted, out of budget, or points stay tainted; 2: nothing could be measured, or the command failed.")]
pub struct ProfileArgs {
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// GPUs as UUIDs or NVML's indices [default: the only one].
    #[arg(long, value_delimiter = ',', value_name = "GPU")]
    pub gpus: Vec<String>,
    /// SM clocks to sweep, MHz.
    #[arg(long, value_name = "AXIS")]
    pub sm_mhz: Option<Axis>,
    /// Memory clocks to sweep, MHz.
    #[arg(long, value_name = "AXIS")]
    pub mem_mhz: Option<Axis>,
    /// Power limits to sweep, W.
    #[arg(long, value_name = "AXIS")]
    pub power_limit_w: Option<Axis>,
    /// Regular expression over lines of output with a group `step` (its number), `time` (s) or `time_ms`; without it a step
    /// is a whole run.
    #[arg(long, value_name = "REGEX")]
    pub step_pattern: Option<String>,
    /// Start the command anew for each point.
    #[arg(long)]
    pub restart: bool,
    /// Go on after the grid until then: `90s`, `15m`, `2h` or `20points`.
    #[arg(long, value_name = "TIME|POINTS", value_parser = budget)]
    pub budget: Option<Budget>,
    /// Go on after the grid until the model's widest interval is this narrow (relative half width).
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub until: Option<f64>,
    /// What is written, and how it is described.
    #[command(flatten)]
    pub outputs: OutputArgs,
    /// How to measure.
    #[command(flatten)]
    pub method: MethodArgs,
    /// Print the points and the time they take; touch nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Print events, one JSON document a line.
    #[arg(long)]
    pub json: bool,
    /// Which NVML.
    #[command(flatten)]
    pub library: LibraryArgs,
    /// Where journals and locks are.
    #[command(flatten)]
    pub state: StateArgs,
}

/// What is written.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// The profile [default: its id and `.json`].
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Measurements, from which an interrupted sweep goes on [default: beside the profile, `.jsonl`].
    #[arg(long, value_name = "FILE")]
    pub measurements: Option<PathBuf>,
    /// Output of the command [default: beside the profile, `.log`].
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Name of the profile [default: type of GPU and model].
    #[arg(long)]
    pub id: Option<String>,
    /// What is run [default: the program's name].
    #[arg(long)]
    pub model: Option<String>,
    /// What it is trained on.
    #[arg(long)]
    pub dataset: Option<String>,
    /// Its optimizer.
    #[arg(long)]
    pub optimizer: Option<String>,
    /// Its number format, such as `bf16`.
    #[arg(long)]
    pub number_format: Option<String>,
    /// Samples that one GPU handles in one step.
    #[arg(long, value_parser = positive)]
    pub batch_per_gpu: Option<f64>,
    /// Degrees of data, pipeline and tensor parallelism of a gang [default: data parallel].
    #[arg(long, value_name = "DP,PP,TP", value_delimiter = ',')]
    pub gang: Vec<i64>,
}

/// How to measure. Times in seconds.
#[derive(Debug, Args)]
#[command(next_help_heading = "How to measure")]
pub struct MethodArgs {
    /// Time after the first step that counts for nothing, s.
    #[arg(long, default_value = "5", value_parser = not_negative)]
    pub warmup: f64,
    /// Length of a window, s.
    #[arg(long, default_value = "3", value_parser = positive)]
    pub window: f64,
    /// Most windows (or runs) of a point.
    #[arg(long, default_value = "10", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub windows: u16,
    /// Relative half width of the 95 % confidence intervals at which no more windows follow.
    #[arg(long, default_value = "0.01", value_parser = share)]
    pub precision: f64,
    /// How long clocks and power may take to be steady, s.
    #[arg(long, default_value = "60", value_parser = positive)]
    pub settle: f64,
    /// How long a line of output may take, s.
    #[arg(long, default_value = "300", value_parser = positive)]
    pub patience: f64,
    /// By how much energy counter and integrated power may differ, relative.
    #[arg(long, default_value = "0.05", value_parser = share)]
    pub agree: f64,
    /// By how much the reference point may move, relative.
    #[arg(long, default_value = "0.02", value_parser = share)]
    pub drift: f64,
    /// Points between two measurements of the reference point.
    #[arg(long, default_value = "8", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub reference_every: u16,
    /// How often a tainted point is measured again.
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u16).range(0..=100))]
    pub repeats: u16,
    /// Of the order of the points.
    #[arg(long, default_value = "1")]
    pub seed: u64,
    /// How long the command may take to end when asked, s.
    #[arg(long, default_value = "10", value_parser = not_negative)]
    pub grace: f64,
}

/// Profiles.
///
/// # Errors
/// Nothing was measured, or the command failed.
pub fn run(args: &ProfileArgs) -> Result<Answer, Problems> {
    let gpus = args.library.open().map_err(|error| error.problem("NVML"))?;
    let wanted = find(&gpus, &args.gpus)?;
    let request = request(args, &wanted)?;
    if args.dry_run {
        let grid = profile::preflight(&request, &wanted)?;
        return Ok(Answer { warnings: grid.warnings.clone(), ..Answer::done(dry_run(&request, &grid, args.json)) });
    }
    let terms = Terms {
        state: args.state.state(),
        plan: format!("profile of {}", request.workload.model),
        program: this_program(),
    };
    let stop = interrupts()?;
    let mut show = Show::new(args.json);
    let report = profile::run(&request, &gpus, &wanted, terms, stop, &mut |event| show.tell(event))?;
    let text = summary(&request, &report, args.json);
    if let End::Failed(problem) = report.end {
        // What was measured before is written; say so before the problem is.
        show.say(&text);
        return Err(problem.into());
    }
    let is_done = report.end == End::Done && report.tainted.is_empty();
    // The others were told while it went on.
    let warnings =
        report.warnings.into_iter().filter(|w| matches!(w.code, Code::Y14 | Code::Y15 | Code::Y17)).collect();
    Ok(Answer { text, exit: u8::from(!is_done), warnings })
}

fn wrong(message: String) -> Problem {
    Problem::new(Code::U05, "command line", message)
}

/// The GPUs that are meant.
fn find(gpus: &Gpus, named: &[String]) -> Result<Vec<Gpu>, Problems> {
    let all = || gpus.list().map_err(|error| Problems::from(error.problem("NVML")));
    if named.is_empty() {
        let found = all()?.gpus;
        return match found.len() {
            1 => Ok(found),
            count => Err(wrong(format!("there are {count} GPUs: name one or more with `--gpus`.")).into()),
        };
    }
    let mut wanted: Vec<Gpu> = Vec::new();
    for name in named {
        let gpu = match name.parse::<u32>() {
            Ok(index) => all()?.gpus.into_iter().find(|gpu| gpu.facts().index == index),
            Err(_) => Some(gpus.gpu(&Uuid::new(name.as_str())).map_err(|error| Problems::from(error.problem(name)))?),
        };
        let gpu = gpu.ok_or_else(|| Problem::new(Code::N03, name, "this machine has no GPU with this index."))?;
        if wanted.iter().any(|other| other.uuid() == gpu.uuid()) {
            return Err(wrong(format!("`--gpus` names {} twice.", gpu.uuid())).into());
        }
        wanted.push(gpu);
    }
    Ok(wanted)
}

fn request(args: &ProfileArgs, wanted: &[Gpu]) -> Result<Request, Problem> {
    let pattern = args.step_pattern.as_deref().map(StepPattern::parse).transpose();
    let pattern = pattern.map_err(|error| wrong(format!("`--step-pattern`: {error}.")))?;
    let outputs = &args.outputs;
    let program = args.command.first().map_or("", String::as_str);
    let name = PathBuf::from(program).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let model = outputs.model.clone().or(name).unwrap_or_default();
    let kind = wanted.first().map_or("gpu", |gpu| &gpu.facts().type_id);
    let id = outputs.id.clone().unwrap_or_else(|| format!("{kind}-{}", model.replace('/', "-").to_lowercase()));
    let out = outputs.out.clone().unwrap_or_else(|| PathBuf::from(format!("{id}.json")));
    let step = if pattern.is_some() { "one step as the command counts it" } else { "one run of the command" };
    let workload = WorkloadFile {
        model,
        dataset: outputs.dataset.clone(),
        optimizer: outputs.optimizer.clone(),
        precision: outputs.number_format.clone(),
        step: step.to_owned(),
        ..WorkloadFile::default()
    };
    let method = &args.method;
    let settings = Settings {
        pattern,
        restart: args.restart,
        warmup_s: method.warmup,
        window_s: method.window,
        windows: method.windows.into(),
        precision: method.precision,
        settle_s: method.settle,
        patience_s: method.patience,
        agree: method.agree,
        drift: method.drift,
        reference_every: method.reference_every.into(),
        repeats: method.repeats.into(),
        budget: args.budget,
        until: args.until,
        seed: method.seed,
        grace: Duration::from_secs_f64(method.grace),
        speedup: simulated_speedup(),
    };
    Ok(Request {
        command: args.command.clone(),
        axes: Axes { sm: args.sm_mhz.clone(), mem: args.mem_mhz.clone(), limit: args.power_limit_w.clone() },
        settings,
        log: outputs.log.clone().unwrap_or_else(|| out.with_extension("log")),
        measurements: outputs.measurements.clone().unwrap_or_else(|| out.with_extension("jsonl")),
        out,
        id,
        workload,
        gang: gang(&outputs.gang, wanted.len())?,
        batch_per_gpu: outputs.batch_per_gpu,
    })
}

/// The shape of a gang; none for a single GPU.
fn gang(shape: &[i64], gpus: usize) -> Result<Option<GangFile>, Problem> {
    let gpus = i64::try_from(gpus).unwrap_or(i64::MAX);
    let (dp, pp, tp) = match shape {
        &[dp, pp, tp] => (dp, pp, tp),
        [] => (gpus, 1, 1),
        _ => return Err(wrong("`--gang` needs three degrees: DP,PP,TP.".to_owned())),
    };
    let product = [dp, pp, tp].into_iter().try_fold(1_i64, |all, one| all.checked_mul(one).filter(|_| one > 0));
    if product != Some(gpus) {
        return Err(wrong(format!("`--gang` {dp},{pp},{tp} is not {gpus} GPUs.")));
    }
    Ok((gpus > 1).then_some(GangFile { gpus, dp, pp, tp }))
}

fn budget(text: &str) -> Result<Budget, String> {
    let wrong = || format!("`{text}` is neither a time such as `90s`, `15m`, `2h` nor a count such as `20points`");
    if let Some(count) = text.strip_suffix("points") {
        let count = count.trim().parse().ok().filter(|count| *count > 0);
        return count.map(Budget::Points).ok_or_else(wrong);
    }
    let units = [("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let found = units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, *seconds)));
    let (number, unit) = found.unwrap_or((text, 1.0));
    positive(number.trim()).map(|number| Budget::Seconds(number * unit)).map_err(|_| wrong())
}

fn positive(text: &str) -> Result<f64, String> {
    not_negative(text).and_then(|value| if value > 0.0 { Ok(value) } else { Err("must be above 0".to_owned()) })
}

fn not_negative(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| (0.0..=1e6).contains(value));
    value.ok_or_else(|| "must be a number from 0 to 1000000".to_owned())
}

/// A share above 0, at most 1.
fn share(text: &str) -> Result<f64, String> {
    positive(text).and_then(|value| if value <= 1.0 { Ok(value) } else { Err("must be at most 1".to_owned()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_a_time_or_a_count() {
        assert_eq!(budget("90s"), Ok(Budget::Seconds(90.0)));
        assert_eq!(budget("1.5h"), Ok(Budget::Seconds(5400.0)));
        assert_eq!(budget("45"), Ok(Budget::Seconds(45.0)));
        assert_eq!(budget("20points"), Ok(Budget::Points(20)));
        for wrong in ["", "-1s", "0points", "2d", "nan"] {
            assert!(budget(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_gang_has_the_shape_of_its_gpus() {
        assert_eq!(gang(&[], 1), Ok(None));
        assert_eq!(gang(&[], 4), Ok(Some(GangFile { gpus: 4, dp: 4, pp: 1, tp: 1 })));
        assert_eq!(gang(&[2, 1, 2], 4), Ok(Some(GangFile { gpus: 4, dp: 2, pp: 1, tp: 2 })));
        assert!(gang(&[2, 1, 1], 4).is_err());
        assert!(gang(&[-2, -2, 1], 4).is_err());
    }
}
