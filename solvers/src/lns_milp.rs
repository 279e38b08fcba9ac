//! `lns_milp`: a matheuristic that frees part of a plan for the mixed-integer program.
//!
//! # Idea
//! Hold all jobs but a few to their option and start (not to their nodes) and let [`crate::milp`] find the best plan
//! with the few free. The few are drawn at random, from a window of time, or from those that share a node; how many
//! follows how fast the programs are solved.
//!
//! # Model
//! That of [`crate::milp`], all rules and objectives included.
//!
//! # Complexity
//! A program of some thousand columns a round.
//!
//! # Limits
//! Refuses what `milp` refuses. Without a time limit 20 rounds; each may take long. No bound: what is proved in a round
//! holds near the plan only.
//!
//! # References
//! P. Shaw, "Using constraint programming and local search methods to solve vehicle routing problems", 1998.
//! M. Fischetti, A. Lodi, "Local branching", 2003.

use std::time::Duration;

use rats_domain::ids::JobId;
use rats_domain::instance::Instance;
use rats_domain::schedule::Schedule;
use rats_domain::solver::{About, Control, Outcome, Progress, Request, Solver, Stop};
use rats_domain::units::Ticks;

use crate::judged::valid_objective;
use crate::local_search::improve;
use crate::milp::{Candidates, Milp, prove};
use crate::slice::Slice;
use rats_domain::random::Random;

/// Rounds if neither the request nor the time limits them.
const ROUNDS: u64 = 20;
/// Rounds of local search that make the first plan.
const FIRST: u64 = 200;
/// Free jobs: fewest, at first, most.
const FREE: (usize, usize, usize) = (3, 6, 16);
/// Most time of a round.
const SLICE: Duration = Duration::from_secs(4);

/// The solver.
#[derive(Clone, Copy, Debug)]
pub struct LnsMilp;

impl Solver for LnsMilp {
    fn about(&self) -> About {
        About {
            id: "lns_milp",
            summary: "frees a few jobs of a plan at a time for the mixed-integer program",
            exact: false,
            baseline: false,
        }
    }

    fn refuses(&self, instance: &Instance) -> Option<String> {
        Milp.refuses(instance)
    }

    fn solve(&self, instance: &Instance, request: &Request, control: &dyn Control) -> Outcome {
        let slice = Slice::at_most(control, SLICE);
        let start = request.warm_start.as_ref();
        let Some(first) = improve(instance, start, request.seed, Some(FIRST), &slice) else {
            return Outcome::Unknown { bound: None, stop: control.stop().unwrap_or(Stop::Stalled) };
        };
        let Some(value) = valid_objective(instance, &first) else {
            return Outcome::Unknown { bound: None, stop: Stop::Stalled };
        };
        let open = instance.jobs.ids().filter(|&job| instance.jobs[job].fixed.is_none()).collect();
        let mut search =
            Search { instance, request, control, open, random: Random::new(request.seed), best: (value, first) };
        let stop = search.run();
        Outcome::Feasible { schedule: search.best.1, bound: None, stop }
    }
}

struct Search<'a> {
    instance: &'a Instance,
    request: &'a Request,
    control: &'a dyn Control,
    open: Vec<JobId>,
    random: Random,
    best: (f64, Schedule),
}

impl Search<'_> {
    fn run(&mut self) -> Stop {
        self.report();
        let rounds = self.request.iterations.or_else(|| self.control.remaining().is_none().then_some(ROUNDS));
        let mut free = FREE.1;
        for round in 0.. {
            if rounds.is_some_and(|rounds| round >= rounds) {
                return Stop::Iterations;
            }
            if let Some(stop) = self.control.stop() {
                return stop;
            }
            let is_solved = self.round(free);
            if is_solved && free >= self.open.len() {
                return Stop::Finished;
            }
            free = if is_solved { (free + 1).min(FREE.2) } else { free.saturating_sub(1).max(FREE.0) };
        }
        Stop::Stalled
    }

    fn report(&self) {
        self.control.progress(Progress { incumbent: Some(self.best.0), bound: None });
    }

    /// Frees some jobs; whether the program was solved to the end.
    fn round(&mut self, free: usize) -> bool {
        let freed = self.draw(free);
        let candidates = self.candidates(&freed);
        let request = Request { warm_start: Some(self.best.1.clone()), threads: 1, ..self.request.clone() };
        let outcome = prove(self.instance, &request, &Slice::at_most(self.control, SLICE), Some(&candidates));
        let (schedule, is_solved) = match outcome {
            Outcome::Optimal { schedule, .. } => (Some(schedule), true),
            Outcome::Feasible { schedule, stop, .. } => (Some(schedule), stop == Stop::Finished),
            Outcome::Infeasible { .. } => (None, true),
            Outcome::Unknown { .. } => (None, false),
        };
        if let Some((value, schedule)) =
            schedule.and_then(|schedule| Some((valid_objective(self.instance, &schedule)?, schedule)))
            && value < self.best.0
        {
            self.best = (value, schedule);
            self.report();
        }
        is_solved
    }

    /// The jobs to free: at random, near a time, or near a node of some job.
    fn draw(&mut self, free: usize) -> Vec<JobId> {
        let mut jobs = self.open.clone();
        self.random.shuffle(&mut jobs);
        let Some(&center) = jobs.first() else { return jobs };
        let schedule = &self.best.1;
        let span = |job: JobId| {
            schedule.placements[job].as_ref().map_or((0, 0), |row| (row.start.0, row.end(self.instance, job).0))
        };
        let node = |job: JobId| {
            let gpu = schedule.placements[job].as_ref().and_then(|row| row.gpus.first().copied());
            gpu.map(|gpu| self.instance.cluster.gpus[gpu].node)
        };
        match self.random.below(3) {
            0 => {}
            1 => jobs.sort_by_key(|&job| (span(job).0 + span(job).1 - span(center).0 - span(center).1).abs()),
            _ => jobs.sort_by_key(|&job| node(job) != node(center)),
        }
        jobs.truncate(free);
        jobs
    }

    /// All starts of the freed jobs, the planned one of the others.
    fn candidates(&self, freed: &[JobId]) -> Candidates {
        let mut candidates = Candidates::all(self.instance);
        for &job in self.open.iter().filter(|job| !freed.contains(job)) {
            let Some(planned) = &self.best.1.placements[job] else { continue };
            for option in self.instance.jobs[job].options.ids() {
                for start in (0..self.instance.horizon.0).map(Ticks) {
                    if (option, start) != (planned.option, planned.start) {
                        candidates.exclude(job, option, start);
                    }
                }
            }
        }
        candidates
    }
}
