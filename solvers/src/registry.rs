//! All solvers by name. Command line, conformance tests and benchmarks iterate this list.

use rats_domain::solver::Solver;

/// Every solver.
pub static ALL: &[&dyn Solver] = &[];

/// The solver of this name.
pub fn find(id: &str) -> Option<&'static dyn Solver> {
    ALL.iter().copied().find(|solver| solver.about().id == id)
}
