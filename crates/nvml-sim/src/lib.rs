//! The C interface of NVML over simulated GPUs: clocks, limits, power, energy and faults, shared between processes.
//!
//! Built as `libnvml_sim.so` it is loaded in place of `libnvidia-ml.so.1`; used as a Rust library it lets tests and the
//! stand-in training process [`job`] look behind the curtain. Both work on one state file, see [`shared`].

pub mod abi;
pub mod compose;
pub mod config;
pub mod configure;
pub mod error;
pub mod faults;
pub mod job;
pub mod pci;
pub mod process;
pub mod settings;
pub mod shared;
pub mod simulator;
pub mod state;
pub mod truth;
pub mod verify;
pub mod world;
