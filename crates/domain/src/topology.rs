//! The tree of domains: GPU < island < node < switches, with lowest common ancestors and routes.
//!
//! Every GPU, island, node and switch is a domain. A domain's rank orders levels from narrow to wide: GPU 0, island 1,
//! node 2, the k-th switch level 3 + k. The tree lives in a petgraph graph (child -> parent); queries that solvers ask
//! millions of times are answered from tables made once.

use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex};

use crate::ids::{DomainId, GpuId, Id, NodeId, SwitchId, Table};
use crate::units::KilobytesPerSecond;

/// How wide a domain is: GPU < island < node < switch levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(pub u16);

impl Rank {
    /// A single GPU.
    pub const GPU: Self = Self(0);
    /// GPUs that share NVLink or one PCIe switch.
    pub const ISLAND: Self = Self(1);
    /// One machine.
    pub const NODE: Self = Self(2);

    /// The `position`-th switch level, narrow to wide.
    pub fn level(position: u16) -> Self {
        Self(Self::NODE.0 + 1 + position)
    }
}

/// What a domain is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DomainKind {
    /// A switch with everything below it.
    Switch(SwitchId),
    /// A node.
    Node(NodeId),
    /// The island of this position within a node.
    Island(NodeId, u32),
    /// A single GPU.
    Gpu(GpuId),
}

/// One domain of the tree.
#[derive(Clone, Debug)]
pub struct Domain {
    /// What it is.
    pub kind: DomainKind,
    /// How wide it is.
    pub rank: Rank,
    /// The domain above; `None` for the root.
    pub parent: Option<DomainId>,
    /// Capacity towards the parent, per direction; `None` is unlimited.
    pub uplink: Option<KilobytesPerSecond>,
    /// Its GPUs in file order.
    pub gpus: Vec<GpuId>,
}

/// The tree of all domains of a cluster.
#[derive(Clone, Debug)]
pub struct Topology {
    graph: DiGraph<DomainId, ()>,
    domains: Table<DomainId, Domain>,
    gpu_domains: Table<GpuId, DomainId>,
    node_domains: Table<NodeId, DomainId>,
    switch_domains: Table<SwitchId, DomainId>,
    /// Domains with an uplink above each GPU, narrow to wide.
    uplinks: Table<GpuId, Vec<DomainId>>,
    by_width: Vec<DomainId>,
}

/// A domain to be added, parents before children.
pub(crate) struct NewDomain {
    pub kind: DomainKind,
    pub rank: Rank,
    pub parent: Option<DomainId>,
    pub uplink: Option<KilobytesPerSecond>,
}

impl Topology {
    /// Builds the tree from domains listed parents before children, GPUs in file order.
    pub(crate) fn new(new_domains: impl IntoIterator<Item = NewDomain>) -> Self {
        let mut topology = Self {
            graph: DiGraph::new(),
            domains: Table::new(),
            gpu_domains: Table::new(),
            node_domains: Table::new(),
            switch_domains: Table::new(),
            uplinks: Table::new(),
            by_width: Vec::new(),
        };
        let mut switches = Vec::new();
        for new in new_domains {
            let id = topology.add(&new);
            match new.kind {
                DomainKind::Gpu(_) => {
                    topology.gpu_domains.push(id);
                }
                DomainKind::Node(_) => {
                    topology.node_domains.push(id);
                }
                DomainKind::Switch(switch) => switches.push((switch, id)),
                DomainKind::Island(..) => {}
            }
        }
        switches.sort_unstable();
        topology.switch_domains = switches.into_iter().map(|(_, id)| id).collect();
        topology.index_gpus();
        topology
    }

    fn add(&mut self, new: &NewDomain) -> DomainId {
        let id = self.domains.push(Domain {
            kind: new.kind,
            rank: new.rank,
            parent: new.parent,
            uplink: new.uplink,
            gpus: Vec::new(),
        });
        let vertex = self.graph.add_node(id);
        if let Some(parent) = new.parent {
            self.graph.add_edge(vertex, NodeIndex::new(parent.position()), ());
        }
        id
    }

