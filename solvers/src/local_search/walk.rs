//! The walk: a plan under way with a bank of jobs that have no place, its value, and the best plan so far.

use rats_domain::instance::Instance;
use rats_domain::schedule::Schedule;
use rats_domain::solver::{Control, Progress};

use super::insert::{Inserter, Taste};
use crate::grid::{Frame, Grid, Placing, Prices};
use crate::judged::valid_objective;
use rats_domain::random::Random;

/// By how much a round without a place makes a job harder.
const HARDENING: f64 = 0.02;

/// A plan under way.
pub(super) struct Walk<'f> {
    pub frame: &'f Frame<'f>,
    pub grid: Grid<'f>,
    pub inserter: Inserter,
    pub random: Random,
    pub taste: Taste,
    /// How often each job was left without a place: what its absence weighs.
    pub hardness: Vec<f64>,
    /// What the absence of a job of hardness 1 adds to the value.
    pub absence: f64,
    /// What one mJ above the budget adds to the value.
    pub excess: f64,
    pub pressure: f64,
    /// The least that each job costs alone.
    pub least: Vec<f64>,
    /// GPU-ticks' worth that a job takes from others when room is scarce, at a weight of 1.
    pub scarcity: f64,
    /// The jobs that are not fixed.
    pub open: Vec<usize>,
    /// The jobs without a place.
    pub bank: Vec<usize>,
    budget: Option<i64>,
}

/// The best plan so far. Checking takes longer than finding, so only every clear improvement is checked at once.
#[derive(Default)]
pub(super) struct Best {
    /// The objective of the best plan that was checked.
    pub objective: Option<f64>,
    /// The best plan that was checked.
    pub schedule: Option<Schedule>,
    /// The best plan that the state calls one, and its objective.
    pub placings: Option<(f64, Vec<Option<Placing>>)>,
    /// Its last end.
    pub makespan: usize,
}

/// Up to this many jobs every improvement is checked at once.
const FEW_JOBS: usize = 64;
/// Improvement after which a plan with more jobs is checked at once.
const CLEAR: f64 = 1e-3;

impl<'f> Walk<'f> {
    pub fn new(frame: &'f Frame<'f>, seed: u64) -> Self {
        let grid = Grid::new(frame);
        let open: Vec<usize> = grid.unplaced().collect();
        let budget = frame.instance.energy_budget.map(|budget| i64::try_from(budget.0).unwrap_or(i64::MAX));
        let mut walk = Self {
            frame,
            inserter: Inserter::new(frame),
            random: Random::new(seed),
            taste: Taste { blink: 0, work: 0.0, waking: 1.0 },
            hardness: vec![1.0; frame.jobs.len()],
            absence: 0.0,
            excess: 0.0,
            pressure: 0.0,
            least: vec![0.0; frame.jobs.len()],
            scarcity: 0.0,
            bank: open.clone(),
            open,
            budget,
            grid,
        };
        walk.set_scales();
        walk
    }

    /// Scales of penalties: what a job costs on average, and what energy must cost to be of that order.
    fn set_scales(&mut self) {
        let frame = self.frame;
        let jobs = self.open.len().max(1) as f64;
        let tick_s = frame.instance.tick.0 as f64;
        let objective = &frame.instance.objective;
        let gpus: f64 = frame.instance.cluster.gpus.len() as f64;
        let nodes: f64 = frame.nodes.iter().map(|node| node.idle_energy as f64).sum();
        let mut alone = 0.0;
        let mut work = 0.0;
        let mut energy = 0.0;
        for &job in &self.open {
            let row = &frame.jobs[job];
            let Some(option) = row.options.iter().min_by(|a, b| a.work.total_cmp(&b.work)) else { continue };
            alone += self.grid.alone(job, option, row.release);
            work += option.work;
            energy += option.energy as f64 * option.ticks as f64 + nodes / gpus * option.work;
        }
        let standing = nodes / gpus * work * self.grid.prices().per_energy();
        let span = work / gpus * tick_s * objective.makespan;
        let delays: f64 = self.open.iter().map(|&job| frame.jobs[job].weight_per_tick()).sum::<f64>() * work / gpus;
        let total = alone.abs() + standing.abs() + span + delays;
        self.absence = 2.0 * total / jobs;
        if self.absence <= 0.0 {
            self.absence = 1.0;
        }
        self.excess = 4.0 * self.absence * jobs / energy.max(1.0);
        self.scarcity = self.absence * jobs / work.max(1.0);
        if self.grid.prices().per_energy() == 0.0 {
            self.taste.work = 0.02 * self.scarcity;
        }
        self.set_least();
    }

    /// Works out anew what each job costs at least.
    fn set_least(&mut self) {
        for &job in &self.open {
            let row = &self.frame.jobs[job];
            let alone = row.options.iter().map(|option| self.grid.alone(job, option, row.release));
            self.least[job] = alone.fold(f64::INFINITY, f64::min);
        }
    }

    /// The value that the walk minimizes.
    pub fn value(&self) -> f64 {
        let absent: f64 = self.bank.iter().map(|&job| self.hardness[job]).sum();
        let over = self.budget.map_or(0, |budget| (self.grid.energy() - budget).max(0));
        self.grid.objective() + self.absence * absent + self.excess * over as f64
    }

    /// Whether the plan is complete and affordable.
    pub fn is_plan(&self) -> bool {
        self.bank.is_empty() && self.budget.is_none_or(|budget| self.grid.energy() <= budget)
    }

    /// Whether more energy is used than allowed.
    pub fn is_over_budget(&self) -> Option<bool> {
        self.budget.map(|budget| self.grid.energy() > budget)
    }

