//! The depth-first enumeration.

use std::collections::BTreeMap;

use rats_domain::ids::{Id, JobId, Table};
use rats_domain::instance::Instance;
use rats_domain::schedule::Schedule;
use rats_domain::solver::{Control, Outcome, Progress, Stop};

use super::candidates::{Candidate, candidates};
use super::leaf::Leaf;
use rats_domain::demand::{Shared, capacity};

/// How many branches pass between two looks at the control.
const PATIENCE: u64 = 1 << 16;

/// The best schedule so far.
pub(super) struct Best {
    pub objective: f64,
    pub schedule: Schedule,
}

pub(super) struct Search<'a> {
    instance: &'a Instance,
    control: &'a dyn Control,
    candidates: Table<JobId, Vec<Candidate>>,
    /// Number of jobs by GPU and tick.
    occupied: Vec<Vec<bool>>,
    /// Load by shared capacity and tick.
    loads: BTreeMap<Shared, Vec<i64>>,
    chosen: Vec<usize>,
    leaf: Leaf<'a>,
    best: Option<Best>,
    branches: u64,
    stop: Option<Stop>,
}

impl<'a> Search<'a> {
    pub fn new(instance: &'a Instance, control: &'a dyn Control) -> Self {
        let horizon = usize::try_from(instance.horizon.0).unwrap_or(0);
        Self {
            instance,
            control,
            candidates: instance.jobs.ids().map(|job| candidates(instance, job)).collect(),
            occupied: vec![vec![false; horizon]; instance.cluster.gpus.len()],
            loads: BTreeMap::new(),
            chosen: Vec::new(),
            leaf: Leaf::new(instance),
            best: None,
            branches: 0,
            stop: None,
        }
    }

    pub fn run(mut self) -> Outcome {
        self.descend();
        match (self.best, self.stop) {
            (Some(Best { objective, schedule }), None) => Outcome::Optimal { schedule, bound: objective },
            (Some(Best { schedule, .. }), Some(stop)) => Outcome::Feasible { schedule, bound: None, stop },
            (None, Some(stop)) => Outcome::Unknown { bound: None, stop },
            (None, None) => Outcome::Infeasible {
                reason: "every combination of options, GPUs, starts and powered ticks breaks a rule".to_owned(),
            },
        }
    }

    fn descend(&mut self) {
        let depth = self.chosen.len();
        let Some(job) = self.instance.jobs.ids().nth(depth) else {
            self.at_leaf();
            return;
        };
        for position in 0..self.candidates[job].len() {
            self.branches += 1;
            if self.branches.is_multiple_of(PATIENCE) {
                self.stop = self.control.stop();
            }
            if self.stop.is_some() {
                return;
            }
            self.chosen.push(position);
            if self.keeps_precedence(job) && self.is_free(job) {
                self.apply(job, 1);
                if self.fits(job) {
                    self.descend();
                }
                self.apply(job, -1);
            }
            self.chosen.pop();
        }
    }

    fn candidate(&self, job: JobId) -> Option<&Candidate> {
        self.chosen.get(job.position()).map(|&position| &self.candidates[job][position])
    }

    /// V5 towards all jobs placed so far, in both directions.
    fn keeps_precedence(&self, job: JobId) -> bool {
        let jobs = &self.instance.jobs;
        let ordered = |before: JobId, after: JobId| match (self.candidate(before), self.candidate(after)) {
            (Some(first), Some(then)) => first.end <= then.placement.start,
            _ => true,
        };
        let earlier = jobs[job].after.iter().all(|&before| ordered(before, job));
        earlier && jobs.iter().filter(|(_, other)| other.after.contains(&job)).all(|(other, _)| ordered(job, other))
    }

    /// V6.
    fn is_free(&self, job: JobId) -> bool {
        let Some(candidate) = self.candidate(job) else { return false };
        let mut gpus = candidate.placement.gpus.iter();
        gpus.all(|gpu| !self.occupied[gpu.position()][candidate.ticks.clone()].contains(&true))
    }

    fn apply(&mut self, job: JobId, sign: i64) {
        let candidate = &self.candidates[job][self.chosen[job.position()]];
        for gpu in &candidate.placement.gpus {
            self.occupied[gpu.position()][candidate.ticks.clone()].fill(sign > 0);
        }
        let horizon = usize::try_from(self.instance.horizon.0).unwrap_or(0);
        for &(shared, demand) in &candidate.demands {
            let loads = self.loads.entry(shared).or_insert_with(|| vec![0; horizon]);
            loads[candidate.ticks.clone()].iter_mut().for_each(|load| *load += sign * demand);
        }
    }

    /// V7-V9, after the job was applied.
    fn fits(&self, job: JobId) -> bool {
        let Some(candidate) = self.candidate(job) else { return false };
        candidate.demands.iter().all(|&(shared, _)| {
            let limit = capacity(self.instance, shared).unwrap_or(i64::MAX);
            self.loads.get(&shared).is_none_or(|loads| loads[candidate.ticks.clone()].iter().all(|&load| load <= limit))
        })
    }

    fn at_leaf(&mut self) {
        let ids = self.instance.jobs.ids();
        let placed: Vec<_> = ids.zip(&self.chosen).map(|(job, &at)| (job, &self.candidates[job][at])).collect();
        let bar = self.best.as_ref().map(|best| best.objective);
        if let Some(best) = self.leaf.best(&placed, bar) {
            self.control.progress(Progress { incumbent: Some(best.objective), bound: None });
            self.best = Some(best);
        }
    }
}
