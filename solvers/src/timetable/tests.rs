//! Differential tests against evaluation and checker of the domain.

use rats_domain::check::check_schedule;
use rats_domain::codes::Code;
use rats_domain::evaluate::evaluate;
use rats_domain::ids::JobId;

use super::*;
use crate::testing::{Size, broken_rules, greedy_schedule, random_instance, random_placement, state_power};
use rats_domain::random::Random;

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

fn assert_equals_evaluation(timetable: &Timetable<'_>, context: &str) {
    let expected = evaluate(timetable.instance(), timetable.schedule());
    assert_eq!(timetable.energy(), expected.terms.energy, "{context}");
    assert_eq!(timetable.makespan(), expected.terms.makespan, "{context}");
    assert!(near(timetable.objective(), expected.objective), "{context}");
    for (node, powered) in expected.powered.iter() {
        assert_eq!(&timetable.powered(node), powered, "{context}");
    }
}

/// Broken rules apart from missing jobs and the budget.
fn broken_without_budget(instance: &Instance, schedule: &Schedule) -> Vec<(Code, String)> {
    let violations = check_schedule(instance, schedule).unwrap().violations;
    let other = violations.into_iter().filter(|violation| !matches!(violation.code, Code::V1 | Code::V11));
    other.map(|violation| (violation.code, violation.message)).collect()
}

/// Starts from a random valid schedule, then inserts and removes at random; every answer is compared.
fn compare(seed: u64, size: Size) -> (usize, usize) {
    let instance = random_instance(seed, size);
    let mut random = Random::new(seed);
    let mut start = greedy_schedule(&mut random, &instance);
    if random.chance(50) {
        state_power(&mut random, &instance, &mut start);
    }
    let mut timetable = Timetable::of(&instance, start);
    assert_equals_evaluation(&timetable, &format!("seed {seed}, start"));
    let open: Vec<JobId> = instance.jobs.ids().filter(|&job| instance.jobs[job].fixed.is_none()).collect();
    let (mut kept, mut broken) = (0, 0);
    for step in 0..if open.is_empty() { 0 } else { 30 } {
        let context = format!("seed {seed}, step {step}");
        let job = random.pick(&open);
        timetable.remove(job);
        assert_equals_evaluation(&timetable, &context);
        let Some(placement) = random_placement(&mut random, &instance, job) else { continue };
        let valid_before = broken_without_budget(&instance, timetable.schedule()).is_empty();
        let before = evaluate(&instance, timetable.schedule());
        let judged = timetable.judge(job, &placement);
        let effect = timetable.effect(job, &placement);
        timetable.insert(job, placement);
        assert_equals_evaluation(&timetable, &context);
        let after = evaluate(&instance, timetable.schedule());
        assert_eq!(effect.energy, after.terms.energy - before.terms.energy, "{context}");
        let scale = before.objective.abs().max(after.objective.abs()).max(1.0);
        assert!((effect.objective - (after.objective - before.objective)).abs() <= 1e-9 * scale, "{context}");
        if valid_before {
            let found = broken_without_budget(&instance, timetable.schedule());
            assert_eq!(judged.is_ok(), found.is_empty(), "{context}: {judged:?} {found:?}");
            if let Err(conflict) = judged {
                assert!(found.iter().any(|(code, _)| *code == conflict.code), "{context}: {conflict:?} {found:?}");
            }
            *if judged.is_ok() { &mut kept } else { &mut broken } += 1;
        }
        // Invalid states are mostly left again, so that valid ones stay frequent.
        if judged.is_err() && random.chance(80) {
            timetable.remove(job);
        }
    }
    (kept, broken)
}

#[test]
fn random_insertions_and_removals_agree_with_evaluation_and_checker() {
    let (mut kept, mut broken) = (0, 0);
    for seed in 0..600 {
        for size in [Size::Micro, Size::Tiny] {
            let counts = compare(seed, size);
            kept += counts.0;
            broken += counts.1;
        }
    }
    assert!(kept > 3000 && broken > 3000, "{kept} {broken}");
}

#[test]
fn every_start_before_the_next_try_conflicts_too() {
    for seed in 0..200 {
        let instance = random_instance(seed, Size::Tiny);
        let mut random = Random::new(seed);
        let mut timetable = Timetable::of(&instance, greedy_schedule(&mut random, &instance));
        for job in instance.jobs.ids().filter(|&job| instance.jobs[job].fixed.is_none()) {
            timetable.remove(job);
            let Some(mut placement) = random_placement(&mut random, &instance, job) else { continue };
            let Err(conflict) = timetable.judge(job, &placement) else { continue };
            assert!(conflict.until > placement.start);
            while placement.start < conflict.until.min(instance.horizon + Ticks(3)) {
                assert!(timetable.judge(job, &placement).is_err(), "seed {seed}: {conflict:?} {placement:?}");
                placement.start += Ticks(1);
            }
        }
    }
}

#[test]
fn stating_and_unstating_power_restores_the_default() {
    for seed in 0..100 {
        let instance = random_instance(seed, Size::Tiny);
        let mut random = Random::new(seed);
        let schedule = greedy_schedule(&mut random, &instance);
        let mut stated = schedule.clone();
        state_power(&mut random, &instance, &mut stated);
        let mut timetable = Timetable::of(&instance, schedule);
        let energy = timetable.energy();
        for (&node, intervals) in &stated.power {
            timetable.state_power(node, Some(intervals.clone()));
            assert_equals_evaluation(&timetable, &format!("seed {seed}"));
        }
        for &node in stated.power.keys() {
            timetable.state_power(node, None);
        }
        assert_eq!(timetable.energy(), energy);
        assert_eq!(broken_rules(&instance, timetable.schedule()), broken_rules(&instance, &timetable.into_schedule()));
    }
}
