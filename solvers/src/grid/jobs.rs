//! Jobs as the grid sees them: windows with chains, delay costs, options in order of what they cost at least.

use rats_domain::ids::{Id, JobId};
use rats_domain::instance::{Instance, Job};

use super::frame::{JobFrame, OptionFrame, position};

/// The frames of all jobs.
pub(super) fn frames(instance: &Instance) -> Vec<JobFrame> {
    let mut jobs: Vec<JobFrame> = instance.jobs.iter().map(|(id, job)| frame(instance, id, job)).collect();
    for at in 0..jobs.len() {
        for &before in &instance.jobs[JobId::from_position(at)].after {
            let before = before.position();
            if jobs[at].fixed || jobs[before].fixed {
                bound_by_fixed(instance, &mut jobs, before, at);
            } else {
                jobs[before].after.push(at);
                jobs[at].before.push(before);
            }
        }
    }
    narrow_windows(&mut jobs);
    jobs
}

fn frame(instance: &Instance, id: JobId, job: &Job) -> JobFrame {
    let tick_s = instance.tick.0 as f64;
    let mut options: Vec<OptionFrame> = job
        .options
        .iter()
        .filter(|(_, option)| option.placeable && instance.cluster.memory_fits(option))
        .map(|(id, option)| OptionFrame::new(instance, id, option))
        .collect();
    let beyond = |option: &OptionFrame| option.energy.saturating_mul(i64::try_from(option.ticks).unwrap_or(i64::MAX));
    options.sort_by_key(|option| (beyond(option), option.ticks, option.id));
    JobFrame {
        id,
        fixed: job.fixed.is_some(),
        release: position(job.release),
        deadline: position(instance.latest_end(id)),
        due: job.due.map(position),
        per_tick: instance.objective.completion * job.weight * tick_s,
        per_late_tick: if job.due.is_some() { instance.objective.tardiness * job.weight * tick_s } else { 0.0 },
        before: Vec::new(),
        after: Vec::new(),
        options,
    }
}

/// Precedence with a fixed job is a bound of the other's window.
fn bound_by_fixed(instance: &Instance, jobs: &mut [JobFrame], before: usize, after: usize) {
    let fixed = |at: usize| instance.jobs[JobId::from_position(at)].fixed.as_ref();
    if let Some(placement) = fixed(before) {
        let end = position(placement.end(instance, JobId::from_position(before)));
        jobs[after].release = jobs[after].release.max(end);
    } else if let Some(placement) = fixed(after) {
        jobs[before].deadline = jobs[before].deadline.min(position(placement.start));
    }
}

/// Narrows windows along chains by the shortest options.
fn narrow_windows(jobs: &mut [JobFrame]) {
    let shortest = |job: &JobFrame| job.options.iter().map(|option| option.ticks).min().unwrap_or(0);
    let mut changed = true;
    while changed {
        changed = false;
        for at in 0..jobs.len() {
            for before in jobs[at].before.clone() {
                let release = jobs[before].release + shortest(&jobs[before]);
                let deadline = jobs[at].deadline.saturating_sub(shortest(&jobs[at]));
                changed |= release > jobs[at].release || deadline < jobs[before].deadline;
                jobs[at].release = jobs[at].release.max(release);
                jobs[before].deadline = jobs[before].deadline.min(deadline);
            }
        }
    }
}

impl JobFrame {
    /// What its end adds to the objective.
    pub fn delay(&self, end: usize) -> f64 {
        let late = self.due.map_or(0, |due| end.saturating_sub(due));
        self.per_tick * end as f64 + self.per_late_tick * late as f64
    }

    /// What one tick of delay adds at most.
    pub fn weight_per_tick(&self) -> f64 {
        self.per_tick + self.per_late_tick
    }
}
