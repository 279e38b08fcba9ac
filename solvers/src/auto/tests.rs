//! The portfolio against exhaustive search, and that seed and iterations alone decide.

use rats_domain::solver::{Outcome, Request, Solver, Unlimited};

use super::Auto;
use crate::exhaustive::Exhaustive;
use crate::judged::valid_objective;
use crate::testing::{Size, random_instance};

#[test]
fn both_ways_of_running_agree_with_trying_everything() {
    for seed in 0..60 {
        let instance = random_instance(seed, Size::Micro);
        let threads = 1 + usize::try_from(seed % 2).unwrap();
        let found = Auto.solve(&instance, &Request { threads, ..Request::default() }, &Unlimited);
        match (Exhaustive.solve(&instance, &Request::default(), &Unlimited), found) {
            (Outcome::Optimal { bound: optimum, .. }, Outcome::Optimal { schedule, bound }) => {
                let value = valid_objective(&instance, &schedule).unwrap();
                let slack = 1e-6 * optimum.abs().max(1.0);
                assert!((value - optimum).abs() <= slack && bound <= optimum + slack, "seed {seed}");
            }
            (Outcome::Infeasible { .. }, Outcome::Infeasible { .. }) => {}
            (expected, found) => panic!("seed {seed}: {expected:?} but {found:?}"),
        }
    }
}

#[test]
fn iterations_and_seed_alone_decide_whatever_the_threads() {
    let mut plans = 0;
    for seed in 0..30 {
        let instance = random_instance(seed, Size::Tiny);
        let solve = |threads| {
            let request = Request { seed, threads, iterations: Some(20), ..Request::default() };
            match Auto.solve(&instance, &request, &Unlimited) {
                Outcome::Feasible { schedule, .. } | Outcome::Optimal { schedule, .. } => Some(schedule),
                Outcome::Infeasible { .. } | Outcome::Unknown { .. } => None,
            }
        };
        let one = solve(1);
        assert_eq!(one, solve(3), "seed {seed}");
        plans += usize::from(one.is_some());
    }
    assert!(plans > 10, "{plans}");
}
