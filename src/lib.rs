//! RATS plans deep-learning training jobs on GPU clusters for the least energy, money or time.
//!
//! This crate is the product around the model (`rats_domain`) and the solvers (`rats_solvers`): files in, files out,
//! and the command line. Every number that it shows comes from the evaluation of a plan, never from a solver.

pub mod baseline;
pub mod bench;
pub mod best_known;
pub mod build;
pub mod catalogue;
pub mod cli;
pub mod control;
pub mod document;
pub mod edl;
pub mod explain;
pub mod features;
pub mod frontier;
pub mod generate;
pub mod import;
pub mod io;
pub mod layout;
pub mod report;
