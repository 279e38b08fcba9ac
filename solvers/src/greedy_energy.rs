//! `greedy_energy`: jobs one by one, each where it raises the objective least.
//!
//! # Idea
//! Best insertion in several job orders; the best complete schedule wins. A job without a place pushes out those with
//! the latest deadlines around it, which then look for new places.
//!
//! # Model
//! Orders: by deadline, by work (largest first), by release, then random ones from the seed; each with the full price
//! of the nodes that a job wakes and with half of it. `iterations` bounds the number of schedules constructed. Powered
//! intervals by the default rule. If the energy budget stands in the way, energy is minimized instead of the
//! objective. The schedule of `edf_max` is the first incumbent, and its rule places what finds no place.
//!
//! # Complexity
//! Orders times jobs times options times starts looked at (see [`crate::insertion`]); the number of starts falls with
//! the number of jobs.
//!
//! # Limits
//! Jobs that are placed move only to make room. No stated powered intervals.

use rats_domain::ids::{JobId, Table};
use rats_domain::instance::Instance;
use rats_domain::schedule::Schedule;
use rats_domain::solver::{About, Control, Outcome, Progress, Request, Solver, Stop};
use rats_domain::units::{Millijoules, Ticks};

use crate::dispatch::{Waits, in_order};
use crate::edf_max;
use crate::insertion::{Insertion, Measure};
use crate::judged::valid_objective;
use crate::timetable::Timetable;
use rats_domain::random::Random;

/// Least and most schedules constructed if the request names no number.
const ORDERS: (usize, usize) = (4, 8);

/// Most jobs pushed out for one.
const MOST_EJECTED: usize = 16;

/// Best insertion in several job orders.
#[derive(Clone, Copy, Debug, Default)]
pub struct GreedyEnergy;

/// The best schedule so far.
#[derive(Default)]
struct Incumbent {
    best: Option<(f64, Schedule)>,
}

/// Why an order gave no schedule.
enum Failed {
    Stopped(Stop),
    NoPlace,
}

impl Solver for GreedyEnergy {
    fn about(&self) -> About {
        About {
            id: "greedy_energy",
            summary: "Best insertion: every job where it raises the objective least, in several job orders.",
            exact: false,
            baseline: false,
        }
    }

    fn solve(&self, instance: &Instance, request: &Request, control: &dyn Control) -> Outcome {
        let mut incumbent = Incumbent::default();
        if let Some(schedule) = &request.warm_start {
            incumbent.offer(instance, schedule.clone(), control);
        }
        let stop = search(instance, request, control, &mut incumbent);
        match incumbent.best {
            Some((_, schedule)) => Outcome::Feasible { schedule, bound: None, stop },
            None => Outcome::Unknown { bound: None, stop },
        }
    }
}

/// Tries the orders and returns why it ended.
fn search(instance: &Instance, request: &Request, control: &dyn Control, incumbent: &mut Incumbent) -> Stop {
    let empty = Timetable::new(instance);
    let looks = looks(instance);
    let mut measures = [Measure::Objective, Measure::Shared];
    if let Ok(schedule) = edf_max::schedule(instance, control) {
        incumbent.offer(instance, schedule, control);
    }
    let orders = (4_000 / instance.jobs.len().max(1)).clamp(ORDERS.0, ORDERS.1) as u64;
    for position in 0..request.iterations.unwrap_or(orders) {
        if let Some(stop) = control.stop() {
            return stop;
        }
        let insertion = Insertion::new(&empty, measures[usize::from(position % 2 == 1)], looks);
        let order = order(instance, position / 2, request.seed);
        match construct(&empty, &order, &insertion, control) {
            Ok(timetable) => {
                if !timetable.affords(Millijoules::ZERO) {
                    measures = [Measure::Energy; 2];
                }
                incumbent.offer(instance, timetable.into_schedule(), control);
            }
            Err(Failed::Stopped(stop)) => return stop,
            Err(Failed::NoPlace) => {}
        }
    }
    if request.iterations.is_some() { Stop::Iterations } else { Stop::Finished }
}

