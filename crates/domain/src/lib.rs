//! The RATS model: instances, plans, their evaluation and their rules.
//!
//! This crate knows no solver, no clock, no thread, no file system and no GPU: bytes and values in, values out.
//! `docs/model.md` states the model in words.

pub mod check;
pub mod codes;
pub mod decimal;
pub mod demand;
pub mod evaluate;
pub mod format;
pub mod ids;
pub mod instance;
pub mod interval;
pub mod objective;
pub mod oracle;
pub mod pairs;
pub mod power;
pub mod problem;
pub mod profile;
pub mod random;
pub mod schedule;
pub mod solver;
pub mod steps;
pub mod topology;
pub mod units;
