//! Machines as the cluster of a scenario, and as an inventory.
//!
//! # Idea
//! A node of the model has one kind of GPU, so a machine with several kinds becomes several nodes below a switch of its
//! name. What NVML says of NVLinks and PCIe becomes a network, which `rats_fabric` reduces by minimum cuts: islands, and
//! what leads out of each.
//!
//! # Limits
//! NVML does not show network adapters: with several machines their rate has to be given. Rates of PCIe are those of
//! the slots, without contention. Power of nodes without their GPUs is not seen; it stays 0.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::format::{
    ClusterFile, Document as _, DomainFile, FabricFile, GpuTypeFile, InventoryFile, InventoryGpuFile,
};
use rats_domain::problem::{Problem, Problems, Warning};
use rats_domain::units::{KilobytesPerSecond, Milliwatts};
use rats_fabric::host::{Host, empty_of, link_of};
use rats_fabric::network::Network;
use rats_fabric::rates;
use rats_fabric::source::Figures;
use rats_fabric::source::matrix::{Matrix, Path};
use rats_fabric::{Options, reduce};

use super::{Found, Machine};
use crate::gpu::{Ancestor, Mig};

/// A machine's PCIe where nothing is known of it: generation 3, 16 lanes.
const ASSUMED_PCIE: (i64, i64) = (80, 16);

/// A cluster and who is who in it.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// The cluster as in an instance.
    pub cluster: ClusterFile,
    /// Which GPU is which.
    pub inventory: InventoryFile,
    /// What each kind of GPU can do: highest power limit, rate of the links inside its island.
    pub hardware: BTreeMap<String, Hardware>,
    /// What is suspicious.
    pub warnings: Vec<Warning>,
}

/// What a kind of GPU can do, as a scenario's `hardware` says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hardware {
    /// The highest power limit.
    pub power_limit: Option<Milliwatts>,
    /// What one GPU gets of the links inside its island.
    pub link: Option<KilobytesPerSecond>,
}

/// GPUs of one kind in one machine.
struct NodeOf<'m> {
    id: String,
    kind: &'m str,
    /// Positions among the machine's GPUs, by PCI address.
    members: Vec<usize>,
}

/// The cluster of some machines.
///
/// # Errors
/// There is no usable GPU, machines share a name, or several machines are joined by nothing known.
pub fn cluster(machines: &[Machine], nic: Option<KilobytesPerSecond>) -> Result<Cluster, Problems> {
    let mut warnings: Vec<Warning> = machines.iter().flat_map(|machine| machine.warnings.clone()).collect();
    let nodes: Vec<Vec<NodeOf<'_>>> = machines.iter().map(|machine| nodes(machine, &mut warnings)).collect();
    if nodes.iter().all(Vec::is_empty) {
        let reason = |warning: &Warning| Problem::new(warning.code, &warning.place, &warning.message);
        let mut problems: Vec<Problem> =
            warnings.iter().filter(|warning| warning.code != Code::N16).map(reason).collect();
        problems.push(Problem::new(Code::N03, "machine", "there is no GPU that could be used."));
        return Err(Problems(problems));
    }
    let mut file = empty_of(gpu_types(machines));
    let mut hardware = BTreeMap::new();
    for (machine, nodes) in machines.iter().zip(&nodes) {
        for node in nodes {
            let (host, of_node) = host(machine, node, &mut warnings)?;
            host.add_to(&mut file, &node.id, node.kind, rats_fabric::islands::Joining::Direct);
            let entry: &mut Hardware = hardware.entry(node.kind.to_owned()).or_default();
            entry.power_limit = entry.power_limit.max(of_node.power_limit);
            entry.link = entry.link.map_or(of_node.link, |link| of_node.link.map(|other| link.min(other)));
        }
    }
    join(machines, &nodes, nic, &mut file)?;
    let network = Network::new(file)?;
    let reduction = reduce(&network, Options::default())?;
    warnings.extend(reduction.warnings);
    Ok(Cluster { cluster: reduction.cluster, inventory: inventory(machines, &nodes), hardware, warnings })
}

