//! `rats check`: every rule that a plan breaks, and what it is worth.

use std::fmt::Write as _;

use rats_domain::check::{Report, Violation};
use rats_domain::instance::Instance;
use rats_domain::problem::Problems;
use serde::Serialize;

use super::Answer;
use super::args::CheckArgs;
use crate::document::{BrokenRule, Suspicion, Terms, facts, json, split_table};
use crate::io::{read_instance, standard_once};
use crate::report::{Align, count, number, printable, table};

#[derive(Serialize)]
struct Document {
    valid: bool,
    violations: Vec<BrokenRule>,
    warnings: Vec<Suspicion>,
    terms: Option<Terms>,
    objective: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claimed_objective: Option<f64>,
}

pub(super) fn run(args: &CheckArgs) -> Result<Answer, Problems> {
    standard_once([args.instance.as_path(), &args.plan])?;
    let read = read_instance(&args.instance)?;
    let (mut report, claimed) = super::judged(&read.instance, &args.plan, args.strict)?;
    report.warnings.splice(0..0, read.warnings);
    let text = if args.json {
        json(&document(&read.instance, &report, claimed))
    } else {
        text(&read.instance, &args.plan.display().to_string(), &report)
    };
    Ok(Answer { text, exit: u8::from(!report.is_valid()) })
}

fn document(instance: &Instance, report: &Report, claimed: Option<f64>) -> Document {
    Document {
        valid: report.is_valid(),
        violations: report.violations.iter().map(BrokenRule::from).collect(),
        warnings: report.warnings.iter().map(Suspicion::from).collect(),
        terms: report.evaluation.as_ref().map(|evaluation| Terms::of(instance, evaluation)),
        objective: report.evaluation.as_ref().map(|evaluation| evaluation.objective),
        claimed_objective: claimed,
    }
}

fn text(instance: &Instance, plan: &str, report: &Report) -> String {
    let plan = printable(plan);
    let mut text = if report.is_valid() {
        format!("{plan}: valid\n")
    } else {
        format!("{plan}: not valid, {}\n", count(report.violations.len(), "broken rule"))
    };
    if !report.violations.is_empty() {
        let mut rows = vec![["CODE", "WHERE", "TICK", "WHAT"].map(str::to_owned).to_vec()];
        rows.extend(report.violations.iter().map(row));
        let _ = write!(text, "\n{}", table(&rows, &[Align::Left]));
    }
    for (position, warning) in report.warnings.iter().enumerate() {
        let _ = writeln!(text, "{}warning {}", if position == 0 { "\n" } else { "" }, printable(&warning.to_string()));
    }
    match &report.evaluation {
        None => text.push_str("\nNo objective: rules V1 and V2 must hold first.\n"),
        Some(evaluation) => {
            let mut rows = vec![vec!["objective".to_owned(), number(evaluation.objective)]];
            rows.extend(facts(instance, evaluation));
            let _ = write!(text, "\n{}", table(&rows, &[Align::Left]));
            let _ = write!(text, "\nThe energy goes to\n{}", split_table(evaluation));
        }
    }
    text
}

fn row(violation: &Violation) -> Vec<String> {
    let place = match (&violation.job, &violation.place) {
        (Some(job), _) => format!("job {job}"),
        (None, Some(place)) => place.clone(),
        (None, None) => "plan".to_owned(),
    };
    let tick = violation.tick.map_or_else(|| "-".to_owned(), |tick| tick.to_string());
    vec![violation.code.id().to_owned(), place, tick, violation.message.clone()]
}
