//! `rats fit` and `rats predict`: measurements to models, and models asked.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use rats_domain::codes::Code;
use rats_domain::format::GpuFile;
use rats_domain::problem::{Problem, Problems, Warning};
use rats_models::data::Dataset;
use rats_models::dvfs::curve::{Curve, Prediction};
use rats_models::dvfs::{Model, Said, Setting, Workload, fit_all};
use serde::Serialize;

use super::{Answer, warn};
use crate::document::json;
use crate::import::gpus::listed;
use crate::io::{bytes, place_warnings, placed, read_gpu, read_profile, write};
use crate::report::{Align, count, printable, table};

/// Of `rats fit`.
#[derive(Debug, Args)]
pub struct FitArgs {
    /// Profiles, or folders of them.
    #[arg(value_name = "PROFILE", required_unless_present = "dataset", conflicts_with = "dataset")]
    pub profiles: Vec<PathBuf>,
    /// A data set, as `rats dataset build` writes it, instead of profiles.
    #[arg(long, value_name = "DIR")]
    pub dataset: Option<PathBuf>,
    /// Of the data set, only this type of GPU.
    #[arg(long, value_name = "TYPE", requires = "dataset")]
    pub gpu: Option<String>,
    /// Of the data set, only this workload; may be given more than once.
    #[arg(long, value_name = "NAME", requires = "dataset")]
    pub workload: Vec<String>,
    /// Files of format `rats.gpu/1` against which clocks and limits are checked, besides those known; the id is the type.
    #[arg(long, value_name = "FILE")]
    pub gpu_file: Vec<PathBuf>,
    /// The folder to write to, one file a model.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Leave out what is refused, say why, and write the rest.
    #[arg(long)]
    pub lenient: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Of `rats predict`.
#[derive(Debug, Args)]
pub struct PredictArgs {
    /// A model.
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// SM clock, MHz; may be given more than once.
    #[arg(long, value_name = "MHZ", required_unless_present = "power_limit_w")]
    pub sm_mhz: Vec<f64>,
    /// Memory clock, MHz; needed where several were measured.
    #[arg(long, value_name = "MHZ")]
    pub mem_mhz: Option<f64>,
    /// Power limit, W; may be given more than once.
    #[arg(long, value_name = "W", conflicts_with = "sm_mhz")]
    pub power_limit_w: Vec<f64>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Fitted<'m> {
    id: &'m str,
    file: String,
    time_form: Option<&'m str>,
    time_error: Option<f64>,
    power_form: Option<&'m str>,
    power_error: Option<f64>,
}

pub(super) fn run(args: &FitArgs) -> Result<Answer, Problems> {
    let workloads = workloads(args)?;
    let mut cards: BTreeMap<String, GpuFile> =
        workloads.iter().filter_map(|w| Some((w.gpu.clone(), listed(&w.gpu)?))).collect();
    for path in &args.gpu_file {
        let gpu = read_gpu(path)?;
        cards.insert(gpu.id.clone(), gpu);
    }
    let (mut models, mut refused) = (Vec::new(), Vec::new());
    for (workload, result) in workloads.iter().zip(fit_all(&workloads, &cards)) {
        match result {
            Ok(model) => models.push(model),
            Err(problems) => refused.extend(problems.0.into_iter().map(|problem| named(&workload.id, problem))),
        }
    }
    if !refused.is_empty() && (!args.lenient || models.is_empty()) {
        return Err(Problems(refused));
    }
    warn(&refused.iter().map(|p| Warning::new(p.code, &p.place, &p.message)).collect::<Vec<_>>());
    std::fs::create_dir_all(&args.output)
        .map_err(|error| Problem::new(Code::U02, args.output.display().to_string(), format!("{error}.")))?;
    for model in &models {
        write(&args.output.join(file_name(model)), json(&model.to_file()).as_bytes())?;
    }
    let text = if args.json { document(&models) } else { summary(&models, args) };
    Ok(Answer::done(text))
}

/// The workload in front of a place that does not name it yet.
fn named(id: &str, problem: Problem) -> Problem {
    let place = if problem.place.contains(id) { problem.place } else { format!("{id}: {}", problem.place) };
    Problem { place, ..problem }
}

fn file_name(model: &Model) -> String {
    format!("{}.json", model.id.replace('/', "-"))
}

fn workloads(args: &FitArgs) -> Result<Vec<Workload>, Problems> {
    if let Some(folder) = &args.dataset {
        let mut all = Workload::all_of(&Dataset::read(folder)?);
        all.retain(|w| args.gpu.as_ref().is_none_or(|gpu| *gpu == w.gpu));
        all.retain(|w| args.workload.is_empty() || args.workload.contains(&w.name));
        if all.is_empty() {
            return Err(Problem::new(Code::U05, "command line", "no workload of the data set is meant.").into());
        }
        return Ok(all);
    }
    let mut files = Vec::new();
    for path in &args.profiles {
        if path.is_dir() {
            let entries = std::fs::read_dir(path)
                .map_err(|error| Problem::new(Code::U01, path.display().to_string(), format!("{error}.")))?;
            let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
            found.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
            found.sort();
            files.extend(found);
        } else {
            files.push(path.clone());
        }
    }
    let mut found = Vec::new();
    for file in &files {
        let read = read_profile(file)?;
        warn(&read.warnings);
        found.push(Workload::of_profile(&read.profile));
    }
    Ok(found)
}

fn document(models: &[Model]) -> String {
    fn line(model: &Model) -> Fitted<'_> {
        let Model { id, time, power, .. } = model;
        Fitted {
            id,
            file: file_name(model),
            time_form: time.as_ref().map(|curve: &Curve| curve.fitted.form.id()),
            time_error: time.as_ref().and_then(Curve::error),
            power_form: power.as_ref().map(|curve| curve.fitted.form.id()),
            power_error: power.as_ref().and_then(Curve::error),
        }
    }
    json(&models.iter().map(line).collect::<Vec<_>>())
}

