//! From an instance to its program: which columns there are, and the order in which rows are added.

use rats_domain::ids::{JobId, NodeId, OptionId, Table};
use rats_domain::instance::Instance;
use rats_domain::interval::Interval;
use rats_domain::units::{GpuCount, Ticks};

use super::COLUMN_LIMIT;
use super::linear::{ColumnId, Program};
use super::power::{self, PowerColumns};
use super::rows;
use crate::cells::{Cell, Pattern, cells, patterns};
use crate::demand::{Shared, by_node, demands};

/// Most patterns of one option.
const PATTERN_LIMIT: usize = 20_000;

/// A job with an option and a pattern.
#[derive(Clone, Debug)]
pub(super) struct Placing {
    pub job: JobId,
    pub option: OptionId,
    pub pattern: Pattern,
    pub demands: Vec<(Shared, i64)>,
    pub nodes: Vec<(NodeId, GpuCount)>,
}

/// The column of a placing at a start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// Position in [`Built::placings`].
    pub placing: usize,
    pub ticks: Interval,
    pub column: ColumnId,
}

/// A program with what its columns mean.
#[derive(Clone, Debug)]
pub(super) struct Built {
    pub program: Program,
    pub cells: Vec<Cell>,
    pub placings: Vec<Placing>,
    pub starts: Vec<Start>,
    /// The starts of each job; none for fixed jobs.
    pub by_job: Table<JobId, std::ops::Range<usize>>,
    pub power: PowerColumns,
}

/// What came of building.
pub(super) enum Build {
    Program(Box<Built>),
    TooLarge(String),
    Infeasible(String),
}

/// The number of start columns.
///
/// # Errors
/// The program would be too large; in words.
pub(super) fn size(instance: &Instance) -> Result<usize, String> {
    let too_large = |what: &str| format!("the mixed-integer program would have more than {what}");
    let cells = cells(instance);
    let mut columns: usize = 0;
    for (id, job) in instance.jobs.iter().filter(|(_, job)| job.fixed.is_none()) {
        for option in job.options.values() {
            let starts = (instance.latest_end(id) - option.ticks - job.release).0 + 1;
            let starts = usize::try_from(starts.max(0)).unwrap_or(usize::MAX);
            if starts == 0 {
                continue;
            }
            let patterns = patterns(instance, &cells, option, PATTERN_LIMIT)
                .ok_or_else(|| too_large(&format!("{PATTERN_LIMIT} placements of one option")))?;
            columns = columns.saturating_add(starts.saturating_mul(patterns.len()));
            if columns > COLUMN_LIMIT {
                return Err(too_large(&format!("{COLUMN_LIMIT} columns")));
            }
        }
    }
    let on_columns =
        power::ticks(instance).saturating_mul(i64::try_from(instance.cluster.nodes.len()).unwrap_or(i64::MAX));
    if on_columns > i64::try_from(COLUMN_LIMIT).unwrap_or(i64::MAX) {
        return Err(too_large(&format!("{COLUMN_LIMIT} node-ticks")));
    }
    Ok(columns)
}

/// Builds the program.
pub(super) fn build(instance: &Instance) -> Build {
    if let Err(reason) = size(instance) {
        return Build::TooLarge(reason);
    }
    if let Some(reason) = power::fixed_beyond_reach(instance) {
        return Build::Infeasible(reason);
    }
    let mut built = Built {
        program: Program { name: instance.name.clone(), scale: 1.0, ..Program::default() },
        cells: cells(instance),
        placings: Vec::new(),
        starts: Vec::new(),
        by_job: Table::new(),
        power: PowerColumns::default(),
    };
    for job in instance.jobs.ids() {
        let from = built.starts.len();
        if instance.jobs[job].fixed.is_none() {
            add_starts(instance, job, &mut built);
            if built.starts.len() == from {
                let reason = "has no option with a placement that fits its window and the available GPUs";
                return Build::Infeasible(format!("job `{}` {reason}", instance.jobs[job].id));
            }
        }
        built.by_job.push(from..built.starts.len());
    }
    built.power = power::columns(instance, &mut built.program, &built.placings);
    rows::all(instance, &mut built);
    power::rows(instance, &mut built);
    power::costs(instance, &mut built);
    rows::delay_costs(instance, &mut built);
    built.program.set_scale();
    Build::Program(Box::new(built))
}

fn add_starts(instance: &Instance, id: JobId, built: &mut Built) {
    let job = &instance.jobs[id];
    let last_end = instance.latest_end(id).min(Ticks(power::ticks(instance)));
    for (option_id, option) in job.options.iter() {
        for pattern in patterns(instance, &built.cells, option, PATTERN_LIMIT).unwrap_or_default() {
            let gpus = pattern.example(&built.cells);
            let demands: Vec<_> = demands(instance, option, &gpus).into_iter().collect();
            if demands
                .iter()
                .any(|&(shared, demand)| crate::demand::capacity(instance, shared).is_some_and(|c| demand > c))
            {
                continue;
            }
            let nodes = by_node(instance, &gpus).into_iter().collect();
            let placing = built.placings.len();
            let before = built.starts.len();
            let mut start = job.release;
            while start + option.ticks <= last_end {
                let ticks = Interval::new(start, start + option.ticks);
                if is_free(&built.cells, &pattern, ticks) {
                    let name = format!("x_j{id}_o{option_id}_p{placing}_t{start}");
                    let column = built.program.column(name, 1.0, true);
                    built.starts.push(Start { placing, ticks, column });
                }
                start += Ticks(1);
            }
            if built.starts.len() > before {
                built.placings.push(Placing { job: id, option: option_id, pattern, demands, nodes });
            }
        }
    }
}

fn is_free(cells: &[Cell], pattern: &Pattern, ticks: Interval) -> bool {
    pattern.0.iter().all(|&(cell, _)| !cells[cell].blocked.iter().any(|blocked| blocked.overlaps(ticks)))
}
