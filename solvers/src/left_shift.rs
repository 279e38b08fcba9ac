//! Starts jobs earlier where that costs nothing.
//!
//! # Idea
//! The model promises that among plans of equal objective a solver returns one in which no job could start earlier
//! alone without breaking a rule or raising the objective. Whatever a solver returns is brought into that form here:
//! job by job, first those that start first, until nothing moves any more.
//!
//! # Model
//! A job keeps its option, its GPUs and the stated powered intervals; only its start changes. Every start from its
//! release on is tried if there are at most [`MOST_TICKS`] of them, else those at which something about its GPUs,
//! nodes, prices or caps changes, and those at which it would end there.
//!
//! # Complexity
//! Per round and job at most [`MOST_TICKS`] looks at its placement; a look that fails skips all starts that fail for
//! the same reason. Every move lowers a start, so it ends.
//!
//! # Limits
//! With more than [`MOST_TICKS`] starts a free earlier start between two changes may be missed.

use rats_domain::ids::{JobId, NodeId};
use rats_domain::instance::Instance;
use rats_domain::power::shortest_gap;
use rats_domain::schedule::{Placement, Schedule};
use rats_domain::units::Ticks;

use crate::timetable::{Effect, Timetable};

/// Most earlier starts of one job that are tried one by one.
pub const MOST_TICKS: i64 = 4096;

/// Relative difference within which two objectives are equal.
const EQUAL: f64 = 1e-12;

/// The same schedule with every job as early as it can be alone; the schedule must be valid.
pub fn left_shift(instance: &Instance, schedule: Schedule) -> Schedule {
    let mut timetable = Timetable::of(instance, schedule);
    loop {
        let placed = timetable.schedule().placed().filter(|(job, _)| instance.jobs[*job].fixed.is_none());
        let mut jobs: Vec<(Ticks, JobId)> = placed.map(|(job, placement)| (placement.start, job)).collect();
        jobs.sort_unstable();
        let slack = EQUAL * timetable.objective().abs();
        let mut moved = false;
        for (_, job) in jobs {
            moved |= shift(&mut timetable, job, slack);
        }
        if !moved {
            return timetable.into_schedule();
        }
    }
}

/// Moves one job to its earliest free start; whether it moved.
fn shift(timetable: &mut Timetable<'_>, job: JobId, slack: f64) -> bool {
    let Some(placement) = timetable.remove(job) else { return false };
    let ready = timetable.earliest_after(job).unwrap_or(Ticks::ZERO);
    let from = timetable.instance().jobs[job].release.max(ready);
    let here = timetable.effect(job, &placement);
    let free = |effect: Effect| effect.objective <= here.objective + slack && timetable.affords(effect.energy);
    let starts = Starts::new(timetable, job, &placement, from);
    let mut earlier = Placement { start: from, ..placement.clone() };
    while earlier.start < placement.start {
        earlier.start = match timetable.judge(job, &earlier) {
            Ok(effect) if free(effect) => {
                timetable.insert(job, earlier);
                return true;
            }
            Err(conflict) if conflict.until > earlier.start + Ticks(1) => conflict.until,
            _ => starts.after(earlier.start),
        };
    }
    timetable.insert(job, placement);
    false
}

/// The starts to try, in order.
enum Starts {
    /// Every tick.
    All,
    /// These ticks.
    Some(Vec<Ticks>),
}

impl Starts {
    fn new(timetable: &Timetable<'_>, job: JobId, placement: &Placement, from: Ticks) -> Self {
        if (placement.start - from).0 <= MOST_TICKS {
            return Self::All;
        }
        let mut ticks = changes(timetable, job, placement);
        ticks.retain(|&at| from < at && at < placement.start);
        ticks.sort_unstable();
        ticks.dedup();
        Self::Some(ticks)
    }

    /// The next start after `at`; for ever if there is none.
    fn after(&self, at: Ticks) -> Ticks {
        match self {
            Self::All => at + Ticks(1),
            Self::Some(ticks) => {
                ticks.get(ticks.partition_point(|&tick| tick <= at)).copied().unwrap_or(Ticks(i64::MAX))
            }
        }
    }
}

/// The starts around which cost or rules of a placement may change.
fn changes(timetable: &Timetable<'_>, job: JobId, placement: &Placement) -> Vec<Ticks> {
    let instance = timetable.instance();
    let length = instance.option(job, placement.option).ticks;
    let mut ticks = vec![Ticks::ZERO, timetable.makespan()];
    ticks.extend(instance.tariff.iter().flat_map(|tariff| tariff.steps().iter().map(|&(at, _)| at)));
    ticks.extend(timetable.cap_changes());
    ticks.extend(instance.jobs[job].due);
    let gpus = &instance.cluster.gpus;
    for part in placement.gpus.chunk_by(|&a, &b| gpus[a].node == gpus[b].node) {
        let node = gpus[part[0]].node;
        ticks.extend(timetable.busy_of_node(node).changes());
        ticks.push(instance.cluster.nodes[node].wake_ticks);
        let reach = longest_bridge(instance, node);
        for powered in timetable.powered(node) {
            ticks.extend([powered.from, powered.from - reach, powered.from - reach - Ticks(1)]);
            ticks.extend([powered.to, powered.to + reach, powered.to + reach + Ticks(1)]);
        }
    }
    ticks.iter().flat_map(|&at| [at, Ticks(at.0.saturating_sub(length.0))]).collect()
}

