//! From all options of the jobs to those that stay: what cannot stand alone or is superfluous goes.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::format::{InstanceFile, JobFile};
use rats_domain::ids::{JobId, OptionId};
use rats_domain::instance::{Instance, Placeability};
use rats_domain::problem::{Problem, Problems};
use serde_json::json;

use super::fill::marks;
use super::options::{Enumerated, Library};
use super::prune::{Pruning, kept};
use super::scenario::{Scenario, ScenarioJob};
use super::{Behind, Choice, JobReport, no_option, physics};

/// Jobs looked at together, to bound memory.
const CHUNK: usize = 500;

/// The jobs of the instance and what became of their options.
pub(super) fn jobs(
    scenario: &Scenario,
    library: &Library,
    base: &InstanceFile,
    enumerated: Vec<Enumerated>,
    pruning: Pruning,
) -> Result<(Vec<JobFile>, Vec<JobReport>), Problems> {
    let (mut files, mut reports, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    let mut enumerated = enumerated;
    let mut first = 0;
    while !enumerated.is_empty() {
        let rest = enumerated.split_off(enumerated.len().min(CHUNK));
        let obstacles = obstacles(base, &enumerated, first, &mut problems);
        for ((position, all), obstacles) in (first..).zip(enumerated).zip(obstacles) {
            let job = &scenario.jobs[position];
            match select(job, all, &obstacles, pruning) {
                Ok((choices, requested, report)) => {
                    files.push(marked(file(scenario, library, job, &choices, requested), &choices));
                    reports.push(report);
                }
                Err(message) => problems.push(no_option(position, message)),
            }
        }
        first += CHUNK;
        enumerated = rest;
    }
    if problems.is_empty() { Ok((files, reports)) } else { Err(Problems(problems)) }
}

/// By job and option the rule that leaves it no placement on the empty cluster.
fn obstacles(
    base: &InstanceFile,
    enumerated: &[Enumerated],
    first: usize,
    problems: &mut Vec<Problem>,
) -> Vec<Vec<Option<Code>>> {
    let nameless = |(position, all): (usize, &Enumerated)| {
        bare(position.to_string(), all.choices.iter().map(Choice::to_file).collect())
    };
    // A job without any usable option is an error of the instance; one that always fits keeps the others readable.
    let mut file = InstanceFile { jobs: (0..).zip(enumerated).map(nameless).collect(), ..base.clone() };
    let Some(spare) = spare_option(base) else { return Vec::new() };
    file.jobs.iter_mut().for_each(|job| job.options.push(spare.clone()));
    let read = match Instance::from_file(&file) {
        Ok(read) => read,
        Err(found) => {
            problems.extend(found.0.into_iter().map(|problem| shifted(problem, first)));
            return Vec::new();
        }
    };
    let placeability = Placeability::new(&read.instance.cluster);
    let of_job = |(_, job): (JobId, &rats_domain::instance::Job)| {
        let obstacle = |(_, option): (OptionId, &rats_domain::instance::JobOption)| {
            if option.placeable { None } else { placeability.obstacle(option) }
        };
        job.options.iter().map(obstacle).collect()
    };
    read.instance.jobs.iter().map(of_job).collect()
}

/// One GPU of the first node's type for one tick.
fn spare_option(base: &InstanceFile) -> Option<rats_domain::format::OptionFile> {
    let node = base.cluster.nodes.first()?;
    Some(rats_domain::format::OptionFile {
        gpu_type: node.gpu_type.clone(),
        gpus: 1,
        span: "island".to_owned(),
        point: rats_domain::format::PointFile::default(),
        ticks: 1,
        power_w: Decimal::from(0),
        peak_w: None,
        ring_gb_s: Decimal::from(0),
        read_gb_s: Decimal::from(0),
        per_gpu: BTreeMap::new(),
        memory_mib: None,
    })
}

/// A job that asks for nothing but one of its options.
pub(crate) fn bare(id: String, options: Vec<rats_domain::format::OptionFile>) -> JobFile {
    JobFile {
        id,
        release: 0,
        deadline: None,
        due: None,
        weight: Decimal::from(1),
        after: Vec::new(),
        options,
        requested: 0,
        fixed: None,
        user: None,
        workload: None,
        command: None,
        physics: None,
    }
}

/// The problem of `jobs[k]` of a chunk as that of the scenario's job.
fn shifted(problem: Problem, first: usize) -> Problem {
    let number = problem.place.strip_prefix("jobs[").and_then(|rest| rest.split_once(']'));
    let position = number.and_then(|(number, rest)| Some((number.parse::<usize>().ok()?, rest)));
    let place = position.map(|(position, rest)| format!("jobs[{}]{rest}", first + position));
    Problem { place: place.unwrap_or_else(|| problem.place.clone()), ..problem }
}

/// What stays of a job's options, and which of them was asked for.
fn select(
    job: &ScenarioJob,
    all: Enumerated,
    obstacles: &[Option<Code>],
    pruning: Pruning,
) -> Result<(Vec<Choice>, usize, JobReport), String> {
    let mut report = JobReport {
        id: job.id.clone(),
        combinations: all.choices.len() + all.starved,
        starved: all.starved,
        ..JobReport::default()
    };
    let mut usable = Vec::new();
    let mut requested = None;
    for ((position, choice), obstacle) in all.choices.into_iter().enumerate().zip(obstacles) {
        if let Some(rule) = obstacle {
            *report.unplaceable.entry(*rule).or_default() += 1;
            continue;
        }
        if position < all.asked_for && requested.is_none() {
            requested = Some(usable.len());
        }
        usable.push(choice);
    }
    let Some(requested) = requested else {
        let gang = job.gpus.first().copied().unwrap_or_default();
        return Err(format!(
            "the first gang size, {gang}, cannot run at its highest operating point ({}).",
            reasons(&report)
        ));
    };
    let stays = kept(&usable, requested, pruning);
    let at = stays[..requested].iter().filter(|stays| **stays).count();
    let combined = usable.into_iter().zip(&stays);
    let choices: Vec<_> = combined.filter(|(_, stays)| **stays).map(|(choice, _)| choice).collect();
    report.pruned = stays.len() - choices.len();
    report.options = choices.len();
    report.predicted = choices.iter().filter(|choice| choice.predicted.is_some()).count();
    Ok((choices, at, report))
}

fn reasons(report: &JobReport) -> String {
    let starved = (report.starved > 0).then(|| format!("{} without bandwidth left", report.starved));
    let rules = report.unplaceable.iter().map(|(rule, count)| format!("{count} against {rule}"));
    let found: Vec<_> = starved.into_iter().chain(rules).collect();
    if found.is_empty() { "nothing to choose from".to_owned() } else { found.join(", ") }
}

/// With `physics.predicted`, where options stand on predicted points.
fn marked(mut file: JobFile, choices: &[Choice]) -> JobFile {
    let marks = marks(choices);
    if let (Some(physics), false) = (&mut file.physics, marks.is_empty()) {
        physics["predicted"] = json!(marks);
    }
    file
}

fn file(scenario: &Scenario, library: &Library, job: &ScenarioJob, choices: &[Choice], requested: usize) -> JobFile {
    let tick_s = scenario.tick_s as f64;
    let fastest = choices.iter().map(|choice| choice.outcome.ticks.0).min().unwrap_or(1) as f64;
    let up = |seconds: f64| physics::whole((seconds / tick_s - 1e-9).ceil());
    let down = |seconds: f64| physics::whole((seconds / tick_s + 1e-9).floor());
    let release = job.release.or(job.release_s.map(up)).unwrap_or(0);
    let after_release = |factor: f64| release.saturating_add(physics::whole((factor * fastest + 1e-9).floor()));
    let first = job.profiles.first().and_then(|id| library.get(id));
    let model = first.map(|profile| profile.workload.model.clone());
    let behind: Vec<Behind> = choices.iter().map(|choice| choice.behind).collect();
    JobFile {
        release,
        deadline: job.deadline.or(job.deadline_s.map(down)).or(job.deadline_factor.map(after_release)),
        due: job.due.or(job.due_s.map(down)).or(job.due_factor.map(after_release)),
        weight: job.weight.unwrap_or_else(|| Decimal::from(1)),
        after: job.after.clone(),
        requested: i64::try_from(requested).unwrap_or(0),
        user: job.user.clone(),
        workload: job.workload.clone().or(model),
        command: job.command.clone(),
        physics: Some(json!({ "profiles": job.profiles, "options": behind })),
        ..bare(job.id.clone(), choices.iter().map(Choice::to_file).collect())
    }
}