fn summary(models: &[Model], args: &FitArgs) -> String {
    let cells = |curve: &Option<Curve>| match curve {
        None => [String::new(), String::new()],
        Some(curve) => [
            curve.validated.first().map_or_else(String::new, |(form, _)| form.clone()),
            curve.error().map_or_else(String::new, |error| format!("{:.2}", 100.0 * error)),
        ],
    };
    let rows = models.iter().map(|model| {
        let ([time, time_error], [power, power_error]) = (cells(&model.time), cells(&model.power));
        vec![printable(&model.id).into_owned(), time, time_error, power, power_error]
    });
    let head = ["model", "time", "error %", "power", "error %"].map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let mut text = table(&rows, &[Align::Left, Align::Left, Align::Right, Align::Left, Align::Right]);
    let _ = writeln!(text, "{} written to {}", count(models.len(), "model"), args.output.display());
    text
}

#[derive(Serialize)]
struct Line {
    #[serde(skip_serializing_if = "Option::is_none")]
    sm_mhz: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mem_mhz: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    power_limit_w: Option<f64>,
    extrapolated: bool,
    time: Option<[f64; 3]>,
    power_w: Option<[f64; 3]>,
    energy: Option<f64>,
}

pub(super) fn predict(args: &PredictArgs) -> Result<Answer, Problems> {
    let place = |problems| placed(&args.model, problems);
    let (model, mut warnings) = Model::read(&bytes(&args.model)?).map_err(place)?;
    place_warnings(&args.model, &mut warnings);
    warn(&warnings);
    let clocks = args.sm_mhz.iter().map(|&mhz| (Some(mhz), None));
    let limits = args.power_limit_w.iter().map(|&watts| (None, Some(watts)));
    let mut lines = Vec::new();
    for (sm_mhz, power_limit_w) in clocks.chain(limits) {
        let setting = Setting { sm_mhz, mem_mhz: args.mem_mhz, power_limit_w };
        let said = model.predict(setting).map_err(|problem| placed(&args.model, problem.into()))?;
        lines.push(line(setting, &said));
    }
    let text = if args.json { json(&lines) } else { said_table(&lines) };
    Ok(Answer::done(text))
}

fn line(setting: Setting, said: &Said) -> Line {
    let three = |prediction: Prediction| [prediction.value, prediction.low, prediction.high];
    let beyond = |prediction: Option<Prediction>| prediction.is_some_and(|prediction| prediction.extrapolated);
    Line {
        sm_mhz: setting.sm_mhz,
        mem_mhz: setting.mem_mhz,
        power_limit_w: setting.power_limit_w,
        extrapolated: beyond(said.time) || beyond(said.power),
        time: said.time.map(three),
        power_w: said.power.map(three),
        energy: said.time.zip(said.power).map(|(time, power)| time.value * power.value),
    }
}

fn said_table(lines: &[Line]) -> String {
    let number = |value: f64| format!("{value:.5}");
    let three = |values: Option<[f64; 3]>| match values {
        None => [String::new(), String::new()],
        Some([value, low, high]) => [number(value), format!("{} - {}", number(low), number(high))],
    };
    let row = |line: &Line| {
        let ([time, time_range], [power, power_range]) = (three(line.time), three(line.power_w));
        let at = line.sm_mhz.or(line.power_limit_w).map_or_else(String::new, |at| format!("{at}"));
        let note = if line.extrapolated { "beyond the measured clocks" } else { "" };
        let energy = line.energy.map_or_else(String::new, number);
        vec![at, time, time_range, power, power_range, energy, note.to_owned()]
    };
    let head = ["at", "time", "90 %", "power W", "90 %", "energy", ""].map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(lines.iter().map(row)).collect();
    let (left, right) = (Align::Left, Align::Right);
    table(&rows, &[right, right, left, right, left, right, left])
}
