//! Integer program with nodes counted by class: certified gaps where naming every node is out of reach.
//!
//! # Idea
//! Most of the difficulty of the full program is which of many equal nodes a gang runs on. Counting nodes of a class
//! removes it: one column for each job, option and start, one integer for each class and tick. The optimum is a lower
//! bound, stronger than any linear one, since jobs, powered nodes and makespan are whole. What the Lagrangian bound
//! excludes, given a good plan, is left out: a few hundred columns instead of thousands.
//!
//! # Model
//! That of the crate's relaxation (see [`crate::bounds::lagrange`]) with whole jobs and nodes. It has a start in the
//! best known plan's objective: anything not better is cut off.
//!
//! # Complexity
//! Columns: jobs x options x starts that are left; rows: (GPU types + shared capacities + node classes) x ticks.
//!
//! # Limits
//! Ragged ends of the jobs on one node, and gangs that fit the sum of the nodes but no single one, are not seen. Minimum
//! gaps between two powered intervals of one node are left out.
//!
//! # References
//! A. A. B. Pritsker, L. J. Watters, P. M. Wolfe, "Multiproject scheduling with limited resources: a zero-one
//! programming approach", 1969.
//! J. N. Hooker, "Planning and scheduling by logic-based Benders decomposition", 2007 (relaxed master problem).

mod build;
#[cfg(test)]
mod tests;

use rats_domain::ids::Table;
use rats_domain::instance::Instance;
use rats_domain::solver::Control;
use rats_domain::units::Ticks;

use self::build::{Built, Excluded, build};
use crate::bounds::lagrange::Ascent;
use crate::local_search::realize::Picture;
use crate::milp::{Asked, Beat, Verdict, proved_bound, solve_program};

/// Most columns of a program.
const COLUMN_LIMIT: usize = 60_000;
/// Gap at which a program counts as solved: the last digits of the relaxed optimum decide nothing.
const LEAST_GAP: f64 = 1e-5;

/// What counting nodes proves and suggests.
#[derive(Clone, Debug)]
pub struct Counted {
    /// A lower bound on every plan.
    pub bound: f64,
    /// The best solution of the relaxed model that was found.
    pub picture: Option<Picture>,
}

/// Bounds an instance from below, given the objective of a known plan; `None` if the program would be too large or
/// there is no time.
pub fn counted(
    instance: &Instance,
    ascent: &Ascent<'_>,
    value: Option<f64>,
    threads: usize,
    gap: f64,
    control: &dyn Control,
) -> Option<Counted> {
    let model = ascent.model;
    let mut excluded = Excluded::new();
    if let Some(value) = value {
        ascent.excluded(value, |job, option, start| {
            excluded.insert((job, option, usize::try_from(start.0).unwrap_or(0)));
        });
    }
    if model.choices() - excluded.len() > COLUMN_LIMIT {
        return None;
    }
    let built = build(&instance.name, model, &excluded);
    let beat = value.map(|value| Beat::new(instance, value, gap));
    let below = beat.map(|beat| built.program.scaled(beat.threshold));
    let ask = |presolve| Asked { presolve, threads, gap: gap.max(LEAST_GAP), below };
    let mut answer = solve_program(&built.program, &ask(true), control);
    if answer.verdict == Verdict::Infeasible {
        // Presolve has been wrong about infeasibility before: ask again without it.
        answer = solve_program(&built.program, &ask(false), control);
    }
    // Choices that were left out, or cut off, are in no plan better than the known one.
    let most = beat.map_or(f64::INFINITY, |beat| beat.proved);
    let bound = match answer.verdict {
        Verdict::Infeasible => most,
        _ => proved_bound(instance, &built.program, &answer)?.min(most),
    };
    let picture = answer.values.map(|values| picture(instance, &built, &values));
    Some(Counted { bound: bound.max(ascent.bound().min(value.unwrap_or(f64::INFINITY))), picture })
}

fn picture(instance: &Instance, built: &Built, values: &[f64]) -> Picture {
    let mut picture = Table::filled(None, instance.jobs.len());
    for &(job, option, start, column) in &built.choices {
        if values[column.0] > 0.5 {
            picture[job] = Some((option, Ticks(i64::try_from(start).unwrap_or(i64::MAX))));
        }
    }
    picture
}
