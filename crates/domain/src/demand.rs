//! What a placement asks of shared capacities: node resources, uplinks, the store, and power by node.
//!
//! For those who make or carry out plans. The checker counts for itself, so that each can find the other's mistakes.

use std::collections::BTreeMap;

use crate::ids::{DomainId, GpuId, NodeId, ResourceId};
use crate::instance::{Instance, JobOption};
use crate::units::GpuCount;

/// A capacity that running jobs share (rules V7-V9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shared {
    /// A resource of a node, thousandths.
    Resource(NodeId, ResourceId),
    /// The uplink of a domain, kB/s.
    Uplink(DomainId),
    /// The shared store, kB/s.
    Storage,
}

/// How much there is of a shared capacity; `None` is unlimited.
pub fn capacity(instance: &Instance, shared: Shared) -> Option<i64> {
    match shared {
        Shared::Resource(node, resource) => instance.cluster.nodes[node].resources[resource].map(|amount| amount.0),
        Shared::Uplink(domain) => instance.cluster.topology.domain(domain).uplink.map(|uplink| uplink.0),
        Shared::Storage => instance.cluster.storage.map(|storage| storage.0),
    }
}

/// How many of the gang's GPUs sit on each node.
pub fn by_node(instance: &Instance, gpus: &[GpuId]) -> BTreeMap<NodeId, GpuCount> {
    let mut counts: BTreeMap<NodeId, GpuCount> = BTreeMap::new();
    for &gpu in gpus {
        counts.entry(instance.cluster.gpus[gpu].node).or_default().0 += 1;
    }
    counts
}

/// What a gang on these GPUs asks of every limited shared capacity, where it asks for anything.
pub fn demands(instance: &Instance, option: &JobOption, gpus: &[GpuId]) -> BTreeMap<Shared, i64> {
    let mut demands = BTreeMap::new();
    for (node, count) in by_node(instance, gpus) {
        for &(resource, need) in &option.per_gpu {
            demands.insert(Shared::Resource(node, resource), need.times(count).0);
        }
    }
    let mut inside: BTreeMap<DomainId, GpuCount> = BTreeMap::new();
    for &domain in gpus.iter().flat_map(|&gpu| instance.cluster.topology.uplinks_above(gpu)) {
        inside.entry(domain).or_default().0 += 1;
    }
    for (domain, count) in inside {
        let ring = if count < option.gpus { option.ring.0 } else { 0 };
        demands.insert(Shared::Uplink(domain), ring + option.read.share(count, option.gpus).0);
    }
    demands.insert(Shared::Storage, option.read.0);
    demands.retain(|&shared, demand| *demand > 0 && capacity(instance, shared).is_some());
    demands
}
