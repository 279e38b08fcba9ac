//! Exhaustive search: the oracle of every other exact solver.
//!
//! # Idea
//! Enumerate, for each job in file order, every option, every set of GPUs and every start (no left-shifting: under
//! tariffs and caps waiting can pay). At each leaf choose when sleep nodes are powered: by the default rule where it is
//! optimal, else by enumerating every set of powered ticks.
//!
//! # Model
//! Rules V2-V4 and V12 decide which placements a job has; V5-V9 cut branches, since more jobs never lessen a load; V10,
//! V11 and V13 are judged at the leaf. Powered ticks of different nodes are chosen independently unless a cap of a
//! switch or the cluster, or a budget beside a price, couples them.
//!
//! # Complexity
//! Product over jobs of their placements, times 2^horizon for every sleep node if their power is coupled; refused above
//! [`LEAF_LIMIT`] by count, before anything is tried.
//!
//! # Limits
//! Tiny instances only: about five jobs on four GPUs over twelve ticks.
//!
//! # References
//! None needed.

mod candidates;
mod leaf;
mod nodes;
mod search;

use rats_domain::instance::Instance;
use rats_domain::solver::{About, Control, Outcome, Request, Solver};

use self::search::Search;

/// Most leaves that are enumerated.
pub const LEAF_LIMIT: f64 = 1e8;
/// Most cells (capacities x ticks) of the search state.
const STATE_LIMIT: i64 = 50_000_000;

/// The solver.
#[derive(Clone, Copy, Debug)]
pub struct Exhaustive;

impl Solver for Exhaustive {
    fn about(&self) -> About {
        About {
            id: "exhaustive",
            summary: "tries every option, GPU set, start and powered tick; tiny instances only",
            exact: true,
            baseline: false,
        }
    }

    fn refuses(&self, instance: &Instance) -> Option<String> {
        let leaves = leaf_count(instance);
        if leaves > LEAF_LIMIT {
            return Some(format!("exhaustive search would have to try {leaves:.1e} plans, more than {LEAF_LIMIT:.0e}"));
        }
        let rows = 8 + instance.cluster.topology.domains().len() + instance.cluster.resources.len();
        let cells = instance.horizon.0.saturating_mul(i64::try_from(rows).unwrap_or(i64::MAX));
        (cells > STATE_LIMIT).then(|| format!("exhaustive search keeps {cells} cells, more than {STATE_LIMIT}"))
    }

    fn solve(&self, instance: &Instance, _request: &Request, control: &dyn Control) -> Outcome {
        Search::new(instance, control).run()
    }
}

/// How many plans the search may have to look at.
pub fn leaf_count(instance: &Instance) -> f64 {
    let placements: f64 = instance.jobs.ids().map(|job| candidates::count(instance, job)).product();
    placements * nodes::coupled_choices(instance)
}
