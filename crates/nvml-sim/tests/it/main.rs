//! The library and the stand-in training process from outside.

#![expect(clippy::unwrap_used, reason = "tests")]

mod abi;
mod common;
mod processes;