    /// Whether the budget has room for this much more energy.
    pub fn affords(&self, energy: i64) -> bool {
        self.budget.is_none_or(|budget| self.grid.energy() + energy <= budget)
    }

    /// A number of (0, 1].
    pub fn luck(&mut self) -> f64 {
        (self.random.below(1 << 20) + 1) as f64 / f64::from(1 << 20)
    }

    /// Prices energy with more or less pressure.
    pub fn press(&mut self, pressure: f64) {
        self.pressure = pressure;
        self.grid.set_prices(Prices::new(self.frame, pressure));
        self.set_least();
    }

    /// Removes a job; what it had is noted in `undo`.
    pub fn take_out(&mut self, job: usize, undo: &mut Undo) {
        if undo.knows(job) {
            return;
        }
        let placing = self.grid.remove(job);
        if placing.is_some() {
            self.bank.push(job);
        }
        undo.note(job, placing);
    }

    /// Finds the best place for a job of the bank.
    pub fn put_in(&mut self, job: usize, taste: Taste) -> bool {
        let Some(found) = self.inserter.best(&mut self.grid, job, taste, &mut self.random) else { return false };
        self.grid.place(job, found.placing);
        self.bank.retain(|&other| other != job);
        true
    }

    /// Goes back to what was noted.
    pub fn revert(&mut self, undo: Undo) {
        for &(job, _) in &undo.noted {
            self.grid.remove(job);
        }
        for (job, placing) in undo.noted {
            if let Some(placing) = placing {
                self.grid.place(job, placing);
            }
        }
        self.set_bank();
    }

    /// Jobs left without a place weigh more from now on; what that adds to the value.
    pub fn harden(&mut self) -> f64 {
        let mut more = 0.0;
        for &job in &self.bank {
            more += HARDENING * self.hardness[job] * self.absence;
            self.hardness[job] *= 1.0 + HARDENING;
        }
        more
    }

    /// Whether the makespan is the whole objective.
    pub fn counts_only_makespan(&self) -> bool {
        let objective = &self.frame.instance.objective;
        let others = objective.energy + objective.cost + objective.completion + objective.tardiness;
        objective.makespan > 0.0 && others == 0.0
    }

    /// Whether a shorter plan is better by itself: it counts, or always-on nodes run until its end.
    pub fn minds_makespan(&self) -> bool {
        let always_on = self.frame.runs_until_the_end() && self.frame.instance.objective.prices_energy();
        self.frame.instance.objective.makespan > 0.0 || always_on
    }

    /// Lets no job end later; those that do lose their place.
    pub fn limit_to(&mut self, limit: usize) {
        self.grid.set_limit(limit);
        for &job in &self.open {
            if self.grid.end_of(job).is_some_and(|end| end > limit) {
                self.grid.remove(job);
            }
        }
        self.set_bank();
    }

    /// Puts a whole plan in place of what is there.
    pub fn restore(&mut self, placings: &[Option<Placing>]) {
        for &job in &self.open {
            self.grid.remove(job);
        }
        for (job, placing) in placings.iter().enumerate() {
            if let Some(placing) = placing {
                self.grid.place(job, placing.clone());
            }
        }
        self.set_bank();
    }

    /// Works out anew which jobs have no place.
    pub fn set_bank(&mut self) {
        self.bank.clear();
        self.bank.extend(self.grid.unplaced());
    }

    /// The placings as they are.
    pub fn placings(&self) -> Vec<Option<Placing>> {
        (0..self.frame.jobs.len()).map(|job| self.grid.placing(job).cloned()).collect()
    }
}

/// What jobs had before a step.
#[derive(Default)]
pub(super) struct Undo {
    noted: Vec<(usize, Option<Placing>)>,
}

impl Undo {
    /// Notes what a job had, once.
    pub fn note(&mut self, job: usize, placing: Option<Placing>) {
        if !self.knows(job) {
            self.noted.push((job, placing));
        }
    }

    /// Whether a job was noted.
    pub fn knows(&self, job: usize) -> bool {
        self.noted.iter().any(|&(known, _)| known == job)
    }
}

impl Best {
    /// Keeps the walk's plan if it is complete and better.
    pub fn offer(&mut self, walk: &Walk<'_>, control: &dyn Control) -> bool {
        let objective = walk.grid.objective();
        let is_better = |best: f64| objective < best - 1e-12 * best.abs();
        let known = self.placings.as_ref().map(|&(best, _)| best);
        if !walk.is_plan() || !known.is_none_or(is_better) || !self.objective.is_none_or(is_better) {
            return false;
        }
        let clear = if walk.open.len() <= FEW_JOBS { 0.0 } else { CLEAR };
        if self.objective.is_none_or(|best| objective < best - clear * best.abs())
            && !self.offer_schedule(walk.frame.instance, walk.grid.schedule(), control)
        {
            return false;
        }
        self.placings = Some((objective, walk.placings()));
        self.makespan = walk.grid.makespan();
        true
    }

    /// Checks what was only kept so far.
    pub fn settle(&mut self, walk: &mut Walk<'_>, control: &dyn Control) {
        if let Some((objective, placings)) = &self.placings
            && self.objective.is_none_or(|best| *objective < best)
        {
            walk.restore(placings);
            let schedule = walk.grid.schedule();
            self.offer_schedule(walk.frame.instance, schedule, control);
        }
    }

    /// Keeps a schedule if it is valid and better.
    pub fn offer_schedule(&mut self, instance: &Instance, schedule: Schedule, control: &dyn Control) -> bool {
        let Some(objective) = valid_objective(instance, &schedule) else { return false };
        let better = self.objective.is_none_or(|best| objective < best);
        if better {
            self.objective = Some(objective);
            self.schedule = Some(schedule);
            control.progress(Progress { incumbent: Some(objective), bound: None });
        }
        better
    }
}
