//! From values of columns to a schedule, and back.

use rats_domain::evaluate::evaluate;
use rats_domain::ids::{JobId, NodeId};
use rats_domain::instance::Instance;
use rats_domain::interval::{Interval, union};
use rats_domain::schedule::{Placement, Schedule};
use rats_domain::units::Ticks;

use super::build::{Built, Start};
use super::cells::Pattern;
use super::linear::{ColumnId, Sense};
use super::placings::Placing;

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

/// The values that state a schedule, or one that is at least as good; `None` if a placement has no column for it.
pub(super) fn start(instance: &Instance, built: &Built, schedule: &Schedule) -> Option<Vec<f64>> {
    let mut values: Vec<f64> = built.program.columns.iter().map(|column| column.lower).collect();
    for (job, placement) in schedule.placed().filter(|&(job, _)| instance.jobs[job].fixed.is_none()) {
        let pattern = Pattern::of(&placement.gpus, &built.space.cells);
        let stated = Placing::new(instance, &built.space, job, placement.option, pattern);
        let start = built.starts[built.by_job[job].clone()].iter().find(|start| {
            let placing = &built.placings[start.placing];
            let alike = start.ticks.from == placement.start && placing.pattern == stated.pattern;
            alike && (placing.option == placement.option || placing.dominates(instance, &stated))
        })?;
        values[start.column.0] = 1.0;
    }
    let evaluation = evaluate(instance, schedule);
    for (node, intervals) in evaluation.powered.iter() {
        state_power(instance, built, node, intervals, &mut values);
    }
    if let Some(active) = &built.power.active {
        for (tick, column) in (0..).zip(active) {
            values[column.0] = f64::from(u8::from(Ticks(tick) < evaluation.terms.makespan));
        }
    }
    Some(values)
}

fn state_power(instance: &Instance, built: &Built, node: NodeId, intervals: &[Interval], values: &mut [f64]) {
    let (Some(on), Some(wake)) = (&built.power.on[node], &built.power.wake[node]) else { return };
    for interval in intervals {
        for tick in interval.from.0..interval.to.0 {
            if let Some(column) = usize::try_from(tick).ok().and_then(|tick| on.get(tick)) {
                values[column.0] = 1.0;
            }
        }
        let is_free = instance.cluster.nodes[node].on_at_start && interval.from == Ticks::ZERO;
        if let Some(column) = usize::try_from(interval.from.0).ok().and_then(|tick| wake.get(tick)).filter(|_| !is_free)
        {
            values[column.0] = 1.0;
        }
    }
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
