//! Solvers of the RATS model, behind one trait and one registry.
//!
//! A solver is one module named for its method and one line in [`registry`]. [`run()`] is the only way in which a
//! program should use one: it improves what the model promises (no job could start earlier for free), checks the
//! schedule with the checker of `rats_domain` and reports only what the checker confirms.

#[cfg(feature = "highs")]
pub mod aggregate;
#[cfg(feature = "highs")]
pub mod auto;
pub mod bounds;
pub mod cells;
#[cfg(feature = "highs")]
pub mod conflict;
pub mod dispatch;
pub mod edf_max;
pub mod edl;
pub mod exhaustive;
pub mod fifo_max;
pub mod greedy_energy;
pub mod grid;
pub mod insertion;
mod judged;
pub mod left_shift;
#[cfg(feature = "highs")]
pub mod lns_milp;
pub mod local_search;
pub mod lwf;
#[cfg(feature = "highs")]
pub mod milp;
pub mod places;
mod plain_power;
pub mod registry;
mod relaxation;
mod run;
#[cfg(feature = "highs")]
mod slice;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod timetable;
mod windows;

pub use run::{PROOF_GAP, Solved, SolverFault, Status, run};
