//! Where and when a job could run beside the others: starts and gangs worth a check.
//!
//! # Limits
//! In a window of more than [`ALL_TICKS`] starts only those are tried at which the job would begin or end together with
//! something else (a job, a step of a tariff or cap, a time of unavailability): between them every term is linear in
//! the start. Gangs are chosen greedily, one a domain; where there are at most [`ALL_SETS`] GPUs of the type, every set
//! of free ones within the span can be listed too.

use std::collections::BTreeSet;

use rats_domain::ids::{GpuId, JobId, Table};
use rats_domain::instance::{Instance, JobOption};
use rats_domain::interval::Interval;
use rats_domain::schedule::Schedule;
use rats_domain::steps::Steps;
use rats_domain::topology::Rank;
use rats_domain::units::Ticks;

/// Windows of up to this many starts are searched tick by tick.
pub const ALL_TICKS: i64 = 256;
/// Most gangs tried for one start.
pub const MOST_GANGS: usize = 16;

/// Up to this many GPUs of an option's type, every set of them is tried.
pub const ALL_SETS: usize = 8;

/// Which GPUs of a domain to take first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefer {
    /// Free ones, those of now first.
    Present,
    /// Free ones, those of now last.
    Other,
    /// Free ones and, where they are too few, GPUs in use.
    Crowded,
    /// Any but those of now, free ones first.
    Elsewhere,
}

/// The other jobs of a plan, as one job sees them.
pub struct Surroundings<'a> {
    instance: &'a Instance,
    job: JobId,
    /// The GPUs it has now.
    current: Vec<GpuId>,
    /// When each GPU is not to be had: taken by another job, or unavailable.
    taken: Table<GpuId, Vec<Interval>>,
    earliest: Ticks,
    latest_end: Ticks,
    events: Vec<Ticks>,
}

impl<'a> Surroundings<'a> {
    /// What `job` finds in `schedule`.
    pub fn new(instance: &'a Instance, schedule: &Schedule, job: JobId) -> Self {
        let mut taken: Table<GpuId, Vec<Interval>> =
            instance.cluster.gpus.values().map(|gpu| gpu.unavailable.clone()).collect();
        let mut latest_end = instance.latest_end(job);
        let mut earliest = instance.jobs[job].release;
        for (other, placement) in schedule.placed().filter(|&(other, _)| other != job) {
            let interval = placement.interval(instance, other);
            for &gpu in &placement.gpus {
                taken[gpu].push(interval);
            }
            if instance.jobs[other].after.contains(&job) {
                latest_end = latest_end.min(interval.from);
            }
            if instance.jobs[job].after.contains(&other) {
                earliest = earliest.max(interval.to);
            }
        }
        let current = schedule.placements[job].as_ref().map_or_else(Vec::new, |placement| placement.gpus.clone());
        let events = events(instance, schedule, job);
        Self { instance, job, current, taken, earliest, latest_end, events }
    }

    /// Starts worth a check, those nearest to `near` first. None if the option does not fit its window.
    pub fn starts(&self, option: &JobOption, near: Ticks) -> Vec<Ticks> {
        let latest = self.latest_end - option.ticks;
        let inside = |start: &Ticks| (self.earliest..=latest).contains(start);
        let mut starts: Vec<_> = if (latest - self.earliest).0 < ALL_TICKS {
            (self.earliest.0..=latest.0).map(Ticks).collect()
        } else {
            let aligned = self.events.iter().flat_map(|&event| [event, event - option.ticks]);
            aligned.chain([self.earliest, latest, near]).filter(inside).collect::<BTreeSet<_>>().into_iter().collect()
        };
        starts.sort_by_key(|&start| ((start - near).0.abs(), start));
        starts
    }

    /// The earliest start that release and predecessors leave.
    pub fn earliest(&self) -> Ticks {
        self.earliest
    }

