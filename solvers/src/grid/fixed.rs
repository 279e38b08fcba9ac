//! What fixed jobs take and cost.

use rats_domain::instance::Instance;
use rats_domain::schedule::Placement;

use super::frame::{Frame, OptionFrame, position};
use super::load::{Load, Loads};

/// The load and cost of all fixed jobs.
#[derive(Debug, Default)]
pub(super) struct Fixed {
    /// What they take, with the ticks.
    pub loads: Vec<(Loads, usize, usize)>,
    /// Energy beyond that of idle GPUs, mJ.
    pub energy: i64,
    /// Its price.
    pub cost: f64,
    /// What their ends add to the objective.
    pub delay: f64,
    /// The last of their ends.
    pub makespan: usize,
}

impl Fixed {
    pub fn new(frame: &Frame<'_>) -> Self {
        let mut fixed = Self::default();
        for job in &frame.jobs {
            let Some(placement) = &frame.instance.jobs[job.id].fixed else { continue };
            let option =
                OptionFrame::new(frame.instance, placement.option, frame.instance.option(job.id, placement.option));
            let end = position(placement.end(frame.instance, job.id));
            let (from, to) = (position(placement.start), end.min(frame.horizon));
            let pattern = pattern(frame, placement);
            fixed.energy += option.energy * i64::try_from(to.saturating_sub(from)).unwrap_or(i64::MAX);
            if let Some(tariff) = frame.tariff.as_ref().filter(|_| from < to) {
                fixed.cost += option.energy as f64 * tariff.sum(from, to);
            }
            fixed.delay += delay(frame.instance, job.id, placement);
            fixed.makespan = fixed.makespan.max(end);
            if from < to {
                let mut load = Load::default();
                load.of(frame, &option, &pattern);
                fixed.loads.push((load.into_loads(), from, to));
            }
        }
        fixed
    }
}

/// How many GPUs of each cell a placement takes.
pub(super) fn pattern(frame: &Frame<'_>, placement: &Placement) -> Vec<(usize, u32)> {
    let mut cells: Vec<usize> = placement.gpus.iter().map(|&gpu| frame.cell_of[gpu]).collect();
    cells.sort_unstable();
    let count = |same: &[usize]| (same[0], u32::try_from(same.len()).unwrap_or(u32::MAX));
    cells.chunk_by(|a, b| a == b).map(count).collect()
}

/// What a fixed job's end adds; it may lie before tick 0.
fn delay(instance: &Instance, job: rats_domain::ids::JobId, placement: &Placement) -> f64 {
    let end = placement.end(instance, job);
    let row = &instance.jobs[job];
    let late = row.due.map_or(0, |due| (end - due).0.max(0));
    let weight = row.weight * instance.tick.0 as f64;
    instance.objective.completion * weight * end.0 as f64 + instance.objective.tardiness * weight * late as f64
}

impl Loads {
    /// The nodes that a placement uses.
    pub fn nodes(&self) -> impl Iterator<Item = usize> + '_ {
        self.nodes.iter().map(|&(node, _)| node)
    }
}