    fn index_gpus(&mut self) {
        for (gpu, domain) in self.gpu_domains.iter() {
            let mut uplinks = Vec::new();
            let mut at = Some(*domain);
            while let Some(id) = at {
                self.domains[id].gpus.push(gpu);
                if self.domains[id].uplink.is_some() {
                    uplinks.push(id);
                }
                at = self.domains[id].parent;
            }
            self.uplinks.push(uplinks);
        }
        let mut by_width: Vec<_> = self.domains.ids().collect();
        by_width.sort_by_key(|&id| (self.domains[id].rank, self.file_position(id)));
        self.by_width = by_width;
    }

    fn file_position(&self, id: DomainId) -> (usize, usize) {
        match self.domains[id].kind {
            DomainKind::Switch(switch) => (switch.position(), 0),
            DomainKind::Node(node) => (node.position(), 0),
            DomainKind::Island(node, island) => (node.position(), island as usize),
            DomainKind::Gpu(gpu) => (gpu.position(), 0),
        }
    }

    /// All domains by id.
    pub fn domains(&self) -> &Table<DomainId, Domain> {
        &self.domains
    }

    /// The domain of this id.
    pub fn domain(&self, id: DomainId) -> &Domain {
        &self.domains[id]
    }

    /// All domains, narrow to wide, within a level in file order.
    pub fn by_width(&self) -> &[DomainId] {
        &self.by_width
    }

    /// The domain that is this GPU.
    pub fn of_gpu(&self, gpu: GpuId) -> DomainId {
        self.gpu_domains[gpu]
    }

    /// The domain that is this node.
    pub fn of_node(&self, node: NodeId) -> DomainId {
        self.node_domains[node]
    }

    /// The domain that is this switch.
    pub fn of_switch(&self, switch: SwitchId) -> DomainId {
        self.switch_domains[switch]
    }

    /// The number of GPUs.
    pub fn gpu_count(&self) -> usize {
        self.gpu_domains.len()
    }

    /// The widest domains that are not wider than `rank`; they share no GPU and hold every gang of that span.
    pub fn widest_within(&self, rank: Rank) -> impl Iterator<Item = &Domain> + '_ {
        let is_widest = move |domain: &&Domain| {
            domain.rank <= rank && domain.parent.is_none_or(|parent| self.domains[parent].rank > rank)
        };
        self.domains.values().filter(is_widest)
    }

    /// The domains directly below.
    pub fn children(&self, id: DomainId) -> impl Iterator<Item = DomainId> + '_ {
        self.graph.neighbors_directed(NodeIndex::new(id.position()), Direction::Incoming).map(|v| self.graph[v])
    }

    /// The domain itself and all above it, narrow to wide.
    pub fn ancestors(&self, id: DomainId) -> impl Iterator<Item = DomainId> + '_ {
        std::iter::successors(Some(id), |&at| self.domains[at].parent)
    }

    /// The domains with an uplink that hold this GPU, narrow to wide.
    pub fn uplinks_above(&self, gpu: GpuId) -> &[DomainId] {
        &self.uplinks[gpu]
    }

    /// The narrowest domain that contains both.
    pub fn lowest_common_ancestor(&self, a: DomainId, b: DomainId) -> DomainId {
        let (mut a, mut b) = (a, b);
        while a != b {
            // Ranks grow strictly towards the root, so the narrower of two different domains cannot contain the other.
            let (narrow, wide) = if self.domains[a].rank <= self.domains[b].rank { (a, b) } else { (b, a) };
            match self.domains[narrow].parent {
                Some(parent) => (a, b) = (parent, wide),
                None => return narrow,
            }
        }
        a
    }

    /// The narrowest domain that contains all these GPUs; `None` without GPUs.
    pub fn narrowest(&self, gpus: &[GpuId]) -> Option<DomainId> {
        let domains = gpus.iter().map(|&gpu| self.gpu_domains[gpu]);
        domains.reduce(|a, b| self.lowest_common_ancestor(a, b))
    }

    /// The domains whose uplinks lie between two GPUs: up from `a` to the common ancestor, then down to `b`.
    pub fn route(&self, a: GpuId, b: GpuId) -> Vec<DomainId> {
        let top = self.lowest_common_ancestor(self.of_gpu(a), self.of_gpu(b));
        let up = self.ancestors(self.of_gpu(a)).take_while(|&id| id != top);
        let mut down: Vec<_> = self.ancestors(self.of_gpu(b)).take_while(|&id| id != top).collect();
        down.reverse();
        up.chain(down).collect()
    }
}
