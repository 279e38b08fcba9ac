//! The frontier of tiny instances, against one found by brute force.

use std::path::Path;

use rats_domain::format::{Document as _, InstanceFile, read};
use rats_domain::solver::Unlimited;
use rats_solvers::registry;

use super::*;

fn tiny(name: &str) -> (InstanceFile, Instance) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("instances/tiny").join(name);
    let bytes = std::fs::read(path).unwrap();
    (read::<InstanceFile>(&bytes).unwrap().document, Instance::read(&bytes).unwrap().instance)
}

fn traced(name: &str, against: Against, solver: &str, points: u32) -> (Instance, Frontier) {
    let (file, instance) = tiny(name);
    let control = || -> Box<dyn Control> { Box::new(Unlimited) };
    let frontier = trace(&Trace {
        file: &file,
        instance: &instance,
        against,
        solver: registry::find(solver).unwrap(),
        request: Request::default(),
        points,
        control: &control,
    })
    .unwrap();
    (instance, frontier)
}

/// Every (makespan in ticks, least energy in mJ) that no shorter makespan reaches: exhaustive search at every horizon.
fn by_every_horizon(name: &str) -> Vec<(i64, i128)> {
    let (mut file, instance) = tiny(name);
    file.objective = vec![rats_domain::format::TermFile { term: "energy".to_owned(), weight: 1.into() }];
    let mut best: Vec<(i64, i128)> = Vec::new();
    for horizon in 1..=instance.horizon.0 {
        file.horizon = horizon;
        let derived = Instance::from_file(&file).unwrap().instance;
        let exhaustive = registry::find("exhaustive").unwrap();
        let solved = rats_solvers::run(exhaustive, &derived, &Request::default(), &Unlimited).unwrap();
        if let Some(plan) = solved.plan {
            let energy = plan.evaluation().terms.energy.0;
            if best.last().is_none_or(|&(_, least)| energy < least) {
                best.push((horizon, energy));
            }
        }
    }
    best
}

const TINY: [&str; 5] = [
    "02-lower-clock-wins.json",
    "04-bridge-the-short-gap.json",
    "05-wake-takes-time.json",
    "06-still-on-at-start.json",
    "19-soft-due-dates.json",
];

fn is_sound(instance: &Instance, against: Against, frontier: &Frontier) {
    let points = &frontier.points;
    assert!(points.windows(2).all(|pair| pair[0].other < pair[1].other && pair[0].energy_mj > pair[1].energy_mj));
    for point in points {
        assert!(judged(instance, point.plan.schedule()).is_ok());
        let energy = point.energy_mj as f64 / 1000.0;
        let (used, value) = if against == Against::Makespan { (point.other, energy) } else { (energy, point.other) };
        assert!(frontier.least.is_none_or(|least| least <= used));
        for stair in frontier.stairs.iter().filter(|stair| stair.limit >= used) {
            assert!(stair.bound.is_none_or(|bound| bound <= value + 1e-9 * value.abs()), "{stair:?} {used} {value}");
        }
    }
}

#[test]
fn the_frontier_of_energy_and_makespan_is_that_of_every_horizon() {
    let mut wide = 0;
    for name in TINY {
        for solver in ["exhaustive", "milp"] {
            let (instance, frontier) = traced(name, Against::Makespan, solver, 1000);
            is_sound(&instance, Against::Makespan, &frontier);
            assert!(frontier.complete, "{name}: {solver}");
            let points = frontier.points.iter();
            let found: Vec<_> =
                points.map(|point| (point.plan.evaluation().terms.makespan.0, point.energy_mj)).collect();
            assert_eq!(found, by_every_horizon(name), "{name}: {solver}");
            wide += usize::from(found.len() > 1);
        }
    }
    assert_eq!(wide, 8, "all but one have more than one point");
}

#[test]
fn a_heuristic_gives_sound_points_that_the_exact_frontier_is_not_above() {
    for name in TINY {
        let (instance, frontier) = traced(name, Against::Makespan, "greedy_energy", 5);
        is_sound(&instance, Against::Makespan, &frontier);
        let (_, exact) = traced(name, Against::Makespan, "exhaustive", 1000);
        for point in &frontier.points {
            assert!(exact.points.iter().any(|best| best.other <= point.other && best.energy_mj <= point.energy_mj));
        }
    }
}

#[test]
fn cheap_hours_trade_energy_for_money() {
    for solver in ["exhaustive", "milp"] {
        let (instance, frontier) = traced("03-sleep-through-dear-hours.json", Against::Cost, solver, 1_000_000_000);
        is_sound(&instance, Against::Cost, &frontier);
        // The ends: the least cost is recorded (7/750), the least energy bridges the gap instead of waking twice.
        assert!((frontier.points[0].other - 7.0 / 750.0).abs() < 1e-9, "{}", frontier.points[0].other);
        assert!(frontier.points.len() > 1 && frontier.complete, "{solver}");
    }
}

#[test]
fn due_times_trade_energy_for_tardiness() {
    let (instance, frontier) = traced("19-soft-due-dates.json", Against::Tardiness, "exhaustive", 1_000_000_000);
    is_sound(&instance, Against::Tardiness, &frontier);
    assert!(frontier.points.len() > 1);
    // Under every budget that a point uses, no plan is less late: solved once more without the tracer.
    for point in &frontier.points {
        let limit = Goal::Within(Some(point.energy_mj));
        let derived = derived(&tiny("19-soft-due-dates.json").0, Against::Tardiness, limit, 30).unwrap();
        let exhaustive = registry::find("exhaustive").unwrap();
        let solved = rats_solvers::run(exhaustive, &derived, &Request::default(), &Unlimited).unwrap();
        let best = Against::Tardiness.value(&derived, &solved.plan.unwrap());
        assert!((best - point.other).abs() < 1e-6, "{best} {}", point.other);
    }
}

#[test]
fn without_a_tariff_there_is_no_cost() {
    let (file, instance) = tiny(TINY[0]);
    assert_eq!(file.format, InstanceFile::FORMAT);
    let control = || -> Box<dyn Control> { Box::new(Unlimited) };
    let solver = registry::find("exhaustive").unwrap();
    let (against, request) = (Against::Cost, Request::default());
    let wanted = Trace { file: &file, instance: &instance, against, solver, request, points: 3, control: &control };
    assert_eq!(trace(&wanted).unwrap_err().0[0].code, Code::U05);
}
