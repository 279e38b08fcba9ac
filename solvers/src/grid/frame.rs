//! What the grid knows of an instance before anything is placed.

use rats_domain::format::PowerMode;
use rats_domain::ids::{DomainId, GpuId, Id, JobId, NodeId, OptionId, Table};
use rats_domain::instance::{Instance, JobOption};
use rats_domain::topology::{DomainKind, Rank};
use rats_domain::units::{GpuCount, Ticks};

use super::bits;
use super::fixed::Fixed;
use super::prices::Tariff;
use crate::cells::{Cell, cells};

/// Most bytes that the tables of one grid may take.
pub const MOST_BYTES: usize = 1 << 30;

/// Most ticks: every step of a search looks at sets of them.
pub const MOST_TICKS: usize = 100_000;

/// The part of an instance that does not depend on what is placed.
#[derive(Debug)]
pub struct Frame<'i> {
    /// The instance.
    pub instance: &'i Instance,
    /// Number of ticks.
    pub horizon: usize,
    /// Number of words of a set of ticks.
    pub words: usize,
    /// Interchangeable GPUs, those of one node side by side.
    pub cells: Vec<Cell>,
    /// Where the levels of each cell begin, in sets of ticks.
    pub(super) first_level: Vec<usize>,
    /// The cell of each GPU.
    pub(super) cell_of: Table<GpuId, usize>,
    /// The island of each cell.
    pub(super) islands: Vec<usize>,
    /// The nodes of each GPU type.
    pub by_type: Vec<Vec<usize>>,
    /// Nodes, by [`NodeId`].
    pub nodes: Vec<NodeFrame>,
    /// Domains from islands up, children before their parents.
    pub parts: Vec<Part>,
    /// Capacities of shared things, limited ones only.
    pub(super) capacities: Vec<i64>,
    /// Limits on power while the cluster runs something: without foreign power and always-on nodes.
    pub(super) limits: Vec<Vec<i64>>,
    /// The limit of the whole cluster, if there is one.
    pub(super) cluster_limit: Option<usize>,
    /// Jobs, by [`JobId`].
    pub jobs: Vec<JobFrame>,
    /// The fixed jobs.
    pub(super) fixed: Fixed,
    /// Energy of all always-on nodes in one tick, mJ.
    pub(super) always_on: i64,
    /// What energy costs.
    pub(super) tariff: Option<Tariff>,
    /// The latest end that caps allow whatever runs.
    pub latest_end: usize,
}

/// A node.
#[derive(Debug)]
pub struct NodeFrame {
    /// Nodes of one class differ in nothing but their name.
    pub class: usize,
    /// Whether it sleeps when it has nothing to do.
    pub sleeps: bool,
    /// Energy in one tick without jobs, mJ.
    pub idle_energy: i64,
    /// Power without jobs, mW.
    pub idle_power: i64,
    /// Idle power of one of its GPUs, mW.
    pub gpu_idle: i64,
    /// Energy of a wake-up, mJ.
    pub wake: i64,
    /// Least number of ticks that it sleeps.
    pub shortest_gap: usize,
    /// First tick at which it can have woken.
    pub ready: usize,
    /// Whether it is powered at tick 0 for free.
    pub on_at_start: bool,
    /// Its cells.
    pub cells: std::ops::Range<usize>,
    /// Its domain.
    pub part: usize,
    /// Limits on power that count it, the cluster's excepted.
    pub(super) limits: Vec<usize>,
    /// The class of its GPUs.
    pub gpu_type: usize,
    /// Their number.
    pub gpus: u32,
}

/// A domain: an island, a node or a switch.
#[derive(Debug)]
pub struct Part {
    /// How wide it is.
    pub rank: Rank,
    /// The domain above.
    pub parent: Option<usize>,
    /// The domains directly below.
    pub children: Vec<usize>,
    /// The cells directly below (of an island).
    pub cells: Vec<usize>,
    /// The node that it is.
    pub node: Option<usize>,
    /// All nodes within; the one around it if it is an island.
    pub nodes: Vec<usize>,
    /// The capacity of its uplink; of the store at the root.
    pub(super) uplink: Option<usize>,
    /// The capacities of the node's resources, by resource.
    pub(super) resources: Vec<Option<usize>>,
}

