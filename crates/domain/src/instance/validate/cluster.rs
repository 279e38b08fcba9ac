//! Validates the machines: types, levels, switches, nodes, GPUs.

use std::collections::{BTreeMap, BTreeSet};

use super::names;
use super::numbers::Collector;
use super::tree;
use crate::codes::Code;
use crate::format::{ClusterFile, GpuTypeFile, NodeFile, SwitchFile};
use crate::ids::{GpuId, GpuTypeId, Id, NodeId, ResourceId, SwitchId, Table};
use crate::instance::{Cluster, Gpu, GpuType, Node, Switch};
use crate::interval::{Interval, union};
use crate::topology::Topology;
use crate::units::{GpuCount, Milliwatts};

/// More GPUs than any cluster this is meant for; guards memory against a slip of the pen.
const MAX_GPUS: i64 = 1_000_000;
/// More resources than any cluster distinguishes; guards memory, since every node has a place for each.
const MAX_RESOURCES: usize = 64;

/// Validates the cluster; `None` if it is too broken to judge jobs by.
pub(super) fn cluster(collector: &mut Collector, file: &ClusterFile) -> Option<Cluster> {
    let before = collector.problems.len();
    for (list, empty) in [("gpu_types", file.gpu_types.is_empty()), ("nodes", file.nodes.is_empty())] {
        if empty {
            collector.problem(Code::I01, format!("cluster.{list}"), "there must be at least one.");
        }
    }
    let gpu_types = gpu_types(collector, file);
    let types = names(collector, "cluster.gpu_types", file.gpu_types.iter().map(|kind| kind.id.as_str()));
    let resources = resources(collector, file);
    let (nodes, gpus) = nodes(collector, file, &types, &gpu_types, &resources);
    let switches = switches(collector, file);
    let storage = collector.optional("cluster.storage_gb_s", file.storage_gb_s, Collector::gigabytes_per_second);
    let power_cap = collector.power_steps("cluster.power_cap_w", file.power_cap_w.as_ref());
    let foreign = collector.power_steps("cluster.foreign_w", file.foreign_w.as_ref());
    let tree = tree::tree(collector, file);
    if collector.problems.len() > before {
        return None;
    }
    let topology = Topology::new(tree.domains(file));
    let levels = file.levels.clone();
    Some(Cluster { gpu_types, levels, switches, nodes, gpus, resources, topology, storage, power_cap, foreign })
}

fn gpu_types(collector: &mut Collector, file: &ClusterFile) -> Table<GpuTypeId, GpuType> {
    let convert = |(position, kind): (usize, &GpuTypeFile)| {
        let place = format!("cluster.gpu_types[{position}]");
        GpuType {
            id: kind.id.clone(),
            idle: collector.watts(&format!("{place}.idle_w"), kind.idle_w),
            memory: collector.optional(&format!("{place}.memory_mib"), kind.memory_mib, Collector::memory),
        }
    };
    file.gpu_types.iter().enumerate().map(convert).collect()
}

fn switches(collector: &mut Collector, file: &ClusterFile) -> Table<SwitchId, Switch> {
    let convert = |(position, switch): (usize, &SwitchFile)| Switch {
        id: switch.id.clone(),
        power_cap: collector
            .power_steps(&format!("cluster.switches[{position}].power_cap_w"), switch.power_cap_w.as_ref()),
    };
    file.switches.iter().enumerate().map(convert).collect()
}

fn resources(collector: &mut Collector, file: &ClusterFile) -> Table<ResourceId, String> {
    let resources: BTreeSet<&String> = file.nodes.iter().flat_map(|node| node.resources.keys()).collect();
    if resources.len() > MAX_RESOURCES {
        let message = format!("{} different `resources` exceed the limit of {MAX_RESOURCES}.", resources.len());
        collector.problem(Code::I02, "cluster.nodes", message);
    }
    resources.into_iter().take(MAX_RESOURCES).cloned().collect()
}

