//! `rats info --table`: one line an instance, as a Markdown table.

use std::path::Path;

use rats_domain::instance::Instance;
use rats_domain::problem::Problems;

use super::Answer;
use super::args::InfoArgs;
use super::info::flexibility;
use crate::best_known::BestKnown;
use crate::features::{features, objective};
use crate::generate::promises;
use crate::io::read_best_known;
use crate::report::{number, percent};

const HEAD: [&str; 11] = [
    "instance",
    "jobs",
    "nodes x GPUs",
    "options",
    "horizon",
    "load",
    "tight",
    "bits a job",
    "features",
    "objective",
    "fifo_max breaks",
];

pub(super) fn run(args: &InfoArgs) -> Result<Answer, Problems> {
    let known = args.best_known.as_deref().map(read_best_known).transpose()?;
    let mut head: Vec<String> = HEAD.map(str::to_owned).to_vec();
    if known.is_some() {
        head.push("best known".to_owned());
    }
    let mut text = row(&head);
    text.push_str(&row(&vec!["---".to_owned(); head.len()]));
    for path in &args.instances {
        let instance = super::instance(path)?;
        let mut cells = cells(&instance);
        if let Some(known) = &known {
            cells.push(best(known, path));
        }
        text.push_str(&row(&cells));
    }
    Ok(Answer::done(text))
}

fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn cells(instance: &Instance) -> Vec<String> {
    let cluster = &instance.cluster;
    let options: usize = instance.jobs.values().map(|job| job.options.len()).sum();
    vec![
        instance.name.clone(),
        instance.jobs.len().to_string(),
        format!("{} x {}", cluster.nodes.len(), cluster.gpus.len() / cluster.nodes.len().max(1)),
        options.to_string(),
        instance.horizon.to_string(),
        percent(promises::load(instance)),
        percent(promises::tight(instance)),
        format!("{:.1}", flexibility(instance)),
        features(instance).join(", "),
        objective(instance),
        broken(instance),
    ]
}

/// The rules that the baseline breaks and how often.
fn broken(instance: &Instance) -> String {
    let (_, Some(report)) = promises::baseline(instance) else { return "ends out of range".to_owned() };
    let mut counts = std::collections::BTreeMap::new();
    for violation in &report.violations {
        *counts.entry(violation.code).or_insert(0_usize) += 1;
    }
    let parts: Vec<_> = counts.iter().map(|(code, count)| format!("{code}: {count}")).collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

/// The best known value, with its gap if it is not proved optimal.
fn best(known: &BestKnown, path: &Path) -> String {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let family = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let Some(entry) = known.get(&family, &name) else { return "-".to_owned() };
    let Some(objective) = entry.objective else { return entry.status.clone() };
    let gap = entry.bound.map(|bound| rats_domain::objective::gap(objective, bound));
    match gap {
        Some(gap) if entry.status != "optimal" => {
            format!("{} ({}, gap {})", number(objective), entry.solver, percent(gap))
        }
        _ => format!("{} ({}, {})", number(objective), entry.solver, entry.status),
    }
}
