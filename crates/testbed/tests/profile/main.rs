//! `rats profile` against simulated GPUs whose truth is known.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "../simulated/mod.rs"]
mod simulated;

mod choice;
mod ends;
mod interrupted;
mod job;
mod machine;
mod modes;
mod truth;
