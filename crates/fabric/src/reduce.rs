//! A network to the `cluster` part of an instance.

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::format::{ClusterFile, Document, InstanceFile, NodeFile, SwitchFile, TermFile};
use rats_domain::instance::Instance;
use rats_domain::problem::{Problem, Problems, Warning};
use rats_domain::units::KilobytesPerSecond;

use super::flow::{Flow, Side};
use super::network::{Area, AreaKind, Network};
use super::overstate::{Overstatement, overstatement};

/// How to reduce.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Divide the uplinks of a domain's children by the domain's overstatement.
    pub divide: bool,
}

/// A tree, and how it was come by.
#[derive(Clone, Debug)]
pub struct Reduction {
    /// The tree.
    pub cluster: ClusterFile,
    /// The uplink of each area as cut, before any division; zero for the root, which has none.
    pub uplinks: Vec<KilobytesPerSecond>,
    /// The worst split of every area with at least two children, by area.
    pub overstatements: Vec<Overstatement>,
    /// What is suspicious.
    pub warnings: Vec<Warning>,
}

/// Reduces a network to a tree.
///
/// # Errors
/// A domain that no link joins to the rest, or a tree that is no valid cluster.
pub fn reduce(network: &Network, options: Options) -> Result<Reduction, Problems> {
    let mut flow = network.flow();
    let uplinks = uplinks(network, &mut flow)?;
    let splits = (0..network.areas.len()).filter_map(|area| overstatement(network, &mut flow, &uplinks, area));
    let overstatements: Vec<_> = splits.collect();
    let mut kept = uplinks.clone();
    if options.divide {
        divide(network, &overstatements, &mut kept)?;
    }
    let storage =
        network.storage.map(|storage| flow.cut(|terminal| if terminal == storage { Side::From } else { Side::To }));
    let mut cluster = cluster(network, &kept);
    cluster.storage_gb_s = storage.map(decimal);
    valid(&cluster)?;
    let mut warnings = uneven_islands(network, &kept);
    if !options.divide {
        warnings.extend(overstated(network, &overstatements));
    }
    Ok(Reduction { cluster, uplinks, overstatements, warnings })
}

/// The minimum cut of every area but the root.
fn uplinks(network: &Network, flow: &mut Flow) -> Result<Vec<KilobytesPerSecond>, Problems> {
    let mut uplinks = vec![KilobytesPerSecond::ZERO];
    let mut problems = Vec::new();
    for area in &network.areas[1..] {
        let mut inside = vec![false; network.gpus + 1];
        for &gpu in &area.gpus {
            inside[gpu] = true;
        }
        // The shared store, if any, is the terminal after the GPUs and never inside.
        let cut = flow.cut(|terminal| if inside[terminal] { Side::From } else { Side::To });
        if cut == KilobytesPerSecond::ZERO {
            problems.push(Problem::new(Code::T07, &area.name, "no link leads to the other GPUs."));
        }
        uplinks.push(cut);
    }
    if problems.is_empty() { Ok(uplinks) } else { Err(Problems(problems)) }
}

fn divide(
    network: &Network,
    overstatements: &[Overstatement],
    uplinks: &mut [KilobytesPerSecond],
) -> Result<(), Problems> {
    let mut problems = Vec::new();
    for split in overstatements {
        for &child in &network.areas[split.area].children {
            uplinks[child] = split.divide(uplinks[child]);
        }
        if split.carried == KilobytesPerSecond::ZERO {
            let message = "its parts reach one another only through GPUs outside it.";
            problems.push(Problem::new(Code::T07, &network.areas[split.area].name, message));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
}

fn cluster(network: &Network, uplinks: &[KilobytesPerSecond]) -> ClusterFile {
    let file = &network.file;
    let mut switches: Vec<Option<SwitchFile>> = vec![None; file.domains.len()];
    let mut nodes: Vec<NodeFile> = file.hosts.clone();
    for (position, area) in network.areas.iter().enumerate() {
        let above = area.parent.map(|parent| network.areas[parent].name.clone());
        let uplink = area.parent.map(|_| decimal(uplinks[position]));
        match area.kind {
            AreaKind::Domain(domain) => {
                let (id, level) = (area.name.clone(), file.domains[domain].level.clone());
                let (parent, uplink_gb_s) = (above, uplink);
                switches[domain] = Some(SwitchFile { id, level, parent, uplink_gb_s, power_cap_w: None });
            }
            AreaKind::Host(host) => {
                nodes[host].parent = above;
                nodes[host].uplink_gb_s = uplink;
                let islands = area.children.iter().map(|&island| uplinks[island]);
                nodes[host].island_uplink_gb_s = islands.min().map(decimal);
            }
            AreaKind::Island(..) => {}
        }
    }
    ClusterFile {
        gpu_types: file.gpu_types.clone(),
        levels: file.levels.clone(),
        switches: switches.into_iter().flatten().collect(),
        nodes,
        storage_gb_s: None,
        power_cap_w: None,
        foreign_w: None,
    }
}

/// Whatever the network file says about nodes and GPU types must hold in an instance too.
fn valid(cluster: &ClusterFile) -> Result<(), Problems> {
    let instance = InstanceFile {
        format: InstanceFile::FORMAT.to_owned(),
        name: "cluster".to_owned(),
        tick_s: 1,
        horizon: 1,
        cluster: cluster.clone(),
        tariff: None,
        tariff_unit: None,
        energy_budget_j: None,
        objective: vec![TermFile { term: "energy".to_owned(), weight: 1.into() }],
        jobs: Vec::new(),
    };
    Instance::from_file(&instance).map(|_| ())
}

/// A node states one uplink for all its islands.
fn uneven_islands(network: &Network, uplinks: &[KilobytesPerSecond]) -> Vec<Warning> {
    let hosts = network.areas.iter().filter(|area| matches!(area.kind, AreaKind::Host(_)));
    let warning = |area: &Area| {
        let islands = || area.children.iter().map(|&island| uplinks[island]);
        let (least, most) = (islands().min()?, islands().max()?);
        let message = format!("its islands have uplinks from {least} to {most}; the least is taken for all.");
        (least < most).then(|| Warning::new(Code::T14, &area.name, message))
    };
    hosts.filter_map(warning).collect()
}

fn overstated<'r>(network: &'r Network, splits: &'r [Overstatement]) -> impl Iterator<Item = Warning> + 'r {
    let over = splits.iter().filter(|split| split.allowed > split.carried);
    over.map(|split| {
        let side: Vec<_> = split.side.iter().map(|&child| network.areas[child].name.as_str()).collect();
        let message = format!(
            "the tree allows {} between {} and the rest of it, the links carry {}.",
            split.allowed,
            side.join(", "),
            split.carried
        );
        Warning::new(Code::T14, &network.areas[split.area].name, message)
    })
}

fn decimal(capacity: KilobytesPerSecond) -> Decimal {
    Decimal::from_scaled(i128::from(capacity.0), 6)
}
