//! Rows of the rules about jobs and shared capacities: one start per job, V5, V6, V7-V9; and the cost of delay.

use std::collections::BTreeMap;

use rats_domain::ids::JobId;
use rats_domain::instance::Instance;
use rats_domain::interval::Interval;
use rats_domain::units::Ticks;

use super::build::Built;
use super::linear::{ColumnId, Sense};
use super::power;
use rats_domain::demand::{Shared, capacity, demands};

/// The terms of rows that are indexed by something and a tick.
type Indexed<K> = BTreeMap<(K, i64), Vec<(ColumnId, f64)>>;

/// Adds all of them.
pub(super) fn all(instance: &Instance, built: &mut Built) {
    one_start(instance, built);
    precedence(instance, built);
    cells(instance, built);
    shared(instance, built);
}

fn one_start(instance: &Instance, built: &mut Built) {
    for job in instance.jobs.ids().filter(|&job| instance.jobs[job].fixed.is_none()) {
        let terms = built.starts[built.by_job[job].clone()].iter().map(|start| (start.column, 1.0)).collect();
        built.program.row(format!("one_j{job}"), terms, Sense::Equal, 1.0);
    }
}

/// V5: by the end of each tick, a job has started only if the one before it has ended by the start of that tick.
///
/// Where one of the two is fixed, the window of the other sees to it.
fn precedence(instance: &Instance, built: &mut Built) {
    let is_free = |job: JobId| instance.jobs[job].fixed.is_none();
    for (id, job) in instance.jobs.iter().filter(|&(id, _)| is_free(id)) {
        for &before in job.after.iter().filter(|&&before| is_free(before)) {
            between(built, before, id);
        }
    }
}

fn between(built: &mut Built, before: JobId, after: JobId) {
    let starts = |job: JobId| &built.starts[built.by_job[job].clone()];
    let mut ticks: Vec<Ticks> = starts(after).iter().map(|start| start.ticks.from).collect();
    ticks.sort_unstable();
    ticks.dedup();
    let mut new = Vec::new();
    for tick in ticks {
        let started = starts(after).iter().filter(|start| start.ticks.from <= tick).map(|start| (start.column, 1.0));
        let ended = starts(before).iter().filter(|start| start.ticks.to <= tick).map(|start| (start.column, -1.0));
        new.push((format!("after_j{before}_j{after}_t{tick}"), started.chain(ended).collect()));
    }
    for (name, terms) in new {
        built.program.row(name, terms, Sense::AtMost, 0.0);
    }
}

/// V6: no cell is overdrawn, and an unpowered one gives nothing.
///
/// The second half follows from other rows for whole numbers; for fractions it makes a node pay for every GPU-tick that
/// it gives (the energetic bound).
fn cells(instance: &Instance, built: &mut Built) {
    let mut terms: Indexed<usize> = BTreeMap::new();
    for start in &built.starts {
        for &(cell, count) in &built.placings[start.placing].pattern.0 {
            for tick in start.ticks.from.0..start.ticks.to.0 {
                terms.entry((cell, tick)).or_default().push((start.column, f64::from(count)));
            }
        }
    }
    for ((cell, tick), mut terms) in terms {
        let size = built.space.cells[cell].gpus.len() as f64;
        let powered = usize::try_from(tick)
            .ok()
            .and_then(|tick| power::gate_column(instance, &built.power, built.space.cells[cell].node, tick));
        terms.extend(powered.map(|column| (column, -size)));
        let limit = if powered.is_some() { 0.0 } else { size };
        built.program.row(format!("gpus_c{cell}_t{tick}"), terms, Sense::AtMost, limit);
    }
}

/// V7-V9, in units of the capacity.
fn shared(instance: &Instance, built: &mut Built) {
    let mut terms: Indexed<Shared> = BTreeMap::new();
    for start in &built.starts {
        for &(shared, demand) in &built.placings[start.placing].demands {
            for tick in start.ticks.from.0..start.ticks.to.0 {
                terms.entry((shared, tick)).or_default().push((start.column, demand as f64));
            }
        }
    }
    let taken = taken_by_fixed(instance);
    for ((shared, tick), mut terms) in terms {
        let Some(capacity) = capacity(instance, shared) else { continue };
        let taken = taken.get(&shared).map_or(0, |loads| {
            loads.iter().filter(|(ticks, _)| ticks.from.0 <= tick && tick < ticks.to.0).map(|&(_, load)| load).sum()
        });
        // Thousandths and kB/s become units and GB/s-like magnitudes; exact enough, since demands are integers.
        let unit = unit(shared);
        for (_, coefficient) in &mut terms {
            *coefficient /= unit;
        }
        let limit = (capacity - taken) as f64 / unit;
        built.program.row(format!("{}_t{tick}", name(shared)), terms, Sense::AtMost, limit);
    }
}

fn unit(shared: Shared) -> f64 {
    if matches!(shared, Shared::Resource(..)) { 1e3 } else { 1e6 }
}

fn name(shared: Shared) -> String {
    match shared {
        Shared::Resource(node, resource) => format!("resource_n{node}_r{resource}"),
        Shared::Uplink(domain) => format!("uplink_d{domain}"),
        Shared::Storage => "storage".to_owned(),
    }
}

fn taken_by_fixed(instance: &Instance) -> BTreeMap<Shared, Vec<(Interval, i64)>> {
    let mut taken: BTreeMap<Shared, Vec<(Interval, i64)>> = BTreeMap::new();
    for (id, job) in instance.jobs.iter() {
        let Some(fixed) = &job.fixed else { continue };
        for (shared, demand) in demands(instance, &job.options[fixed.option], &fixed.gpus) {
            taken.entry(shared).or_default().push((fixed.interval(instance, id), demand));
        }
    }
    taken
}

/// Completion and tardiness.
pub(super) fn delay_costs(instance: &Instance, built: &mut Built) {
    let tick_s = Ticks(1).seconds(instance.tick);
    let cost = |job: JobId, end: Ticks| {
        let job = &instance.jobs[job];
        let late = job.due.map_or(0, |due| (end - due).0.max(0)) as f64;
        let objective = &instance.objective;
        job.weight * tick_s * (objective.completion * end.0 as f64 + objective.tardiness * late)
    };
    for start in &built.starts {
        let job = built.placings[start.placing].job;
        built.program.add_cost(start.column, cost(job, start.ticks.to));
    }
    for (id, job) in instance.jobs.iter() {
        if let Some(fixed) = &job.fixed {
            built.program.constant += cost(id, fixed.end(instance, id));
        }
    }
}