/// A job.
#[derive(Debug)]
pub struct JobFrame {
    /// The job.
    pub id: JobId,
    /// Whether it is fixed.
    pub fixed: bool,
    /// Earliest start, with what must run before it.
    pub release: usize,
    /// Latest end, with what must run after it.
    pub deadline: usize,
    /// Due time.
    pub due: Option<usize>,
    /// Objective per tick of its end.
    pub(super) per_tick: f64,
    /// Objective per tick of tardiness.
    pub(super) per_late_tick: f64,
    /// Jobs before it that are not fixed.
    pub before: Vec<usize>,
    /// Jobs after it that are not fixed.
    pub after: Vec<usize>,
    /// Its options that can be placed, cheapest first.
    pub options: Vec<OptionFrame>,
}

/// An option.
#[derive(Debug)]
pub struct OptionFrame {
    /// The option.
    pub id: OptionId,
    /// The kind of GPU.
    pub gpu_type: usize,
    /// Gang size.
    pub gang: u32,
    /// Widest domain.
    pub span: Rank,
    /// Occupancy in ticks.
    pub ticks: usize,
    /// Energy per tick beyond that of idle GPUs, mJ.
    pub energy: i64,
    /// Sustained power, mW.
    pub(super) peak: i64,
    /// Peak power beyond that of idle GPUs, mW.
    pub(super) peak_beyond: i64,
    /// All-reduce traffic.
    pub(super) ring: i64,
    /// Reading rate.
    pub(super) read: i64,
    /// Resources by position and need of one GPU.
    pub(super) per_gpu: Vec<(usize, i64)>,
    /// GPU-ticks.
    pub work: f64,
}

/// Ticks as a position; 0 if negative.
pub(super) fn position(ticks: Ticks) -> usize {
    usize::try_from(ticks.0).unwrap_or(0)
}

/// A share, rounded up.
pub(super) fn share(whole: i64, part: u32, of: u32) -> i64 {
    if part == of { whole } else { rats_domain::units::Milliwatts(whole).share(GpuCount(part), GpuCount(of)).0 }
}

impl<'i> Frame<'i> {
    /// The frame of an instance.
    ///
    /// # Errors
    /// Why there is none: the tables would be too large.
    pub fn new(instance: &'i Instance) -> Result<Self, String> {
        let horizon = position(instance.horizon);
        fits(instance, horizon)?;
        let words = bits::words(horizon);
        let cells = cells(instance, |_| true);
        let mut first_level = vec![0];
        let mut cell_of: Table<GpuId, usize> = Table::filled(0, instance.cluster.gpus.len());
        for (at, cell) in cells.iter().enumerate() {
            first_level.push(first_level[at] + cell.gpus.len());
            cell.gpus.iter().for_each(|&gpu| cell_of[gpu] = at);
        }
        let mut frame = Self {
            instance,
            horizon,
            words,
            first_level,
            cell_of,
            islands: vec![0; cells.len()],
            by_type: vec![Vec::new(); instance.cluster.gpu_types.len()],
            nodes: Vec::new(),
            parts: Vec::new(),
            capacities: Vec::new(),
            limits: Vec::new(),
            cluster_limit: None,
            jobs: super::jobs::frames(instance),
            fixed: Fixed::default(),
            always_on: 0,
            tariff: Tariff::new(instance),
            latest_end: horizon,
            cells,
        };
        frame.add_nodes();
        frame.add_parts();
        super::caps::add_limits(&mut frame);
        frame.fixed = Fixed::new(&frame);
        frame.jobs.iter_mut().for_each(|job| job.deadline = job.deadline.min(frame.latest_end));
        Ok(frame)
    }

