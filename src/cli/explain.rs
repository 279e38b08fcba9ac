//! `rats explain`: why one job runs as it does.

use std::fmt::Write as _;

use rats_domain::check::Violation;
use rats_domain::codes::Code;
use rats_domain::format::{InstanceFile, PointFile, read};
use rats_domain::ids::{GpuId, Id, OptionId};
use rats_domain::instance::Instance;
use rats_domain::problem::{Problem, Problems};
use rats_domain::schedule::Placement;
use serde::Serialize;

use super::Answer;
use super::args::ExplainArgs;
use crate::build::fill::Mark;
use crate::document::{BrokenRule, counts, counts_text, json};
use crate::explain::{Explanation, Move, MoveKind, Verdict, explain};
use crate::io::{bytes, instance_of, standard_once};
use crate::report::{Align, count, duration, kwh, printable, signed, table};

#[derive(Serialize)]
struct Document {
    job: String,
    fixed: bool,
    runs: Runs,
    /// What the operating point stands on where nobody measured it.
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted: Option<PredictedPart>,
    earlier: EarlierPart,
    moves: Vec<MovePart>,
    alternatives: Vec<AlternativePart>,
    checks: usize,
    capped: bool,
}

#[derive(Serialize)]
struct Runs {
    option: usize,
    gpu_type: String,
    point: PointFile,
    start: i64,
    end: i64,
    gpus: Vec<String>,
    power_w: f64,
    energy_j: f64,
}

#[derive(Serialize)]
struct PredictedPart {
    /// s: predicted, lower and upper end of the 90 % interval.
    step_s: [f64; 3],
    /// W for one GPU: the same.
    power_w: [f64; 3],
}

#[derive(Serialize)]
struct VerdictPart {
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    violations: Vec<BrokenRule>,
}

#[derive(Serialize)]
struct EarlierPart {
    #[serde(skip_serializing_if = "Option::is_none")]
    free_from: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<VerdictPart>,
}

#[derive(Serialize)]
struct MovePart {
    change: &'static str,
    option: usize,
    start: i64,
    gpus: Vec<String>,
    verdict: VerdictPart,
}

#[derive(Serialize)]
struct AlternativePart {
    runs: Option<Runs>,
    /// Whether there was more to check.
    capped: bool,
    option: usize,
    verdict: Option<VerdictPart>,
}

pub(super) fn run(args: &ExplainArgs) -> Result<Answer, Problems> {
    standard_once([args.instance.as_path(), &args.plan])?;
    let content = bytes(&args.instance)?;
    let instance = super::told(instance_of(&args.instance, &content)?);
    let (report, _) = super::judged(&instance, &args.plan, false)?;
    super::warn(&report.warnings);
    let plan = report.into_checked().map_err(|violations| super::needs_valid(&args.plan, &violations))?;
    let unknown = || Problem::new(Code::U07, &args.job, "there is no such job.");
    let job = instance.job_named(&args.job).ok_or_else(unknown)?;
    let answer =
        explain(&instance, &plan, job, usize::try_from(args.checks).unwrap_or(usize::MAX)).ok_or_else(unknown)?;
    let mark = mark(&content, &args.job, answer.placement.option);
    let text =
        if args.json { json(&document(&instance, &answer, mark)) } else { text(&instance, &answer, mark.as_ref()) };
    Ok(Answer::done(text))
}

/// What the instance says of an option's operating point if nobody measured it.
fn mark(content: &[u8], job: &str, option: OptionId) -> Option<Mark> {
    let file = read::<InstanceFile>(content).ok()?.document;
    Mark::of(file.jobs.iter().find(|known| known.id == job)?, option.position())
}

fn document(instance: &Instance, answer: &Explanation, mark: Option<Mark>) -> Document {
    let job = &instance.jobs[answer.job];
    let part = |change: &Move| MovePart {
        change: word(change.kind),
        option: change.placement.option.position(),
        start: change.placement.start.0,
        gpus: names(instance, &change.placement.gpus),
        verdict: (&change.verdict).into(),
    };
    let alternatives = answer.alternatives.iter().map(|alternative| {
        let found = match (&alternative.best, &alternative.nearest) {
            (Some((placement, difference)), _) => Some((placement, Verdict::Allowed(*difference))),
            (None, Some((placement, violations))) => Some((placement, Verdict::Forbidden(violations.clone()))),
            (None, None) => None,
        };
        AlternativePart {
            option: alternative.option.position(),
            capped: alternative.capped,
            runs: found.as_ref().map(|(placement, _)| Runs::of(instance, answer, placement)),
            verdict: found.as_ref().map(|(_, verdict)| verdict.into()),
        }
    });
    Document {
        job: job.id.clone(),
        fixed: job.fixed.is_some(),
        runs: Runs::of(instance, answer, &answer.placement),
        predicted: mark.map(|Mark { step_s, power_w, .. }| PredictedPart { step_s, power_w }),
        earlier: EarlierPart {
            free_from: answer.earlier.free_from.map(|tick| tick.0),
            start: answer.earlier.obstacle.as_ref().map(|(tick, _)| tick.0),
            verdict: answer.earlier.obstacle.as_ref().map(|(_, verdict)| verdict.into()),
        },
        moves: answer.moves.iter().map(part).collect(),
        alternatives: alternatives.collect(),
        checks: answer.checks,
        capped: answer.capped,
    }
}

