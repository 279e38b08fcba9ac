//! Solvers against each other on random tiny instances, with every feature of the model on and off.

use rats_domain::instance::Instance;
use rats_domain::solver::{Request, Unlimited};
use rats_solvers::edf_max::EdfMax;
use rats_solvers::exhaustive::Exhaustive;
use rats_solvers::milp::Milp;
use rats_solvers::registry::ALL;
use rats_solvers::testing::{Size, random_instance};
use rats_solvers::{Solved, Status, bounds, run};

use super::support::{objective, same, solve};

/// Number of random instances.
const CASES: u64 = 300;

fn proved(instance: &Instance, exhaustive: &Solved, other: &Solved) {
    let name = &instance.name;
    assert_eq!(exhaustive.status, other.status, "{name}: {:?} against {:?}", exhaustive.reason, other.reason);
    match (&exhaustive.plan, &other.plan) {
        (Some(a), Some(b)) => {
            let (a, b) = (a.evaluation(), b.evaluation());
            assert!(same(a.objective, b.objective), "{name}: {} against {}", a.objective, b.objective);
            let weights = instance.objective;
            let others = [weights.cost, weights.makespan, weights.completion, weights.tardiness];
            if others.iter().all(|weight| weight.abs() == 0.0) {
                assert_eq!(a.terms.energy, b.terms.energy, "{name}: to the millijoule");
            }
        }
        (None, None) => assert_eq!(exhaustive.status, Status::Infeasible, "{name}"),
        _ => panic!("{name}: only one has a plan"),
    }
}

#[test]
fn a_start_that_can_be_beaten_hides_no_better_plan() {
    let mut beaten = 0;
    for seed in 0..CASES {
        let instance = random_instance(seed, Size::Micro);
        let start = solve(&EdfMax, &instance).expect("heuristics refuse nothing");
        let Some(plan) = &start.plan else { continue };
        let request = Request { warm_start: Some(plan.schedule().clone()), ..Request::default() };
        let solved = run(&Milp, &instance, &request, &Unlimited).expect("taken");
        proved(&instance, &solve(&Exhaustive, &instance).expect("micro instances are small enough"), &solved);
        beaten += u64::from(objective(&solved) < objective(&start));
    }
    assert!(beaten > CASES / 10, "only {beaten} starts that can be beaten");
}

#[test]
fn exhaustive_and_milp_agree_and_nothing_is_below_them() {
    let (mut optimal, mut infeasible) = (0, 0);
    for seed in 0..CASES {
        let instance = random_instance(seed, Size::Micro);
        let exhaustive = solve(&Exhaustive, &instance).expect("micro instances are small enough");
        proved(&instance, &exhaustive, &solve(&Milp, &instance).expect("tiny instances are refused by none"));
        let best = objective(&exhaustive);
        match best {
            Some(_) => optimal += 1,
            None => infeasible += 1,
        }
        for rung in bounds::ladder(&instance) {
            let below = best.is_none_or(|best| rung.value <= best);
            assert!(below, "{}: {} gives {} above {best:?}", instance.name, rung.name, rung.value);
        }
        for solver in ALL.iter().filter(|solver| !solver.about().exact) {
            let solved = solve(*solver, &instance).expect("heuristics refuse nothing");
            let id = solver.about().id;
            match (best, objective(&solved)) {
                (Some(best), Some(found)) => {
                    assert!(found >= best || same(found, best), "{}: {id} finds {found} below {best}", instance.name);
                }
                (None, found) => assert_eq!(found, None, "{}: {id} has a plan, exhaustive has none", instance.name),
                (Some(_), None) => assert_ne!(solved.status, Status::Infeasible, "{}: {id}", instance.name),
            }
        }
    }
    assert!(
        optimal > CASES / 3 && infeasible > CASES / 50,
        "{optimal} optimal, {infeasible} infeasible: a lame generator"
    );
}
