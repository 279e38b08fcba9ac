//! Capacities that jobs share, each summed over all nodes that can serve them.

use rats_domain::ids::{GpuTypeId, NodeId, ResourceId};
use rats_domain::instance::{Instance, JobOption};
use rats_domain::topology::DomainKind;
use rats_domain::units::Ticks;

use super::super::energy::beyond_idle;

/// What a row counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// GPUs of a type; every powered node supplies those that are available (V6, V12).
    Gpus(GpuTypeId),
    /// A resource of all nodes of a type (V7).
    Resource(GpuTypeId, ResourceId),
    /// Traffic through the uplinks of all nodes of a type (V8).
    Uplinks(GpuTypeId),
    /// Reads from the shared store (V9).
    Storage,
    /// Power of the cluster beyond that of powered nodes that run nothing (V10).
    Power,
    /// The same of all nodes of a type, each with a cap of its own (V10).
    PowerOfType(GpuTypeId),
}

/// A capacity in every tick.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub kind: Kind,
    /// What is there whatever is powered, by tick, in the row's unit.
    pub constant: Vec<f64>,
    /// Whether it limits anything, by tick.
    pub active: Vec<bool>,
    /// Natural units (GPUs, kB/s, thousandths, W) in one unit of the row.
    unit: f64,
    /// Least number of nodes that a gang of a size needs: GPUs of the largest node of the type.
    largest_node: u32,
}

/// All rows that can bind.
pub(super) fn rows(instance: &Instance, horizon: usize) -> Vec<Row> {
    let cluster = &instance.cluster;
    let mut kinds: Vec<Kind> = cluster.gpu_types.ids().map(Kind::Gpus).collect();
    let storage = cluster.storage.map(|storage| storage.0 as f64);
    kinds.extend(storage.map(|_| Kind::Storage));
    for kind in cluster.gpu_types.ids() {
        kinds.extend(cluster.resources.ids().map(|resource| Kind::Resource(kind, resource)));
        kinds.push(Kind::Uplinks(kind));
        kinds.push(Kind::PowerOfType(kind));
    }
    kinds.push(Kind::Power);
    let mut rows: Vec<Row> = kinds.into_iter().filter_map(|kind| row(instance, horizon, kind)).collect();
    rows.retain(|row| row.active.contains(&true) && is_used(instance, row));
    rows
}

fn is_used(instance: &Instance, row: &Row) -> bool {
    instance.jobs.values().flat_map(|job| job.options.values()).any(|option| row.use_of(instance, option).is_some())
}

fn row(instance: &Instance, horizon: usize, kind: Kind) -> Option<Row> {
    let cluster = &instance.cluster;
    let of_type = |kind: GpuTypeId| cluster.nodes.ids().filter(move |&node| cluster.nodes[node].gpu_type == kind);
    let gpus = cluster.gpus.len().max(1) as f64;
    let (constant, active): (Vec<f64>, Vec<bool>) = match kind {
        Kind::Gpus(_) => (vec![0.0; horizon], vec![true; horizon]),
        Kind::Storage => (vec![cluster.storage?.0 as f64; horizon], vec![true; horizon]),
        Kind::Resource(kind, resource) => {
            let limited = of_type(kind).all(|node| cluster.nodes[node].resources[resource].is_some());
            (vec![0.0; horizon], vec![limited; horizon])
        }
        Kind::Uplinks(kind) => {
            let limited = of_type(kind).all(|node| uplink(instance, node).is_some());
            (vec![0.0; horizon], vec![limited; horizon])
        }
        Kind::PowerOfType(kind) => {
            let limited = |tick| of_type(kind).all(|node| node_cap(instance, node, tick).is_some());
            (vec![0.0; horizon], (0..horizon).map(limited).collect())
        }
        Kind::Power => {
            let caps: Vec<Option<f64>> = (0..horizon).map(|tick| cluster_cap(instance, tick)).collect();
            // Foreign power above the cap breaks it only while something of ours is powered.
            (caps.iter().map(|cap| cap.unwrap_or(0.0).max(0.0)).collect(), caps.iter().map(Option::is_some).collect())
        }
    };
    let largest_node = cluster.nodes.values().map(|node| node.gpus.0).max().unwrap_or(1);
    let mut row = Row { kind, constant, active, unit: 1.0, largest_node };
    let mean_use = |row: &Row| {
        let uses = instance.jobs.values().flat_map(|job| job.options.values());
        let uses = uses.filter_map(|option| Some(row.use_of(instance, option)?.abs() / f64::from(option.gpus.0)));
        uses.fold(0.0, f64::max)
    };
    // One unit is about what one GPU uses at most, so that multipliers of all rows are of one magnitude.
    let largest = mean_use(&row);
    if !matches!(kind, Kind::Gpus(_)) && largest > 0.0 {
        row.unit = largest.max(1e-9 / gpus);
        row.constant.iter_mut().for_each(|value| *value /= row.unit);
    }
    Some(row)
}

impl Row {
    /// Whether it counts GPUs.
    pub fn is_gpus(&self) -> bool {
        matches!(self.kind, Kind::Gpus(_))
    }

    /// Whether it counts power.
    pub fn counts_power(&self) -> bool {
        matches!(self.kind, Kind::Power | Kind::PowerOfType(_))
    }