    /// The number of GPUs of a cell.
    pub fn gpus_in(&self, cell: usize) -> u32 {
        u32::try_from(self.size(cell)).unwrap_or(u32::MAX)
    }

    /// The number of GPUs of a cell, to index with.
    pub(super) fn size(&self, cell: usize) -> usize {
        self.first_level[cell + 1] - self.first_level[cell]
    }

    /// Whether there are nodes that are powered until the last end.
    pub fn runs_until_the_end(&self) -> bool {
        self.always_on > 0
    }

    /// The island of a cell.
    pub(super) fn island_of(&self, cell: usize) -> usize {
        self.islands[cell]
    }

    /// The node of a cell.
    pub fn node_of(&self, cell: usize) -> usize {
        self.cells[cell].node.position()
    }

    fn add_nodes(&mut self) {
        let instance = self.instance;
        let mut from = 0;
        for (id, node) in instance.cluster.nodes.iter() {
            let to = from + self.cells[from..].iter().take_while(|cell| cell.node == id).count();
            let gpu_idle = instance.cluster.gpu_types[node.gpu_type].idle.0;
            let sleeps = node.power == PowerMode::Sleep;
            let idle_energy = node.idle.0 * instance.tick.0;
            if !sleeps {
                self.always_on += idle_energy;
            }
            self.by_type[node.gpu_type.position()].push(self.nodes.len());
            self.nodes.push(NodeFrame {
                class: 0,
                sleeps,
                idle_energy,
                idle_power: node.idle.0,
                gpu_idle,
                wake: i64::try_from(node.wake.0).unwrap_or(i64::MAX),
                shortest_gap: position(node.wake_ticks).max(1),
                ready: if sleeps { position(node.wake_ticks) } else { 0 },
                on_at_start: node.on_at_start || !sleeps,
                cells: from..to,
                part: 0,
                limits: Vec::new(),
                gpu_type: node.gpu_type.position(),
                gpus: node.gpus.0,
            });
            from = to;
        }
        self.set_classes();
    }

    /// Gives nodes that differ in nothing the same class.
    fn set_classes(&mut self) {
        let cluster = &self.instance.cluster;
        let key = |at: usize| {
            let node = &cluster.nodes[NodeId::from_position(at)];
            let domain = cluster.topology.domain(cluster.topology.of_node(NodeId::from_position(at)));
            let cells: Vec<_> =
                self.cells[self.nodes[at].cells.clone()].iter().map(|c| (c.gpus.len(), &c.blocked)).collect();
            let islands: Vec<_> = cluster
                .topology
                .children(cluster.topology.of_node(NodeId::from_position(at)))
                .map(|island| (cluster.topology.domain(island).uplink, cluster.topology.domain(island).gpus.len()))
                .collect();
            let power = (node.base, node.idle, node.wake, node.wake_ticks, node.on_at_start, node.power);
            format!(
                "{:?} {power:?} {:?} {:?} {:?} {:?} {cells:?} {islands:?}",
                node.gpu_type, node.resources, node.power_cap, domain.uplink, domain.parent
            )
        };
        let mut known: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
        let classes: Vec<usize> = (0..self.nodes.len())
            .map(|at| {
                let next = known.len();
                *known.entry(key(at)).or_insert(next)
            })
            .collect();
        self.nodes.iter_mut().zip(classes).for_each(|(node, class)| node.class = class);
    }

