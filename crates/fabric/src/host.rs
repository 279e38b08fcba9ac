//! One host as its parts, and a cluster of such hosts as a network file.

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::format::{Document, DomainFile, FabricFile, GpuTypeFile, LinkFile, NodeFile, PowerMode, StorageFile};
use rats_domain::problem::{Problem, Problems};
use rats_domain::units::KilobytesPerSecond;

use super::islands::{Joined, Joining, islands};
use super::source::Figures;

/// A part of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// What all sockets meet in.
    Hub,
    /// The GPU of this position.
    Gpu(usize),
    /// The socket, switch or adapter of this position.
    Inner(usize),
}

/// A host as its parts.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// The PCIe switch that each GPU hangs below, if any.
    pub switches: Vec<Option<usize>>,
    /// Names of the inner parts.
    pub inner: Vec<String>,
    /// Links between parts, NVLinks among them.
    pub links: Vec<(Part, Part, KilobytesPerSecond)>,
    /// GPUs that NVLink joins directly or over one switch.
    pub joined: Joined,
    /// Network adapters: where they sit and what they carry, if it is known.
    pub adapters: Vec<(Part, Option<KilobytesPerSecond>)>,
}

/// The most hosts that are put side by side.
const MOST_HOSTS: usize = 4096;

impl Host {
    /// Adds an inner part; the name is made unique by a number.
    pub fn add(&mut self, kind: &str) -> Part {
        let number =
            self.inner.iter().filter(|name| name.trim_end_matches(|c: char| c.is_ascii_digit()) == kind).count();
        self.inner.push(format!("{kind}{number}"));
        Part::Inner(self.inner.len() - 1)
    }

    /// Joins all GPUs by one NVLink switch that each reaches at this rate.
    pub fn add_nvswitch(&mut self, rate: KilobytesPerSecond) {
        let switch = self.add("nvswitch");
        for gpu in 0..self.switches.len() {
            self.links.push((Part::Gpu(gpu), switch, rate));
            self.joined.extend((0..gpu).map(|other| ((other, gpu), rate)));
        }
    }

    /// A cluster of `figures.nodes` hosts like this one, below one network that is never the narrow place.
    ///
    /// # Errors
    /// Missing figures: the kind of GPU, or the rate of the adapters where there are several hosts.
    pub fn cluster(&self, figures: &Figures) -> Result<FabricFile, Problems> {
        let gpu_type = figures.gpu_type()?;
        if figures.nodes > MOST_HOSTS {
            return Err(Problem::new(Code::T12, "--nodes", format!("more than {MOST_HOSTS}.")).into());
        }
        let adapters = if figures.nodes > 1 { self.adapter_rates(figures)? } else { Vec::new() };
        let names: Vec<_> = (0..figures.nodes).map(|node| format!("node{node}")).collect();
        let mut file = empty(gpu_type);
        for name in &names {
            let gpu_type = file.gpu_types[0].id.clone();
            self.add_to(&mut file, name, &gpu_type, figures.joining);
            for &(part, rate) in &adapters {
                file.links.push(link_of(self.name(name, part), "network".to_owned(), rate));
            }
        }
        if figures.nodes > 1 {
            file.switches.push("network".to_owned());
            file.levels = figures.level_names(1);
            file.domains = vec![DomainFile { id: "cluster".to_owned(), level: file.levels[0].clone(), members: names }];
        }
        let at = if figures.nodes > 1 { "network" } else { "node0" };
        file.storage = figures.storage.map(|rate| StorageFile { at: at.to_owned(), gb_s: gb_s(rate) });
        Ok(file)
    }

    /// Adds this host, its parts and its links to a network file under a name of its own.
    pub fn add_to(&self, file: &mut FabricFile, name: &str, gpu_type: &str, joining: Joining) {
        file.hosts.push(self.node(name, joining, gpu_type));
        file.switches.extend(self.inner.iter().map(|inner| format!("{name}:{inner}")));
        let link = |&(a, b, rate)| self.link(name, a, b, rate);
        file.links.extend(self.links.iter().map(link));
    }

    fn adapter_rates(&self, figures: &Figures) -> Result<Vec<(Part, KilobytesPerSecond)>, Problem> {
        let missing = |message: &str| Problem::new(Code::T09, "--nic-gb-s", message);
        if self.adapters.is_empty() {
            // Nothing is known of where an adapter would sit: one for the whole host.
            let rate =
                figures.nic.ok_or_else(|| missing("the input names no network adapter; give the host's rate."))?;
            return Ok(vec![(Part::Hub, rate)]);
        }
        let rate = |&(part, rate): &(Part, Option<KilobytesPerSecond>)| {
            let known = rate.or(figures.nic).map(|rate| (part, rate));
            known.ok_or_else(|| missing("the input says not how fast its network adapters are."))
        };
        self.adapters.iter().map(rate).collect()
    }

    fn node(&self, name: &str, joining: Joining, gpu_type: &str) -> NodeFile {
        let index = |gpu: usize| i64::try_from(gpu).unwrap_or(i64::MAX);
        let islands = islands(&self.joined, &self.switches, joining);
        let islands: Vec<Vec<i64>> = islands.into_iter().map(|gpus| gpus.into_iter().map(index).collect()).collect();
        let mut node = node(name, gpu_type, index(self.switches.len()));
        node.islands = Some(islands).filter(|islands| islands.len() > 1);
        node
    }

    fn link(&self, host: &str, a: Part, b: Part, rate: KilobytesPerSecond) -> LinkFile {
        link_of(self.name(host, a), self.name(host, b), rate)
    }

    fn name(&self, host: &str, part: Part) -> String {
        match part {
            Part::Hub => host.to_owned(),
            Part::Gpu(gpu) => format!("{host}/{gpu}"),
            Part::Inner(inner) => format!("{host}:{}", self.inner[inner]),
        }
    }
}

/// A network file of one kind of GPU with nothing in it.
pub fn empty(gpu_type: GpuTypeFile) -> FabricFile {
    empty_of(vec![gpu_type])
}

/// A network file of several kinds of GPU with nothing in it.
pub fn empty_of(gpu_types: Vec<GpuTypeFile>) -> FabricFile {
    FabricFile {
        format: FabricFile::FORMAT.to_owned(),
        gpu_types,
        levels: Vec::new(),
        hosts: Vec::new(),
        switches: Vec::new(),
        links: Vec::new(),
        domains: Vec::new(),
        storage: None,
    }
}

/// A host about which nothing but its GPUs is known.
pub fn node(id: &str, gpu_type: &str, gpus: i64) -> NodeFile {
    NodeFile {
        id: id.to_owned(),
        parent: None,
        uplink_gb_s: None,
        gpu_type: gpu_type.to_owned(),
        gpus,
        islands: None,
        island_uplink_gb_s: None,
        base_w: 0.into(),
        power: PowerMode::default(),
        wake_j: 0.into(),
        wake_ticks: 0,
        on_at_start: false,
        resources: std::collections::BTreeMap::new(),
        unavailable: Vec::new(),
        power_cap_w: None,
    }
}

/// One link.
pub fn link_of(a: String, b: String, rate: KilobytesPerSecond) -> LinkFile {
    LinkFile { a, b, gb_s: gb_s(rate), count: 1 }
}

/// A rate as the file writes it.
pub fn gb_s(rate: KilobytesPerSecond) -> Decimal {
    Decimal::from_scaled(i128::from(rate.0), 6)
}
