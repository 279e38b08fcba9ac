//! What tables of GPU pairs say about a host: NVLinks and how near two GPUs are on PCIe.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};
use rats_domain::units::KilobytesPerSecond;

use super::Figures;
use crate::host::{Host, Part};

/// More GPUs than any host has; guards time.
pub const MOST_GPUS: usize = 64;

/// How near two devices are, as `nvidia-smi topo -m` names it, near to far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Path {
    /// At most one PCIe switch between.
    Pix,
    /// Several PCIe switches, but no host bridge.
    Pxb,
    /// One host bridge.
    Phb,
    /// Several host bridges of one socket.
    Node,
    /// The link between sockets.
    Sys,
}

/// A table of GPU pairs.
#[derive(Clone, Debug, Default)]
pub struct Matrix {
    /// The number of GPUs.
    pub gpus: usize,
    /// NVLinks of each ordered pair, with the place that says so.
    pub nvlinks: BTreeMap<(usize, usize), (i64, String)>,
    /// How near pairs are, where it is known.
    pub paths: BTreeMap<(usize, usize), Path>,
    /// The socket of each GPU, where it is known.
    pub sockets: BTreeMap<usize, String>,
    /// How near each network adapter is to each GPU.
    pub adapters: Vec<BTreeMap<usize, Path>>,
}

impl Path {
    /// Reads `PIX`, `PXB`, `PHB`, `NODE` or `SYS`; NVIDIA's `PSB` is a `PXB`, the older `SOC` a `SYS`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "PIX" => Some(Self::Pix),
            "PXB" | "PSB" => Some(Self::Pxb),
            "PHB" => Some(Self::Phb),
            "NODE" => Some(Self::Node),
            "SYS" | "SOC" => Some(Self::Sys),
            _ => None,
        }
    }
}

impl Matrix {
    /// The host that the table describes. PCIe is left out where its rate is not given and nothing needs it.
    ///
    /// # Errors
    /// A table that is not symmetric, link counts that no GPU has, or a missing rate.
    pub fn host(&self, figures: &Figures) -> Result<Host, Problems> {
        self.symmetric()?;
        let mut host = Host { switches: vec![None; self.gpus], ..Host::default() };
        if let Some(rate) = figures.nvswitch {
            host.add_nvswitch(rate);
        } else if self.nvlinks.values().any(|(count, _)| *count > 0) {
            self.nvlink(&mut host, figures)?;
        }
        match figures.pcie {
            Some(rate) => self.pcie(&mut host, rate, figures.socket()),
            None if figures.nodes <= 1 && figures.storage.is_none() && connected(&host) => {}
            None => {
                let message = "PCIe joins GPUs or leads out of the host, but its rate is not in the table.";
                return Err(Problem::new(Code::T09, "--pcie-gb-s", message).into());
            }
        }
        Ok(host)
    }

