//! Limits on power by tick (rule V10).
//!
//! While the cluster runs anything, always-on nodes and foreign work draw what they draw; a limit is what a cap leaves
//! beside them. Where it leaves less than nothing, no job may run on: the whole plan must have ended.

use rats_domain::ids::{Id, NodeId};
use rats_domain::steps::Steps;
use rats_domain::units::{Milliwatts, Ticks};

use super::frame::Frame;

/// No limit, with room to calculate.
const UNLIMITED: i64 = i64::MAX / 4;

/// Adds the limits of nodes, switches and the cluster.
pub(super) fn add_limits(frame: &mut Frame<'_>) {
    let cluster = &frame.instance.cluster;
    let topology = &cluster.topology;
    for (id, node) in cluster.nodes.iter() {
        if let Some(cap) = &node.power_cap {
            add(frame, cap, None, &[id.position()]);
        }
    }
    for (id, switch) in cluster.switches.iter() {
        if let Some(cap) = &switch.power_cap {
            let gpus = &topology.domain(topology.of_switch(id)).gpus;
            let mut nodes: Vec<usize> = gpus.iter().map(|&gpu| cluster.gpus[gpu].node.position()).collect();
            nodes.dedup();
            add(frame, cap, None, &nodes);
        }
    }
    if let Some(cap) = &cluster.power_cap {
        let nodes: Vec<usize> = cluster.nodes.ids().map(NodeId::position).collect();
        frame.cluster_limit = Some(frame.limits.len());
        add(frame, cap, cluster.foreign.as_ref(), &nodes);
    }
}

fn add(frame: &mut Frame<'_>, cap: &Steps<Milliwatts>, foreign: Option<&Steps<Milliwatts>>, nodes: &[usize]) {
    let always_on: i64 =
        nodes.iter().map(|&node| &frame.nodes[node]).filter(|node| !node.sleeps).map(|node| node.idle_power).sum();
    let limit = |tick: usize| {
        let tick = Ticks(i64::try_from(tick).unwrap_or(i64::MAX));
        let foreign = foreign.and_then(|steps| steps.at(tick)).unwrap_or_default().0;
        cap.at(tick).map_or(UNLIMITED, |cap| cap.0 - foreign - always_on)
    };
    let limits: Vec<i64> = (0..frame.horizon).map(limit).collect();
    if let Some(first) = limits.iter().position(|&limit| limit < 0) {
        frame.latest_end = frame.latest_end.min(first);
    }
    let is_cluster = frame.cluster_limit == Some(frame.limits.len());
    if !is_cluster {
        for &node in nodes {
            frame.nodes[node].limits.push(frame.limits.len());
        }
    }
    frame.limits.push(limits);
}

impl Frame<'_> {
    /// The limits that count a node.
    pub(super) fn limits_of(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.nodes[node].limits.iter().copied().chain(self.cluster_limit)
    }

    /// Whether any limit counts what a node draws by itself.
    pub(super) fn is_limited(&self, node: usize) -> bool {
        self.nodes[node].sleeps && self.limits_of(node).next().is_some()
    }
}
