//! Validates the tree of switches, nodes and islands and lists its domains, parents before children.

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

/// The domains of the tree; meaningless if problems were found.
pub(super) fn domains(collector: &mut Collector, file: &ClusterFile) -> Vec<NewDomain> {
    let before = collector.problems.len();
    let levels = levels(collector, file);
    let switches = names(collector, "cluster.switches", file.switches.iter().map(|switch| switch.id.as_str()));
    names(collector, "cluster.nodes", file.nodes.iter().map(|node| node.id.as_str()));
    switch_levels(collector, file, &levels, &switches);
    roots(collector, file, &switches);
    cycles(collector, file, &switches);
    for (position, node) in file.nodes.iter().enumerate() {
        islands(collector, &format!("cluster.nodes[{position}].islands"), node);
    }
    let uplinks = uplinks(collector, file);
    if collector.problems.len() > before {
        return Vec::new();
    }
    list(file, &levels, &switches, &uplinks)
}

fn levels<'f>(collector: &mut Collector, file: &'f ClusterFile) -> Names<'f> {
    let mut levels = BTreeMap::new();
    for (position, level) in file.levels.iter().enumerate() {
        let place = format!("cluster.levels[{position}]");
        collector.id(&place, level);
        if ["gpu", "island", "node"].contains(&level.as_str()) {
            collector.problem(Code::I07, place, format!("`{level}` is reserved."));
        } else if levels.insert(level.as_str(), position).is_some() {
            collector.problem(Code::I07, place, format!("`{level}` is used twice."));
        }
    }
    levels
}

fn switch_levels(collector: &mut Collector, file: &ClusterFile, levels: &Names<'_>, switches: &Names<'_>) {
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
    let roots: Vec<_> = file.switches.iter().filter(|switch| switch.parent.is_none()).collect();
    if !file.switches.is_empty() && roots.len() != 1 {
        let ids: Vec<_> = roots.iter().map(|switch| switch.id.as_str()).collect();
        let message = format!("exactly one switch must be without parent, found {} ({}).", ids.len(), ids.join(", "));
        collector.problem(Code::I08, "cluster.switches", message);
    }
    let root_switch = file.switches.iter().position(|switch| switch.parent.is_none() && switch.uplink_gb_s.is_some());
    if let Some(position) = root_switch {
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
            let message = format!("the parents of {} form a cycle.", ids.join(", "));
            collector.problem(Code::I08, "cluster.switches", message);
        }
    }
}

fn islands(collector: &mut Collector, place: &str, node: &NodeFile) {
    let Some(islands) = &node.islands else { return };
    let mut listed: Vec<i64> = islands.iter().flatten().copied().collect();
    listed.sort_unstable();
    let complete =
        listed.len() as i64 == node.gpus && listed.iter().zip(0..).all(|(&index, expected)| index == expected);
    if !complete {
        let message = format!("every index from 0 to {} must be listed exactly once.", node.gpus - 1);
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

/// Lists the domains: switches wide to narrow, then each node with its islands, then all GPUs in file order.
fn list(file: &ClusterFile, levels: &Names<'_>, switches: &Names<'_>, uplinks: &Uplinks) -> Vec<NewDomain> {
    let mut domains = Vec::new();
    let mut order: Vec<usize> = (0..file.switches.len()).collect();
    order.sort_by_key(|&position| std::cmp::Reverse(levels[file.switches[position].level.as_str()]));
    let mut switch_domains = vec![DomainId::from_position(0); order.len()];
    for position in order {
        let switch = &file.switches[position];
        switch_domains[position] = DomainId::from_position(domains.len());
        domains.push(NewDomain {
            kind: DomainKind::Switch(SwitchId::from_position(position)),
            rank: Rank::level(u16::try_from(levels[switch.level.as_str()]).unwrap_or(u16::MAX - 3)),
            parent: switch.parent.as_deref().map(|name| switch_domains[switches[name]]),
            uplink: uplinks.switches[position],
        });
    }
    let mut gpus = Vec::new();
    for (position, node) in file.nodes.iter().enumerate() {
        let id = NodeId::from_position(position);
        let node_domain = DomainId::from_position(domains.len());
        let parent = node.parent.as_deref().map(|name| switch_domains[switches[name]]);
        let uplink = uplinks.nodes[position];
        domains.push(NewDomain { kind: DomainKind::Node(id), rank: Rank::NODE, parent, uplink });
        let one_island = || vec![(0..node.gpus).collect()];
        let islands = node.islands.clone().unwrap_or_else(one_island);
        let mut of_node = vec![node_domain; usize::try_from(node.gpus).unwrap_or(0)];
        for (island, indices) in islands.iter().enumerate() {
            for &index in indices {
                of_node[usize::try_from(index).unwrap_or(0)] = DomainId::from_position(domains.len());
            }
            let kind = DomainKind::Island(id, u32::try_from(island).unwrap_or(u32::MAX));
            let (parent, uplink) = (Some(node_domain), uplinks.islands[position]);
            domains.push(NewDomain { kind, rank: Rank::ISLAND, parent, uplink });
        }
        gpus.extend(of_node);
    }
    for (position, island) in gpus.into_iter().enumerate() {
        let kind = DomainKind::Gpu(GpuId::from_position(position));
        domains.push(NewDomain { kind, rank: Rank::GPU, parent: Some(island), uplink: None });
    }
    domains
}
