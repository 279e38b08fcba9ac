//! A validated network: vertices by number, links with integer capacities, and the tree of declared areas.

mod areas;
mod validate;

use std::collections::BTreeMap;

use rats_domain::format::FabricFile;
use rats_domain::problem::Problems;
use rats_domain::units::KilobytesPerSecond;

use super::flow::Flow;

/// A network whose layers form one tree.
#[derive(Clone, Debug)]
pub struct Network {
    /// What it was made from.
    pub file: FabricFile,
    /// Everything that has GPUs below it, parents before children; the first is the root.
    pub areas: Vec<Area>,
    /// The number of GPUs; they are the first vertices.
    pub gpus: usize,
    /// The vertex of the shared store; it follows the GPUs.
    pub storage: Option<usize>,
    vertices: BTreeMap<String, usize>,
    links: Vec<(usize, usize, KilobytesPerSecond)>,
}

/// What becomes a domain of the tree.
#[derive(Clone, Debug)]
pub struct Area {
    /// What it is.
    pub kind: AreaKind,
    /// Its name for people.
    pub name: String,
    /// The area around it; `None` for the root.
    pub parent: Option<usize>,
    /// The areas directly in it.
    pub children: Vec<usize>,
    /// Its GPUs, in file order.
    pub gpus: Vec<usize>,
}

/// What an area is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AreaKind {
    /// The declared domain of this position.
    Domain(usize),
    /// The host of this position.
    Host(usize),
    /// An island of a host, by positions.
    Island(usize, usize),
}

impl Network {
    /// Validates a network.
    ///
    /// # Errors
    /// Every problem of the file, with code and place.
    pub fn new(file: FabricFile) -> Result<Self, Problems> {
        validate::network(file)
    }

    /// The network ready for cuts; GPUs, then the shared store, are the terminals.
    pub fn flow(&self) -> Flow {
        let terminals = self.gpus + usize::from(self.storage.is_some());
        Flow::new(self.vertices.len() + usize::from(self.storage.is_some()), terminals, &self.links)
    }
}
