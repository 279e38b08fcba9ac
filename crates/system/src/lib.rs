//! The machine under RATS: the one place that reads the clock, and files that are written whole or not at all.

pub mod clock;
pub mod files;
