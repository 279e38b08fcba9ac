//! A plan that is being carried out, with all that belongs to it.

use std::collections::BTreeMap;

use rats_domain::format::{InstanceFile, PointFile};
use rats_domain::ids::{GpuId, Id, JobId};
use rats_domain::instance::JobOption;

use super::Request;
use super::resume::Past;
use super::work::Work;
use crate::engine::{Engine, Moment, Policy, State};
use crate::trace::{Planned, PlannedJob};

/// One plan: the first, or one made on the way.
#[derive(Debug)]
pub(super) struct Leg {
    pub engine: Engine,
    pub file: InstanceFile,
    /// What each job that may still be started is started with.
    pub work: BTreeMap<JobId, Work>,
    /// Seconds of plan time at which this plan's tick 0 lies.
    pub origin_s: f64,
}

impl Leg {
    /// The plan as it was asked for, without what is done.
    pub fn first(request: &Request, work: BTreeMap<JobId, Work>, past: &Past) -> Self {
        let mut engine = Engine::new(request.instance.clone(), request.plan.clone(), policy(request));
        for (id, job) in request.instance.jobs.iter() {
            if past.is_done(&job.id) {
                engine.restore(id, State::Done { since: Moment(0), at: Moment(0) });
            }
        }
        Self { engine, file: request.file.clone(), work, origin_s: 0.0 }
    }

    /// The moment of the plan at this plan time, s.
    pub fn moment(&self, plan_s: f64) -> Moment {
        #[expect(clippy::cast_possible_truncation, reason = "saturates; plan times are far below 2^63 ms")]
        Moment(((plan_s - self.origin_s) * 1e3).floor() as i64)
    }

    pub fn name(&self, job: JobId) -> String {
        self.engine.instance().jobs[job].id.clone()
    }

    pub fn gpu_name(&self, gpu: GpuId) -> String {
        self.engine.instance().cluster.gpu_name(gpu)
    }

    pub fn work(&self, job: JobId) -> Option<Work> {
        self.work.get(&job).cloned()
    }

    /// The option that a job's placement uses; of a job without one, its first.
    pub fn option(&self, job: JobId) -> &JobOption {
        let option = self.engine.placement(job).map_or(Id::from_position(0), |placement| placement.option);
        self.engine.instance().option(job, option)
    }

    /// Planned time of a job, s.
    pub fn planned_s(&self, job: JobId) -> f64 {
        self.option(job).ticks.seconds(self.engine.instance().tick)
    }

    /// A lost GPU of a job's gang, by name.
    pub fn lost_gpu_of(&self, job: JobId) -> Option<String> {
        let placement = self.engine.placement(job)?;
        self.engine.lost().find(|gpu| placement.gpus.contains(gpu)).map(|gpu| self.gpu_name(gpu))
    }

    pub fn has_waiting(&self) -> bool {
        self.engine.states().values().any(|state| matches!(state, State::Waiting { .. }))
    }

    /// The operating points that jobs to be started want on a GPU.
    pub fn points(&self, gpu: GpuId) -> impl Iterator<Item = PointFile> {
        let on =
            move |job: &&JobId| self.engine.placement(**job).is_some_and(|placement| placement.gpus.contains(&gpu));
        self.work.keys().filter(on).map(|&job| self.option(job).point)
    }

    /// The plan as it stands in a trace.
    pub fn record(&self) -> Planned {
        let instance = self.engine.instance();
        let evaluation = self.engine.plan().evaluation();
        let jobs = self.engine.plan().schedule().placed().map(|(id, placement)| {
            let (job, option) = (&instance.jobs[id], instance.option(id, placement.option));
            let assumed = self.work.get(&id).map(|work| work.assumed).unwrap_or_default();
            PlannedJob {
                job: job.id.clone(),
                option: placement.option.position(),
                point: option.point.into(),
                start: placement.start.0,
                ticks: option.ticks.0,
                gpus: placement.gpus.iter().map(|&gpu| instance.cluster.gpu_name(gpu)).collect(),
                power_w: option.power.watts(),
                peak_w: option.peak.watts(),
                idle_w: instance.cluster.gpu_types[option.gpu_type].idle.times(option.gpus).watts(),
                gpu_type: instance.cluster.gpu_types[option.gpu_type].id.clone(),
                workload: job.workload.clone(),
                deadline: job.deadline.map(|tick| tick.0),
                due: job.due.map(|tick| tick.0),
                shares: option.ring.0 > 0 || option.read.0 > 0,
                steps: assumed.steps,
                step_s: assumed.step_s,
                startup_s: assumed.startup_s,
            }
        });
        Planned {
            instance: instance.name.clone(),
            instance_sha256: instance.sha256.clone(),
            tick_s: instance.tick.0,
            origin_s: self.origin_s,
            jobs: jobs.collect(),
            energy_j: evaluation.terms.energy.joules(),
            run_j: evaluation.split.gpu_run.joules(),
        }
    }

    /// What would be started when: one line a job, in order of start.
    pub fn lines(&self) -> Vec<String> {
        let record = self.record();
        let tick_s = record.tick_s;
        let mut jobs: Vec<_> =
            record.jobs.into_iter().filter(|job| self.work.keys().any(|&id| self.name(id) == job.job)).collect();
        jobs.sort_by_key(|job| job.start);
        let line = |job: PlannedJob| {
            let point = described(&job.point.into());
            format!(
                "{:>8} s  {}  {} s  {point}  on {}",
                job.start * tick_s,
                job.job,
                job.ticks * tick_s,
                job.gpus.join(" ")
            )
        };
        jobs.into_iter().map(line).collect()
    }
}

/// What an engine may do under these settings.
pub(super) fn policy(request: &Request) -> Policy {
    Policy { retries: request.settings.retries, drift: request.settings.drift, replans: false }
}

/// An operating point in words.
pub fn described(point: &PointFile) -> String {
    let sm = point.sm_mhz.map(|mhz| format!("SM {mhz} MHz"));
    let mem = point.mem_mhz.map(|mhz| format!("memory {mhz} MHz"));
    let limit = point.power_limit_w.map(|limit| format!("limit {limit} W"));
    let parts: Vec<String> = [sm, mem, limit].into_iter().flatten().collect();
    if parts.is_empty() { "default".to_owned() } else { parts.join(", ") }
}
