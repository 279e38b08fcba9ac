//! `rats compare`: plans of one instance side by side, with differences to the first.

use std::path::{Path, PathBuf};

use rats_domain::check::Report;
use rats_domain::evaluate::Evaluation;
use rats_domain::instance::Instance;
use rats_domain::power::wakes;
use rats_domain::problem::Problems;
use serde::Serialize;

use super::Answer;
use super::args::CompareArgs;
use crate::document::{Counts, Terms, counts, counts_text, json};
use crate::io::standard_once;
use crate::report::{Align, number, percent, table};

#[derive(Serialize)]
struct Document {
    instance: String,
    plans: Vec<Column>,
}

/// What is said of one plan.
#[derive(Serialize)]
struct Column {
    plan: String,
    valid: bool,
    violations: Counts,
    objective: Option<f64>,
    terms: Option<Terms>,
    late_jobs: Option<usize>,
    peak_power_w: Option<f64>,
    wakes: Option<usize>,
    /// Objective less that of the first plan.
    difference: Option<f64>,
}

pub(super) fn run(args: &CompareArgs) -> Result<Answer, Problems> {
    standard_once(args.plans.iter().chain([&args.instance]).map(PathBuf::as_path))?;
    let instance = super::instance(&args.instance)?;
    let mut columns: Vec<Column> = Vec::new();
    for path in &args.plans {
        let (report, _) = super::judged(&instance, path, false)?;
        super::warn(&report.warnings);
        let mut column = Column::new(&instance, path, &report);
        let first = columns.first().map_or(column.objective, |first| first.objective);
        column.difference = column.objective.zip(first).map(|(objective, first)| objective - first);
        columns.push(column);
    }
    let text =
        if args.json { json(&Document { instance: instance.name, plans: columns }) } else { side_by_side(&columns) };
    Ok(Answer::done(text))
}

impl Column {
    fn new(instance: &Instance, path: &Path, report: &Report) -> Self {
        let evaluation = report.evaluation.as_ref();
        Self {
            plan: path.display().to_string(),
            valid: report.is_valid(),
            violations: counts(&report.violations),
            objective: evaluation.map(|evaluation| evaluation.objective),
            terms: evaluation.map(|evaluation| Terms::of(instance, evaluation)),
            late_jobs: evaluation.map(|evaluation| evaluation.late.len()),
            peak_power_w: evaluation.map(|evaluation| evaluation.peak_power.watts()),
            wakes: evaluation.map(|evaluation| wake_count(instance, evaluation)),
            difference: None,
        }
    }

    fn term(&self, value: impl Fn(&Terms) -> f64) -> Option<f64> {
        self.terms.as_ref().map(value)
    }
}

fn wake_count(instance: &Instance, evaluation: &Evaluation) -> usize {
    let nodes = instance.cluster.nodes.iter();
    nodes.map(|(id, node)| wakes(node, &evaluation.powered[id]).count()).sum()
}

fn side_by_side(columns: &[Column]) -> String {
    const KWH: f64 = 3.6e6;
    let words = |name: &str, cell: &dyn Fn(&Column) -> String| {
        std::iter::once(name.to_owned()).chain(columns.iter().map(cell)).collect::<Vec<_>>()
    };
    let numbers = |name: &str, value: &dyn Fn(&Column) -> Option<f64>| {
        let first = columns.first().and_then(value);
        let cells = columns.iter().enumerate().map(|(position, column)| {
            let against = first.filter(|_| position > 0);
            value(column).map_or_else(|| "-".to_owned(), |value| with_difference(value, against))
        });
        std::iter::once(name.to_owned()).chain(cells).collect::<Vec<_>>()
    };
    let mut rows = vec![
        words("", &|column| column.plan.clone()),
        words("valid", &|column| if column.valid { "yes" } else { "no" }.to_owned()),
        numbers("objective", &|column| column.objective),
        numbers("energy, kWh", &|column| column.term(|terms| terms.energy / KWH)),
    ];
    if columns.iter().any(|column| column.terms.as_ref().is_some_and(|terms| terms.cost.is_some())) {
        rows.push(numbers("cost", &|column| column.terms.as_ref().and_then(|terms| terms.cost)));
    }
    rows.extend([
        numbers("makespan, s", &|column| column.term(|terms| terms.makespan)),
        numbers("completion, s", &|column| column.term(|terms| terms.completion)),
        numbers("tardiness, s", &|column| column.term(|terms| terms.tardiness)),
        numbers("late jobs", &|column| column.late_jobs.map(|count| count as f64)),
        numbers("peak power, W", &|column| column.peak_power_w),
        numbers("wake-ups", &|column| column.wakes.map(|count| count as f64)),
        numbers("running gangs, kWh", &|column| column.term(|terms| terms.split.gpu_run / KWH)),
        numbers("idle GPUs, kWh", &|column| column.term(|terms| terms.split.gpu_idle / KWH)),
        numbers("nodes without GPUs, kWh", &|column| column.term(|terms| terms.split.base / KWH)),
        numbers("wake-ups, kWh", &|column| column.term(|terms| terms.split.wake / KWH)),
        words("broken rules", &|column| {
            if column.violations.is_empty() { "none".to_owned() } else { counts_text(&column.violations) }
        }),
    ]);
    table(&rows, &[Align::Left, Align::Right])
}

/// `12.5 (-4.2 %)`.
fn with_difference(value: f64, first: Option<f64>) -> String {
    match first {
        Some(first) if first != 0.0 && value - first != 0.0 => {
            let share = (value - first) / first.abs();
            let sign = if share > 0.0 { "+" } else { "" };
            format!("{} ({sign}{})", number(value), percent(share))
        }
        _ => number(value),
    }
}