    /// Gangs for a start, one a domain within the span: domains that hold GPUs of now first, then narrow to wide.
    pub fn gangs(&self, option: &JobOption, start: Ticks, prefer: Prefer) -> Vec<Vec<GpuId>> {
        let in_use = matches!(prefer, Prefer::Crowded | Prefer::Elsewhere);
        let cluster = &self.instance.cluster;
        let topology = &cluster.topology;
        let wanted = Interval::new(start, start + option.ticks);
        let gang = option.gpus.0 as usize;
        let mut ranked: Vec<_> = topology
            .by_width()
            .iter()
            .map(|&domain| topology.domain(domain))
            // The GPUs of an island are alike, so one choice an island is enough even for a single GPU.
            .filter(|domain| domain.rank > Rank::GPU && domain.rank <= option.span && domain.gpus.len() >= gang)
            .collect();
        ranked.sort_by_key(|domain| !self.current.iter().any(|gpu| domain.gpus.binary_search(gpu).is_ok()));
        let mut chosen: Vec<Vec<GpuId>> = Vec::new();
        for domain in ranked {
            let usable = domain.gpus.iter().copied().filter(|&gpu| cluster.type_of(gpu) == option.gpu_type);
            let mut usable: Vec<_> = usable.filter(|&gpu| in_use || self.is_free(gpu, wanted)).collect();
            if usable.len() < gang {
                continue;
            }
            usable.sort_by_key(|gpu| {
                let present = self.current.binary_search(gpu).is_ok();
                let taken = !self.is_free(*gpu, wanted);
                match prefer {
                    Prefer::Present | Prefer::Crowded => (taken, !present, *gpu),
                    Prefer::Other => (taken, present, *gpu),
                    Prefer::Elsewhere => (present, taken, *gpu),
                }
            });
            usable.truncate(gang);
            usable.sort_unstable();
            if !chosen.contains(&usable) {
                chosen.push(usable);
            }
            if chosen.len() == MOST_GANGS {
                break;
            }
        }
        chosen
    }

    /// Every set of free GPUs within the span for a start; none where there are more than [`ALL_SETS`] GPUs of the type.
    pub fn sets(&self, option: &JobOption, start: Ticks) -> Vec<Vec<GpuId>> {
        if !self.tries_every_set(option) {
            return Vec::new();
        }
        let cluster = &self.instance.cluster;
        let wanted = Interval::new(start, start + option.ticks);
        let free: Vec<_> = self.of_type(option).filter(|&gpu| self.is_free(gpu, wanted)).collect();
        let domains = cluster.topology.domains().values().filter(|domain| domain.rank <= option.span);
        let domains: Vec<_> = domains.map(|domain| &domain.gpus).collect();
        let within =
            |set: &Vec<GpuId>| domains.iter().any(|gpus| set.iter().all(|gpu| gpus.binary_search(gpu).is_ok()));
        let masks = 0_u32..1 << free.len();
        let masks = masks.filter(|mask| mask.count_ones() == option.gpus.0);
        let set = |mask: u32| free.iter().enumerate().filter(move |(bit, _)| mask >> bit & 1 == 1).map(|(_, &gpu)| gpu);
        masks.map(|mask| set(mask).collect()).filter(within).collect()
    }

    /// Whether [`Surroundings::sets`] lists the gangs of this option.
    pub fn tries_every_set(&self, option: &JobOption) -> bool {
        self.of_type(option).count() <= ALL_SETS
    }

    fn of_type(&self, option: &JobOption) -> impl Iterator<Item = GpuId> {
        let (cluster, kind) = (&self.instance.cluster, option.gpu_type);
        cluster.gpus.ids().filter(move |&gpu| cluster.type_of(gpu) == kind)
    }

    fn is_free(&self, gpu: GpuId, wanted: Interval) -> bool {
        !self.taken[gpu].iter().any(|taken| taken.overlaps(wanted))
    }

    /// The job asked about.
    pub fn job(&self) -> JobId {
        self.job
    }
}

/// Every tick at which something begins, ends or changes, beside the job itself.
fn events(instance: &Instance, schedule: &Schedule, job: JobId) -> Vec<Ticks> {
    let cluster = &instance.cluster;
    let mut events = BTreeSet::from([Ticks::ZERO]);
    for (other, placement) in schedule.placed().filter(|&(other, _)| other != job) {
        events.extend([placement.start, placement.end(instance, other)]);
    }
    let caps = cluster.nodes.values().map(|node| &node.power_cap);
    let caps = caps.chain(cluster.switches.values().map(|switch| &switch.power_cap));
    for steps in caps.chain([&cluster.power_cap, &cluster.foreign]).flatten() {
        events.extend(steps.steps().iter().map(|&(tick, _)| tick));
    }
    events.extend(instance.tariff.iter().flat_map(Steps::steps).map(|&(tick, _)| tick));
    for interval in cluster.gpus.values().flat_map(|gpu| &gpu.unavailable) {
        events.extend([interval.from, interval.to]);
    }
    events.extend(cluster.nodes.values().map(|node| node.wake_ticks));
    events.extend(instance.jobs[job].due);
    let inside = |tick: &Ticks| (Ticks::ZERO..=instance.horizon).contains(tick);
    events.into_iter().filter(inside).collect()
}
