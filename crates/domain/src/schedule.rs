//! A schedule: which option, GPUs and start each job has, in dense ids.

use std::collections::BTreeMap;

use crate::format::{AssignmentFile, Document, PlanFile};
use crate::ids::{GpuId, JobId, NodeId, OptionId, Table};
use crate::instance::Instance;
use crate::interval::Interval;
use crate::units::Ticks;

/// Where, when and how one job runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Placement {
    /// The option.
    pub option: OptionId,
    /// First tick; below 0 only for fixed jobs.
    pub start: Ticks,
    /// The GPUs, in file order.
    pub gpus: Vec<GpuId>,
}

/// A placement for each job (or none), and powered intervals where they differ from the default rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The placement of each job; `None` if it is not placed.
    pub placements: Table<JobId, Option<Placement>>,
    /// Powered intervals of sleep nodes, as stated; a node not listed follows the default rule.
    pub power: BTreeMap<NodeId, Vec<Interval>>,
}

impl Schedule {
    /// A schedule in which nothing is placed but the fixed jobs.
    pub fn fixed_only(instance: &Instance) -> Self {
        Self { placements: instance.jobs.values().map(|job| job.fixed.clone()).collect(), power: BTreeMap::new() }
    }

    /// All placed jobs.
    pub fn placed(&self) -> impl Iterator<Item = (JobId, &Placement)> {
        self.placements.iter().filter_map(|(job, placement)| placement.as_ref().map(|placement| (job, placement)))
    }

    /// The plan file that states this schedule, without any claim.
    pub fn to_plan(&self, instance: &Instance) -> PlanFile {
        let assignments = self.placed().map(|(job, placement)| AssignmentFile {
            job: instance.jobs[job].id.clone(),
            option: position(placement.option),
            start: placement.start.0,
            gpus: placement.gpus.iter().map(|&gpu| instance.cluster.gpu_name(gpu)).collect(),
        });
        let power = self.power.iter().map(|(&node, intervals)| {
            let pairs = intervals.iter().map(|interval| (interval.from.0, interval.to.0)).collect();
            (instance.cluster.nodes[node].id.clone(), pairs)
        });
        PlanFile {
            format: PlanFile::FORMAT.to_owned(),
            instance: Some(instance.name.clone()),
            instance_sha256: instance.sha256.clone(),
            assignments: assignments.collect(),
            power: power.collect(),
            ..PlanFile::default()
        }
    }
}

fn position(option: OptionId) -> i64 {
    use crate::ids::Id;
    i64::try_from(option.position()).unwrap_or(i64::MAX)
}

impl Placement {
    /// The first tick after the occupancy.
    pub fn end(&self, instance: &Instance, job: JobId) -> Ticks {
        self.start + instance.option(job, self.option).ticks
    }

    /// The occupancy.
    pub fn interval(&self, instance: &Instance, job: JobId) -> Interval {
        Interval::new(self.start, self.end(instance, job))
    }
}