impl Incumbent {
    /// Keeps a schedule if it is valid and better.
    fn offer(&mut self, instance: &Instance, schedule: Schedule, control: &dyn Control) {
        let Some(objective) = valid_objective(instance, &schedule) else { return };
        if self.best.as_ref().is_none_or(|(best, _)| objective < *best) {
            self.best = Some((objective, schedule));
            control.progress(Progress { incumbent: Some(objective), bound: None });
        }
    }
}

/// Starts looked at per option: fewer where there are many jobs.
fn looks(instance: &Instance) -> usize {
    (16_000 / instance.jobs.len().max(1)).clamp(8, 2000)
}

/// The job order of this position.
fn order(instance: &Instance, position: u64, seed: u64) -> Vec<JobId> {
    let jobs = &instance.jobs;
    match position {
        0 => in_order(instance, |job| (instance.latest_end(job), jobs[job].release)),
        1 => in_order(instance, |job| std::cmp::Reverse(work(instance, job))),
        2 => in_order(instance, |job| (jobs[job].release, instance.latest_end(job))),
        _ => {
            let mut random = Random::new(seed.wrapping_add(position.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            let keys: Table<JobId, u64> = jobs.ids().map(|_| random.bits()).collect();
            in_order(instance, |job| keys[job])
        }
    }
}

/// GPUs times ticks of the option that needs least of them.
fn work(instance: &Instance, job: JobId) -> i64 {
    let options = instance.jobs[job].options.values().filter(|option| option.placeable);
    options.map(|option| option.ticks.0 * i64::from(option.gpus.0)).min().unwrap_or(0)
}

/// Inserts all jobs in order.
fn construct<'a>(
    empty: &Timetable<'a>,
    order: &[JobId],
    insertion: &Insertion,
    control: &dyn Control,
) -> Result<Timetable<'a>, Failed> {
    let mut timetable = empty.clone();
    let waits = Waits::with_caps(empty);
    for &job in order {
        if let Some(stop) = control.stop() {
            return Err(Failed::Stopped(stop));
        }
        let best = insertion.best(&timetable, job).map(|found| found.placement);
        if let Some(placement) = best.or_else(|| edf_max::place(&timetable, job, &waits)) {
            timetable.insert(job, placement);
        } else {
            make_room(&mut timetable, job, insertion, control)?;
        }
    }
    Ok(timetable)
}

/// Pushes jobs out until one fits, then finds new places for them.
fn make_room(
    timetable: &mut Timetable<'_>,
    job: JobId,
    insertion: &Insertion,
    control: &dyn Control,
) -> Result<(), Failed> {
    let mut ejected = Vec::new();
    for victim in victims(timetable, job) {
        if let Some(stop) = control.stop() {
            return Err(Failed::Stopped(stop));
        }
        timetable.remove(victim);
        ejected.push(victim);
        if let Some(found) = insertion.best(timetable, job) {
            timetable.insert(job, found.placement);
            return reinsert(timetable, ejected, insertion);
        }
    }
    Err(Failed::NoPlace)
}

/// The open jobs that share the time in which a job can run, those with the latest deadlines first.
fn victims(timetable: &Timetable<'_>, job: JobId) -> Vec<JobId> {
    let instance = timetable.instance();
    let ready = timetable.earliest_after(job).unwrap_or(Ticks::ZERO).max(instance.jobs[job].release);
    let last = instance.latest_end(job);
    let movable = timetable.schedule().placed().filter(|&(other, placement)| {
        let free = instance.jobs[other].fixed.is_none() && !instance.jobs[job].after.contains(&other);
        free && placement.start < last && placement.end(instance, other) > ready
    });
    let mut victims: Vec<JobId> = movable.map(|(other, _)| other).collect();
    victims.sort_by_key(|&other| (std::cmp::Reverse(instance.latest_end(other)), other));
    victims.truncate(MOST_EJECTED);
    victims
}

