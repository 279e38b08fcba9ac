//! Why an instance is infeasible: what is named cannot hold together, and less of it can.

use rats_domain::codes::Code;
use rats_domain::format::{InstanceFile, read};
use rats_domain::solver::Unlimited;
use rats_solvers::Status;
use rats_solvers::conflict::{Conflict, conflict, relaxed};
use rats_solvers::exhaustive::Exhaustive;
use rats_solvers::milp::Milp;
use rats_solvers::testing::{Size, random_file};

use super::support::{root, solve};

/// Number of random instances, of which some are infeasible.
const CASES: u64 = 200;

fn document(name: &str) -> InstanceFile {
    let bytes = std::fs::read(root().join("instances/tiny").join(name)).expect("shipped");
    read::<InstanceFile>(&bytes).expect("valid").document
}

/// By exhaustive search, unless lifted times make that long.
fn is_feasible(file: &InstanceFile, kept: &Conflict) -> bool {
    let instance = &relaxed(file, kept).expect("valid");
    let searched = kept.rules.contains(&Code::V4).then(|| solve(&Exhaustive, instance));
    let solved = searched.unwrap_or_else(|| solve(&Milp, instance)).expect("taken");
    assert_ne!(solved.status, Status::Unknown, "{}", instance.name);
    solved.plan.is_some()
}

/// Every conflict with one member less.
fn with_one_less(conflict: &Conflict) -> impl Iterator<Item = Conflict> {
    let without_job = conflict.jobs.iter().map(|job| {
        let jobs = conflict.jobs.iter().filter(|other| *other != job).cloned().collect();
        Conflict { jobs, ..conflict.clone() }
    });
    let without_rule = conflict.rules.iter().map(|rule| {
        let rules = conflict.rules.iter().copied().filter(|other| other != rule).collect();
        Conflict { rules, ..conflict.clone() }
    });
    without_job.chain(without_rule)
}

/// What is named is infeasible by itself and, if it is said to be irreducible, feasible with any member less.
fn judge(file: &InstanceFile, found: &Conflict) {
    assert!(!is_feasible(file, found), "{}: {found:?} can hold", file.name);
    if found.irreducible {
        for less in with_one_less(found) {
            assert!(is_feasible(file, &less), "{}: {less:?} suffices", file.name);
        }
    }
}

#[test]
fn chains_that_a_cap_forbids_to_race_are_explained_by_both() {
    // Two chains of two jobs in 6 ticks need their fast options (3 + 3 ticks) side by side: 220 + 4 x 50 W for the node,
    // 2 x (280 - 50) W for them, 880 W against a cap of 815 W. One chain alone (650 W) fits, and so does any other loss.
    let file = document("23-infeasible-cap-meets-chains.json");
    let found = conflict(&file, &Unlimited).expect("infeasible");
    assert_eq!(found.jobs, ["a", "b", "c", "d"]);
    assert_eq!(found.rules, [Code::V4, Code::V5, Code::V10]);
    assert!(found.irreducible);
    judge(&file, &found);
}

#[test]
fn a_cap_deadlines_and_a_budget_are_explained() {
    let file = document("24-infeasible-cap-deadlines-budget.json");
    let found = conflict(&file, &Unlimited).expect("infeasible");
    assert!(found.irreducible);
    assert!(found.rules.contains(&Code::V11), "{found:?}");
    judge(&file, &found);
}

#[test]
fn random_conflicts_cannot_hold_and_with_any_member_less_they_can() {
    let (mut conflicts, mut smaller) = (0, 0);
    for seed in 0..CASES {
        let (file, instance) = random_file(seed, Size::Micro);
        if solve(&Milp, &instance).expect("taken").status != Status::Infeasible {
            continue;
        }
        let found = conflict(&file, &Unlimited).expect("infeasible");
        judge(&file, &found);
        conflicts += 1;
        smaller += u64::from(found.jobs.len() < file.jobs.len());
    }
    assert!(conflicts > CASES / 50 && smaller > 0, "{conflicts} conflicts, {smaller} with fewer jobs");
}
