//! `summary.md` and its charts, made of `raw.csv` and `env.json` alone: the same rows give the same bytes.

use std::fmt::Write as _;
use std::path::Path;

use rats_domain::objective::gap;
use rats_domain::problem::Problems;

use super::case::Case;
use super::charts::{Axis, chart};
use super::profile::{Curve, DISTANCES, FACTORS, of_objective, of_time};
use super::reference::{Contradiction, Reference, references};
use super::report::{Report, SUMMARY};
use super::row::{Ending, Row};
use super::score::{References, Score, Spread};
use super::statistics::{mean, median};
use crate::io::write;
use crate::report::{number, percent, printable};

/// What the tables mean, for a reader who has only the page.
const LEGEND: &str = "\
Every plan was judged by the checker and its objective recomputed. *Plans*: runs with a valid plan. *Proved*: runs that
proved optimality or infeasibility. Gaps are mean / median / largest over the runs with a plan; *to best known* is
against the best valid plan of all runs and the record, *to best bound* against the highest bound of all runs and the
record. *Time* is the shifted geometric mean (shift 1 s, subtracted again) with the limit for runs without proof.
*Primal integral* is the mean gap to the best known plan over the time limit, 1 while there is no plan. *First plan* is
a median. *Failed*: a plan that breaks a rule, a crash, or a run ended for overrunning its limit.
";

/// A summary.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The page.
    pub text: String,
    /// File names and contents of the charts that it shows.
    pub charts: Vec<(String, String)>,
    /// Claims that cannot all be true.
    pub contradictions: Vec<Contradiction>,
}

impl Summary {
    /// Makes the summary of a report.
    pub fn of(report: &Report) -> Self {
        let (references, contradictions) = references(report);
        let mut text = head(report);
        let mut charts = Vec::new();
        text.push_str(&claims(report, &contradictions));
        for suite in report.suites() {
            let rows: Vec<_> = report.rows_of(suite).collect();
            let _ = write!(text, "\n## {}\n\n", cell(suite));
            text.push_str(&scores(report, &rows, &references));
            let curves = [
                (Axis::Factor, "time", of_time(&report.env.solvers, &rows)),
                (Axis::Distance, "objective", of_objective(&report.env.solvers, &rows, &references)),
            ];
            for (axis, what, curves) in curves {
                text.push_str(&profile(axis, &curves));
                let name = format!("profile-{what}-{}.svg", file_name(suite));
                if let Some(svg) = chart(&format!("{suite}: performance profile of {what}"), axis, &curves) {
                    let _ = write!(text, "\n![performance profile of {what}]({name})\n");
                    charts.push((name, svg));
                }
            }
            text.push_str(&instances(report, suite, &references));
        }
        text.push_str(&failures(report));
        Self { text, charts, contradictions }
    }

    /// Writes page and charts into the report's folder.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), Problems> {
        for (name, svg) in &self.charts {
            write(&folder.join(name), svg.as_bytes())?;
        }
        Ok(write(&folder.join(SUMMARY), self.text.as_bytes())?)
    }
}

fn head(report: &Report) -> String {
    let env = &report.env;
    let conditions = &env.conditions;
    let mut text = format!("# Benchmark of {}\n\n", env.date);
    let iterations = conditions.iterations.map_or_else(String::new, |number| format!(", {number} iterations"));
    let seeds: Vec<_> = env.seeds.iter().map(ToString::to_string).collect();
    let _ = writeln!(
        text,
        "rats {} (commit {}), {} x {} ({}); {} s a run on {} thread(s){iterations}; seeds {}; {} rows.",
        conditions.version,
        env.commit.as_deref().unwrap_or("unknown"),
        conditions.cores,
        cell(&conditions.cpu),
        cell(&conditions.host),
        number(conditions.time_limit_s),
        conditions.threads,
        seeds.join(", "),
        report.rows.len()
    );
    for (solver, version) in &env.baselines {
        let _ = writeln!(text, "Baseline {solver}: {}.", cell(version));
    }
    let _ = write!(text, "\n{LEGEND}");
    text
}

fn claims(report: &Report, contradictions: &[Contradiction]) -> String {
    let bounds = report.rows.iter().filter(|row| row.bound.is_some() || row.status == Ending::Infeasible).count();
    let plans = report.rows.iter().filter(|row| row.plan().is_some()).count();
    let mut text = format!("\n{bounds} bounds were held against {plans} valid plans and the record: ");
    if contradictions.is_empty() {
        text.push_str("none lies above a plan.\n");
        return text;
    }
    let _ = writeln!(text, "**{} CANNOT BE TRUE**\n", contradictions.len());
    for contradiction in contradictions {
        let _ = writeln!(text, "* **{}**", cell(&contradiction.text()));
    }
    text
}

