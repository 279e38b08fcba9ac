//! Validates the tree of switches, nodes and islands and lists its domains, parents before children.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;

use super::names;
use super::numbers::Collector;
use crate::codes::Code;
use crate::format::{ClusterFile, NodeFile};
use crate::ids::{DomainId, GpuId, Id, NodeId, SwitchId};
use crate::topology::{DomainKind, NewDomain, Rank};
use crate::units::KilobytesPerSecond;

type Names<'f> = BTreeMap<&'f str, usize>;

/// More levels than any network has; guards memory, since every level lists the GPUs below it.
const MAX_LEVELS: usize = 64;

/// The tree as the file states it.
pub(super) struct Tree<'f> {
    levels: BTreeMap<&'f str, Rank>,
    switches: Names<'f>,
    uplinks: Uplinks,
}

/// Validates the tree.
pub(super) fn tree<'f>(collector: &mut Collector, file: &'f ClusterFile) -> Tree<'f> {
    let levels = levels(collector, file);
    let switches = names(collector, "cluster.switches", file.switches.iter().map(|switch| switch.id.as_str()));
    names(collector, "cluster.nodes", file.nodes.iter().map(|node| node.id.as_str()));
    switch_levels(collector, file, &levels, &switches);
    roots(collector, file, &switches);
    cycles(collector, file, &switches);
    for (position, node) in file.nodes.iter().enumerate() {
        islands(collector, &format!("cluster.nodes[{position}].islands"), node);
    }
    Tree { levels, switches, uplinks: uplinks(collector, file) }
}

fn levels<'f>(collector: &mut Collector, file: &'f ClusterFile) -> BTreeMap<&'f str, Rank> {
    if file.levels.len() > MAX_LEVELS {
        let message = format!("{} levels exceed the limit of {MAX_LEVELS}.", file.levels.len());
        collector.problem(Code::I02, "cluster.levels", message);
    }
    let mut levels = BTreeMap::new();
    for (position, level) in (0..).zip(file.levels.iter().take(MAX_LEVELS)) {
        let place = format!("cluster.levels[{position}]");
        collector.id(&place, level);
        if ["gpu", "island", "node"].contains(&level.as_str()) {
            collector.problem(Code::I07, place, format!("`{level}` is reserved."));
        } else if levels.insert(level.as_str(), Rank::level(position)).is_some() {
            collector.problem(Code::I07, place, format!("`{level}` is used twice."));
        }
    }
    levels
}

fn switch_levels(collector: &mut Collector, file: &ClusterFile, levels: &BTreeMap<&str, Rank>, switches: &Names<'_>) {
    for (position, switch) in file.switches.iter().enumerate() {
        let place = format!("cluster.switches[{position}]");
        let Some(level) = levels.get(switch.level.as_str()) else {
            let message = format!("there is no level `{}`.", switch.level);
            collector.problem(Code::I06, format!("{place}.level"), message);
            continue;
        };
        let Some(name) = &switch.parent else { continue };
        let Some(&parent) = switches.get(name.as_str()) else {
            collector.problem(Code::I06, format!("{place}.parent"), format!("there is no switch `{name}`."));
            continue;
        };
        if levels.get(file.switches[parent].level.as_str()).is_some_and(|above| level >= above) {
            let message = format!(
                "level `{}` is not narrower than `{}` of its parent `{name}`.",
                switch.level, file.switches[parent].level
            );
            collector.problem(Code::I09, format!("{place}.level"), message);
        }
    }
}

fn roots(collector: &mut Collector, file: &ClusterFile, switches: &Names<'_>) {
    for (position, node) in file.nodes.iter().enumerate() {
        let place = format!("cluster.nodes[{position}].parent");
        match &node.parent {
            Some(name) if !switches.contains_key(name.as_str()) => {
                collector.problem(Code::I06, place, format!("there is no switch `{name}`."));
            }
            None if file.nodes.len() > 1 || !file.switches.is_empty() => {
                collector.problem(Code::I08, place, format!("node `{}` has no parent.", node.id));
            }
            _ => {}
        }
    }
    let roots: Vec<_> = file.switches.iter().enumerate().filter(|(_, switch)| switch.parent.is_none()).collect();
    if !file.switches.is_empty() && roots.len() != 1 {
        let ids: Vec<_> = roots.iter().map(|(_, switch)| format!("`{}`", switch.id)).collect();
        let found = if ids.is_empty() { "none is".to_owned() } else { format!("{} are", ids.join(", ")) };
        let message = format!("exactly one switch must be without parent, {found}.");
        collector.problem(Code::I08, "cluster.switches", message);
    }
    for (position, _) in roots.iter().filter(|(_, switch)| switch.uplink_gb_s.is_some()) {
        collector.problem(Code::I10, format!("cluster.switches[{position}].uplink_gb_s"), "the root has no uplink.");
    }
    if let [NodeFile { parent: None, uplink_gb_s: Some(_), .. }] = file.nodes.as_slice() {
        collector.problem(Code::I10, "cluster.nodes[0].uplink_gb_s", "the root has no uplink.");
    }
}

