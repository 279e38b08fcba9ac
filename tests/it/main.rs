//! End to end: the real `rats` binary, through files.

mod answers;
mod errors;
mod explain;
mod harness;
mod pages;
mod solve;