/// One node for each kind of GPU of a machine, in order of their first GPU. Divided GPUs are left out.
fn nodes<'m>(machine: &'m Machine, warnings: &mut Vec<Warning>) -> Vec<NodeOf<'m>> {
    let mut nodes: Vec<NodeOf<'m>> = Vec::new();
    for (position, found) in machine.gpus.iter().enumerate() {
        if found.mig == Mig::On {
            let place = format!("{}: {}", machine.host, found.facts.uuid);
            warnings.push(Warning::new(Code::N09, place, "left out: MIG is on."));
            continue;
        }
        let kind = found.facts.type_id.as_str();
        match nodes.iter_mut().find(|node| node.kind == kind) {
            Some(node) => node.members.push(position),
            None => nodes.push(NodeOf { id: String::new(), kind, members: vec![position] }),
        }
    }
    let several = nodes.len() > 1;
    let host = machine.host.replace('/', "-");
    for node in &mut nodes {
        node.id = if several { format!("{host}-{}", node.kind) } else { host.clone() };
    }
    nodes
}

/// The kinds of GPU with the idle power measured, the mean where several were.
fn gpu_types(machines: &[Machine]) -> Vec<GpuTypeFile> {
    let mut kinds: BTreeMap<&str, Vec<&Found>> = BTreeMap::new();
    for found in machines.iter().flat_map(|machine| &machine.gpus).filter(|found| found.mig != Mig::On) {
        kinds.entry(&found.facts.type_id).or_default().push(found);
    }
    let gpu_type = |(id, found): (&str, Vec<&Found>)| {
        let idle: Vec<i64> = found.iter().filter_map(|found| Some(found.idle?.mean.0)).collect();
        let count = i64::try_from(idle.len()).unwrap_or(1).max(1);
        let mean = (idle.iter().sum::<i64>() + count / 2) / count;
        // The smallest of its kind: some cards keep a part of their memory for themselves.
        let memory = found.iter().filter_map(|found| found.facts.memory).min();
        GpuTypeFile {
            id: id.to_owned(),
            idle_w: Decimal::from_scaled(i128::from(mean), 3),
            memory_mib: memory.map(|memory| memory.0),
        }
    };
    kinds.into_iter().map(gpu_type).collect()
}

/// The parts of a node and the links between them.
fn host(machine: &Machine, node: &NodeOf<'_>, warnings: &mut Vec<Warning>) -> Result<(Host, Hardware), Problems> {
    let found: Vec<&Found> = node.members.iter().map(|&position| &machine.gpus[position]).collect();
    let pcie = found.iter().filter_map(|found| {
        let link = found.facts.pcie?;
        rates::pcie(tenths_of_gt_s(link.generation)?, link.width.into())
    });
    let pcie = pcie.min().or_else(|| {
        warnings.push(Warning::new(Code::T09, &node.id, "the rate of PCIe is not known; 15.75 GB/s is assumed."));
        rates::pcie(ASSUMED_PCIE.0, ASSUMED_PCIE.1)
    });
    let generation = found.iter().find_map(|found| found.facts.architecture?.nvlink());
    let (nvlinks, switched) = nvlinks(machine, node, warnings);
    let one_link = generation.and_then(rates::nvlink);
    let nvswitch = switched.zip(one_link).map(|(links, rate)| KilobytesPerSecond(rate.link.0 * links));
    let figures = Figures {
        gpu_type: Some(GpuTypeFile { id: node.kind.to_owned(), idle_w: 0.into(), memory_mib: None }),
        nodes: 1,
        pcie,
        nvlink: generation,
        nvswitch,
        ..Figures::default()
    };
    let matrix = Matrix { gpus: node.members.len(), nvlinks, paths: paths(machine, node), ..Matrix::default() };
    let host = matrix.host(&figures)?;
    let inside = host.joined.values().copied().min().or(pcie.filter(|_| node.members.len() > 1));
    let power_limit = found.iter().filter_map(|found| Some(found.facts.power?.most)).min();
    Ok((host, Hardware { power_limit, link: inside }))
}

/// NVLinks of ordered pairs by position in the node, as a [`Matrix`] has them.
type Links = BTreeMap<(usize, usize), (i64, String)>;

/// NVLinks between the GPUs of a node, and the number that leads from each to NVLink switches, if it is the same for
/// all.
fn nvlinks(machine: &Machine, node: &NodeOf<'_>, warnings: &mut Vec<Warning>) -> (Links, Option<i64>) {
    let mut pairs = Links::new();
    let mut switched = Vec::new();
    for (a, &position) in node.members.iter().enumerate() {
        let facts = &machine.gpus[position].facts;
        let mut to_switches = 0;
        for link in &facts.links {
            let Some(remote) = &link.remote_pci else { continue };
            let at = node.members.iter().position(|&other| same_pci(&machine.gpus[other].facts.pci, remote));
            match at {
                Some(b) => pairs.entry((a, b)).or_insert_with(|| (0, facts.uuid.to_string())).0 += 1,
                None if machine.gpus.iter().any(|other| same_pci(&other.facts.pci, remote)) => {}
                None => to_switches += 1,
            }
        }
        if machine.gpus[position].is_in_fabric {
            let generation = facts.architecture.and_then(crate::gpu::Architecture::nvlink);
            to_switches = generation.and_then(rates::nvlink).map_or(0, |rate| rate.links);
        }
        switched.push(to_switches);
    }
    let same = switched.iter().all(|&links| links == switched[0]);
    if !same {
        let message = "GPUs have different numbers of links to NVLink switches; the least is taken.";
        warnings.push(Warning::new(Code::T11, &node.id, message));
    }
    let least = switched.into_iter().min().filter(|&links| links > 0 && node.members.len() > 1);
    (pairs, least)
}