/// The longest gap through which the default rule keeps a node powered, at most the horizon.
fn longest_bridge(instance: &Instance, id: NodeId) -> Ticks {
    let node = &instance.cluster.nodes[id];
    let per_tick = i128::from(node.idle.0) * i128::from(instance.tick.0);
    let worth = if per_tick == 0 { i128::MAX } else { node.wake.0 / per_tick };
    let worth = Ticks(i64::try_from(worth).unwrap_or(i64::MAX));
    worth.min(instance.horizon).max(shortest_gap(node) - Ticks(1))
}

#[cfg(test)]
mod tests {
    use rats_domain::check::check_schedule;

    use super::*;
    use crate::testing::{Size, broken_rules, greedy_schedule, random_instance, state_power};
    use rats_domain::random::Random;

    #[test]
    fn nothing_can_start_earlier_for_free_afterwards() {
        let (mut checked, mut moved) = (0, 0);
        for seed in 0..500 {
            let size = if seed % 2 == 0 { Size::Micro } else { Size::Tiny };
            let instance = random_instance(seed, size);
            let mut random = Random::new(seed);
            let mut schedule = greedy_schedule(&mut random, &instance);
            delay(&mut random, &instance, &mut schedule);
            let default = schedule.clone();
            state_power(&mut random, &instance, &mut schedule);
            for schedule in [default, schedule] {
                let report = check_schedule(&instance, &schedule).unwrap();
                let Some(before) = report.evaluation.filter(|_| report.violations.is_empty()) else { continue };
                checked += 1;
                let shifted = left_shift(&instance, schedule.clone());
                moved += usize::from(shifted != schedule);
                let report = check_schedule(&instance, &shifted).unwrap();
                assert!(report.violations.is_empty(), "seed {seed}: {:?}", report.violations);
                let after = report.evaluation.unwrap().objective;
                assert!(after <= before.objective + 1e-11 * before.objective.abs(), "seed {seed}");
                assert_left(&instance, &shifted, after, seed);
            }
        }
        assert!(checked > 300 && moved > 100, "{checked} {moved}");
    }

    /// One always-on or sleep node with one GPU, tick 1 s, and two jobs of 10 ticks released at 3, placed at `starts`.
    fn shifted(power: &str, wake_j: u32, starts: [i64; 2]) -> Vec<i64> {
        let job = |id: &str| {
            let option = r#"{"gpu_type": "T", "gpus": 1, "span": "node", "ticks": 10, "power_w": 300}"#;
            format!(r#"{{"id": "{id}", "release": 3, "options": [{option}]}}"#)
        };
        let text = format!(
            r#"{{"format": "rats.instance/1", "name": "i", "tick_s": 1, "horizon": 2147483648,
                "cluster": {{"gpu_types": [{{"id": "T", "idle_w": 50}}], "nodes": [{{"id": "n", "gpu_type": "T",
                "gpus": 1, "base_w": 50, "power": "{power}", "wake_j": {wake_j}}}]}},
                "objective": [{{"term": "energy", "weight": 1}}], "jobs": [{}, {}]}}"#,
            job("a"),
            job("b"),
        );
        let instance = Instance::read(text.as_bytes()).unwrap().instance;
        let mut schedule = Schedule::fixed_only(&instance);
        for (job, start) in instance.jobs.ids().zip(starts) {
            let gpus = instance.cluster.gpus.ids().collect();
            schedule.placements[job] =
                Some(Placement { option: instance.jobs[job].requested, start: Ticks(start), gpus });
        }
        left_shift(&instance, schedule).placed().map(|(_, placement)| placement.start.0).collect()
    }

    #[test]
    fn far_jobs_come_close_without_a_look_at_every_tick() {
        // Asleep between them: b starts earlier for free (another wake-up costs the same), down to the end of a, which
        // itself moves to its release first.
        assert_eq!(shifted("sleep", 0, [2_000_000_000, 2_100_000_000]), [3, 13]);
        assert_eq!(shifted("always_on", 0, [2_000_000_000, 2_100_000_000]), [3, 13]);
        // The later job in file order runs first.
        assert_eq!(shifted("sleep", 5000, [2_100_000_000, 2_000_000_000]), [13, 3]);
    }

    /// Moves random jobs later while no rule breaks.
    fn delay(random: &mut Random, instance: &Instance, schedule: &mut Schedule) {
        let broken = broken_rules(instance, schedule);
        for job in instance.jobs.ids().filter(|&job| instance.jobs[job].fixed.is_none()) {
            let Some(placement) = schedule.placements[job].clone() else { continue };
            let later = Placement { start: placement.start + Ticks(random.within(0, 4)), ..placement.clone() };
            schedule.placements[job] = Some(later);
            if broken_rules(instance, schedule) > broken {
                schedule.placements[job] = Some(placement);
            }
        }
    }

    fn assert_left(instance: &Instance, schedule: &Schedule, objective: f64, seed: u64) {
        for (job, placement) in schedule.placed().filter(|(job, _)| instance.jobs[*job].fixed.is_none()) {
            for start in instance.jobs[job].release.0..placement.start.0 {
                let mut other = schedule.clone();
                other.placements[job] = Some(Placement { start: Ticks(start), ..placement.clone() });
                let report = check_schedule(instance, &other).unwrap();
                if report.violations.is_empty() {
                    let value = report.evaluation.unwrap().objective;
                    assert!(value > objective + EQUAL * objective.abs(), "seed {seed}: {job} at {start}");
                }
            }
        }
    }
}
