//! Tests of the model through its public interface: documents in, problems, violations and values out.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where it stopped")]

mod damaged;
mod fuzz;
mod generate;
mod large;
mod limits;
mod mutation;
mod permutation;
mod placeable;
mod profile;
mod round_trip;
mod scale;
mod support;
mod sweep_against_oracle;
mod worked_examples;
