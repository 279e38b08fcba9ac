//! Minimum cuts of a network by maximum flow.

use petgraph::algo::dinics;
use petgraph::graph::{DiGraph, EdgeIndex, NodeIndex};

use rats_domain::units::KilobytesPerSecond;

/// More than any link and less than any sum of links: all links together stay below.
const UNLIMITED: u64 = 1 << 60;

/// Links in both directions, with a source and a sink that can be joined to any terminal.
///
/// Complexity of a cut: Dinitz, O(V^2 E) at worst, a few breadth-first searches on the networks that exist.
#[derive(Clone, Debug)]
pub struct Flow {
    graph: DiGraph<(), u64>,
    source: NodeIndex,
    sink: NodeIndex,
    /// Edges from the source to, and to the sink from, each terminal.
    taps: Vec<(EdgeIndex, EdgeIndex)>,
    /// The links at each terminal with their capacities.
    links: Vec<Vec<(EdgeIndex, u64)>>,
}

/// What a terminal does in one cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It sends.
    From,
    /// It receives.
    To,
    /// It takes no part, and passes nothing on either.
    Out,
}

impl Flow {
    /// A network of `vertices`, the first `terminals` of which send and receive, with symmetric links.
    pub fn new(vertices: usize, terminals: usize, links: &[(usize, usize, KilobytesPerSecond)]) -> Self {
        let mut graph = DiGraph::new();
        let at: Vec<_> = (0..vertices).map(|_| graph.add_node(())).collect();
        let (source, sink) = (graph.add_node(()), graph.add_node(()));
        let mut flow = Self { graph, source, sink, taps: Vec::new(), links: vec![Vec::new(); terminals] };
        for &(a, b, capacity) in links {
            let capacity = u64::try_from(capacity.0).unwrap_or(0);
            for (from, to) in [(a, b), (b, a)] {
                let edge = flow.graph.add_edge(at[from], at[to], capacity);
                for terminal in [from, to].into_iter().filter(|&end| end < terminals) {
                    flow.links[terminal].push((edge, capacity));
                }
            }
        }
        for &terminal in &at[..terminals] {
            let tap = (flow.graph.add_edge(source, terminal, 0), flow.graph.add_edge(terminal, sink, 0));
            flow.taps.push(tap);
        }
        flow
    }

    /// The capacity of the minimum cut between the terminals that send and those that receive.
    pub fn cut(&mut self, side: impl Fn(usize) -> Side) -> KilobytesPerSecond {
        // Those that take no part come last: a link is closed if either of its ends is out.
        let (out, part): (Vec<_>, Vec<_>) = (0..self.taps.len()).partition(|&terminal| side(terminal) == Side::Out);
        for terminal in part.into_iter().chain(out) {
            self.set(terminal, side(terminal));
        }
        let (value, _) = dinics(&self.graph, self.source, self.sink);
        KilobytesPerSecond(i64::try_from(value).unwrap_or(i64::MAX))
    }

    fn set(&mut self, terminal: usize, side: Side) {
        let (from, to) = self.taps[terminal];
        self.graph[from] = if side == Side::From { UNLIMITED } else { 0 };
        self.graph[to] = if side == Side::To { UNLIMITED } else { 0 };
        for &(edge, capacity) in &self.links[terminal] {
            self.graph[edge] = if side == Side::Out { 0 } else { capacity };
        }
    }
}
