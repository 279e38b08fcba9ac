//! The cluster as a gang meets it: which spans there are, and what links and store leave for it.

use std::collections::BTreeMap;

use rats_domain::ids::{DomainId, GpuTypeId, Id, Table};
use rats_domain::instance::{Cluster, GpuType};
use rats_domain::topology::{Domain, DomainKind, Rank};
use rats_domain::units::{KilobytesPerSecond, Milliwatts};

use super::physics::Network;
use super::scenario::HardwareFile;

/// Latency of one hop where a scenario names none, s; assumed.
const LATENCY_S: [(Rank, f64); 2] = [(Rank::ISLAND, 1e-5), (Rank::NODE, 2e-5)];
/// The same through switches.
const SWITCH_LATENCY_S: f64 = 5e-5;

/// A cluster with what its GPUs can do.
pub struct Site<'c> {
    cluster: &'c Cluster,
    latency_s: BTreeMap<String, f64>,
    types: Vec<TypeSite>,
}

/// What belongs to one type of GPU.
struct TypeSite {
    hardware: HardwareFile,
    /// GPUs of its largest island and node.
    island: usize,
    node: usize,
    /// The most of its GPUs in one domain, and the narrowest link, by rank.
    spans: Vec<SpanSite>,
    /// The least uplink of its nodes, kB/s.
    node_uplink: f64,
}

#[derive(Clone, Copy)]
struct SpanSite {
    most: usize,
    link_kb_s: f64,
    behind: usize,
}

impl<'c> Site<'c> {
    /// Looks at a cluster.
    pub fn new(
        cluster: &'c Cluster,
        hardware: &BTreeMap<String, HardwareFile>,
        latency_s: BTreeMap<String, f64>,
    ) -> Self {
        let of_type = |(id, kind): (GpuTypeId, &GpuType)| {
            TypeSite::new(cluster, id, hardware.get(&kind.id).copied().unwrap_or_default())
        };
        let types = cluster.gpu_types.iter().map(of_type).collect();
        Self { cluster, latency_s, types }
    }

    /// The names of all spans, narrow to wide.
    pub fn spans(&self) -> impl Iterator<Item = (Rank, &str)> {
        let fixed = [(Rank::ISLAND, "island"), (Rank::NODE, "node")];
        let levels = (0_u16..).zip(&self.cluster.levels).map(|(position, name)| (Rank::level(position), name.as_str()));
        fixed.into_iter().chain(levels)
    }

    /// The type of this name.
    pub fn gpu_type(&self, id: &str) -> Option<GpuTypeId> {
        self.cluster.gpu_types.iter().find(|(_, kind)| kind.id == id).map(|(id, _)| id)
    }

    /// Power of a GPU that runs nothing.
    pub fn idle(&self, kind: GpuTypeId) -> Milliwatts {
        self.cluster.gpu_types[kind].idle
    }

    /// What a type can do.
    pub fn hardware(&self, kind: GpuTypeId) -> HardwareFile {
        self.types[kind.position()].hardware
    }

    /// The most GPUs of a type within one domain of a span.
    pub fn most_gpus(&self, kind: GpuTypeId, span: Rank) -> usize {
        self.types[kind.position()].spans[usize::from(span.0)].most
    }

    /// What a gang finds.
    pub fn network(&self, kind: GpuTypeId, span: (Rank, &str), gang: u32) -> Network {
        let site = &self.types[kind.position()];
        let SpanSite { link_kb_s, behind, .. } = site.spans[usize::from(span.0.0)];
        let nodes = (gang as usize).div_ceil(site.node.max(1));
        let store = self.cluster.storage.map_or(f64::INFINITY, |KilobytesPerSecond(rate)| rate as f64);
        Network {
            link_kb_s,
            behind_link: behind as f64,
            supply_kb_s: store.min(site.node_uplink * nodes as f64),
            latency_s: self.latency(span),
        }
    }

    fn latency(&self, (rank, name): (Rank, &str)) -> f64 {
        let assumed = LATENCY_S.iter().find(|(of, _)| *of == rank).map_or(SWITCH_LATENCY_S, |&(_, seconds)| seconds);
        self.latency_s.get(name).copied().unwrap_or(assumed)
    }
}

impl TypeSite {
    fn new(cluster: &Cluster, kind: GpuTypeId, hardware: HardwareFile) -> Self {
        let domains = cluster.topology.domains();
        let counts = counts(cluster, kind);
        let mut site = Self { hardware, island: 0, node: 0, spans: Vec::new(), node_uplink: f64::INFINITY };
        for (id, domain) in domains.iter().filter(|&(id, _)| counts[id] > 0) {
            match domain.kind {
                DomainKind::Island(..) => site.island = site.island.max(counts[id]),
                DomainKind::Node(_) => {
                    site.node = site.node.max(counts[id]);
                    site.node_uplink = site.node_uplink.min(uplink(domain));
                }
                _ => {}
            }
        }
        let of_span = |position: usize| {
            let span = Rank(u16::try_from(position).unwrap_or(u16::MAX));
            let inside = domains.iter().filter(|&(id, domain)| counts[id] > 0 && domain.rank <= span);
            let most = inside.map(|(id, _)| counts[id]).max().unwrap_or(0);
            let (link_kb_s, behind) = site.narrowest(cluster, &counts, span);
            SpanSite { most, link_kb_s, behind }
        };
        site.spans = (0..usize::from(Rank::NODE.0) + 1 + cluster.levels.len()).map(of_span).collect();
        site
    }

    /// The narrowest link strictly inside a domain not wider than the span, and how many GPUs lie behind it. The links
    /// of single GPUs lie inside every span; the GPUs of an island share them.
    fn narrowest(&self, cluster: &Cluster, counts: &Table<DomainId, usize>, span: Rank) -> (f64, usize) {
        let domains = cluster.topology.domains();
        let own = self.hardware.link_gb_s.map_or(f64::INFINITY, |rate| rate * 1e6);
        let mut found = (own, self.island);
        for (_, domain) in domains.iter().filter(|&(id, _)| counts[id] > 0) {
            let inside = domain.parent.is_some_and(|parent| domains[parent].rank <= span);
            let link = (uplink(domain), domain.gpus.len());
            if inside && (link.0 < found.0 || (link.0 <= found.0 && link.0.is_finite() && link.1 > found.1)) {
                found = link;
            }
        }
        found
    }
}

fn uplink(domain: &Domain) -> f64 {
    domain.uplink.map_or(f64::INFINITY, |KilobytesPerSecond(rate)| rate as f64)
}

/// GPUs of a type in every domain.
fn counts(cluster: &Cluster, kind: GpuTypeId) -> Table<DomainId, usize> {
    let mut counts = Table::filled(0, cluster.topology.domains().len());
    for node in cluster.nodes.ids().filter(|&node| cluster.nodes[node].gpu_type == kind) {
        for gpu in cluster.gpus_of(node) {
            for domain in cluster.topology.ancestors(cluster.topology.of_gpu(gpu)) {
                counts[domain] += 1;
            }
        }
    }
    counts
}
