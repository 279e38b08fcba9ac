//! Who occupies what when: the one pass over a schedule on which evaluation and rules stand.

use super::profile::Profile;
use crate::format::PowerMode;
use crate::ids::{GpuId, JobId, NodeId, Table};
use crate::instance::{Instance, JobOption};
use crate::interval::{Interval, union};
use crate::power::{default_intervals, normalized};
use crate::schedule::{Placement, Schedule};
use crate::units::{GpuCount, Ticks};

/// A placed job.
#[derive(Clone, Debug)]
pub(crate) struct Running<'a> {
    pub job: JobId,
    pub option: &'a JobOption,
    pub placement: &'a Placement,
    /// Its occupancy from tick 0 on.
    pub interval: Interval,
}

/// What happens on one node.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeUse {
    /// Ticks in which at least one of its GPUs runs a job.
    pub busy: Vec<Interval>,
    /// Powered ticks.
    pub powered: Vec<Interval>,
    /// Number of GPUs that run nothing, while powered.
    pub free_gpus: Vec<(Interval, GpuCount)>,
}

/// Who occupies what when.
pub(crate) struct Occupancy<'a> {
    pub instance: &'a Instance,
    pub schedule: &'a Schedule,
    /// All placed jobs.
    pub running: Vec<Running<'a>>,
    /// Occupancies from tick 0 on, sorted by GPU, then time.
    pub gpu_use: Vec<(GpuId, Interval)>,
    pub nodes: Table<NodeId, NodeUse>,
    /// Last end, not below 0.
    pub makespan: Ticks,
    /// First tick after which nothing runs or is powered.
    pub end: Ticks,
}

impl Running<'_> {
    /// The first tick after its occupancy.
    pub fn end(&self) -> Ticks {
        self.placement.start + self.option.ticks
    }
}

impl<'a> Occupancy<'a> {
    pub fn new(instance: &'a Instance, schedule: &'a Schedule) -> Self {
        let running: Vec<_> = schedule.placed().map(|(job, placement)| running(instance, job, placement)).collect();
        let makespan = running.iter().map(Running::end).max().unwrap_or_default().max(Ticks::ZERO);
        let mut gpu_use: Vec<_> = running
            .iter()
            .filter(|running| !running.interval.is_empty())
            .flat_map(|running| running.placement.gpus.iter().map(|&gpu| (gpu, running.interval)))
            .collect();
        gpu_use.sort_unstable();
        let busy_gpus = busy_gpus(instance, &gpu_use);
        let nodes = busy_gpus.iter().map(|(node, busy)| node_use(instance, schedule, node, busy, makespan));
        let nodes: Table<NodeId, NodeUse> = nodes.collect();
        let powered = nodes.values().filter_map(|node| node.powered.last()).map(|interval| interval.to).max();
        let end = makespan.max(powered.unwrap_or_default());
        Self { instance, schedule, running, gpu_use, nodes, makespan, end }
    }
}

fn running<'a>(instance: &'a Instance, job: JobId, placement: &'a Placement) -> Running<'a> {
    let option = instance.option(job, placement.option);
    let interval = Interval::new(placement.start.max(Ticks::ZERO), placement.start + option.ticks);
    Running { job, option, placement, interval }
}

/// For each node, how many of its GPUs run something, where any does.
fn busy_gpus(instance: &Instance, gpu_use: &[(GpuId, Interval)]) -> Table<NodeId, Vec<(Interval, i64)>> {
    let mut profiles: Table<NodeId, Profile> = Table::filled(Profile::default(), instance.cluster.nodes.len());
    for uses in gpu_use.chunk_by(|a, b| a.0 == b.0) {
        let node = instance.cluster.gpus[uses[0].0].node;
        // Two jobs on one GPU (rule V6) busy one GPU.
        for interval in union(uses.iter().map(|&(_, interval)| interval).collect()) {
            profiles[node].add(interval, 1);
        }
    }
    profiles.values().map(Profile::segments).collect()
}

fn node_use(
    instance: &Instance,
    schedule: &Schedule,
    id: NodeId,
    busy_gpus: &[(Interval, i64)],
    makespan: Ticks,
) -> NodeUse {
    let node = &instance.cluster.nodes[id];
    let busy = union(busy_gpus.iter().map(|&(interval, _)| interval).collect());
    let powered = match (node.power, schedule.power.get(&id)) {
        (PowerMode::AlwaysOn, _) => union(vec![Interval::new(Ticks::ZERO, makespan)]),
        (PowerMode::Sleep, Some(stated)) => normalized(stated, instance.horizon),
        (PowerMode::Sleep, None) => default_intervals(node, &busy, instance.tick),
    };
    let free_gpus = free_gpus(node.gpus, &powered, busy_gpus);
    NodeUse { busy, powered, free_gpus }
}

/// Cuts the powered intervals where the number of busy GPUs changes.
fn free_gpus(gpus: GpuCount, powered: &[Interval], busy: &[(Interval, i64)]) -> Vec<(Interval, GpuCount)> {
    let mut segments = Vec::new();
    let mut next = 0;
    for &interval in powered {
        let mut from = interval.from;
        while next < busy.len() && busy[next].0.to <= from {
            next += 1;
        }
        let mut at = next;
        while at < busy.len() && busy[at].0.from < interval.to {
            let (part, count) = (busy[at].0.intersection(interval), busy[at].1);
            if from < part.from {
                segments.push((Interval::new(from, part.from), gpus));
            }
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            segments.push((part, GpuCount(gpus.0.saturating_sub(count))));
            from = part.to;
            at += 1;
        }
        if from < interval.to {
            segments.push((Interval::new(from, interval.to), gpus));
        }
    }
    segments
}
