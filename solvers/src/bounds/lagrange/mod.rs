//! Lagrangian relaxation of an aggregated time-indexed model: as strong as its linear program, at a fraction of the cost.
//!
//! # Idea
//! Give every GPU-tick of a type (and every unit of a shared capacity) a price. Jobs then choose option and start one by
//! one, nodes choose when to be powered one by one, and the sum is a lower bound for any prices. A good plan's
//! objective and the prices together tell which choices no better plan can make ([`Ascent::excluded`]).
//!
//! # Model
//! * Rows by tick: GPUs of a type, supplied by powered nodes (V6, V12); resources and uplinks summed over the nodes of a
//!   type (V7, V8); the store (V9); power under the caps of the cluster, of switches that cover it, and of the nodes of a
//!   type (V10). One row for the energy budget (V11). Precedence by tick: a job has started by t only if the one before
//!   it has ended by t (V5). Releases, deadlines and chains cut the starts (V4).
//! * A sleep node is a dynamic program over ticks, so that `power` stated by a plan is part of the model: wake-ups cost,
//!   `wake_ticks` and `on_at_start` hold (V13), fixed jobs force their nodes on.
//! * The makespan is a choice of its own, made last: for each one the cheapest choices of all jobs that end by then, and
//!   always-on nodes powered up to it.
//!
//! The best prices give the value of the time-indexed linear program in which nodes of a type are counted together, since
//! both subproblems have integral polytopes. They are found by the volume algorithm.
//!
//! # Complexity
//! A step takes time linear in options x starts, plus rows x ticks; about 10 us on 10 jobs and 40 ms on 10,000.
//!
//! # Limits
//! Fractions of a node, and gangs that fit no single node at the right time, are not seen: ragged ends of the jobs on a
//! node are free here. Horizons beyond [`Relaxation::new`]'s limit are refused.
//!
//! # References
//! M. L. Fisher, "The Lagrangian relaxation method for solving integer programming problems", 1981.
//! F. Barahona, R. Anbil, "The volume algorithm", 2000.
//! N. Christofides, R. Alvarez-Valdes, J. M. Tamarit, "Project scheduling with resource constraints", 1987.

mod ascent;
mod model;
mod nodes;
mod reduced;
mod rows;
#[cfg(test)]
mod tests;
mod value;

pub use ascent::Ascent;
pub use model::Relaxation;