fn scores(report: &Report, rows: &[&Row], references: &References) -> String {
    let head = [
        "solver",
        "runs",
        "plans",
        "proved",
        "gap to best known",
        "gap to best bound",
        "time, s",
        "primal integral",
        "first plan, s",
        "memory, MiB",
        "refused",
        "failed",
    ];
    let mut text = table_head(&head.map(str::to_owned));
    for solver in &report.env.solvers {
        let rows: Vec<_> = rows.iter().copied().filter(|row| row.solver == *solver).collect();
        if rows.is_empty() {
            continue;
        }
        let score = Score::of(solver, &rows, references);
        text.push_str(&line(&[
            score.solver,
            score.runs.to_string(),
            score.plans.to_string(),
            score.proved.to_string(),
            spread(score.to_best),
            spread(score.to_bound),
            optional(score.time_s, |value| format!("{value:.2}")),
            optional(score.primal_integral, |value| format!("{value:.4}")),
            optional(score.first_plan_s, |value| format!("{value:.3}")),
            score.memory_mib.to_string(),
            score.refused.to_string(),
            score.failed.to_string(),
        ]));
    }
    text
}

fn spread(spread: Option<Spread>) -> String {
    optional(spread, |spread| {
        format!("{} / {} / {}", percent(spread.mean), percent(spread.median), percent(spread.largest))
    })
}

fn profile(axis: Axis, curves: &[Curve]) -> String {
    let (title, at): (_, Vec<String>) = match axis {
        Axis::Factor => ("proved within a factor of the fastest", FACTORS.map(|f| format!("{f} x")).to_vec()),
        Axis::Distance => ("within a gap of the best known plan", DISTANCES.map(percent).to_vec()),
    };
    let values = if axis == Axis::Factor { FACTORS } else { DISTANCES };
    let mut text = format!("\nShare of runs {title}:\n\n");
    text.push_str(&table_head(&[vec!["solver".to_owned()], at].concat()));
    for curve in curves {
        let shares = values.iter().map(|&at| percent(curve.share(at)));
        text.push_str(&line(&[curve.solver.clone()].into_iter().chain(shares).collect::<Vec<_>>()));
    }
    text
}

fn instances(report: &Report, suite: &str, references: &References) -> String {
    let solvers = &report.env.solvers;
    let head = ["instance", "jobs", "nodes / GPUs", "options", "horizon", "objective", "features", "best known", "gap"];
    let head: Vec<_> = head.into_iter().map(str::to_owned).chain(solvers.iter().cloned()).collect();
    let mut text =
        "\nEach instance; *gap* is between best known plan and best bound. Of a solver: mean gap of its plans \
                    to the best known, mean gap to its own bounds, median time; `p` of `n` runs with a plan where some \
                    lack one.\n\n"
            .to_owned();
    text.push_str(&table_head(&head));
    for case in report.env.instances.iter().filter(|case| case.suite == suite) {
        let reference = references.get(&case.key()).cloned().unwrap_or_default();
        let mut cells = features(case, &reference);
        for solver in solvers {
            let rows: Vec<_> =
                report.rows_of(suite).filter(|row| row.instance == case.name && row.solver == *solver).collect();
            cells.push(of_solver(&rows, &reference));
        }
        text.push_str(&line(&cells));
    }
    text
}

fn features(case: &Case, reference: &Reference) -> Vec<String> {
    let best = match reference.objective {
        None if reference.is_infeasible => "infeasible".to_owned(),
        objective => optional(objective, number),
    };
    vec![
        case.name.clone(),
        case.jobs.to_string(),
        format!("{} / {}", case.nodes, case.gpus),
        case.options.to_string(),
        case.horizon.to_string(),
        case.objective.clone(),
        case.features.join(", "),
        best,
        optional(reference.objective.zip(reference.bound), |(objective, bound)| percent(gap(objective, bound))),
    ]
}

