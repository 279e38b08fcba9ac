//! GPUs are left as they were found, whatever is killed or fails: through the real program over the simulated NVML.
//!
//! The process that holds GPUs is this test program itself, started again ([`holder`]); guardian, `restore` and `doctor`
//! are the product. The simulator says what is set on its GPUs.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where it stopped")]

#[path = "../simulated/mod.rs"]
mod simulated;

mod commands;
mod crash;
mod faults;
mod harness;
mod holder;
