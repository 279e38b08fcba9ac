//! Networks as they are, reduced to the tree of domains that the model knows.
//!
//! # Idea
//! A network of GPUs, switches and links with declared layers (which hosts form a rack, which racks a cluster) becomes
//! a tree: one domain for each island, host and declared domain. The uplink of a domain is the minimum cut between its
//! GPUs and everything else that can be talked to, found by a maximum flow, so several uplinks, multi-rooted fabrics
//! and direct GPU links all come out as one capacity.
//!
//! # Limits
//! A cut says what one domain can move at once. The tree also lets all domains use theirs at the same time, which the
//! links between may not carry; [`overstate`] says by how much. Data is taken to split freely over all paths.
//!
//! # References
//! Ford and Fulkerson, "Maximal flow through a network", 1956. Dinitz, "Algorithm for solution of a problem of maximum
//! flow in a network with power estimation", 1970. Duffield et al., "A flexible model for resource management in
//! virtual private networks", 1999 (the hose model, which is what a tree of uplinks states).

pub mod flow;
pub mod host;
pub mod islands;
pub mod network;
pub mod overstate;
pub mod rates;
pub mod reduce;
pub mod source;
#[cfg(test)]
mod tests;

pub use reduce::{Options, Reduction, reduce};