fn of_solver(rows: &[&Row], reference: &Reference) -> String {
    if rows.is_empty() {
        return "-".to_owned();
    }
    let times: Vec<_> = rows.iter().map(|row| row.wall_s).collect();
    let time = optional(median(&times), |time| format!("{time:.2} s"));
    let proved = rows.iter().filter(|row| row.is_proved()).count();
    let plans = rows.iter().filter(|row| row.plan().is_some()).count();
    if plans == 0 {
        let mut words: Vec<_> = rows.iter().map(|row| row.status.word()).collect();
        words.dedup();
        return format!("{}, {time}", words.join(", "));
    }
    let to_best: Vec<_> = rows.iter().filter_map(|row| row.gap_to(reference.objective)).collect();
    let own: Vec<_> = rows.iter().filter(|row| row.plan().is_some()).filter_map(|row| row.gap).collect();
    let own = if proved == rows.len() { "proved".to_owned() } else { optional(mean(&own), percent) };
    let some = if plans < rows.len() { format!(", {plans} of {}", rows.len()) } else { String::new() };
    format!("{}, {own}, {time}{some}", optional(mean(&to_best), percent))
}

fn failures(report: &Report) -> String {
    let failed: Vec<_> = report.rows.iter().filter(|row| row.status.is_failure()).collect();
    if failed.is_empty() {
        return String::new();
    }
    let mut text = "\n## Failed runs\n\n".to_owned();
    text.push_str(&table_head(&["instance", "solver", "seed", "how", "message"].map(str::to_owned)));
    for row in failed {
        text.push_str(&line(&[
            row.instance.clone(),
            row.solver.clone(),
            row.seed.to_string(),
            row.status.word().to_owned(),
            row.message.clone(),
        ]));
    }
    text
}

fn optional<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}

/// A line of a Markdown table.
fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.iter().map(|text| cell(text)).collect::<Vec<_>>().join(" | "))
}

fn table_head(cells: &[String]) -> String {
    line(cells) + &line(&vec!["---".to_owned(); cells.len()])
}

/// Text that neither ends a cell nor a line.
fn cell(text: &str) -> String {
    printable(text).replace('|', "\\|")
}

/// A name as a part of a file name.
fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' }).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::bench::env::{Conditions, Env};
    use crate::bench::row::tests::row;

    /// A report of these rows, with an instance for every name.
    pub fn report(rows: Vec<Row>) -> Report {
        let case = |row: &Row| Case {
            suite: row.suite.clone(),
            name: row.instance.clone(),
            path: format!("{}.json", row.instance).into(),
            sha256: row.instance_sha256.clone(),
            jobs: 1,
            nodes: 1,
            gpus: 1,
            options: 1,
            horizon: 1,
            objective: "1 energy".to_owned(),
            features: Vec::new(),
            best_known: None,
        };
        let mut instances: Vec<_> = rows.iter().map(case).collect();
        instances.sort_by_key(Case::key);
        instances.dedup_by_key(|case| case.key());
        let mut solvers: Vec<_> = rows.iter().map(|row| row.solver.clone()).collect();
        solvers.sort();
        solvers.dedup();
        let env = Env {
            date: "2024-02-29".to_owned(),
            conditions: Conditions {
                version: "1".to_owned(),
                program_sha256: String::new(),
                host: "host".to_owned(),
                cpu: "cpu".to_owned(),
                cores: 2,
                threads: 1,
                time_limit_s: 10.0,
                iterations: None,
            },
            commit: None,
            baselines: std::collections::BTreeMap::new(),
            solvers,
            seeds: vec![0],
            instances,
        };
        Report::new(env, rows)
    }

    #[test]
    fn the_order_of_rows_does_not_matter() {
        let rows = vec![row("a", "x", 0, Some(2.0)), row("a", "y", 0, Some(1.0)), row("b", "x", 0, None)];
        let summary = Summary::of(&report(rows.clone()));
        assert_eq!(Summary::of(&report(rows.into_iter().rev().collect())), summary);
        assert!(summary.text.contains("| x | 2 | 1 | 0 | 50 % / 50 % / 50 % | - |"), "{}", summary.text);
        assert!(summary.text.contains("none lies above a plan"));
    }

    #[test]
    fn a_contradiction_is_loud() {
        let liar = Row { bound: Some(3.0), ..row("a", "x", 0, Some(4.0)) };
        let summary = Summary::of(&report(vec![liar, row("a", "y", 0, Some(2.0))]));
        assert_eq!(summary.contradictions.len(), 1);
        assert!(summary.text.contains("1 CANNOT BE TRUE") && summary.text.contains("**BOUND ABOVE PLAN: suite/a: x"));
    }
}
