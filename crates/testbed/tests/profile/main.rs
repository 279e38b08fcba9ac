//! `rats profile` against simulated GPUs whose truth is known.

mod ends;
mod interrupted;
mod job;
mod machine;
mod modes;
mod truth;
