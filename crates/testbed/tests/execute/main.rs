//! Whole runs of the real `rats-testbed` binary over simulated GPUs.

mod crash;
mod failures;
mod lab;
mod refusals;
mod replan;
mod whole;
