//! The earliest ends of jobs, from releases, precedence and shortest options.

use rats_domain::ids::{JobId, Table};
use rats_domain::instance::{Instance, JobOption};
use rats_domain::units::Ticks;

/// Earliest starts and ends of all jobs.
pub(crate) struct Windows<'a> {
    instance: &'a Instance,
    pub earliest_start: Table<JobId, Ticks>,
    earliest_end: Table<JobId, Ticks>,
}

impl<'a> Windows<'a> {
    pub fn new(instance: &'a Instance) -> Self {
        let count = instance.jobs.len();
        let mut windows = Self {
            instance,
            earliest_start: Table::filled(Ticks::ZERO, count),
            earliest_end: Table::filled(Ticks::ZERO, count),
        };
        let mut done = Table::filled(false, count);
        for job in instance.jobs.ids() {
            windows.visit(job, &mut done);
        }
        windows
    }

    /// Visits a job after those before it; explicit stack, since chains may be long.
    fn visit(&mut self, job: JobId, done: &mut Table<JobId, bool>) {
        let mut stack = vec![job];
        while let Some(&job) = stack.last() {
            let waiting: Vec<_> =
                self.instance.jobs[job].after.iter().copied().filter(|&before| !done[before]).collect();
            if done[job] {
                stack.pop();
            } else if waiting.is_empty() {
                self.settle(job);
                done[job] = true;
                stack.pop();
            } else {
                stack.extend(waiting);
            }
        }
    }

    fn settle(&mut self, id: JobId) {
        let job = &self.instance.jobs[id];
        if let Some(fixed) = &job.fixed {
            (self.earliest_start[id], self.earliest_end[id]) = (fixed.start, fixed.end(self.instance, id));
            return;
        }
        let ended = job.after.iter().map(|&before| self.earliest_end[before]).max().unwrap_or_default();
        let start = job.release.max(ended);
        let shortest = job.options.values().filter(|option| option.placeable).map(|option| option.ticks).min();
        self.earliest_start[id] = start;
        self.earliest_end[id] = start + shortest.unwrap_or_default();
    }

    /// The options of a job that could end in time.
    pub fn options(&self, id: JobId) -> impl Iterator<Item = &'a JobOption> + use<'a> {
        let latest = self.instance.latest_end(id) - self.earliest_start[id];
        self.instance.jobs[id].options.values().filter(move |option| option.placeable && option.ticks <= latest)
    }

    /// The job whose window is too short for its shortest option, in words.
    pub fn too_tight(&self) -> Option<String> {
        let jobs = &self.instance.jobs;
        let tight =
            jobs.ids().find(|&id| jobs[id].fixed.is_none() && self.earliest_end[id] > self.instance.latest_end(id))?;
        let (start, end) = (self.earliest_start[tight], self.earliest_end[tight]);
        let (id, latest) = (&jobs[tight].id, self.instance.latest_end(tight));
        Some(format!("job `{id}` cannot start before tick {start} nor end before {end}, but must end by {latest} (V4)"))
    }

    /// No plan ends earlier: the last earliest end, or the least work spread over all GPUs.
    pub fn makespan(&self) -> Ticks {
        let jobs = &self.instance.jobs;
        let last = self.earliest_end.values().copied().max().unwrap_or_default().max(Ticks::ZERO);
        let work: i128 = jobs.ids().map(|id| self.least_work(id)).sum();
        let gpus = i128::try_from(self.instance.cluster.gpus.len()).unwrap_or(1);
        last.max(Ticks(i64::try_from((work + gpus - 1) / gpus).unwrap_or(i64::MAX)))
    }

    /// Least GPU-ticks of a job from tick 0 on.
    fn least_work(&self, id: JobId) -> i128 {
        if let Some(fixed) = &self.instance.jobs[id].fixed {
            let ticks = self.earliest_end[id] - fixed.start.max(Ticks::ZERO);
            return i128::from(ticks.0.max(0)) * i128::try_from(fixed.gpus.len()).unwrap_or(0);
        }
        self.options(id).map(|option| i128::from(option.ticks.0) * i128::from(option.gpus.0)).min().unwrap_or(0)
    }

    /// Sum of weight x earliest end, ticks.
    pub fn completion(&self) -> f64 {
        let ends = self.earliest_end.values().zip(self.instance.jobs.values());
        ends.map(|(end, job)| job.weight * end.0 as f64).sum()
    }

    /// Sum of weight x least lateness, ticks.
    pub fn tardiness(&self) -> f64 {
        let ends = self.earliest_end.values().zip(self.instance.jobs.values());
        ends.map(|(end, job)| job.weight * job.due.map_or(0, |due| (*end - due).0.max(0)) as f64).sum()
    }
}