impl Runs {
    fn of(instance: &Instance, answer: &Explanation, placement: &Placement) -> Self {
        let option = instance.option(answer.job, placement.option);
        Self {
            option: placement.option.position(),
            gpu_type: instance.cluster.gpu_types[option.gpu_type].id.clone(),
            point: option.point,
            start: placement.start.0,
            end: placement.end(instance, answer.job).0,
            gpus: names(instance, &placement.gpus),
            power_w: option.power.watts(),
            energy_j: option.power.over(option.ticks, instance.tick).joules(),
        }
    }
}

impl From<&Verdict> for VerdictPart {
    fn from(verdict: &Verdict) -> Self {
        let violations: &[Violation] = match verdict {
            Verdict::Allowed(_) => &[],
            Verdict::Forbidden(violations) => violations,
        };
        let difference = verdict.difference();
        Self { allowed: difference.is_some(), difference, violations: violations.iter().map(Into::into).collect() }
    }
}

fn text(instance: &Instance, answer: &Explanation, mark: Option<&Mark>) -> String {
    let mut text = head(instance, answer, mark);
    if instance.jobs[answer.job].fixed.is_some() {
        text.push_str("\nThe job is fixed: option, start and GPUs are part of the instance. 0 plans checked.\n");
        return text;
    }
    let _ = write!(text, "\nWhy not earlier\n  {}\n", printable(&why_not_earlier(instance, answer)));
    text.push_str("\nSingle changes, all else as planned\n");
    let rows: Vec<_> = answer
        .moves
        .iter()
        .map(|change| {
            let what = match change.kind {
                MoveKind::Earlier | MoveKind::Later => format!("start at {}", change.placement.start),
                MoveKind::Option => format!("option {}", describe(instance, answer, change.placement.option)),
                MoveKind::Place => "other GPUs".to_owned(),
            };
            vec![format!("  {what}"), place(instance, &change.placement.gpus), outcome(&change.verdict)]
        })
        .collect();
    text.push_str(&table(&rows, &[Align::Left]));
    if rows.is_empty() {
        text.push_str(if answer.capped { "  not checked: the limit was reached\n" } else { "  none\n" });
    }
    text.push_str("\nThe best found for each option, all else as planned\n");
    text.push_str(&alternatives(instance, answer));
    let _ = write!(text, "\n{} checked", count(answer.checks, "plan"));
    text.push_str(if answer.capped {
        "; the limit was reached and there was more to check, see --checks.\n"
    } else {
        ".\n"
    });
    if answer.alternatives.iter().any(|alternative| !alternative.every_set) {
        text.push_str("One gang per domain is tried, not every set of GPUs.\n");
    }
    text
}

fn head(instance: &Instance, answer: &Explanation, mark: Option<&Mark>) -> String {
    let placement = &answer.placement;
    let option = instance.option(answer.job, placement.option);
    let end = placement.end(instance, answer.job);
    let rows = [
        ("job", instance.jobs[answer.job].id.clone()),
        ("runs", format!("option {}", describe(instance, answer, placement.option))),
        ("ticks", format!("[{}, {end}), {}", placement.start, duration(option.ticks, instance.tick))),
        ("GPUs", names(instance, &placement.gpus).join(", ")),
        (
            "energy",
            format!("{} in its gang, {} on average", kwh(option.power.over(option.ticks, instance.tick)), option.power),
        ),
    ];
    let predicted = mark.map(|Mark { step_s: [step, shortest, longest], power_w: [power, least, most], .. }| {
        let step = format!("a step of {step:.4} s ({shortest:.4} to {longest:.4})");
        ("predicted", format!("{step} at {power:.1} W ({least:.1} to {most:.1}); nobody measured this point"))
    });
    let rows: Vec<_> = rows.into_iter().chain(predicted).map(|(name, fact)| vec![name.to_owned(), fact]).collect();
    table(&rows, &[Align::Left])
}

