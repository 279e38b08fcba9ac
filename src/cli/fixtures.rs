//! Instances for the tests of this crate.

use rats_domain::ids::{GpuId, Id, OptionId};
use rats_domain::instance::Instance;
use rats_domain::schedule::{Placement, Schedule};
use rats_domain::units::Ticks;

/// One sleep node with two GPUs and jobs `a` and `b`, each 10 ticks at 300 W or 14 ticks at 200 W.
pub(crate) fn worked_example() -> Instance {
    read(include_str!("../../tests/it/data/worked_example.json"))
}

/// A valid instance.
pub(crate) fn read(text: &str) -> Instance {
    Instance::read(text.as_bytes()).unwrap().instance
}

/// A schedule from (option, start, GPU) of every job.
pub(crate) fn schedule(instance: &Instance, jobs: &[(usize, i64, usize)]) -> Schedule {
    let mut schedule = Schedule::fixed_only(instance);
    for (slot, &(option, start, gpu)) in schedule.placements.values_mut().zip(jobs) {
        *slot = Some(Placement {
            option: OptionId::from_position(option),
            start: Ticks(start),
            gpus: vec![GpuId::from_position(gpu)],
        });
    }
    schedule
}
