//! `rats profile` against simulated GPUs whose truth is known.

#![expect(clippy::unwrap_used, reason = "tests")]

mod ends;
mod interrupted;
mod job;
mod machine;
mod modes;
mod truth;
