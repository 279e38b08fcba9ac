//! `fifo_max`: first in, first out, every job as its user asked for it; the baseline of all savings.
//!
//! # Idea
//! What a cluster without planning does: jobs start in the order in which they came, none before the one ahead of it,
//! each with its requested option on the first GPUs that suit it.
//!
//! # Model
//! Fixed jobs first; then jobs by (release, file order), each after its `after` jobs. A job starts at the least tick
//! not before its release, the start of the job before it and the end of its `after` jobs at which some domain fits;
//! domains narrow to wide, then in file order; in a domain the lexicographically first free GPUs that keep V2, V3,
//! V6-V9, V12 and V13. Powered intervals by the default rule. Deadlines, horizon, caps and budget are ignored: the
//! schedule may be invalid. A job whose requested option fits nowhere stays out.
//!
//! # Complexity
//! Starts never go back, so each job tries on average few ticks; each try looks at the nodes of one GPU type.
//!
//! # Limits
//! A job is placed even if a fixed job that waits for it starts earlier (V5 is then broken by any placement).

use rats_domain::instance::Instance;
use rats_domain::interval::Interval;
use rats_domain::schedule::Schedule;
use rats_domain::solver::{About, Control, Outcome, Request, Solver};
use rats_domain::units::Ticks;

use crate::dispatch::{Waits, earliest, in_order};
use crate::judged::finished;
use crate::timetable::Timetable;

/// First in, first out with requested options.
#[derive(Clone, Copy, Debug, Default)]
pub struct FifoMax;

/// The baseline's schedule; it may break rules.
pub fn schedule(instance: &Instance) -> Schedule {
    let mut timetable = Timetable::new(instance);
    let waits = Waits::new(instance);
    let mut from = Ticks::ZERO;
    for job in in_order(instance, |job| instance.jobs[job].release) {
        let ready = timetable.earliest_after(job).unwrap_or(Ticks::ZERO);
        let window = Interval::new(from.max(instance.jobs[job].release).max(ready), Ticks(i64::MAX));
        let option = instance.jobs[job].requested;
        if let Some(placement) = earliest(&timetable, (job, option), window, &waits, |_| true) {
            from = placement.start;
            timetable.insert(job, placement);
        }
    }
    timetable.into_schedule()
}

impl Solver for FifoMax {
    fn about(&self) -> About {
        About {
            id: "fifo_max",
            summary: "Baseline: first in, first out, every job with its requested option.",
            exact: false,
            baseline: true,
        }
    }

    fn solve(&self, instance: &Instance, _request: &Request, _control: &dyn Control) -> Outcome {
        finished(instance, schedule(instance))
    }
}

#[cfg(test)]
mod tests {
    use rats_domain::check::check_schedule;
    use rats_domain::codes::Code;
    use rats_domain::ids::JobId;
    use rats_domain::schedule::Placement;

    use super::*;
    use crate::testing::{Size, first_gang, random_instance};

    /// The definition, tick by tick and set by set.
    fn by_definition(instance: &Instance) -> Schedule {
        let mut schedule = Schedule::fixed_only(instance);
        let mut left: Vec<JobId> = instance.jobs.ids().filter(|&job| instance.jobs[job].fixed.is_none()).collect();
        left.sort_by_key(|&job| (instance.jobs[job].release, job));
        let mut from = Ticks::ZERO;
        while let Some(position) =
            left.iter().position(|&job| !instance.jobs[job].after.iter().any(|before| left.contains(before)))
        {
            let id = left.remove(position);
            let job = &instance.jobs[id];
            let placed = job.after.iter().filter_map(|&before| Some((before, schedule.placements[before].as_ref()?)));
            let ready = placed.map(|(before, placement)| placement.end(instance, before)).max().unwrap_or(Ticks::ZERO);
            let first = from.max(job.release).max(ready);
            schedule.placements[id] = (first.0..first.0 + 40).map(Ticks).find_map(|start| {
                let gpus = first_gang(instance, &schedule, (id, job.requested), start)?;
                Some(Placement { option: job.requested, start, gpus })
            });
            from = schedule.placements[id].as_ref().map_or(from, |placement| placement.start);
        }
        schedule
    }

    #[test]
    fn schedule_equals_its_definition() {
        let mut compared = 0;
        for seed in 0..400 {
            let instance = random_instance(seed, Size::Tiny);
            let fixed = check_schedule(&instance, &Schedule::fixed_only(&instance)).unwrap();
            let judged = [Code::V3, Code::V6, Code::V7, Code::V8, Code::V9, Code::V12, Code::V13];
            if fixed.violations.iter().any(|violation| judged.contains(&violation.code)) {
                continue;
            }
            compared += 1;
            assert_eq!(schedule(&instance), by_definition(&instance), "seed {seed}");
        }
        assert!(compared > 250, "{compared}");
    }

    #[test]
    fn a_later_job_never_overtakes_and_the_narrowest_domain_comes_first() {
        // Two nodes of 2 GPUs. a needs 3 GPUs (both nodes) for 5 ticks, b 2 GPUs on one node, c 1 GPU.
        // a takes n0/0, n0/1, n1/0 at 0; b waits to 5 although it came second; c came last and may not start before b.
        let node =
            |id: &str| format!(r#"{{"id": "{id}", "parent": "s", "gpu_type": "T", "gpus": 2, "power": "sleep"}}"#);
        let job = |id: &str, gpus: u32, span: &str| {
            let option = format!(r#"{{"gpu_type": "T", "gpus": {gpus}, "span": "{span}", "ticks": 5, "power_w": 9}}"#);
            format!(r#"{{"id": "{id}", "options": [{option}]}}"#)
        };
        let text = format!(
            r#"{{"format": "rats.instance/1", "name": "i", "tick_s": 1, "horizon": 2147483648,
                "cluster": {{"gpu_types": [{{"id": "T"}}], "levels": ["rack"],
                "switches": [{{"id": "s", "level": "rack"}}], "nodes": [{}, {}]}},
                "objective": [{{"term": "energy", "weight": 1}}], "jobs": [{}, {}, {}]}}"#,
            node("n0"),
            node("n1"),
            job("a", 3, "rack"),
            job("b", 2, "node"),
            job("c", 1, "rack"),
        );
        let instance = Instance::read(text.as_bytes()).unwrap().instance;
        let plan = schedule(&instance).to_plan(&instance);
        let found: Vec<_> = plan.assignments.iter().map(|a| (a.start, a.gpus.join(" "))).collect();
        let expected = [(0, "n0/0 n0/1 n1/0"), (5, "n0/0 n0/1"), (5, "n1/0")];
        assert_eq!(found, expected.map(|(start, gpus)| (start, gpus.to_owned())));
    }
}
