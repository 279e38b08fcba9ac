//! The solvers' view of a growing schedule: insert and remove jobs, ask what a placement would cost or break.
//!
//! # Idea
//! Everything that rules and objective look at is kept as step functions of time: jobs per GPU, busy GPUs per node and
//! type, resources, uplinks, the store, power under caps, energy. Placing a job changes only what its GPUs touch. The
//! effect of a placement is worked out without changing anything; inserting then adds it, removing takes it off.
//!
//! # Model
//! The meaning is that of `rats_domain::evaluate` and `rats_domain::check`; energy is the same integer. An always-on
//! node is powered to the makespan, so a longer makespan costs its idle power; a sleep node follows the default rule
//! or the schedule's stated intervals. If the schedule breaks no rule, it breaks none after [`Timetable::insert`]
//! exactly if [`Timetable::judge`] found no conflict; the energy budget (V11), which a further job may also relieve,
//! is asked apart.
//!
//! # Complexity
//! Per placement: the gang's GPUs and uplinks times the steps inside its occupancy, plus the busy intervals of the
//! nodes that become powered longer. Independent of the horizon.
//!
//! # Limits
//! Stated intervals are taken as well formed (disjoint, in order); the checker judges them.

mod caps;
mod change;
mod load;
mod rules;
mod spent;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rats_domain::format::PowerMode;
use rats_domain::ids::{DomainId, GpuId, GpuTypeId, JobId, NodeId, ResourceId, Table};
use rats_domain::instance::Instance;
use rats_domain::interval::Interval;
use rats_domain::power::normalized;
use rats_domain::schedule::{Placement, Schedule};
use rats_domain::units::{Millijoules, Milliwatts, Ticks};

pub use self::load::Load;
pub use self::rules::Conflict;

use self::caps::Caps;
use self::spent::{Meter, Spent};

/// A schedule with everything that rules and objective ask of it.
#[derive(Clone, Debug)]
pub struct Timetable<'a> {
    instance: &'a Instance,
    schedule: Schedule,
    meter: Meter,
    /// Jobs that wait for each job.
    successors: Table<JobId, Vec<JobId>>,
    /// Jobs on each GPU.
    gpus: Table<GpuId, Load>,
    /// Busy GPUs of each type.
    types: Table<GpuTypeId, Load>,
    /// Number of GPUs of each type.
    type_sizes: Table<GpuTypeId, i64>,
    nodes: Table<NodeId, NodeState>,
    /// Traffic through the uplink of each domain.
    uplinks: Table<DomainId, Load>,
    storage: Load,
    caps: Caps,
    /// Number of jobs by end.
    ends: BTreeMap<Ticks, usize>,
    /// Power of all always-on nodes while they run nothing.
    always_on: Milliwatts,
    spent: Spent,
}

/// What one node does.
#[derive(Clone, Debug)]
struct NodeState {
    /// GPUs that run something.
    busy: Load,
    /// Powered intervals of a sleep node.
    powered: Vec<Interval>,
    resources: Table<ResourceId, Load>,
}

/// What a placement would add.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// To the objective.
    pub objective: f64,
    /// To the total energy.
    pub energy: Millijoules,
}

impl<'a> Timetable<'a> {
    /// A timetable of the fixed jobs, with powered intervals by the default rule.
    pub fn new(instance: &'a Instance) -> Self {
        Self::of(instance, Schedule::fixed_only(instance))
    }

    /// A timetable of a schedule.
    pub fn of(instance: &'a Instance, mut schedule: Schedule) -> Self {
        let cluster = &instance.cluster;
        let mut successors = Table::filled(Vec::new(), instance.jobs.len());
        for (id, job) in instance.jobs.iter() {
            job.after.iter().for_each(|&before| successors[before].push(id));
        }
        let idle_node = NodeState {
            busy: Load::default(),
            powered: Vec::new(),
            resources: Table::filled(Load::default(), cluster.resources.len()),
        };
        let always_on = cluster.nodes.values().filter(|node| node.power == PowerMode::AlwaysOn);
        let mut type_sizes = Table::filled(0, cluster.gpu_types.len());
        cluster.nodes.values().for_each(|node| type_sizes[node.gpu_type] += i64::from(node.gpus.0));
        let mut timetable = Self {
            instance,
            schedule: Schedule { placements: Table::filled(None, instance.jobs.len()), power: BTreeMap::new() },
            meter: Meter::new(instance.tick, instance.tariff.as_ref()),
            successors,
            gpus: Table::filled(Load::default(), cluster.gpus.len()),
            types: Table::filled(Load::default(), cluster.gpu_types.len()),
            type_sizes,
            nodes: Table::filled(idle_node, cluster.nodes.len()),
            uplinks: Table::filled(Load::default(), cluster.topology.domains().len()),
            storage: Load::default(),
            caps: Caps::new(instance),
            ends: BTreeMap::new(),
            always_on: always_on.map(|node| node.idle).sum(),
            spent: Spent::default(),
        };
        for (node, stated) in std::mem::take(&mut schedule.power) {
            timetable.state_power(node, Some(stated));
        }
        for job in instance.jobs.ids() {
            if let Some(placement) = schedule.placements[job].take() {
                timetable.insert(job, placement);
            }
        }
        timetable
    }

