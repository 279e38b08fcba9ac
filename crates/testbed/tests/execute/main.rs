//! Whole runs of the real `rats-testbed` binary over simulated GPUs.

#![expect(clippy::unwrap_used, reason = "a test that fails here has failed")]

#[path = "../simulated/mod.rs"]
mod simulated;

mod crash;
mod failures;
mod faults;
mod lab;
mod refusals;
mod replan;
mod whole;