    /// What an option uses while it runs; `None` if nothing.
    pub fn use_of(&self, instance: &Instance, option: &JobOption) -> Option<f64> {
        let amount = match self.kind {
            Kind::Gpus(kind) => {
                if option.gpu_type == kind {
                    f64::from(option.gpus.0)
                } else {
                    0.0
                }
            }
            Kind::Storage => option.read.0 as f64,
            Kind::Resource(kind, resource) if option.gpu_type == kind => {
                let needs = option.per_gpu.iter().filter(|&&(which, _)| which == resource);
                needs.map(|(_, need)| need.times(option.gpus).0 as f64).sum()
            }
            Kind::Uplinks(kind) if option.gpu_type == kind => {
                // A gang that no node holds crosses the uplink of each of its nodes.
                let nodes = option.gpus.0.div_ceil(self.largest_node);
                let ring = if nodes > 1 { option.ring.0 as f64 * f64::from(nodes) } else { 0.0 };
                ring + option.read.0 as f64
            }
            Kind::Power => beyond_idle_at_peak(instance, option),
            Kind::PowerOfType(kind) if option.gpu_type == kind => beyond_idle_at_peak(instance, option),
            Kind::Resource(..) | Kind::Uplinks(_) | Kind::PowerOfType(_) => 0.0,
        };
        (amount != 0.0).then_some(amount / self.unit)
    }

    /// What a node supplies by tick while it is powered.
    pub fn supply_of(&self, instance: &Instance, id: NodeId, horizon: usize) -> Option<Vec<f64>> {
        let node = &instance.cluster.nodes[id];
        let constant = |value: f64| Some(vec![value / self.unit; horizon]);
        match self.kind {
            Kind::Gpus(kind) if node.gpu_type == kind => Some(available(instance, id, horizon)),
            Kind::Resource(kind, resource) if node.gpu_type == kind => constant(node.resources[resource]?.0 as f64),
            Kind::Uplinks(kind) if node.gpu_type == kind => constant(uplink(instance, id)?),
            Kind::Power => constant(-node.idle.watts()),
            Kind::PowerOfType(kind) if node.gpu_type == kind => {
                let spare = |tick| node_cap(instance, id, tick).unwrap_or(0.0) - node.idle.watts();
                Some((0..horizon).map(|tick| spare(tick) / self.unit).collect())
            }
            _ => None,
        }
    }
}

fn beyond_idle_at_peak(instance: &Instance, option: &JobOption) -> f64 {
    beyond_idle(instance, option).watts() + (option.peak - option.power).watts()
}

fn available(instance: &Instance, node: NodeId, horizon: usize) -> Vec<f64> {
    let mut counts = vec![0.0; horizon];
    for gpu in instance.cluster.gpus_of(node) {
        let unavailable = &instance.cluster.gpus[gpu].unavailable;
        for (tick, count) in counts.iter_mut().enumerate() {
            let at = at(tick);
            *count += f64::from(u8::from(!unavailable.iter().any(|away| away.from <= at && at < away.to)));
        }
    }
    counts
}

fn uplink(instance: &Instance, node: NodeId) -> Option<f64> {
    let topology = &instance.cluster.topology;
    topology.domain(topology.of_node(node)).uplink.map(|uplink| uplink.0 as f64)
}

fn node_cap(instance: &Instance, node: NodeId, tick: usize) -> Option<f64> {
    Some(instance.cluster.nodes[node].power_cap.as_ref()?.at(at(tick))?.watts())
}

/// The least of the cluster's cap less foreign power, and the caps of switches and nodes that together cover it.
fn cluster_cap(instance: &Instance, tick: usize) -> Option<f64> {
    let cluster = &instance.cluster;
    let foreign = cluster.foreign.as_ref().and_then(|steps| steps.at(at(tick))).unwrap_or_default();
    let own = cluster.power_cap.as_ref().and_then(|steps| steps.at(at(tick))).map(|cap| (cap - foreign).watts());
    let below = covering_cap(instance, tick);
    match (own, below) {
        (Some(own), Some(below)) => Some(own.min(below)),
        (own, below) => own.or(below),
    }
}

/// The sum over all nodes, each under the widest capped domain above it; `None` if some node has none.
fn covering_cap(instance: &Instance, tick: usize) -> Option<f64> {
    let topology = &instance.cluster.topology;
    let mut taken = Vec::new();
    let mut sum = 0.0;
    for node in instance.cluster.nodes.ids() {
        let capped = topology.ancestors(topology.of_node(node)).filter_map(|domain| {
            let cap = match topology.domain(domain).kind {
                DomainKind::Switch(switch) => instance.cluster.switches[switch].power_cap.as_ref(),
                DomainKind::Node(node) => instance.cluster.nodes[node].power_cap.as_ref(),
                _ => None,
            };
            Some((domain, cap?.at(at(tick))?))
        });
        let (domain, cap) = capped.last()?;
        if !taken.contains(&domain) {
            taken.push(domain);
            sum += cap.watts();
        }
    }
    Some(sum)
}

fn at(tick: usize) -> Ticks {
    Ticks(i64::try_from(tick).unwrap_or(i64::MAX))
}
