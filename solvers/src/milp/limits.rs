//! Which shared limits (V7-V9) matter at all.
//!
//! A limit that the jobs which fit on its GPUs at once cannot exceed, whatever they ask of it, is no limit: neither a
//! row nor a reason to tell GPUs apart. The most that they can ask is a knapsack: each job takes at most one of its ways
//! to use some of the GPUs, and there are only so many.

use std::collections::{BTreeMap, BTreeSet};

use rats_domain::ids::{DomainId, GpuId, JobId, NodeId};
use rats_domain::instance::{Instance, JobOption};
use rats_domain::topology::{Domain, Rank};
use rats_domain::units::GpuCount;

use rats_domain::demand::{Shared, capacity, demands};

/// All limits that the instance states.
pub(super) fn every(instance: &Instance) -> BTreeSet<Shared> {
    let cluster = &instance.cluster;
    let resources =
        cluster.nodes.ids().flat_map(|node| cluster.resources.ids().map(move |id| Shared::Resource(node, id)));
    let uplinks = cluster.topology.domains().ids().map(Shared::Uplink);
    let stated = resources.chain(uplinks).chain([Shared::Storage]);
    stated.filter(|&shared| capacity(instance, shared).is_some()).collect()
}

/// The limits that jobs could exceed.
pub(super) fn binding(instance: &Instance) -> BTreeSet<Shared> {
    let mut limits = every(instance);
    limits.retain(|&shared| capacity(instance, shared).is_some_and(|limit| most_at_once(instance, shared) > limit));
    limits
}

/// Whether it matters which island of a node a gang uses.
pub(super) fn islands_matter(instance: &Instance, id: NodeId, limits: &BTreeSet<Shared>) -> bool {
    let (topology, node) = (&instance.cluster.topology, &instance.cluster.nodes[id]);
    let islands: Vec<DomainId> = topology.children(topology.of_node(id)).collect();
    let keeps_to_one = |option: &JobOption| {
        option.gpu_type == node.gpu_type && option.gpus > GpuCount(1) && option.span < Rank::NODE && option.placeable
    };
    let mut options = instance.jobs.values().filter(|job| job.fixed.is_none()).flat_map(|job| job.options.values());
    let limited = islands.iter().any(|&island| limits.contains(&Shared::Uplink(island)));
    islands.len() > 1 && (limited || options.any(keeps_to_one))
}

/// The most that jobs can ask of a limit together.
fn most_at_once(instance: &Instance, shared: Shared) -> i64 {
    let topology = &instance.cluster.topology;
    let domain = match shared {
        Shared::Resource(node, _) => Some(topology.of_node(node)),
        Shared::Uplink(domain) => Some(domain),
        Shared::Storage => None,
    };
    let domain = domain.map(|id| topology.domain(id));
    let room = domain.map_or(topology.gpu_count(), |domain| domain.gpus.len());
    let mut most = vec![0_i64; room + 1];
    for job in instance.jobs.ids() {
        let ways = ways(instance, job, shared, domain);
        for free in (0..=room).rev() {
            let with = ways.range(..=free).map(|(&inside, &demand)| most[free - inside] + demand);
            most[free] = with.fold(most[free], i64::max);
        }
    }
    most[room]
}

/// For each number of GPUs that a job can use inside a domain, the most that it can then ask of the limit.
fn ways(instance: &Instance, id: JobId, shared: Shared, domain: Option<&Domain>) -> BTreeMap<usize, i64> {
    let job = &instance.jobs[id];
    let mut ways: BTreeMap<usize, i64> = BTreeMap::new();
    let mut offer = |inside: u32, demand: i64| {
        let most = ways.entry(inside as usize).or_default();
        *most = demand.max(*most);
    };
    if let Some(fixed) = &job.fixed {
        let inside = |gpu: &&GpuId| domain.is_none_or(|domain| domain.gpus.contains(gpu));
        let inside = u32::try_from(fixed.gpus.iter().filter(inside).count()).unwrap_or(u32::MAX);
        offer(inside, demands(instance, &job.options[fixed.option], &fixed.gpus).get(&shared).copied().unwrap_or(0));
        return ways;
    }
    for option in job.options.values().filter(|option| option.placeable) {
        for inside in counts_inside(instance, option, domain) {
            let part = GpuCount(inside);
            let demand = match shared {
                Shared::Resource(_, resource) => {
                    let needs = option.per_gpu.iter().filter(|&&(needed, _)| needed == resource);
                    needs.map(|&(_, need)| need.times(part).0).sum()
                }
                Shared::Uplink(_) => {
                    let ring = if part < option.gpus { option.ring.0 } else { 0 };
                    ring + option.read.share(part, option.gpus).0
                }
                Shared::Storage => option.read.0,
            };
            offer(inside, demand);
        }
    }
    ways
}

/// How many GPUs of a gang can lie inside a domain (none: the whole cluster), if any do.
fn counts_inside(instance: &Instance, option: &JobOption, domain: Option<&Domain>) -> std::ops::RangeInclusive<u32> {
    let Some(domain) = domain else { return option.gpus.0..=option.gpus.0 };
    let of_type = domain.gpus.iter().filter(|&&gpu| instance.cluster.type_of(gpu) == option.gpu_type).count();
    let least = if domain.rank < option.span { 1 } else { option.gpus.0 };
    least..=option.gpus.0.min(u32::try_from(of_type).unwrap_or(u32::MAX))
}
