//! Options that an instance keeps can each run alone.

use rats_domain::check::check_schedule;
use rats_domain::codes::Code;
use rats_domain::instance::Instance;
use rats_domain::interval::Interval;
use rats_domain::units::Ticks;
use rats_solvers::dispatch::{Waits, earliest};
use rats_solvers::timetable::Timetable;

use super::*;
use crate::generate::{Family, Wanted, generate};

/// Every option of every job has a placement on the empty cluster that the checker accepts.
fn all_run_alone(instance: &Instance) -> usize {
    let timetable = Timetable::new(instance);
    let waits = Waits::new(instance);
    let judged = [Code::V2, Code::V3, Code::V6, Code::V7, Code::V8, Code::V9];
    let mut count = 0;
    for (job, of_job) in instance.jobs.iter() {
        for (id, option) in of_job.options.iter() {
            assert!(option.placeable, "{} {id}", of_job.id);
            let window = Interval::new(Ticks::ZERO, Ticks(i64::MAX));
            let placement = earliest(&timetable, (job, id), window, &waits, |_| true).unwrap();
            let mut schedule = timetable.schedule().clone();
            schedule.placements[job] = Some(placement);
            let report = check_schedule(instance, &schedule).unwrap();
            assert!(report.violations.iter().all(|violation| !judged.contains(&violation.code)), "{} {id}", of_job.id);
            count += 1;
        }
    }
    count
}

#[test]
fn options_that_stay_have_a_placement() {
    let instance = built(SCENARIO).unwrap().instance;
    assert!(all_run_alone(&instance) > 5);
    let mut count = 0;
    for seed in 0..12 {
        let wanted = Wanted { family: Family::Small, seed, jobs: None, nodes: None, gpus_per_node: None };
        count += all_run_alone(&generate(&wanted).unwrap().instance);
    }
    assert!(count > 300, "{count}");
}