fn why_not_earlier(instance: &Instance, answer: &Explanation) -> String {
    let job = &instance.jobs[answer.job];
    let free = match answer.earlier.free_from {
        Some(tick) => format!("It could start at any tick from {tick} on for the same objective or less. "),
        None => String::new(),
    };
    let obstacle = match &answer.earlier.obstacle {
        None if answer.earlier.capped => "Not checked further: the limit was reached.".to_owned(),
        None if answer.placement.start <= job.release => "It starts at its release.".to_owned(),
        None => String::new(),
        Some((tick, Verdict::Allowed(difference))) => {
            format!("A start at {tick} is allowed but changes the objective by {}.", signed(*difference))
        }
        Some((tick, Verdict::Forbidden(violations))) => {
            format!("A start at {tick} is forbidden. {}.", rules(violations))
        }
    };
    format!("{free}{obstacle}").trim_end().to_owned()
}

fn alternatives(instance: &Instance, answer: &Explanation) -> String {
    let mut rows = vec![["  OPTION", "TICKS", "GANG", "START", "WHERE", "OBJECTIVE"].map(str::to_owned).to_vec()];
    let mut needs = String::new();
    for alternative in &answer.alternatives {
        let option = instance.option(answer.job, alternative.option);
        let name = format!("  {}", describe(instance, answer, alternative.option));
        let cost = [option.ticks.to_string(), kwh(option.power.over(option.ticks, instance.tick))];
        let as_now = alternative.option == answer.placement.option;
        if as_now {
            let now = &answer.placement;
            let found = [now.start.to_string(), place(instance, &now.gpus), "+0 (unchanged)".to_owned()];
            rows.push([format!("{name} (as now)")].into_iter().chain(cost.clone()).chain(found).collect());
        }
        let name = if as_now { "  otherwise".to_owned() } else { name };
        let found = match (&alternative.best, &alternative.nearest) {
            (Some((placement, difference)), _) => Some((placement, signed(*difference))),
            (None, Some((placement, violations))) => {
                let so_far = if alternative.capped { "forbidden in every place checked" } else { "forbidden" };
                let _ = writeln!(needs, "  option {} is {so_far}. {}.", alternative.option, rules(violations));
                Some((placement, format!("forbidden ({})", counts_text(&counts(violations)))))
            }
            (None, None) => None,
        };
        let mut row: Vec<_> = [name].into_iter().chain(cost).collect();
        if let Some((placement, objective)) = found {
            row.extend([placement.start.to_string(), place(instance, &placement.gpus), objective]);
        } else {
            let why = if alternative.capped { "not checked: limit reached" } else { "no other placement" };
            row.extend(["-", "-", why].map(str::to_owned));
        }
        rows.push(row);
    }
    format!("{}{needs}", table(&rows, &[Align::Left]))
}

/// Broken rules in words.
fn rules(violations: &[Violation]) -> String {
    let messages = violations.iter().map(|rule| format!("{}: {}", rule.code, rule.message));
    printable(&messages.collect::<Vec<_>>().join(". ")).into_owned()
}

fn outcome(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Allowed(difference) => format!("allowed, objective {}", signed(*difference)),
        Verdict::Forbidden(violations) => {
            let first = violations.first().map_or("", |rule| rule.message.as_str());
            format!("forbidden ({}): {first}", counts_text(&counts(violations)))
        }
    }
}

/// `1: 2 x A100 at 1200 MHz`.
fn describe(instance: &Instance, answer: &Explanation, id: OptionId) -> String {
    let option = instance.option(answer.job, id);
    let mut text = format!("{id}: {} x {}", option.gpus, instance.cluster.gpu_types[option.gpu_type].id);
    let PointFile { sm_mhz, mem_mhz, power_limit_w } = option.point;
    let point = [
        sm_mhz.map(|clock| format!("SM {clock} MHz")),
        mem_mhz.map(|clock| format!("memory {clock} MHz")),
        power_limit_w.map(|limit| format!("limit {limit} W")),
    ];
    let point: Vec<_> = point.into_iter().flatten().collect();
    if !point.is_empty() {
        let _ = write!(text, " at {}", point.join(", "));
    }
    text
}

fn names(instance: &Instance, gpus: &[GpuId]) -> Vec<String> {
    gpus.iter().map(|&gpu| instance.cluster.gpu_name(gpu)).collect()
}

/// The GPUs of a small gang; of a large one the first and the number of others.
fn place(instance: &Instance, gpus: &[GpuId]) -> String {
    const SMALL: usize = 4;
    match gpus {
        [] => "-".to_owned(),
        few if few.len() <= SMALL => names(instance, few).join(", "),
        [first, rest @ ..] => format!("{} and {} more", instance.cluster.gpu_name(*first), rest.len()),
    }
}

fn word(kind: MoveKind) -> &'static str {
    match kind {
        MoveKind::Earlier => "earlier",
        MoveKind::Later => "later",
        MoveKind::Option => "option",
        MoveKind::Place => "place",
    }
}
