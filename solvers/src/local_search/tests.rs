//! Plans are valid, repeatable, and found where there is one.

use std::path::{Path, PathBuf};

use rats_domain::evaluate::evaluate;
use rats_domain::solver::Unlimited;

use super::*;
use crate::testing::{Size, broken_rules, greedy_schedule, random_instance};
use rats_domain::random::Random;

fn shipped(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../instances").join(folder);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths
}

fn read(path: &Path) -> Instance {
    Instance::read(&std::fs::read(path).unwrap()).unwrap().instance
}

/// The objective of a plan, which must be complete and valid.
fn objective(instance: &Instance, plan: Option<&Schedule>) -> Option<f64> {
    let plan = plan?;
    assert!(plan.placements.values().all(Option::is_some), "{}", instance.name);
    assert_eq!(broken_rules(instance, plan), 0, "{}", instance.name);
    Some(evaluate(instance, plan).objective)
}

#[test]
fn plans_are_found_where_a_simple_rule_finds_one_and_a_start_is_not_lost() {
    let (mut found, mut simple, mut missed) = (0, 0, 0);
    for seed in 0..300 {
        let size = if seed % 2 == 0 { Size::Micro } else { Size::Tiny };
        let instance = random_instance(seed, size);
        let plan = improve(&instance, None, seed, Some(60), &Unlimited);
        let value = objective(&instance, plan.as_ref());
        found += usize::from(value.is_some());
        let other = greedy_schedule(&mut Random::new(seed), &instance);
        if other.placements.values().all(Option::is_some) && broken_rules(&instance, &other) == 0 {
            simple += 1;
            missed += usize::from(value.is_none());
            let kept = improve(&instance, Some(&other), seed, Some(5), &Unlimited);
            let before = evaluate(&instance, &other).objective;
            let after = objective(&instance, kept.as_ref()).unwrap();
            assert!(after <= before + 1e-9 * before.abs(), "seed {seed}");
        }
    }
    assert!(found > 150 && missed * 50 < simple, "{found} {simple} {missed}");
}

#[test]
fn every_shipped_small_and_medium_instance_has_a_plan() {
    for path in shipped("small").into_iter().chain(shipped("medium")) {
        let instance = read(&path);
        let tries = [(1, 50), (2, 1000), (3, 4000)];
        let plan = tries.iter().find_map(|&(seed, rounds)| improve(&instance, None, seed, Some(rounds), &Unlimited));
        assert!(objective(&instance, plan.as_ref()).is_some(), "{}", path.display());
    }
}

#[test]
fn small_optima_are_found() {
    // Proved optimal by the mixed-integer program: see `instances/best_known.toml`.
    let optima = [("01", 5_668_195.8), ("04", 11_586_861.0), ("06", 11_924_761.2), ("09", 17_552.093_979)];
    for (number, optimum) in optima {
        let path = shipped("small").into_iter().find(|path| path.to_string_lossy().contains(&format!("v1-{number}")));
        let instance = read(&path.unwrap());
        let values = (1..=3).filter_map(|seed| {
            let plan = improve(&instance, None, seed, Some(3000), &Unlimited);
            objective(&instance, plan.as_ref())
        });
        let best = values.fold(f64::INFINITY, f64::min);
        assert!((best - optimum).abs() <= 1e-6 * optimum, "{number}: {best} instead of {optimum}");
    }
}

#[test]
fn the_same_seed_gives_the_same_plan() {
    for path in shipped("medium").iter().take(4) {
        let instance = read(path);
        let plan = || improve(&instance, None, 5, Some(80), &Unlimited);
        assert_eq!(plan(), plan(), "{}", path.display());
    }
}
