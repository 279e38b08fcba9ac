//! `summary.md` and `raw.csv` of scores.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::score::{Quantity, Score};
use crate::statistics::{largest, mean};

use super::overview;
use super::reach::{Metric, Outcome, REACH, Reach};

/// Scores of all seeds of one subject.
type Key<'s> = (&'s str, &'s str, &'s str, Quantity, &'s str);

/// The scores as CSV, one row a score.
pub fn raw(scores: &[Score]) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for score in scores {
        // Writing to memory cannot fail, and every field is a plain value.
        let _ = writer.serialize(score);
    }
    writer.into_inner().unwrap_or_default()
}

/// The scores as a page: what is to be reached, then every task with mean and worst over seeds.
pub fn markdown(title: &str, scores: &[Score]) -> String {
    let mut text = format!(
        "# {title}\n\nErrors are means over workloads of the mean relative error of held-out points, in %. \
        Mean and worst are over seeds or phases.\n"
    );
    reached(&mut text, scores);
    overview::write(&mut text, scores);
    let mut tasks: Vec<&str> = scores.iter().map(|score| score.task.as_str()).collect();
    tasks.dedup();
    for task in tasks {
        let of: Vec<&Score> = scores.iter().filter(|score| score.task == task).collect();
        table(&mut text, task, &of);
    }
    text
}

fn reached(text: &mut String, scores: &[Score]) {
    let all = REACH.iter().flat_map(|reach| reach.outcomes(scores).into_iter().map(move |outcome| (reach, outcome)));
    let all: Vec<(&Reach, Outcome)> = all.collect();
    if all.is_empty() {
        return;
    }
    text.push_str(
        "\n## Reach\n\nThe floor is what noise alone leaves: what the neighbors of a point say of it when all else is known, or \
         two equal measurements of each other.\n\n\
         | task | source | GPU | quantity | reach | mean | worst | floor | reached |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for (reach, outcome) in &all {
        let floor = reach.floor(&outcome.gpu, scores).map_or_else(String::new, |floor| figure(reach, floor));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {floor} | {} |",
            reach.task,
            reach.source,
            outcome.gpu,
            reach.quantity.name(),
            figure(reach, reach.bound),
            figure(reach, outcome.mean),
            figure(reach, outcome.worst),
            if outcome.kept { "yes" } else { "**no**" }
        );
    }
    let missed: Vec<_> = all.iter().filter(|(_, outcome)| !outcome.kept).collect();
    if !missed.is_empty() {
        text.push_str(
            "\n### Where it is not reached\n\nThe same from less and from more.\n\n\
             | task | source | GPU | quantity | reach | learning curve | floor |\n|---|---|---|---|---|---|---|\n",
        );
    }
    for (reach, outcome) in missed {
        let steps: Vec<String> = reach
            .learning(&outcome.gpu, scores)
            .iter()
            .map(|step| format!("{}: {}", step.known, figure(reach, step.mean)))
            .collect();
        let floor = reach.floor(&outcome.gpu, scores).map_or_else(String::new, |floor| figure(reach, floor));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {floor} |",
            reach.task,
            reach.source,
            outcome.gpu,
            reach.quantity.name(),
            figure(reach, reach.bound),
            steps.join("; "),
        );
    }
}

fn figure(reach: &Reach, value: f64) -> String {
    if reach.metric == Metric::Mape { percent(Some(value)) } else { format!("{value:.4}") }
}

fn table(text: &mut String, task: &str, scores: &[&Score]) {
    let mut groups: BTreeMap<Key<'_>, Vec<&Score>> = BTreeMap::new();
    for score in scores {
        let key =
            (score.source.as_str(), score.gpu.as_str(), score.task.as_str(), score.quantity, score.model.as_str());
        groups.entry(key).or_default().push(score);
    }
    let _ = write!(
        text,
        "\n## {task}\n\n| source | GPU | quantity | model | groups | n | mean | worst | median | p95 | worst group | coverage | \
         width | mean abs | balanced acc. | violation |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n"
    );
    for ((source, gpu, _, quantity, model), of) in groups {
        let figures = |figure: fn(&Score) -> Option<f64>| of.iter().filter_map(|s| figure(s)).collect::<Vec<f64>>();
        let average = |figure| mean(&figures(figure));
        let plain = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.3}"));
        let _ = writeln!(
            text,
            "| {source} | {gpu} | {} | {model} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            quantity.name(),
            of.iter().map(|s| s.groups).max().unwrap_or(0),
            of.iter().map(|s| s.n).sum::<usize>(),
            percent(average(|s| s.mape)),
            percent(largest(&figures(|s| s.mape))),
            percent(average(|s| s.median)),
            percent(average(|s| s.p95)),
            percent(largest(&figures(|s| s.worst_group))),
            percent(average(|s| s.coverage)),
            percent(average(|s| s.width)),
            plain(average(|s| s.mean_abs)),
            plain(average(|s| s.balanced_accuracy)),
            percent(average(|s| s.violation)),
        );
    }
}

/// In %, nothing where there is none.
pub(super) fn percent(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{:.2}", 100.0 * value))
}
