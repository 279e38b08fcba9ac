//! Counting nodes against exhaustive search: bounds, pictures that become plans, infeasibility.

use rats_domain::instance::Instance;
use rats_domain::solver::{Outcome, Request, Solver, Unlimited};

use super::{Counted, counted};
use crate::bounds::lagrange::{Ascent, Relaxation};
use crate::exhaustive::Exhaustive;
use crate::judged::valid_objective;
use crate::local_search::realize::realize;
use crate::testing::{Size, random_instance};

fn count(instance: &Instance, value: Option<f64>) -> Counted {
    let model = Relaxation::new(instance).unwrap();
    let mut ascent = Ascent::new(&model, value);
    ascent.climb(200, |_| false);
    counted(instance, &ascent, value, 1, 0.0, &Unlimited).unwrap()
}

#[test]
fn counted_bound_is_below_the_optimum_and_often_equal_to_it() {
    let (mut optimal, mut equal, mut realized) = (0, 0, 0);
    for seed in 0..120 {
        let instance = random_instance(seed, Size::Micro);
        let outcome = Exhaustive.solve(&instance, &Request::default(), &Unlimited);
        let Outcome::Optimal { bound: optimum, .. } = outcome else { continue };
        optimal += 1;
        let slack = 1e-6 * optimum.abs().max(1.0);
        let alone = count(&instance, None);
        assert!(alone.bound <= optimum + slack, "seed {seed}: {} > {optimum}", alone.bound);
        let given = count(&instance, Some(optimum));
        assert!(given.bound <= optimum + slack && given.bound >= alone.bound - slack, "seed {seed}");
        equal += usize::from(given.bound >= optimum - slack);
        let found = alone.picture.and_then(|picture| realize(&instance, &picture, seed, &Unlimited));
        let value = found.and_then(|schedule| valid_objective(&instance, &schedule));
        realized += usize::from(value.is_some_and(|value| value <= optimum + slack));
    }
    assert!(optimal > 60 && equal * 3 > optimal * 2 && realized * 2 > optimal, "{optimal} {equal} {realized}");
}

#[test]
fn infeasibility_is_claimed_only_where_there_is_no_plan() {
    let (mut shown, mut infeasible) = (0, 0);
    for seed in 0..200 {
        let instance = random_instance(seed, Size::Micro);
        let outcome = Exhaustive.solve(&instance, &Request::default(), &Unlimited);
        let is_shown = count(&instance, None).bound == f64::INFINITY;
        if matches!(outcome, Outcome::Infeasible { .. }) {
            infeasible += 1;
            shown += usize::from(is_shown);
        } else {
            assert!(!is_shown, "seed {seed}");
        }
    }
    assert!(infeasible > 20 && shown * 4 > infeasible, "{infeasible} {shown}");
}
