//! What placing one job changes: energy, powered intervals, makespan.

use rats_domain::format::PowerMode;
use rats_domain::ids::{GpuId, JobId, NodeId};
use rats_domain::interval::{Interval, difference, union};
use rats_domain::power::{default_intervals, wakes};
use rats_domain::schedule::Placement;
use rats_domain::units::{GpuCount, Milliwatts, Ticks};

use super::spent::Spent;
use super::{NodeState, Timetable};

/// What placing one job changes.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The occupancy from tick 0 on.
    pub interval: Interval,
    /// Ticks that the makespan gains.
    pub longer: Interval,
    /// Energy that it adds.
    pub spent: Spent,
    /// Per node that it uses.
    pub nodes: Vec<NodeChange>,
}

/// What placing one job changes on one node.
#[derive(Clone, Debug)]
pub(super) struct NodeChange {
    pub node: NodeId,
    /// GPUs of the gang on this node.
    pub gpus: GpuCount,
    /// When how many GPUs of the powered node cease to be idle.
    pub busied: Vec<(Interval, i64)>,
    /// Powered intervals afterwards, where they differ.
    pub powered: Option<Vec<Interval>>,
    /// Ticks that become powered.
    pub grown: Vec<Interval>,
}

impl Timetable<'_> {
    /// What placing `job` would change; the job must not be placed.
    pub(super) fn change(&self, job: JobId, placement: &Placement) -> Change {
        let option = self.instance.option(job, placement.option);
        let end = placement.start + option.ticks;
        let interval = Interval::new(placement.start.max(Ticks::ZERO), end);
        let makespan = self.makespan();
        let longer = Interval::new(makespan, makespan.max(end));
        let mut spent = self.meter.draw(option.power, interval);
        spent += self.meter.draw(self.always_on, longer);
        let nodes = if interval.is_empty() { Vec::new() } else { self.node_changes(placement, interval, &mut spent) };
        Change { interval, longer, spent, nodes }
    }

    fn node_changes(&self, placement: &Placement, interval: Interval, spent: &mut Spent) -> Vec<NodeChange> {
        let gpus = &self.instance.cluster.gpus;
        let parts = placement.gpus.chunk_by(|&a, &b| gpus[a].node == gpus[b].node);
        parts.map(|part| self.node_change(gpus[part[0]].node, part, interval, spent)).collect()
    }

    fn node_change(&self, id: NodeId, gpus: &[GpuId], interval: Interval, spent: &mut Spent) -> NodeChange {
        let node = &self.instance.cluster.nodes[id];
        let mut change = NodeChange {
            node: id,
            gpus: GpuCount(u32::try_from(gpus.len()).unwrap_or(u32::MAX)),
            busied: self.newly_busy(gpus, interval),
            powered: None,
            grown: Vec::new(),
        };
        if node.power == PowerMode::Sleep {
            if self.schedule.power.contains_key(&id) {
                change.busied = within(&change.busied, &self.nodes[id].powered);
            } else if let Some(powered) = self.powered_with(id, interval) {
                change.grown = difference(&powered, &self.nodes[id].powered);
                for &grown in &change.grown {
                    *spent += self.meter.draw(node.idle, grown);
                }
                for at in wakes(node, &powered) {
                    *spent += self.meter.burst(node.wake, at);
                }
                for at in wakes(node, &self.nodes[id].powered) {
                    *spent -= self.meter.burst(node.wake, at);
                }
                change.powered = Some(powered);
            }
        }
        let idle = self.instance.cluster.gpu_types[node.gpu_type].idle;
        for &(busied, count) in &change.busied {
            *spent -= self.meter.draw(Milliwatts(idle.0 * count), busied);
        }
        change
    }

    /// When how many of these GPUs run nothing yet.
    fn newly_busy(&self, gpus: &[GpuId], interval: Interval) -> Vec<(Interval, i64)> {
        let (mut whole, mut parts) = (0, Vec::new());
        for &gpu in gpus {
            if self.gpus[gpu].is_zero(interval) {
                whole += 1;
            } else {
                parts.extend(
                    self.gpus[gpu].segments(interval).filter(|&(_, jobs)| jobs == 0).map(|(part, _)| (part, 1)),
                );
            }
        }
        if whole > 0 {
            parts.push((interval, whole));
        }
        parts
    }

    /// The powered intervals of a sleep node under the default rule if it were busy in `interval` too; `None` if
    /// nothing changes.
    pub(super) fn powered_with(&self, node: NodeId, interval: Interval) -> Option<Vec<Interval>> {
        let NodeState { busy, powered, .. } = &self.nodes[node];
        // Within a powered interval gaps only shrink, and a shorter gap stays powered.
        let after = powered.partition_point(|powered| powered.from <= interval.from);
        if after > 0 && interval.to <= powered[after - 1].to {
            return None;
        }
        let mut busy = busy.positive();
        busy.push(interval);
        Some(default_intervals(&self.instance.cluster.nodes[node], &union(busy), self.instance.tick))
    }
}

/// The parts of weighted intervals within a cover (sorted, disjoint).
fn within(parts: &[(Interval, i64)], cover: &[Interval]) -> Vec<(Interval, i64)> {
    let both = parts.iter().flat_map(|&(part, weight)| {
        cover.iter().map(move |&interval| (part.intersection(interval), weight)).filter(|(both, _)| !both.is_empty())
    });
    both.collect()
}
