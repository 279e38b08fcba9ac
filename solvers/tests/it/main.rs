//! Integration tests of the solvers: all of them, by the registry, against each other and against the checker.

mod conflict;
mod conformance;
mod differential;
mod metamorphic;
mod support;
mod worked_examples;