    fn symmetric(&self) -> Result<(), Problems> {
        let mut problems = Vec::new();
        for (&(a, b), (count, place)) in &self.nvlinks {
            let back = self.nvlinks.get(&(b, a)).map(|(back, _)| *back);
            if back != Some(*count) {
                let back = back.map_or("nothing".to_owned(), |back| back.to_string());
                let message = format!("{count} links from GPU {a} to {b}, but {back} from {b} to {a}.");
                problems.push(Problem::new(Code::T11, place, message));
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
    }

    /// Adds NVLinks: pairwise, or over a switch where every pair shows more than pairwise links allow.
    fn nvlink(&self, host: &mut Host, figures: &Figures) -> Result<(), Problems> {
        let generation = figures.nvlink(None)?;
        let rate = |count: i64| KilobytesPerSecond(generation.link.0 * count);
        let mut problems = Vec::new();
        let total = |gpu: usize| -> i64 {
            self.nvlinks.iter().filter(|((a, _), _)| *a == gpu).map(|(_, (count, _))| count).sum()
        };
        let (first, place) = self.nvlinks.values().next().cloned().unwrap_or_default();
        let pairs = self.gpus * (self.gpus - 1);
        let alike = self.nvlinks.len() == pairs && self.nvlinks.values().all(|(count, _)| *count == first);
        if alike && total(0) > generation.links && first <= generation.links {
            host.add_nvswitch(rate(first));
            return Ok(());
        }
        for gpu in 0..self.gpus {
            if total(gpu) > generation.links {
                let message =
                    format!("GPU {gpu} has {} NVLinks, its generation at most {}.", total(gpu), generation.links);
                problems.push(Problem::new(Code::T11, &place, message));
            }
        }
        for (&(a, b), &(count, _)) in self.nvlinks.iter().filter(|((a, b), (count, _))| a < b && *count > 0) {
            host.links.push((Part::Gpu(a), Part::Gpu(b), rate(count)));
            host.joined.insert((a, b), rate(count));
        }
        if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
    }

    /// Adds the PCIe tree that the paths suggest: switches of GPUs that are at most `PXB` apart, sockets of those at
    /// most `NODE` apart or of one NUMA node.
    fn pcie(&self, host: &mut Host, rate: KilobytesPerSecond, socket: KilobytesPerSecond) {
        let near = |limit: Path| self.paths.iter().filter(move |(_, path)| **path <= limit).map(|(&pair, _)| pair);
        let by_switch = groups(self.gpus, near(Path::Pxb));
        let same_numa = (0..self.gpus)
            .flat_map(|a| (0..a).map(move |b| (a, b)))
            .filter(|(a, b)| self.sockets.get(a).is_some_and(|socket| self.sockets.get(b) == Some(socket)));
        let by_socket = groups(self.gpus, near(Path::Node).chain(same_numa));
        let mut sockets = BTreeMap::new();
        let alone = by_socket.iter().all(|&group| group == by_socket[0]);
        let mut switches = BTreeMap::new();
        for gpu in 0..self.gpus {
            let cpu = *sockets.entry(by_socket[gpu]).or_insert_with(|| {
                if alone {
                    return Part::Hub;
                }
                let cpu = host.add("cpu");
                host.links.push((cpu, Part::Hub, socket));
                cpu
            });
            let shared = by_switch.iter().filter(|&&group| group == by_switch[gpu]).count() > 1;
            let adapter = self.adapters.iter().any(|adapter| adapter.get(&gpu).is_some_and(|path| *path <= Path::Pxb));
            if !shared && !adapter {
                host.links.push((Part::Gpu(gpu), cpu, rate));
                continue;
            }
            let switch = *switches.entry(by_switch[gpu]).or_insert_with(|| {
                let switch = host.add("pcie");
                host.links.push((switch, cpu, rate));
                switch
            });
            host.links.push((Part::Gpu(gpu), switch, rate));
            if let Part::Inner(inner) = switch {
                host.switches[gpu] = Some(inner);
            }
        }
        for adapter in &self.adapters {
            let nearest = adapter.iter().min_by_key(|&(gpu, path)| (*path, *gpu));
            let part = match nearest {
                Some((gpu, path)) if *path <= Path::Pxb => switches.get(&by_switch[*gpu]),
                Some((gpu, path)) if *path <= Path::Node => sockets.get(&by_socket[*gpu]),
                _ => None,
            };
            let nic = host.add("nic");
            host.links.push((nic, part.copied().unwrap_or(Part::Hub), rate));
            host.adapters.push((nic, None));
        }
    }
}

/// Whether NVLink joins all GPUs, directly or along paths.
fn connected(host: &Host) -> bool {
    let groups = groups(host.switches.len(), host.joined.keys().copied());
    groups.iter().all(|&group| group == groups[0])
}

/// The group of each GPU, named by its first, where the pairs hold groups together.
fn groups(gpus: usize, pairs: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
    let mut sets = petgraph::unionfind::UnionFind::<usize>::new(gpus);
    for (a, b) in pairs {
        sets.union(a, b);
    }
    let of: Vec<_> = (0..gpus).map(|gpu| sets.find(gpu)).collect();
    of.iter().map(|set| of.iter().position(|other| other == set).unwrap_or(0)).collect()
}
