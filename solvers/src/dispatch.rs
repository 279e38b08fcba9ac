//! List scheduling: jobs one by one in an order, each at the first start at which it fits.
//!
//! A start can become possible only where something ends: a job, an interval in which GPUs are unavailable, the time
//! in which no node can wake, or a stretch of a power cap. Only these ticks are tried, so the horizon does not matter.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rats_domain::ids::{JobId, OptionId, Table};
use rats_domain::instance::Instance;
use rats_domain::interval::Interval;
use rats_domain::schedule::Placement;
use rats_domain::units::Ticks;

use crate::places::Rooms;
use crate::timetable::Timetable;

/// Domains tried at one start before the next start is tried, if power caps forbid the gangs found.
pub const MOST_REFUSED: usize = 32;

/// The jobs that are not fixed, by least key, each after those it waits for.
pub fn in_order<K: Ord>(instance: &Instance, key: impl Fn(JobId) -> K) -> Vec<JobId> {
    let open = |job: JobId| instance.jobs[job].fixed.is_none();
    let mut waiting: Table<JobId, usize> = Table::filled(0, instance.jobs.len());
    let mut successors: Table<JobId, Vec<JobId>> = Table::filled(Vec::new(), instance.jobs.len());
    for (id, job) in instance.jobs.iter() {
        for &before in job.after.iter().filter(|&&before| open(before)) {
            waiting[id] += 1;
            successors[before].push(id);
        }
    }
    let ready = instance.jobs.ids().filter(|&job| open(job) && waiting[job] == 0);
    let mut heap: BinaryHeap<_> = ready.map(|job| Reverse((key(job), job))).collect();
    let mut order = Vec::with_capacity(instance.jobs.len());
    while let Some(Reverse((_, job))) = heap.pop() {
        order.push(job);
        for &next in &successors[job] {
            waiting[next] -= 1;
            if waiting[next] == 0 && open(next) {
                heap.push(Reverse((key(next), next)));
            }
        }
    }
    order
}

/// Ticks at which something other than a job ends.
#[derive(Clone, Debug)]
pub struct Waits {
    ticks: Vec<Ticks>,
}

impl Waits {
    /// Ends of unavailability and times to wake.
    pub fn new(instance: &Instance) -> Self {
        let cluster = &instance.cluster;
        let wakes = cluster.nodes.values().map(|node| node.wake_ticks);
        let blocks = cluster.gpus.values().flat_map(|gpu| gpu.unavailable.iter().map(|block| block.to));
        Self::of(wakes.chain(blocks))
    }

    /// The same and where caps and foreign power change.
    pub fn with_caps(timetable: &Timetable<'_>) -> Self {
        let waits = Self::new(timetable.instance());
        Self::of(waits.ticks.into_iter().chain(timetable.cap_changes()))
    }

    /// The ticks, in order.
    pub fn into_ticks(self) -> Vec<Ticks> {
        self.ticks
    }

    fn of(ticks: impl Iterator<Item = Ticks>) -> Self {
        let mut ticks: Vec<_> = ticks.collect();
        ticks.sort_unstable();
        ticks.dedup();
        Self { ticks }
    }

    /// The next start to try after `start`.
    pub fn after(&self, timetable: &Timetable<'_>, start: Ticks) -> Option<Ticks> {
        let own = self.ticks.get(self.ticks.partition_point(|&at| at <= start)).copied();
        own.into_iter().chain(timetable.next_end(start)).min()
    }
}

/// The first placement of an option from `window.from` on that `accept`s, starting before `window.to`.
///
/// Domains are tried narrow to wide, in each the first gang in file order. `accept` is asked about what [`Rooms`] does
/// not know.
pub fn earliest(
    timetable: &Timetable<'_>,
    job: (JobId, OptionId),
    window: Interval,
    waits: &Waits,
    mut accept: impl FnMut(&Placement) -> bool,
) -> Option<Placement> {
    first_start(timetable, job, window, waits, |rooms, start| {
        let gangs = rooms.domains().filter_map(|domain| rooms.first_gang(domain));
        let mut placements = gangs.map(|gpus| Placement { option: job.1, start, gpus }).take(MOST_REFUSED);
        placements.find(&mut accept)
    })
}

/// The placement of an option that `choose` makes of the rooms at the first start in `window` at which it makes one.
pub fn first_start(
    timetable: &Timetable<'_>,
    (job, id): (JobId, OptionId),
    window: Interval,
    waits: &Waits,
    mut choose: impl FnMut(&Rooms<'_>, Ticks) -> Option<Placement>,
) -> Option<Placement> {
    let option = timetable.instance().option(job, id);
    if !option.placeable {
        return None;
    }
    let mut start = window.from;
    while start < window.to {
        let occupancy = Interval::new(start, start + option.ticks);
        if let Some(until) = timetable.crowded_until(option.gpu_type, option.gpus, occupancy) {
            if until == Ticks(i64::MAX) {
                return None;
            }
            start = until;
            continue;
        }
        if let Some(rooms) = Rooms::new(timetable, option, start)
            && let Some(placement) = choose(&rooms, start)
        {
            return Some(placement);
        }
        start = waits.after(timetable, start)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Size, random_instance};

    #[test]
    fn order_respects_precedence_and_keys() {
        for seed in 0..100 {
            let instance = random_instance(seed, Size::Tiny);
            let order = in_order(&instance, |job| instance.jobs[job].release);
            assert_eq!(order.len(), instance.jobs.values().filter(|job| job.fixed.is_none()).count());
            let position = |job: JobId| order.iter().position(|&other| other == job);
            for (at, &job) in order.iter().enumerate() {
                assert!(
                    instance.jobs[job].after.iter().filter_map(|&before| position(before)).all(|before| before < at)
                );
            }
            if instance.jobs.values().all(|job| job.after.is_empty()) {
                assert!(order.is_sorted_by_key(|&job| (instance.jobs[job].release, job)));
            }
        }
    }
}
