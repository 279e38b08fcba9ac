//! The instances of a frontier: the same problem under a limit, with another objective.

use rats_domain::decimal::Decimal;
use rats_domain::format::{InstanceFile, TermFile};
use rats_domain::instance::Instance;
use rats_domain::problem::Problems;

use super::Against;

/// What is asked of one solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The least of what is limited.
    Least,
    /// The least of what is minimized, under a limit in ticks or mJ.
    Within(Option<i128>),
}

/// The instance of one solve; `aside` is the number of decimals of energy's weight beside cost or tardiness.
///
/// # Errors
/// The instance would not be valid.
pub fn derived(file: &InstanceFile, against: Against, goal: Goal, aside: u32) -> Result<Instance, Problems> {
    let term = |name: &str, weight: Decimal| TermFile { term: name.to_owned(), weight };
    let one = || Decimal::from(1);
    let mut file = file.clone();
    file.objective = match (against, goal) {
        (Against::Makespan, Goal::Least) => vec![term("makespan", one())],
        (Against::Makespan, Goal::Within(_)) | (_, Goal::Least) => vec![term("energy", one())],
        (_, Goal::Within(_)) => vec![term(against.name(), one()), term("energy", Decimal::from_scaled(1, aside))],
    };
    if let Goal::Within(Some(limit)) = goal {
        if against == Against::Makespan {
            // A plan that does nothing ends at tick 0, and a horizon is at least 1.
            file.horizon = file.horizon.min(i64::try_from(limit).unwrap_or(i64::MAX)).max(1);
        } else {
            let given = file.energy_budget_j.and_then(|budget| budget.scaled(3)).unwrap_or(i128::MAX);
            file.energy_budget_j = Some(Decimal::from_scaled(given.min(limit), 3));
        }
    }
    Ok(Instance::from_file(&file)?.instance)
}
