//! The library and the stand-in training process from outside.

mod abi;
mod common;
mod processes;
