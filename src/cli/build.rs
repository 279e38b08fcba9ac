//! `rats build`: a scenario and profiles in, an instance out.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rats_domain::codes::Code;
use rats_domain::format::{ClusterFile, GpuFile, InstanceFile, read};
use rats_domain::problem::{Problem, Problems, Warning};
use rats_domain::profile::Profile;
use serde::Serialize;

use super::Answer;
use super::args::BuildArgs;
use crate::build::scenario::Scenario;
use crate::build::{Files, JobReport, Library, build};
use crate::document::json;
use crate::generate::measured;
use crate::io::{STANDARD, can_write, place_warnings, placed, read_gpu, read_text, write};
use crate::layout::laid_out;
use crate::report::{Align, count, table};

#[derive(Serialize)]
struct Document<'a> {
    instance: &'a str,
    jobs: Vec<Line<'a>>,
}

#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    combinations: usize,
    starved: usize,
    unplaceable: BTreeMap<&'static str, usize>,
    pruned: usize,
    options: usize,
    #[serde(skip_serializing_if = "is_zero")]
    predicted: usize,
}

pub(super) fn run(args: &BuildArgs) -> Result<Answer, Problems> {
    let text = read_text(&args.scenario)?;
    let mut read = Scenario::read(&text).map_err(|problems| placed(&args.scenario, problems))?;
    let library = library(&args.profiles)?;
    let cluster = cluster(&args.scenario, &read.document)?;
    let files = Files { cluster, gpus: gpus(&args.scenario, &read.document)? };
    let standard = args.output == Path::new(STANDARD);
    if !standard {
        can_write(&args.output)?;
    }
    let built = build(&read.document, &library, &files).map_err(|problems| placed(&args.scenario, problems))?;
    read.warnings.extend(built.warnings);
    place_warnings(&args.scenario, &mut read.warnings);
    super::warn(&read.warnings);
    let content = instance_text(&built.file)?;
    if standard {
        return Ok(Answer::done(content));
    }
    write(&args.output, content.as_bytes())?;
    let name = &built.file.name;
    let text = if args.json { document(name, &built.jobs) } else { summary(name, &built.jobs, &args.output) };
    Ok(Answer::done(text))
}

/// An instance as it is written.
pub(super) fn instance_text(file: &InstanceFile) -> Result<String, Problem> {
    let compact = serde_json::to_string(file);
    compact.map(|compact| laid_out(&compact)).map_err(|error| Problem::new(Code::U08, "instance", format!("{error}.")))
}

/// The built-in profiles and those of directories and files, later ones in the place of earlier ones.
fn library(paths: &[PathBuf]) -> Result<Library, Problems> {
    let mut library = measured::library();
    let (mut problems, mut files) = (Vec::new(), Vec::new());
    for path in paths {
        if path.is_dir() {
            let mut found = Vec::new();
            collect(path, &mut found)?;
            found.sort();
            files.extend(found);
        } else {
            files.push(path.clone());
        }
    }
    for path in files {
        match read_text(&path).map_err(Problems::from).and_then(|text| Profile::read(text.as_bytes())) {
            Ok(read) => {
                library.insert(read.profile.id.clone(), read.profile);
            }
            Err(found) => problems.extend(placed(&path, found).0),
        }
    }
    if problems.is_empty() { Ok(library) } else { Err(Problems(problems)) }
}

/// The JSON files of a directory and of those below that say they are profiles.
fn collect(directory: &Path, found: &mut Vec<PathBuf>) -> Result<(), Problem> {
    let unreadable =
        |error: std::io::Error| Problem::new(Code::U01, directory.display().to_string(), format!("{error}."));
    for entry in std::fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "json")
            && read_text(&path).is_ok_and(|text| text.contains("rats.profile/"))
        {
            found.push(path);
        }
    }
    Ok(())
}

/// The GPU types of the files that the scenario names.
fn gpus(path: &Path, scenario: &Scenario) -> Result<BTreeMap<String, GpuFile>, Problems> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let read = |(id, file): (&String, &String)| read_gpu(&folder.join(file)).map(|gpu| (id.clone(), gpu));
    scenario.gpu_files.iter().map(read).collect()
}

/// The cluster of the instance that the scenario names.
fn cluster(scenario_path: &Path, scenario: &Scenario) -> Result<Option<ClusterFile>, Problems> {
    let Some(name) = &scenario.cluster_file else { return Ok(None) };
    let path = scenario_path.parent().unwrap_or(Path::new("")).join(name);
    let text = read_text(&path)?;
    let read = read::<InstanceFile>(text.as_bytes()).map_err(|problems| placed(&path, problems))?;
    let mut warnings: Vec<Warning> = read.warnings;
    place_warnings(&path, &mut warnings);
    super::warn(&warnings);
    Ok(Some(read.document.cluster))
}

fn document(instance: &str, jobs: &[JobReport]) -> String {
    json(&Document { instance, jobs: jobs.iter().map(line).collect() })
}

fn line(job: &JobReport) -> Line<'_> {
    Line {
        id: &job.id,
        combinations: job.combinations,
        starved: job.starved,
        unplaceable: job.unplaceable.iter().map(|(rule, count)| (rule.id(), *count)).collect(),
        pruned: job.pruned,
        options: job.options,
        predicted: job.predicted,
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn summary(name: &str, jobs: &[JobReport], output: &Path) -> String {
    let filled = jobs.iter().any(|job| job.predicted > 0);
    let head = ["JOB", "COMBINATIONS", "NO BANDWIDTH", "NO PLACEMENT", "SUPERFLUOUS", "OPTIONS", "PREDICTED"];
    let columns = head.len() - usize::from(!filled);
    let mut rows = vec![head[..columns].iter().map(|&name| name.to_owned()).collect::<Vec<_>>()];
    rows.extend(jobs.iter().map(|job| {
        let rules: Vec<_> = job.unplaceable.iter().map(|(rule, count)| format!("{count} ({rule})")).collect();
        let mut row = vec![
            job.id.clone(),
            job.combinations.to_string(),
            job.starved.to_string(),
            if rules.is_empty() { "0".to_owned() } else { rules.join(" ") },
            job.pruned.to_string(),
            job.options.to_string(),
            job.predicted.to_string(),
        ];
        row.truncate(columns);
        row
    }));
    let mut text = table(&rows, &[Align::Left, Align::Right]);
    let options = jobs.iter().map(|job| job.options).sum();
    let (jobs, options) = (count(jobs.len(), "job"), count(options, "option"));
    let _ = write!(text, "\n{name}: {jobs} with {options}, written to {}\n", output.display());
    text
}