    /// The instance.
    pub fn instance(&self) -> &'a Instance {
        self.instance
    }

    /// The schedule as it stands.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Ends planning.
    pub fn into_schedule(self) -> Schedule {
        self.schedule
    }

    /// Where a job is placed.
    pub fn placement(&self, job: JobId) -> Option<&Placement> {
        self.schedule.placements[job].as_ref()
    }

    /// Last end of a placed job, not below 0.
    pub fn makespan(&self) -> Ticks {
        self.ends.last_key_value().map_or(Ticks::ZERO, |(&end, _)| end.max(Ticks::ZERO))
    }

    /// The first tick after which nothing is powered.
    pub fn end(&self) -> Ticks {
        let stated = self.schedule.power.keys().filter_map(|&node| self.nodes[node].powered.last());
        stated.map(|interval| interval.to).max().unwrap_or_default().max(self.makespan())
    }

    /// Total energy.
    pub fn energy(&self) -> Millijoules {
        self.spent.energy
    }

    /// The value of the objective, as `rats_domain::evaluate` gives it up to rounding of the cost.
    pub fn objective(&self) -> f64 {
        let (mut completion, mut tardiness) = (0.0, 0.0);
        for (id, placement) in self.schedule.placed() {
            let job = &self.instance.jobs[id];
            let end = placement.end(self.instance, id);
            completion += job.weight * end.0 as f64;
            tardiness += job.due.map_or(0.0, |due| job.weight * (end - due).0.max(0) as f64);
        }
        let terms = self.terms(self.spent, self.makespan(), completion, tardiness);
        self.instance.objective.value(&terms, self.instance.tick)
    }

    /// The rule of V2..V10, V12 and V13 that placing the job would break, or what it would add.
    ///
    /// The job must not be placed. Placed predecessors and successors count (V5), missing ones do not.
    ///
    /// # Errors
    /// The first broken rule found.
    pub fn judge(&self, job: JobId, placement: &Placement) -> Result<Effect, Conflict> {
        if let Some(conflict) = self.conflict_without_power(job, placement) {
            return Err(conflict);
        }
        let change = self.change(job, placement);
        match self.power_conflict(job, placement, &change) {
            Some(conflict) => Err(conflict),
            None => Ok(self.effect_of(job, placement, &change)),
        }
    }

    /// What placing the job would add, whatever rules it would break; the job must not be placed.
    pub fn effect(&self, job: JobId, placement: &Placement) -> Effect {
        self.effect_of(job, placement, &self.change(job, placement))
    }

    /// V11: whether this much more energy stays within the budget.
    pub fn affords(&self, more: Millijoules) -> bool {
        self.instance.energy_budget.is_none_or(|budget| self.spent.energy + more <= budget)
    }

    /// Places a job, whatever rules that breaks; a job that is placed moves.
    pub fn insert(&mut self, job: JobId, placement: Placement) {
        self.remove(job);
        let change = self.change(job, &placement);
        self.caps.apply(self.instance, (job, &placement), &change, 1);
        self.spent += change.spent;
        self.count(job, &placement, change.interval, 1);
        for node in change.nodes {
            if let Some(powered) = node.powered {
                self.nodes[node.node].powered = powered;
            }
        }
        self.schedule.placements[job] = Some(placement);
    }

    /// Takes a job out and returns where it was.
    pub fn remove(&mut self, job: JobId) -> Option<Placement> {
        let placement = self.schedule.placements[job].take()?;
        let option = self.instance.option(job, placement.option);
        let interval = Interval::new(placement.start.max(Ticks::ZERO), placement.start + option.ticks);
        self.count(job, &placement, interval, -1);
        self.reset_powered_of(&placement.gpus);
        let change = self.change(job, &placement);
        self.caps.apply(self.instance, (job, &placement), &change, -1);
        self.spent -= change.spent;
        Some(placement)
    }

    /// States the powered intervals of a sleep node, or returns it to the default rule.
    pub fn state_power(&mut self, node: NodeId, stated: Option<Vec<Interval>>) {
        if self.instance.cluster.nodes[node].power == PowerMode::AlwaysOn {
            return;
        }
        self.account_standing(node, -1);
        if let Some(stated) = stated {
            self.nodes[node].powered = normalized(&stated, self.instance.horizon);
            self.schedule.power.insert(node, stated);
        } else {
            self.schedule.power.remove(&node);
            self.reset_powered(node);
        }
        self.account_standing(node, 1);
    }
}
