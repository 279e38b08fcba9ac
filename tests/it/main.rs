//! End to end: the real `rats` binary, through files.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod answers;
mod bench;
mod errors;
mod explain;
mod families;
mod frontier;
mod harness;
mod models;
mod pages;
mod solve;
mod structure;
mod testbed;