/// `00000000:3b:00.0` and `0000:3b:00.0` are one address.
fn same_pci(one: &str, other: &str) -> bool {
    let short = |address: &str| address.trim_start_matches('0').to_owned();
    short(one) == short(other)
}

fn paths(machine: &Machine, node: &NodeOf<'_>) -> BTreeMap<(usize, usize), Path> {
    let mut paths = BTreeMap::new();
    for (a, &one) in node.members.iter().enumerate() {
        for (b, &other) in node.members.iter().enumerate() {
            if let Some(ancestor) = machine.ancestors.get(&(one.min(other), one.max(other))).filter(|_| a != b) {
                paths.insert((a, b), path(*ancestor));
            }
        }
    }
    paths
}

fn path(ancestor: Ancestor) -> Path {
    match ancestor {
        Ancestor::Board | Ancestor::Switch => Path::Pix,
        Ancestor::Switches => Path::Pxb,
        Ancestor::HostBridge => Path::Phb,
        Ancestor::Socket => Path::Node,
        Ancestor::System => Path::Sys,
    }
}

fn tenths_of_gt_s(generation: u32) -> Option<i64> {
    [25, 50, 80, 160, 320, 640].get(usize::try_from(generation).ok()?.checked_sub(1)?).copied()
}

/// Joins the nodes of a machine over its sockets, and machines over their network adapters.
fn join(
    machines: &[Machine],
    nodes: &[Vec<NodeOf<'_>>],
    nic: Option<KilobytesPerSecond>,
    file: &mut FabricFile,
) -> Result<(), Problem> {
    const HUB: &str = "hub";
    const NETWORK: &str = "network";
    let mut tops = Vec::new();
    for (machine, nodes) in machines.iter().zip(nodes).filter(|(_, nodes)| !nodes.is_empty()) {
        let host = machine.host.replace('/', "-");
        if let [node] = nodes.as_slice() {
            tops.push((node.id.clone(), node.id.clone()));
            continue;
        }
        let hub = format!("{host}:{HUB}");
        file.switches.push(hub.clone());
        file.links.extend(nodes.iter().map(|node| link_of(node.id.clone(), hub.clone(), rates::SOCKET)));
        let members = nodes.iter().map(|node| node.id.clone()).collect();
        file.domains.push(DomainFile { id: host.clone(), level: "machine".to_owned(), members });
        tops.push((host, hub));
    }
    if !file.domains.is_empty() {
        file.levels.push("machine".to_owned());
    }
    if tops.len() > 1 {
        let missing =
            || Problem::new(Code::T09, "--nic-gb-s", "there are several machines; NVML does not show their network.");
        let nic = nic.ok_or_else(missing)?;
        file.switches.push(NETWORK.to_owned());
        file.links.extend(tops.iter().map(|(_, hub)| link_of(hub.clone(), NETWORK.to_owned(), nic)));
        let members = tops.into_iter().map(|(id, _)| id).collect();
        file.domains.push(DomainFile { id: "cluster".to_owned(), level: NETWORK.to_owned(), members });
        file.levels.push(NETWORK.to_owned());
    }
    Ok(())
}

fn inventory(machines: &[Machine], nodes: &[Vec<NodeOf<'_>>]) -> InventoryFile {
    let mut gpus = Vec::new();
    for (machine, nodes) in machines.iter().zip(nodes) {
        for node in nodes {
            for (index, &position) in (0..).zip(&node.members) {
                let facts = &machine.gpus[position].facts;
                gpus.push(InventoryGpuFile {
                    node: node.id.clone(),
                    index,
                    uuid: facts.uuid.to_string(),
                    host: machine.host.clone(),
                    pci: facts.pci.clone(),
                    gpu_type: node.kind.to_owned(),
                    name: Some(facts.name.clone()),
                });
            }
        }
    }
    InventoryFile { format: InventoryFile::FORMAT.to_owned(), gpus }
}
