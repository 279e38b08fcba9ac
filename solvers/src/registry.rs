//! All solvers by name. Command line, conformance tests and benchmarks iterate this list.

use rats_domain::solver::Solver;

#[cfg(feature = "highs")]
use crate::auto::Auto;
use crate::edf_max::EdfMax;
use crate::edl::Edl;
use crate::exhaustive::Exhaustive;
use crate::fifo_max::FifoMax;
use crate::greedy_energy::GreedyEnergy;
#[cfg(feature = "highs")]
use crate::lns_milp::LnsMilp;
use crate::local_search::LocalSearch;
use crate::lwf::Lwf;
#[cfg(feature = "highs")]
use crate::milp::Milp;

/// Every solver.
pub static ALL: &[&dyn Solver] = &[
    #[cfg(feature = "highs")]
    &Auto,
    &FifoMax,
    &EdfMax,
    &Edl,
    &Lwf,
    &GreedyEnergy,
    &LocalSearch,
    #[cfg(feature = "highs")]
    &LnsMilp,
    &Exhaustive,
    #[cfg(feature = "highs")]
    &Milp,
];

/// The solver of this name.
pub fn find(id: &str) -> Option<&'static dyn Solver> {
    ALL.iter().copied().find(|solver| solver.about().id == id)
}
