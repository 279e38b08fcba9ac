//! From values of columns to a schedule.

use rats_domain::ids::JobId;
use rats_domain::instance::Instance;
use rats_domain::interval::{Interval, union};
use rats_domain::schedule::{Placement, Schedule};
use rats_domain::units::Ticks;

use super::build::{Built, Start};
use super::linear::{ColumnId, Sense};

/// The schedule that the values choose: rounded to discrete choices, GPUs handed out in order of start.
pub(super) fn schedule(instance: &Instance, built: &Built, values: &[f64]) -> Schedule {
    let mut chosen: Vec<&Start> = instance.jobs.ids().filter_map(|job| chosen(built, job, values)).collect();
    chosen.sort_by_key(|start| (start.ticks.from, start.placing));
    let mut free_from: Vec<Vec<Ticks>> =
        built.space.cells.iter().map(|cell| vec![Ticks::ZERO; cell.gpus.len()]).collect();
    let mut schedule = Schedule::fixed_only(instance);
    for start in chosen {
        let placing = &built.placings[start.placing];
        let mut gpus = Vec::new();
        for &(cell, count) in &placing.pattern.0 {
            let free = (0..free_from[cell].len()).filter(|&at| free_from[cell][at] <= start.ticks.from);
            let taken: Vec<usize> = free.take(count as usize).collect();
            for at in taken {
                free_from[cell][at] = start.ticks.to;
                gpus.push(built.space.cells[cell].gpus[at]);
            }
        }
        gpus.sort_unstable();
        schedule.placements[placing.job] = Some(Placement { option: placing.option, start: start.ticks.from, gpus });
    }
    for (node, on) in built.power.on.iter() {
        if let Some(on) = on {
            schedule.power.insert(node, powered(on, values));
        }
    }
    schedule
}

fn chosen<'b>(built: &'b Built, job: JobId, values: &[f64]) -> Option<&'b Start> {
    let starts = &built.starts[built.by_job[job].clone()];
    starts
        .iter()
        .filter(|start| values[start.column.0] > 0.5)
        .max_by(|a, b| values[a.column.0].total_cmp(&values[b.column.0]))
}

fn powered(on: &[ColumnId], values: &[f64]) -> Vec<Interval> {
    let ticks = (0..).zip(on).filter(|(_, column)| values[column.0] > 0.5);
    union(ticks.map(|(tick, _)| Interval::new(Ticks(tick), Ticks(tick + 1))).collect())
}

/// Forbids exactly these choices of starts and powered ticks.
pub(super) fn cut_off(built: &mut Built, values: &[f64]) {
    let starts = built.starts.iter().map(|start| start.column).filter(|column| values[column.0] > 0.5);
    let mut terms: Vec<(ColumnId, f64)> = starts.map(|column| (column, 1.0)).collect();
    let on = built.power.on.values().flatten().flatten();
    terms.extend(on.map(|&column| (column, if values[column.0] > 0.5 { 1.0 } else { -1.0 })));
    let ones = terms.iter().filter(|(_, sign)| *sign > 0.0).count();
    let name = format!("cut_{}", built.program.rows.len());
    built.program.row(name, terms, Sense::AtMost, ones as f64 - 1.0);
}
