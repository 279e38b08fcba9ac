//! The page's first tables: each data set, GPU and model in a row, with the noise floor and the energy regret.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::score::{Quantity, Score};
use crate::statistics::{largest, mean};

use super::summary::percent;

/// Tasks that the first table tells of.
const TASKS: [&str; 3] = ["every-4th-clock", "every-2nd-clock", "one-limit-out"];
/// What is fitted, as the tasks of a choice end.
const DESIGNS: [(&str, &str); 4] =
    [("every 4th clock", ""), ("and both ends", "-ends"), ("every 4th, staggered", "-cell"), ("every 2nd", "-2nd")];
/// Limits on the slowdown.
const LIMITS: [&str; 3] = ["regret-free", "regret-5", "regret-10"];

/// Writes the tables of held-out operating points.
pub(super) fn write(text: &mut String, scores: &[Score]) {
    errors(text, scores);
    regrets(text, scores);
}

fn errors(text: &mut String, scores: &[Score]) {
    let fitted: BTreeSet<(&str, &str, Quantity, &str)> = scores
        .iter()
        .filter(|s| TASKS.contains(&s.task.as_str()) && s.model == "rats")
        .map(|s| (&*s.source, &*s.gpu, s.quantity, &*s.task))
        .collect();
    // Every 2nd clock where there are too few for every 4th.
    let few = |&(source, gpu, quantity, task): &(&str, &str, Quantity, &str)| {
        task != "every-2nd-clock" || !fitted.contains(&(source, gpu, quantity, "every-4th-clock"))
    };
    let keys: Vec<_> = fitted.iter().copied().filter(few).collect();
    if keys.is_empty() {
        return;
    }
    text.push_str(
        "\n## Held-out operating points\n\nEvery 4th clock fitted, where there are few every 2nd, or all power limits but one; `rats` is the model, `form` the same \
         without correction, `line` straight lines between fitted points.\n\n\
         | source | GPU | quantity | task | model | workloads | mean | worst | median | p95 | coverage | floor |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (source, gpu, quantity, task) in keys {
        let about = |s: &&Score| s.source == source && s.gpu == gpu && s.quantity == quantity;
        let neighbors = if task == "one-limit-out" { "neighbors-limits" } else { "neighbors" };
        let floor = scores.iter().filter(about).find(|s| s.task == neighbors).and_then(|s| s.mape);
        for model in ["rats", "form", "line"] {
            let of: Vec<&Score> = scores.iter().filter(about).filter(|s| s.task == task && s.model == model).collect();
            let figures = |figure: fn(&Score) -> Option<f64>| of.iter().filter_map(|s| figure(s)).collect::<Vec<f64>>();
            let _ = writeln!(
                text,
                "| {source} | {gpu} | {} | {task} | {model} | {} | {} | {} | {} | {} | {} | {} |",
                quantity.name(),
                of.iter().map(|s| s.groups).max().unwrap_or(0),
                percent(mean(&figures(|s| s.mape))),
                percent(largest(&figures(|s| s.mape))),
                percent(mean(&figures(|s| s.median))),
                percent(mean(&figures(|s| s.p95))),
                percent(mean(&figures(|s| s.coverage))),
                percent(floor),
            );
        }
    }
}

fn regrets(text: &mut String, scores: &[Score]) {
    let of = |s: &&Score| s.task.starts_with("regret-") && s.model == "rats";
    let keys: BTreeSet<(&str, &str)> = scores.iter().filter(of).map(|s| (&*s.source, &*s.gpu)).collect();
    if keys.is_empty() {
        return;
    }
    text.push_str(
        "\n## Energy regret\n\nEnergy at the chosen point over that at the best one, less 1, in %: without a limit on the slowdown, \
         under 5 % and under 10 %; mean, in brackets the worst phase. The floor chooses by what the neighbors of each point say.\n\n\
         | source | GPU | fitted | free | 5 % | 10 % |\n|---|---|---|---|---|---|\n",
    );
    for (source, gpu) in keys {
        let cell = |task: &str, model: &str| {
            let of = |s: &&Score| s.source == source && s.gpu == gpu && s.task == task && s.model == model;
            let all: Vec<f64> = scores.iter().filter(of).filter_map(|s| s.mape).collect();
            mean(&all).map(|mean| format!("{} ({})", percent(Some(mean)), percent(largest(&all))))
        };
        let rows =
            DESIGNS.map(|(fitted, design)| (fitted, LIMITS.map(|limit| cell(&format!("{limit}{design}"), "rats"))));
        let floor = [("floor", LIMITS.map(|limit| cell(limit, "floor")))];
        for (fitted, cells) in rows.into_iter().chain(floor).filter(|row| row.1.iter().any(Option::is_some)) {
            let cells = cells.map(Option::unwrap_or_default).join(" | ");
            let _ = writeln!(text, "| {source} | {gpu} | {fitted} | {cells} |");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::Subject;

    #[test]
    fn a_gpu_has_a_row_for_each_model_and_way_to_fit() {
        let score = |task: &str, model: &str, quantity, seed, mape| Score {
            mape: Some(mape),
            groups: 7,
            ..Score::empty(Subject {
                task: task.to_owned(),
                source: "s".to_owned(),
                gpu: "g".to_owned(),
                model: model.to_owned(),
                quantity,
                seed,
            })
        };
        let scores = [
            score("every-4th-clock", "rats", Quantity::Time, 0, 0.01),
            score("every-4th-clock", "rats", Quantity::Time, 1, 0.03),
            score("every-2nd-clock", "rats", Quantity::Time, 0, 0.004),
            score("every-2nd-clock", "rats", Quantity::Power, 0, 0.007),
            score("neighbors", "floor", Quantity::Time, 0, 0.005),
            score("regret-free", "rats", Quantity::Energy, 0, 0.002),
            score("regret-free", "floor", Quantity::Energy, 0, 0.001),
        ];
        let mut text = String::new();
        write(&mut text, &scores);
        assert!(
            text.contains("| s | g | time | every-4th-clock | rats | 7 | 2.00 | 3.00 |  |  |  | 0.50 |\n"),
            "{text}"
        );
        assert!(text.contains("| s | g | power | every-2nd-clock | rats | 7 | 0.70 | 0.70 |  |  |  |  |\n"), "{text}");
        assert!(!text.contains("| time | every-2nd-clock |"), "{text}");
        assert!(text.contains("| s | g | every 4th clock | 0.20 (0.20) |  |  |\n"), "{text}");
        assert!(text.contains("| s | g | floor | 0.10 (0.10) |  |  |\n"), "{text}");
        let mut none = String::new();
        write(&mut none, &[]);
        assert_eq!(none, "");
    }
}