    fn add_parts(&mut self) {
        let instance = self.instance;
        let topology = &instance.cluster.topology;
        let wide = topology.by_width().iter().copied().filter(|&id| topology.domain(id).rank > Rank::GPU);
        let wide: Vec<DomainId> = wide.collect();
        let mut part_of: Table<DomainId, Option<usize>> = Table::filled(None, topology.domains().len());
        for (at, &id) in wide.iter().enumerate() {
            part_of[id] = Some(at);
        }
        for &id in &wide {
            let domain = topology.domain(id);
            let parent = domain.parent.and_then(|parent| part_of[parent]);
            let capacity = if parent.is_none() { instance.cluster.storage } else { domain.uplink };
            let uplink = capacity.map(|capacity| self.add_capacity(capacity.0));
            let mut part = Part {
                rank: domain.rank,
                parent,
                children: topology.children(id).filter_map(|child| part_of[child]).collect(),
                cells: Vec::new(),
                node: None,
                nodes: Vec::new(),
                uplink,
                resources: Vec::new(),
            };
            part.children.sort_unstable();
            part.nodes = domain.gpus.iter().map(|&gpu| instance.cluster.gpus[gpu].node.position()).collect();
            part.nodes.dedup();
            match domain.kind {
                DomainKind::Node(node) => {
                    part.node = Some(node.position());
                    self.nodes[node.position()].part = self.parts.len();
                    for amount in instance.cluster.nodes[node].resources.values() {
                        let row = amount.map(|amount| self.add_capacity(amount.0));
                        part.resources.push(row);
                    }
                }
                DomainKind::Island(..) => {
                    part.cells = domain.gpus.iter().map(|&gpu| self.cell_of[gpu]).collect();
                    part.cells.sort_unstable();
                    part.cells.dedup();
                    part.cells.iter().for_each(|&cell| self.islands[cell] = self.parts.len());
                }
                _ => {}
            }
            self.parts.push(part);
        }
    }

    fn add_capacity(&mut self, capacity: i64) -> usize {
        self.capacities.push(capacity);
        self.capacities.len() - 1
    }
}

impl OptionFrame {
    pub(super) fn new(instance: &Instance, id: OptionId, option: &JobOption) -> Self {
        let idle = instance.cluster.gpu_types[option.gpu_type].idle.times(option.gpus).0;
        Self {
            id,
            gpu_type: option.gpu_type.position(),
            gang: option.gpus.0,
            span: option.span,
            ticks: position(option.ticks),
            energy: (option.power.0 - idle) * instance.tick.0,
            peak: option.peak.0,
            peak_beyond: option.peak.0 - idle,
            ring: option.ring.0,
            read: option.read.0,
            per_gpu: option.per_gpu.iter().map(|&(resource, need)| (resource.position(), need.0)).collect(),
            work: f64::from(option.gpus.0) * option.ticks.0 as f64,
        }
    }
}

/// Refuses what would take too much memory or pass 64 bits.
fn fits(instance: &Instance, horizon: usize) -> Result<(), String> {
    let cluster = &instance.cluster;
    let resources = cluster.resources.len() + 2;
    let rows = cluster.topology.domains().len() + cluster.nodes.len() * resources + cluster.switches.len() + 2;
    if horizon > MOST_TICKS {
        return Err(format!("a state by tick of {horizon} ticks would be too slow, more than {MOST_TICKS}"));
    }
    let bytes = horizon.saturating_mul(rows.saturating_mul(8) + cluster.gpus.len() / 8);
    if bytes > MOST_BYTES {
        return Err(format!("a state by tick would take {bytes} bytes, more than {MOST_BYTES}"));
    }
    let nodes: i128 = cluster.nodes.values().map(|node| i128::from(node.idle.0)).sum();
    let jobs = instance.jobs.values().flat_map(|job| job.options.values());
    let most = jobs.map(|option| i128::from(option.power.0.abs().max(option.peak.0.abs()))).max().unwrap_or(0);
    let gpus: i128 = cluster.nodes.values().map(|node| i128::from(node.gpus.0)).sum();
    let most = nodes + most * (gpus + 1);
    let wakes: i128 = cluster.nodes.values().map(|node| node.wake.0).sum();
    let energy = (most * i128::from(instance.tick.0) + wakes).saturating_mul(i128::from(instance.horizon.0));
    let traffic: i128 = cluster.topology.domains().values().filter_map(|d| d.uplink).map(|u| i128::from(u.0)).sum();
    if energy > i128::from(i64::MAX / 4) || traffic > i128::from(i64::MAX / 4) {
        return Err("energies pass 64 bits of millijoules".to_owned());
    }
    Ok(())
}