fn cycles(collector: &mut Collector, file: &ClusterFile, switches: &Names<'_>) {
    let mut graph = DiGraph::<usize, ()>::new();
    let vertices: Vec<_> = (0..file.switches.len()).map(|position| graph.add_node(position)).collect();
    for (position, switch) in file.switches.iter().enumerate() {
        if let Some(&parent) = switch.parent.as_deref().and_then(|name| switches.get(name)) {
            graph.add_edge(vertices[position], vertices[parent], ());
        }
    }
    for component in tarjan_scc(&graph) {
        if component.len() > 1 || graph.contains_edge(component[0], component[0]) {
            let ids: Vec<_> = component.iter().map(|&v| file.switches[graph[v]].id.as_str()).collect();
            let message = format!("the parents of `{}` form a cycle.", ids.join("`, `"));
            collector.problem(Code::I08, "cluster.switches", message);
        }
    }
}

fn islands(collector: &mut Collector, place: &str, node: &NodeFile) {
    // A number of GPUs below 1 is a problem of its own.
    let Some(islands) = node.islands.as_ref().filter(|_| node.gpus >= 1) else { return };
    let mut listed: Vec<i64> = islands.iter().flatten().copied().collect();
    listed.sort_unstable();
    let complete = i64::try_from(listed.len()) == Ok(node.gpus) && (0..node.gpus).eq(listed);
    if !complete {
        let message = format!("each index of the {} GPUs, from 0, must be listed exactly once.", node.gpus);
        collector.problem(Code::I11, place, message);
    }
}

struct Uplinks {
    switches: Vec<Option<KilobytesPerSecond>>,
    nodes: Vec<Option<KilobytesPerSecond>>,
    islands: Vec<Option<KilobytesPerSecond>>,
}

fn uplinks(collector: &mut Collector, file: &ClusterFile) -> Uplinks {
    let mut read = |place: String, value| collector.optional(&place, value, Collector::gigabytes_per_second);
    let switches = file.switches.iter().enumerate();
    let switches = switches.map(|(p, switch)| read(format!("cluster.switches[{p}].uplink_gb_s"), switch.uplink_gb_s));
    let switches = switches.collect();
    let nodes = file.nodes.iter().enumerate();
    let nodes = nodes.map(|(p, node)| read(format!("cluster.nodes[{p}].uplink_gb_s"), node.uplink_gb_s)).collect();
    let islands = file.nodes.iter().enumerate();
    let islands = islands
        .map(|(p, node)| read(format!("cluster.nodes[{p}].island_uplink_gb_s"), node.island_uplink_gb_s))
        .collect();
    Uplinks { switches, nodes, islands }
}

impl Tree<'_> {
    /// Lists the domains: switches wide to narrow, then each node with its islands, then all GPUs in file order.
    ///
    /// Meaningful only for a cluster in which no problem was found.
    pub(super) fn domains(&self, file: &ClusterFile) -> Vec<NewDomain> {
        let mut domains = Vec::new();
        let switches = self.switch_domains(file, &mut domains);
        let mut islands_of_gpus = Vec::new();
        for (position, node) in file.nodes.iter().enumerate() {
            let parent = node.parent.as_deref().map(|name| switches[self.switches[name]]);
            islands_of_gpus.extend(self.node_domains(position, node, parent, &mut domains));
        }
        for (position, island) in islands_of_gpus.into_iter().enumerate() {
            let kind = DomainKind::Gpu(GpuId::from_position(position));
            domains.push(NewDomain { kind, rank: Rank::GPU, parent: Some(island), uplink: None });
        }
        domains
    }

    /// Adds the switches; returns the domain of each, in file order.
    fn switch_domains(&self, file: &ClusterFile, domains: &mut Vec<NewDomain>) -> Vec<DomainId> {
        let mut order: Vec<usize> = (0..file.switches.len()).collect();
        order.sort_by_key(|&position| Reverse(self.levels[file.switches[position].level.as_str()]));
        let mut ids = vec![DomainId::from_position(0); order.len()];
        for position in order {
            let switch = &file.switches[position];
            ids[position] = DomainId::from_position(domains.len());
            domains.push(NewDomain {
                kind: DomainKind::Switch(SwitchId::from_position(position)),
                rank: self.levels[switch.level.as_str()],
                parent: switch.parent.as_deref().map(|name| ids[self.switches[name]]),
                uplink: self.uplinks.switches[position],
            });
        }
        ids
    }

    /// Adds a node and its islands; returns the island of each GPU.
    fn node_domains(
        &self,
        position: usize,
        node: &NodeFile,
        parent: Option<DomainId>,
        domains: &mut Vec<NewDomain>,
    ) -> Vec<DomainId> {
        let id = NodeId::from_position(position);
        let node_domain = DomainId::from_position(domains.len());
        let uplink = self.uplinks.nodes[position];
        domains.push(NewDomain { kind: DomainKind::Node(id), rank: Rank::NODE, parent, uplink });
        let one_island = || vec![(0..node.gpus).collect()];
        let islands = node.islands.clone().unwrap_or_else(one_island);
        let mut of_gpus = vec![node_domain; usize::try_from(node.gpus).unwrap_or(0)];
        for (island, indices) in (0..).zip(islands) {
            for index in indices {
                of_gpus[usize::try_from(index).unwrap_or(0)] = DomainId::from_position(domains.len());
            }
            let kind = DomainKind::Island(id, island);
            let (parent, uplink) = (Some(node_domain), self.uplinks.islands[position]);
            domains.push(NewDomain { kind, rank: Rank::ISLAND, parent, uplink });
        }
        of_gpus
    }
}
