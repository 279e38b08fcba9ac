//! The verdict on a run: what was predicted, what was measured, and where the difference comes from.
//!
//! Energy here is that of the GPUs while jobs run on them: NVML sees nothing else of a node. What a plan says of idle GPUs
//! and of nodes is stated apart.

mod causes;
mod measure;
mod profile;
mod slow;
mod text;

use std::collections::BTreeMap;

use rats_models::statistics;
use serde::Serialize;

use self::causes::causes;
pub use self::causes::{Causes, Parts};
use self::measure::Facts;
pub use self::measure::{EnergySource, Figures, JobMeasured};
pub use self::profile::{profiles, usable};
pub use self::slow::Slow;
use self::slow::slow;
pub use self::text::text;
use crate::trace::{JobState, Trace};

/// The verdict on a run.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// Jobs that succeeded, in the order in which they ended.
    pub jobs: Vec<JobVerdict>,
    /// Where other jobs stand.
    pub unfinished: BTreeMap<String, JobState>,
    /// Attempts that failed.
    pub failures: usize,
    /// Sums over the jobs that succeeded.
    pub total: Total,
    /// Every GPU.
    pub gpus: Vec<GpuVerdict>,
    /// GPUs that are slower than others.
    pub slow: Vec<Slow>,
    /// Whether the last line of the trace was cut short.
    pub is_torn: bool,
}

/// The verdict on one job.
#[derive(Clone, Debug, Serialize)]
pub struct JobVerdict {
    /// Plan and measurement.
    #[serde(flatten)]
    pub facts: JobMeasured,
    /// Why they differ.
    pub causes: Causes,
}

/// Sums over the jobs that succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Total {
    /// Energy of running jobs as planned, J.
    pub planned_j: f64,
    /// As measured, J.
    pub measured_j: f64,
    /// Why they differ, J.
    pub causes_j: Parts,
    /// Last planned end, s of plan time.
    pub planned_end_s: f64,
    /// Last measured end, s.
    pub measured_end_s: f64,
    /// Jobs with a deadline, and those that missed it.
    pub deadlines: (usize, usize),
    /// Energy of all GPUs over the whole trace by integrated power, idle ones included, J.
    pub all_gpus_j: Option<f64>,
    /// What the first plan says of idle GPUs, nodes and wake-ups, J: not measured.
    pub not_measured_j: Option<f64>,
}

/// How far a run was off its plan, as shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation<'v> {
    /// Energy of the jobs that succeeded.
    pub energy: f64,
    /// The last end.
    pub last_end: f64,
    /// The job whose time is furthest off, and by how much.
    pub job: Option<(&'v str, f64)>,
}

impl Deviation<'_> {
    /// Whether all of it is at most this share; a run without jobs is not.
    pub fn is_within(&self, share: f64) -> bool {
        let all = [self.energy, self.last_end, self.job.map_or(f64::NAN, |job| job.1)];
        all.iter().all(|off| off.abs() <= share)
    }
}

/// What a GPU did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GpuVerdict {
    /// Its name in the plan.
    pub gpu: String,
    /// Its UUID.
    pub uuid: String,
    /// Number of its jobs that succeeded.
    pub jobs: usize,
    /// Median over its jobs of time / planned time.
    pub time_ratio: Option<f64>,
    /// Median over its jobs of power / planned power.
    pub power_ratio: Option<f64>,
}

impl Verdict {
    /// The verdict on a trace.
    pub fn of(trace: &Trace) -> Self {
        let facts = Facts::of(trace);
        let slow = slow(&facts.jobs);
        let gpus = facts.gpus.iter().map(|(gpu, uuid)| of_gpu(gpu, uuid, &facts.jobs)).collect();
        let jobs: Vec<JobVerdict> =
            facts.jobs.iter().map(|job| JobVerdict { facts: job.clone(), causes: causes(job, &slow) }).collect();
        let total = total(&facts, &jobs);
        let Facts { unfinished, failures, .. } = facts;
        Self { jobs, unfinished, failures, total, gpus, slow, is_torn: trace.is_torn }
    }

    /// Whether every job succeeded and no deadline was missed.
    pub fn is_good(&self) -> bool {
        self.unfinished.is_empty() && self.total.deadlines.1 == 0
    }

    /// What differs from the plan, as shares: energy of all jobs, last end, and the time of the job furthest off.
    pub fn deviation(&self) -> Deviation<'_> {
        let total = &self.total;
        let time = |job: &JobVerdict| job.facts.measured.run_s / job.facts.planned.run_s - 1.0;
        let furthest = self.jobs.iter().max_by(|a, b| time(a).abs().total_cmp(&time(b).abs()));
        Deviation {
            energy: total.measured_j / total.planned_j - 1.0,
            last_end: total.measured_end_s / total.planned_end_s - 1.0,
            job: furthest.map(|job| (job.facts.job.as_str(), time(job))),
        }
    }
}

fn of_gpu(gpu: &str, uuid: &str, jobs: &[JobMeasured]) -> GpuVerdict {
    let own: Vec<&JobMeasured> = jobs.iter().filter(|job| job.gpus.iter().any(|name| name == gpu)).collect();
    let median = |ratio: fn(&JobMeasured) -> f64| {
        let ratios: Vec<f64> = own.iter().map(|job| ratio(job)).collect();
        statistics::median(&ratios).filter(|value| value.is_finite())
    };
    GpuVerdict {
        gpu: gpu.to_owned(),
        uuid: uuid.to_owned(),
        jobs: own.len(),
        time_ratio: median(|job| job.measured.run_s / job.planned.run_s),
        power_ratio: median(|job| job.measured.power_w / job.planned.power_w),
    }
}

fn total(facts: &Facts, jobs: &[JobVerdict]) -> Total {
    let mut total = Total::default();
    for JobVerdict { facts: job, causes } in jobs {
        total.planned_j += job.planned.energy_j;
        total.measured_j += job.measured.energy_j;
        total.causes_j.add(&causes.energy_j);
        total.planned_end_s = total.planned_end_s.max(job.planned.start_s + job.planned.run_s);
        total.measured_end_s = total.measured_end_s.max(job.measured.start_s + job.measured.run_s);
        if let Some(before) = job.before_deadline_s {
            total.deadlines.0 += 1;
            total.deadlines.1 += usize::from(before < 0.0);
        }
    }
    let names: Vec<String> = facts.gpus.keys().cloned().collect();
    let rounds = &facts.readings.rounds;
    if let (Some((first, _)), Some((last, _))) = (rounds.first(), rounds.last()) {
        total.all_gpus_j = facts.readings.energy(&names, *first, *last);
    }
    total.not_measured_j = facts.plan_j.map(|(all, run)| all - run);
    total
}

#[cfg(test)]
mod tests;