fn nodes(
    collector: &mut Collector,
    file: &ClusterFile,
    types: &BTreeMap<&str, usize>,
    gpu_types: &Table<GpuTypeId, GpuType>,
    resources: &Table<ResourceId, String>,
) -> (Table<NodeId, Node>, Table<GpuId, Gpu>) {
    let mut nodes = Table::new();
    let mut gpus: Table<GpuId, Gpu> = Table::new();
    for (position, node) in file.nodes.iter().enumerate() {
        let place = format!("cluster.nodes[{position}]");
        let total = i64::try_from(gpus.len()).unwrap_or(i64::MAX);
        let count = gpu_count(collector, &place, node.gpus, MAX_GPUS - total);
        let kind = types.get(node.gpu_type.as_str()).copied();
        if kind.is_none() {
            let message = format!("there is no GPU type `{}`.", node.gpu_type);
            collector.problem(Code::I06, format!("{place}.gpu_type"), message);
        }
        let gpu_type = GpuTypeId::from_position(kind.unwrap_or(0));
        let gpu_idle = gpu_types.get(gpu_type).map_or(Milliwatts::ZERO, |kind| kind.idle);
        let first_gpu = GpuId::from_position(gpus.len());
        let id = NodeId::from_position(nodes.len());
        for (index, unavailable) in (0..).zip(unavailable(collector, &place, node, count)) {
            gpus.push(Gpu { node: id, index, unavailable: union(unavailable) });
        }
        let base = collector.watts(&format!("{place}.base_w"), node.base_w);
        let capacity = |resource: &String| {
            let value = node.resources.get(resource)?;
            Some(collector.thousandths(&format!("{place}.resources.{resource}"), *value))
        };
        nodes.push(Node {
            id: node.id.clone(),
            gpu_type,
            gpus: count,
            first_gpu,
            base,
            idle: base + gpu_idle.times(count),
            power: node.power,
            resources: resources.values().map(capacity).collect(),
            wake: collector.joules(&format!("{place}.wake_j"), node.wake_j),
            wake_ticks: collector.ticks(&format!("{place}.wake_ticks"), node.wake_ticks),
            on_at_start: node.on_at_start,
            power_cap: collector.power_steps(&format!("{place}.power_cap_w"), node.power_cap_w.as_ref()),
        });
    }
    (nodes, gpus)
}

fn gpu_count(collector: &mut Collector, place: &str, count: i64, left: i64) -> GpuCount {
    if count >= 1 && count <= left {
        return GpuCount(u32::try_from(count).unwrap_or(1));
    }
    let message = if count < 1 {
        format!("{count} is below 1.")
    } else {
        format!("{count} more GPUs exceed the limit of {MAX_GPUS} for one cluster.")
    };
    collector.problem(Code::I02, format!("{place}.gpus"), message);
    GpuCount(1)
}

/// The unavailable intervals of each GPU of a node.
fn unavailable(collector: &mut Collector, place: &str, node: &NodeFile, count: GpuCount) -> Vec<Vec<Interval>> {
    let mut intervals = vec![Vec::new(); count.0 as usize];
    for (position, entry) in node.unavailable.iter().enumerate() {
        let place = format!("{place}.unavailable[{position}]");
        let interval = Interval::new(
            collector.ticks(&format!("{place}[0]"), entry.from),
            collector.ticks(&format!("{place}[1]"), entry.to),
        );
        if entry.from >= entry.to && entry.from >= 0 {
            let message = format!("[{}, {}] is no interval: from must be below to.", entry.from, entry.to);
            collector.problem(Code::I18, &place, message);
        }
        let Some(indices) = &entry.gpus else {
            for list in &mut intervals {
                list.push(interval);
            }
            continue;
        };
        for &index in indices {
            if node.gpus >= 1 && !(0..node.gpus).contains(&index) {
                let message = format!("there is no GPU {index}, the node has {}.", node.gpus);
                collector.problem(Code::I18, format!("{place}[2]"), message);
            } else if let Some(list) = usize::try_from(index).ok().and_then(|index| intervals.get_mut(index)) {
                list.push(interval);
            }
        }
    }
    intervals
}
