//! Rules about shared capacity: V6 GPUs, V7 node resources, V8 uplinks, V9 storage.

use std::collections::BTreeMap;

use super::{Violation, domain_name, during};
use crate::codes::Code;
use crate::evaluate::{Excess, Occupancy, Profile};
use crate::ids::{DomainId, NodeId, ResourceId, Table};
use crate::interval::{Interval, union};
use crate::units::{GpuCount, KilobytesPerSecond, Thousandths};

/// V6: no GPU runs two jobs in one tick.
pub(super) fn gpus(occupancy: &Occupancy<'_>, violations: &mut Vec<Violation>) {
    for uses in occupancy.gpu_use.chunk_by(|a, b| a.0 == b.0).filter(|uses| uses.len() > 1) {
        let mut profile = Profile::default();
        for &(_, interval) in uses {
            profile.add(interval, 1);
        }
        for Excess { interval, load, .. } in profile.above(1) {
            let name = occupancy.instance.cluster.gpu_name(uses[0].0);
            let message = format!("GPU `{name}` runs {load} jobs {}", during(interval));
            violations.push(Violation::at_place(Code::V6, name, interval, message));
        }
    }
}

/// V7: per node, what the jobs need of each resource is there.
pub(super) fn resources(occupancy: &Occupancy<'_>, violations: &mut Vec<Violation>) {
    let cluster = &occupancy.instance.cluster;
    let mut profiles: BTreeMap<(NodeId, ResourceId), Profile> = BTreeMap::new();
    for running in &occupancy.running {
        if running.option.per_gpu.is_empty() {
            continue;
        }
        // GPUs are in file order, so those of one node stand together.
        for gpus in running.placement.gpus.chunk_by(|&a, &b| cluster.gpus[a].node == cluster.gpus[b].node) {
            let node = cluster.gpus[gpus[0]].node;
            let count = GpuCount(u32::try_from(gpus.len()).unwrap_or(u32::MAX));
            for &(resource, need) in &running.option.per_gpu {
                if cluster.nodes[node].resources[resource].is_some() {
                    profiles.entry((node, resource)).or_default().add(running.interval, need.times(count).0);
                }
            }
        }
    }
    let mut broken: BTreeMap<NodeId, Vec<(Interval, String)>> = BTreeMap::new();
    for ((node, resource), profile) in profiles {
        let Some(capacity) = cluster.nodes[node].resources[resource] else { continue };
        for Excess { interval, load, .. } in profile.above(capacity.0) {
            let message = format!("{} of {capacity} {}", Thousandths(load), cluster.resources[resource]);
            broken.entry(node).or_default().push((interval, message));
        }
    }
    for (node, excesses) in broken {
        for interval in union(excesses.iter().map(|&(interval, _)| interval).collect()) {
            let parts: Vec<_> = excesses
                .iter()
                .filter(|(part, _)| part.overlaps(interval))
                .map(|(_, message)| message.as_str())
                .collect();
            let name = &cluster.nodes[node].id;
            let message = format!("the jobs on node `{name}` need {} {}", parts.join(", "), during(interval));
            violations.push(Violation::at_place(Code::V7, name, interval, message));
        }
    }
}

/// V8: the traffic through each uplink fits.
pub(super) fn uplinks(occupancy: &Occupancy<'_>, violations: &mut Vec<Violation>) {
    let topology = &occupancy.instance.cluster.topology;
    let mut profiles: Table<DomainId, Profile> = Table::filled(Profile::default(), topology.domains().len());
    for running in &occupancy.running {
        let option = running.option;
        if option.ring.0 == 0 && option.read.0 == 0 {
            continue;
        }
        let mut inside: Vec<DomainId> =
            running.placement.gpus.iter().flat_map(|&gpu| topology.uplinks_above(gpu)).copied().collect();
        inside.sort_unstable();
        for domain in inside.chunk_by(|a, b| a == b) {
            let count = GpuCount(u32::try_from(domain.len()).unwrap_or(u32::MAX));
            let ring = if count < option.gpus { option.ring } else { KilobytesPerSecond::ZERO };
            profiles[domain[0]].add(running.interval, (ring + option.read.share(count, option.gpus)).0);
        }
    }
    for (id, profile) in profiles.iter() {
        let domain = topology.domain(id);
        let Some(uplink) = domain.uplink else { continue };
        for Excess { interval, load, .. } in profile.above(uplink.0) {
            let name = domain_name(occupancy.instance, domain.kind);
            let load = KilobytesPerSecond(load);
            let message = format!("the uplink of `{name}` carries {load} of {uplink} {}", during(interval));
            violations.push(Violation::at_place(Code::V8, name, interval, message));
        }
    }
}

/// V9: the shared store delivers what is read.
pub(super) fn storage(occupancy: &Occupancy<'_>, violations: &mut Vec<Violation>) {
    let Some(storage) = occupancy.instance.cluster.storage else { return };
    let mut profile = Profile::default();
    for running in &occupancy.running {
        profile.add(running.interval, running.option.read.0);
    }
    for Excess { interval, load, .. } in profile.above(storage.0) {
        let load = KilobytesPerSecond(load);
        let message = format!("the jobs read {load} of {storage} from the store {}", during(interval));
        violations.push(Violation::at_place(Code::V9, "storage", interval, message));
    }
}
