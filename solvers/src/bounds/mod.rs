//! Lower bounds and proofs of infeasibility that need no solver.

use rats_domain::instance::Instance;

/// A proven lower bound on the objective of every valid plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The bound.
    pub value: f64,
    /// Name of the argument that gave it.
    pub name: &'static str,
}

/// The best bound that the cheap arguments give.
pub fn lower_bound(_instance: &Instance) -> Bound {
    Bound { value: 0.0, name: "trivial" }
}

/// Why no plan can be valid, where a cheap argument shows it.
pub fn infeasible(_instance: &Instance) -> Option<String> {
    None
}
