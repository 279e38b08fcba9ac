//! Real GPUs: what there is, what a workload does on it, and carrying a plan out; every GPU is left as it was found.

pub mod cli;
pub mod custody;
pub mod discover;
pub mod doctor;
pub mod engine;
pub mod execute;
pub mod gpu;
pub mod inventory;
pub mod process;
pub mod profile;
pub mod trace;
pub mod verdict;