fn reinsert(timetable: &mut Timetable<'_>, mut ejected: Vec<JobId>, insertion: &Insertion) -> Result<(), Failed> {
    let instance = timetable.instance();
    ejected.sort_by_key(|&job| (instance.latest_end(job), job));
    for job in ejected {
        let found = insertion.best(timetable, job).ok_or(Failed::NoPlace)?;
        timetable.insert(job, found.placement);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use rats_domain::evaluate::evaluate;
    use rats_domain::solver::Unlimited;

    use super::*;
    use crate::testing::{Size, broken_rules, greedy_schedule, random_instance};

    fn objective(instance: &Instance, outcome: &Outcome) -> Option<f64> {
        let Outcome::Feasible { schedule, .. } = outcome else { return None };
        assert!(schedule.placements.values().all(Option::is_some));
        assert_eq!(broken_rules(instance, schedule), 0);
        Some(evaluate(instance, schedule).objective)
    }

    /// Section 6 of the model: one sleep node with 2 GPUs, two equal jobs with a fast and a slow option.
    fn worked_example(base_w: u32) -> Instance {
        let options = r#"[{"gpu_type": "T", "gpus": 1, "span": "node", "ticks": 10, "power_w": 300},
                          {"gpu_type": "T", "gpus": 1, "span": "node", "ticks": 14, "power_w": 200}]"#;
        let text = format!(
            r#"{{"format": "rats.instance/1", "name": "i", "tick_s": 60, "horizon": 100,
                "cluster": {{"gpu_types": [{{"id": "T", "idle_w": 50}}], "nodes": [{{"id": "n0", "gpu_type": "T",
                "gpus": 2, "base_w": {base_w}, "power": "sleep", "wake_j": 12000}}]}},
                "objective": [{{"term": "energy", "weight": 1}}],
                "jobs": [{{"id": "a", "options": {options}}}, {{"id": "b", "options": {options}}}]}}"#
        );
        Instance::read(text.as_bytes()).unwrap().instance
    }

    #[test]
    fn worked_example_is_solved_both_ways() {
        for (base_w, expected) in [(200, 492_000.0), (20, 364_800.0)] {
            let instance = worked_example(base_w);
            let outcome = GreedyEnergy.solve(&instance, &Request::default(), &Unlimited);
            assert_eq!(objective(&instance, &outcome), Some(expected));
        }
    }

    #[test]
    fn plans_are_valid_repeatable_and_found_where_a_simple_rule_finds_one() {
        let (mut found, mut simple, mut missed, mut better) = (0, 0, 0, 0);
        for seed in 0..300 {
            let size = if seed % 2 == 0 { Size::Micro } else { Size::Tiny };
            let instance = random_instance(seed, size);
            let request = Request { seed, ..Request::default() };
            let outcome = GreedyEnergy.solve(&instance, &request, &Unlimited);
            let value = objective(&instance, &outcome);
            assert_eq!(value, objective(&instance, &GreedyEnergy.solve(&instance, &request, &Unlimited)));
            found += usize::from(value.is_some());
            let other = greedy_schedule(&mut Random::new(seed), &instance);
            if other.placements.values().all(Option::is_some) && broken_rules(&instance, &other) == 0 {
                simple += 1;
                missed += usize::from(value.is_none());
                better += usize::from(value.is_some_and(|value| value <= evaluate(&instance, &other).objective + 1e-9));
                let request = Request { warm_start: Some(other), iterations: Some(0), ..Request::default() };
                assert!(objective(&instance, &GreedyEnergy.solve(&instance, &request, &Unlimited)).is_some());
            }
        }
        assert!(found > 150 && missed * 20 < simple && better * 10 > simple * 9, "{found} {simple} {missed} {better}");
    }

    /// Stops after so many questions.
    struct After(AtomicUsize);

    impl Control for After {
        fn stop(&self) -> Option<Stop> {
            let left = self.0.load(Ordering::Relaxed);
            self.0.store(left.saturating_sub(1), Ordering::Relaxed);
            (left == 0).then_some(Stop::Interrupted)
        }

        fn remaining(&self) -> Option<Duration> {
            None
        }

        fn progress(&self, _: Progress) {}
    }

    #[test]
    fn an_interruption_ends_it_with_what_it_has() {
        let instance = worked_example(200);
        let solve = |questions| GreedyEnergy.solve(&instance, &Request::default(), &After(AtomicUsize::new(questions)));
        assert!(matches!(solve(0), Outcome::Unknown { stop: Stop::Interrupted, .. }));
        assert!(matches!(solve(9), Outcome::Feasible { stop: Stop::Interrupted, .. }));
    }
}
