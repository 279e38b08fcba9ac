//! From what a process printed to a row: the plan is judged by the checker, the objective recomputed.

use rats_domain::check::{CheckedPlan, check};
use rats_domain::format::{PlanFile, read};
use rats_domain::instance::Instance;
use rats_domain::objective::gap;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::child::{Ended, How};
use super::row::{Ending, Row, TOLERANCE, Trajectory};
use crate::report::printable;

/// Longest message kept in a row.
const LONGEST_MESSAGE: usize = 300;

/// What `rats solve --json` and baselines print.
#[derive(Deserialize)]
struct Document {
    status: Ending,
    stop: Option<String>,
    bound: Option<f64>,
    wall_s: f64,
    first_plan_s: Option<f64>,
    #[serde(default)]
    peak_memory_mib: u64,
    #[serde(default)]
    trajectory: Vec<(f64, Option<f64>, Option<f64>)>,
    plan: Option<Box<RawValue>>,
    /// Why a baseline does not take the instance.
    reason: Option<String>,
}

/// Completes `row`, in which everything about the request stands, with what came of the run; also gives the plan.
pub fn judge(instance: &Instance, mut row: Row, ended: &Ended) -> (Row, Option<CheckedPlan>) {
    row.wall_s = ended.wall_s;
    row.peak_memory_mib = ended.peak_memory_mib;
    if ended.how == How::Killed {
        row.status = Ending::Killed;
        return (row, None);
    }
    let document = match serde_json::from_slice::<Document>(&ended.stdout) {
        Ok(document) => document,
        Err(error) => {
            let refusal = ended.stderr.lines().find(|line| line.starts_with("error [U04]"));
            let last = ended.stderr.lines().rfind(|line| !line.trim().is_empty()).map(str::to_owned);
            row.status = if refusal.is_some() { Ending::Refused } else { Ending::Crashed };
            row.message = message(&refusal.map(str::to_owned).or(last).unwrap_or_else(|| error.to_string()));
            return (row, None);
        }
    };
    row.status = document.status;
    row.stop = document.stop;
    row.bound = document.bound.filter(|bound| bound.is_finite());
    row.wall_s = document.wall_s;
    row.first_plan_s = document.first_plan_s;
    row.peak_memory_mib = row.peak_memory_mib.max(document.peak_memory_mib);
    row.trajectory = Trajectory(document.trajectory);
    row.message = message(&document.reason.unwrap_or_default());
    match document.plan.map(|plan| checked(instance, plan.get())) {
        None => (without_plan(row), None),
        Some(Ok(plan)) => (with_plan(row, &plan), Some(plan)),
        Some(Err(reason)) => {
            (row.status, row.valid, row.message) = (Ending::Invalid, Some(false), message(&reason));
            (row, None)
        }
    }
}

/// A plan must follow from claims that need one.
fn without_plan(mut row: Row) -> Row {
    if matches!(row.status, Ending::Optimal | Ending::Feasible) {
        row.message = format!("{} was claimed without a plan", row.status.word());
        row.status = Ending::Crashed;
    }
    row
}

fn with_plan(mut row: Row, plan: &CheckedPlan) -> Row {
    let objective = plan.evaluation().objective;
    row.objective = Some(objective);
    row.valid = Some(true);
    row.gap = row.bound.map(|bound| gap(objective, bound));
    let is_proved = row.gap.is_some_and(|gap| gap <= TOLERANCE);
    if row.status == Ending::Optimal && !is_proved {
        row.status = Ending::Feasible;
        "optimal was claimed, the recomputed objective and the bound do not show it".clone_into(&mut row.message);
    }
    row
}

fn checked(instance: &Instance, text: &str) -> Result<CheckedPlan, String> {
    let all = |problems: rats_domain::problem::Problems| problems.to_string();
    let plan = read::<PlanFile>(text.as_bytes()).map_err(all)?.document;
    let report = check(instance, &plan).map_err(all)?;
    let first = |violations: Vec<rats_domain::check::Violation>| {
        let first = violations.first().map(|violation| format!("{}: {}", violation.code, violation.message));
        format!("breaks {} rule(s), first {}", violations.len(), first.unwrap_or_default())
    };
    report.into_checked().map_err(first)
}

/// One line of bounded length.
fn message(text: &str) -> String {
    printable(text.trim()).chars().take(LONGEST_MESSAGE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::row::tests::row;
    use crate::cli::fixtures;

    fn judged(stdout: &str, stderr: &str) -> Row {
        let ended = Ended {
            how: How::Exited(std::process::ExitStatus::default()),
            wall_s: 1.0,
            peak_memory_mib: 7,
            stdout: stdout.as_bytes().to_vec(),
            stderr: stderr.to_owned(),
        };
        judge(&fixtures::worked_example(), row("i", "s", 0, None), &ended).0
    }

    fn answer(status: &str, bound: f64, second: u32) -> String {
        format!(
            r#"{{"status": "{status}", "bound": {bound}, "wall_s": 0.5, "objective": 1, "trajectory": [[0.1, null, 3]],
            "plan": {{"format": "rats.plan/1", "assignments": [
            {{"job": "a", "option": 0, "start": 0, "gpus": ["n0/0"]}},
            {{"job": "b", "option": 0, "start": 0, "gpus": ["n0/{second}"]}}]}}}}"#
        )
    }

    #[test]
    fn the_objective_is_the_checkers() {
        let row = judged(&answer("optimal", 492_000.0, 1), "");
        assert_eq!((row.status, row.objective, row.valid), (Ending::Optimal, Some(492_000.0), Some(true)));
        assert_eq!((row.gap, row.peak_memory_mib), (Some(0.0), 7));
    }

    #[test]
    fn a_claim_of_optimality_needs_a_bound_that_shows_it() {
        let row = judged(&answer("optimal", 491_000.0, 1), "");
        assert_eq!((row.status, row.valid), (Ending::Feasible, Some(true)));
        assert!(row.message.starts_with("optimal was claimed"));
    }

    #[test]
    fn a_plan_that_breaks_a_rule_counts_for_nothing() {
        let row = judged(&answer("optimal", 492_000.0, 0), "");
        assert_eq!((row.status, row.valid, row.plan()), (Ending::Invalid, Some(false), None));
        assert!(row.message.starts_with("breaks 1 rule(s), first V6: "), "{}", row.message);
    }

    #[test]
    fn refusal_and_crash_are_told_apart() {
        assert_eq!(judged("", "error [U04] milp: too large.\n").status, Ending::Refused);
        let row = judged("", "error [U08] src/x.rs:1:1: overflow.\n");
        assert_eq!((row.status, row.message.as_str()), (Ending::Crashed, "error [U08] src/x.rs:1:1: overflow."));
        assert_eq!(judged(r#"{"status": "optimal", "wall_s": 1}"#, "").status, Ending::Crashed);
    }
}
