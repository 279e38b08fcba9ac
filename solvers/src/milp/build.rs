//! From an instance to its program: which columns there are, and the order in which rows are added.

use rats_domain::ids::{JobId, Table};
use rats_domain::instance::Instance;
use rats_domain::interval::Interval;
use rats_domain::units::Ticks;

use super::candidates::Candidates;
use super::linear::{ColumnId, Program};
use super::placings::{self, Placing, Placings, Space};
use super::power::{self, PowerColumns};
use super::rows;
use super::{COLUMN_LIMIT, NoProgram};
use crate::cells::{Cell, Pattern};

/// The column of a placing at a start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// Position in [`Built::placings`].
    pub placing: usize,
    pub ticks: Interval,
    pub column: ColumnId,
}

/// A program with what its columns mean.
#[derive(Clone, Debug, Default)]
pub(super) struct Built {
    pub program: Program,
    pub space: Space,
    pub placings: Vec<Placing>,
    pub starts: Vec<Start>,
    /// The starts of each job; none for fixed jobs.
    pub by_job: Table<JobId, std::ops::Range<usize>>,
    pub power: PowerColumns,
}

/// How much of the instance goes into the program.
#[derive(Clone, Copy)]
pub(super) enum Extent<'c> {
    /// Every placement that keeps the rules by itself.
    Whole,
    /// What a best plan can do with, of the candidates if there are any.
    Reduced(Option<&'c Candidates>),
}

impl<'c> Extent<'c> {
    pub fn is_reduced(self) -> bool {
        matches!(self, Self::Reduced(_))
    }

    fn candidates(self) -> Option<&'c Candidates> {
        if let Self::Reduced(candidates) = self { candidates } else { None }
    }
}

/// Where and how jobs can be placed, unless the program would be too large.
///
/// # Errors
/// What there would be too much of.
pub(super) fn prepare(instance: &Instance, extent: Extent<'_>) -> Result<(Space, Placings), String> {
    let too_large = |what: &str| format!("the mixed-integer program would have more than {COLUMN_LIMIT} {what}");
    let nodes = i64::try_from(instance.cluster.nodes.len()).unwrap_or(i64::MAX);
    if power::ticks(instance).saturating_mul(nodes) > COLUMN_LIMIT {
        return Err(too_large("node-ticks"));
    }
    if placings::at_least(instance) > COLUMN_LIMIT {
        return Err(too_large("placements"));
    }
    let space = Space::new(instance, extent.is_reduced());
    let placings = Placings::new(instance, &space, extent.is_reduced())?;
    if placings.starts(instance) > COLUMN_LIMIT {
        return Err(too_large("columns"));
    }
    Ok((space, placings))
}

/// Builds the program.
///
/// # Errors
/// Why there is none.
pub(super) fn build(instance: &Instance, extent: Extent<'_>) -> Result<Built, NoProgram> {
    if let Some(reason) = power::fixed_beyond_reach(instance) {
        return Err(NoProgram::Infeasible(reason));
    }
    let (space, Placings { of_job, windows }) = prepare(instance, extent).map_err(NoProgram::TooLarge)?;
    let mut built = Built {
        program: Program { name: instance.name.clone(), scale: 1.0, ..Program::default() },
        space,
        placings: Vec::new(),
        starts: Vec::new(),
        by_job: Table::new(),
        power: PowerColumns::default(),
    };
    for (job, placings) in instance.jobs.ids().zip(of_job.values()) {
        let from = built.starts.len();
        for placing in placings {
            add_starts(instance, placing, windows[job], extent.candidates(), &mut built);
        }
        built.by_job.push(from..built.starts.len());
        if instance.jobs[job].fixed.is_none() && built.starts.len() == from {
            let reason = "has no option with a placement that fits its window and the available GPUs";
            return Err(NoProgram::Infeasible(format!("job `{}` {reason}", instance.jobs[job].id)));
        }
    }
    built.power = power::columns(instance, &mut built.program, &built.placings);
    rows::all(instance, &mut built);
    power::rows(instance, &mut built);
    power::costs(instance, &mut built);
    rows::delay_costs(instance, &mut built);
    built.program.set_scale();
    Ok(built)
}

fn add_starts(
    instance: &Instance,
    placing: &Placing,
    window: Interval,
    candidates: Option<&Candidates>,
    built: &mut Built,
) {
    let Placing { job, option, .. } = *placing;
    let length = instance.option(job, option).ticks;
    let number = built.placings.len();
    for from in window.from.0..=(window.to - length).0 {
        let ticks = Interval::new(Ticks(from), Ticks(from) + length);
        let allowed = candidates.is_none_or(|candidates| candidates.allows(job, option, ticks.from));
        if allowed && is_free(&built.space.cells, &placing.pattern, ticks) {
            let name = format!("x_j{job}_o{option}_p{number}_t{from}");
            let column = built.program.column(name, 1.0, true);
            built.starts.push(Start { placing: number, ticks, column });
        }
    }
    if built.starts.last().is_some_and(|last| last.placing == number) {
        built.placings.push(placing.clone());
    }
}

fn is_free(cells: &[Cell], pattern: &Pattern, ticks: Interval) -> bool {
    pattern.0.iter().all(|&(cell, _)| !cells[cell].blocked.iter().any(|blocked| blocked.overlaps(ticks)))
}
