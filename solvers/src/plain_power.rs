//! Leaves powered intervals to the default rule wherever stating them gains nothing.
//!
//! Exact solvers state the powered ticks of every node. A plan reads better, and can be executed with more freedom,
//! where it states only those that the default rule would get wrong.

use rats_domain::instance::Instance;
use rats_domain::schedule::Schedule;

use crate::judged::valid_objective;

/// Relative difference of objectives that is taken for none.
const NOISE: f64 = 1e-12;

/// The same placements with as few stated nodes as the objective and the rules allow.
pub fn plain_power(instance: &Instance, schedule: Schedule) -> Schedule {
    let Some(objective) = valid_objective(instance, &schedule) else { return schedule };
    let is_as_good = |candidate: &Schedule| {
        valid_objective(instance, candidate).is_some_and(|value| value <= objective + NOISE * objective.abs())
    };
    let mut plain = schedule;
    for node in plain.power.keys().copied().collect::<Vec<_>>() {
        let mut candidate = plain.clone();
        candidate.power.remove(&node);
        if is_as_good(&candidate) {
            plain = candidate;
        }
    }
    plain
}
