//! Whether one more job keeps the rules.

use rats_domain::codes::Code;
use rats_domain::format::PowerMode;
use rats_domain::ids::{DomainId, GpuId, JobId, NodeId, ResourceId};
use rats_domain::instance::JobOption;
use rats_domain::interval::Interval;
use rats_domain::power::may_begin;
use rats_domain::schedule::Placement;
use rats_domain::units::{GpuCount, KilobytesPerSecond, Ticks};

use super::Timetable;
use super::change::Change;

/// A rule that a placement would break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The rule.
    pub code: Code,
    /// The same option on the same GPUs conflicts at every start from the asked one to before this tick.
    pub until: Ticks,
}

/// No later start helps.
const NEVER: Ticks = Ticks(i64::MAX);

impl Timetable<'_> {
    /// Rules V2..V9 and V12, which do not depend on power.
    pub(super) fn conflict_without_power(&self, job: JobId, placement: &Placement) -> Option<Conflict> {
        let option = self.instance.option(job, placement.option);
        let interval = Interval::new(placement.start.max(Ticks::ZERO), placement.start + option.ticks);
        if !self.is_gang(option, &placement.gpus) {
            return Some(Conflict { code: Code::V2, until: NEVER });
        }
        self.window_conflict(job, placement, placement.start + option.ticks)
            .or_else(|| self.gpu_conflict(&placement.gpus, interval))
            .or_else(|| self.span_conflict(option, &placement.gpus))
            .or_else(|| self.store_until(option, interval).map(|until| Conflict { code: Code::V9, until }))
            .or_else(|| self.resource_conflict(option, &placement.gpus, interval))
            .or_else(|| self.uplink_conflict(option, &placement.gpus, interval))
    }

    /// Rules V10 and V13, given what the placement changes.
    pub(super) fn power_conflict(&self, job: JobId, placement: &Placement, change: &Change) -> Option<Conflict> {
        let next = placement.start + Ticks(1);
        for node in &change.nodes {
            if !self.may_power(node.node, change.interval, node.powered.as_deref()) {
                return Some(Conflict { code: Code::V13, until: next });
            }
        }
        if self.caps.is_empty() {
            return None;
        }
        let end = self.end();
        let longer = Interval::new(end, end.max(change.longer.to));
        let broken = self.caps.broken_by(self.instance, (job, placement), change, longer);
        broken.map(|_| Conflict { code: Code::V10, until: next })
    }

    /// V13: whether a node may be powered as its jobs need once it is busy in `interval` too.
    pub fn can_power(&self, node: NodeId, interval: Interval) -> bool {
        let in_use = &self.instance.cluster.nodes[node];
        if in_use.power == PowerMode::AlwaysOn || interval.is_empty() {
            return true;
        }
        let stated = self.schedule.power.contains_key(&node);
        if !stated && in_use.wake_ticks == Ticks::ZERO {
            return true;
        }
        let powered = if stated { None } else { self.powered_with(node, interval) };
        self.may_power(node, interval, powered.as_deref())
    }

    fn may_power(&self, id: NodeId, interval: Interval, powered: Option<&[Interval]>) -> bool {
        let node = &self.instance.cluster.nodes[id];
        let before = &self.nodes[id].powered;
        if self.schedule.power.contains_key(&id) {
            return before.iter().any(|powered| powered.from <= interval.from && interval.to <= powered.to);
        }
        let begins = powered.unwrap_or_default().iter().map(|powered| powered.from);
        // What the fixed jobs break without this one is not its fault.
        begins.into_iter().all(|at| may_begin(node, at) || before.iter().any(|powered| powered.from == at))
    }

    fn is_gang(&self, option: &JobOption, gpus: &[GpuId]) -> bool {
        gpus.len() == option.gpus.0 as usize
            && gpus.windows(2).all(|pair| pair[0] < pair[1])
            && gpus.iter().all(|&gpu| self.instance.cluster.type_of(gpu) == option.gpu_type)
            && self.instance.cluster.memory_fits(option)
    }

    /// V4 and V5.
    fn window_conflict(&self, id: JobId, placement: &Placement, end: Ticks) -> Option<Conflict> {
        let job = &self.instance.jobs[id];
        if job.fixed.is_none() && placement.start < job.release {
            return Some(Conflict { code: Code::V4, until: job.release });
        }
        if end > self.instance.latest_end(id) {
            return Some(Conflict { code: Code::V4, until: NEVER });
        }
        if let Some(until) = self.earliest_after(id).filter(|&ready| placement.start < ready) {
            return Some(Conflict { code: Code::V5, until });
        }
        let starts = self.successors[id].iter().filter_map(|&next| self.schedule.placements[next].as_ref());
        starts.map(|next| next.start).any(|start| start < end).then_some(Conflict { code: Code::V5, until: NEVER })
    }

    /// V6 and V12.
    fn gpu_conflict(&self, gpus: &[GpuId], interval: Interval) -> Option<Conflict> {
        gpus.iter().find_map(|&gpu| {
            let busy = self.gpus[gpu].above_until(interval, 0).map(|until| Conflict { code: Code::V6, until });
            busy.or_else(|| {
                let blocks = self.instance.cluster.gpus[gpu].unavailable.iter().rev();
                let block = blocks.copied().find(|block| block.overlaps(interval));
                block.map(|block| Conflict { code: Code::V12, until: block.to })
            })
        })
    }

    /// V3.
    fn span_conflict(&self, option: &JobOption, gpus: &[GpuId]) -> Option<Conflict> {
        let topology = &self.instance.cluster.topology;
        let domain = topology.narrowest(gpus)?;
        (topology.domain(domain).rank > option.span).then_some(Conflict { code: Code::V3, until: NEVER })
    }

    /// V9: until when the store cannot deliver what the option reads; `None` if it can.
    pub fn store_until(&self, option: &JobOption, interval: Interval) -> Option<Ticks> {
        let storage = self.instance.cluster.storage.filter(|_| option.read.0 > 0)?;
        self.storage.above_until(interval, (storage - option.read).0)
    }

    /// V7.
    fn resource_conflict(&self, option: &JobOption, gpus: &[GpuId], interval: Interval) -> Option<Conflict> {
        if option.per_gpu.is_empty() {
            return None;
        }
        let all = &self.instance.cluster.gpus;
        gpus.chunk_by(|&a, &b| all[a].node == all[b].node).find_map(|part| {
            let node = all[part[0]].node;
            let count = GpuCount(u32::try_from(part.len()).unwrap_or(u32::MAX));
            self.limited_resources(node, option).find_map(|(resource, need, capacity)| {
                let load = &self.nodes[node].resources[resource];
                let until = load.above_until(interval, capacity - need * i64::from(count.0))?;
                Some(Conflict { code: Code::V7, until })
            })
        })
    }

    /// The resources of a node that the option needs and that are limited: id, need of one GPU, capacity.
    fn limited_resources(&self, node: NodeId, option: &JobOption) -> impl Iterator<Item = (ResourceId, i64, i64)> {
        let capacities = &self.instance.cluster.nodes[node].resources;
        let needs = option.per_gpu.iter().filter(|(_, need)| need.0 > 0);
        needs.filter_map(|&(resource, need)| capacities[resource].map(|capacity| (resource, need.0, capacity.0)))
    }

    /// V8.
    fn uplink_conflict(&self, option: &JobOption, gpus: &[GpuId], interval: Interval) -> Option<Conflict> {
        self.traffic(option, gpus).into_iter().find_map(|(domain, traffic)| {
            let uplink = self.instance.cluster.topology.domain(domain).uplink?;
            let until = self.uplinks[domain].above_until(interval, (uplink - traffic).0)?;
            Some(Conflict { code: Code::V8, until })
        })
    }

    /// The traffic of a gang through each limited uplink.
    pub(super) fn traffic(&self, option: &JobOption, gpus: &[GpuId]) -> Vec<(DomainId, KilobytesPerSecond)> {
        if option.ring.0 == 0 && option.read.0 == 0 {
            return Vec::new();
        }
        let topology = &self.instance.cluster.topology;
        let mut inside: Vec<DomainId> = gpus.iter().flat_map(|&gpu| topology.uplinks_above(gpu)).copied().collect();
        inside.sort_unstable();
        let traffic = |domains: &[DomainId]| {
            let count = GpuCount(u32::try_from(domains.len()).unwrap_or(u32::MAX));
            let ring = if count < option.gpus { option.ring } else { KilobytesPerSecond::ZERO };
            (domains[0], ring + option.read.share(count, option.gpus))
        };
        inside.chunk_by(|a, b| a == b).map(traffic).collect()
    }

    /// The most GPUs of a gang that a node's resources (V7) and powered intervals (V13) allow during `interval`.
    pub fn node_room(&self, node: NodeId, option: &JobOption, interval: Interval) -> u32 {
        if !self.can_power(node, interval) {
            return 0;
        }
        let mut room = option.gpus.0;
        for (resource, need, capacity) in self.limited_resources(node, option) {
            let spare = capacity - self.nodes[node].resources[resource].highest(interval).max(0);
            room = room.min(u32::try_from(spare.max(0) / need).unwrap_or(u32::MAX));
        }
        room
    }

    /// The most GPUs of a proper part of a gang whose traffic fits through a domain's uplink (V8) during `interval`.
    pub fn uplink_room(&self, domain: DomainId, option: &JobOption, interval: Interval) -> u32 {
        let part = option.gpus.0 - 1;
        let Some(uplink) = self.instance.cluster.topology.domain(domain).uplink else { return part };
        if option.ring.0 == 0 && option.read.0 == 0 {
            return part;
        }
        let spare = (uplink - option.ring).0 - self.uplinks[domain].highest(interval);
        if spare < 0 {
            return 0;
        }
        if option.read.0 == 0 {
            return part;
        }
        // ceil(read k / g) <= spare  <=>  k <= spare g / read, since spare is an integer.
        let most = i128::from(spare) * i128::from(option.gpus.0) / i128::from(option.read.0);
        u32::try_from(most).unwrap_or(u32::MAX).min(part)
    }

    /// Whether a whole gang inside a domain can read through every uplink from there to the store (V8).
    pub fn reads_fit(&self, domain: DomainId, option: &JobOption, interval: Interval) -> bool {
        if option.read.0 == 0 {
            return true;
        }
        let topology = &self.instance.cluster.topology;
        topology.ancestors(domain).all(|at| {
            let room = |uplink: KilobytesPerSecond| self.uplinks[at].highest(interval) + option.read.0 <= uplink.0;
            topology.domain(at).uplink.is_none_or(room)
        })
    }

    /// Whether a GPU runs nothing and is available during `interval`.
    pub fn is_free(&self, gpu: GpuId, interval: Interval) -> bool {
        let blocks = &self.instance.cluster.gpus[gpu].unavailable;
        self.gpus[gpu].is_zero(interval) && !blocks.iter().any(|block| block.overlaps(interval))
    }

    pub(super) fn add_loads(&mut self, option: &JobOption, gpus: &[GpuId], interval: Interval, sign: i64) {
        let all = &self.instance.cluster.gpus;
        for part in gpus.chunk_by(|&a, &b| all[a].node == all[b].node) {
            let node = all[part[0]].node;
            let count = i64::try_from(part.len()).unwrap_or(i64::MAX);
            for &(resource, need) in &option.per_gpu {
                self.nodes[node].resources[resource].add(interval, sign * need.0 * count);
            }
        }
        for (domain, traffic) in self.traffic(option, gpus) {
            self.uplinks[domain].add(interval, sign * traffic.0);
        }
        self.storage.add(interval, sign * option.read.0);
    }
}
