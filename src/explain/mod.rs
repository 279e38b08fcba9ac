//! Why one job of a plan runs as it does: what an earlier start, another place and every other option would mean.
//!
//! Idea: change the placement of this job alone and have the checker judge the whole plan again. Everything else keeps
//! its option, GPUs and start, so an answer says what *this* plan leaves to the job, not what the best plan would be.
//! Complexity: one check a candidate, at most a number given by the caller.

mod candidates;
mod probe;

pub use self::candidates::{ALL_SETS, ALL_TICKS, MOST_GANGS};
pub use self::probe::Verdict;

use std::collections::BTreeSet;

use rats_domain::check::{CheckedPlan, Violation};
use rats_domain::ids::{GpuId, JobId, OptionId};
use rats_domain::instance::Instance;
use rats_domain::schedule::Placement;
use rats_domain::units::Ticks;

use self::candidates::{Prefer, Surroundings};
use self::probe::Probe;

/// Other gangs that are shown for the option and start as planned.
const SHOWN_PLACES: usize = 6;
/// Gangs with GPUs in use that are tried for an option that fits nowhere.
const CROWDED_STARTS: usize = 64;

/// The answer for one job.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The job.
    pub job: JobId,
    /// How it runs.
    pub placement: Placement,
    /// Why it does not start earlier with its option and GPUs.
    pub earlier: Earlier,
    /// Single changes: one tick earlier or later, other options, other places.
    pub moves: Vec<Move>,
    /// The best found for every option, in the order of the options.
    pub alternatives: Vec<Alternative>,
    /// Number of checks made.
    pub checks: usize,
    /// Whether there was more to check.
    pub capped: bool,
}

/// Why a job does not start earlier.
#[derive(Clone, Debug, Default)]
pub struct Earlier {
    /// Starts from here on would do as well.
    pub free_from: Option<Ticks>,
    /// The latest earlier start that is forbidden or worse; `None` if there is no earlier start to be had.
    pub obstacle: Option<(Ticks, Verdict)>,
    /// Whether the checks were used up before an obstacle was met.
    pub capped: bool,
}

/// A single change.
#[derive(Clone, Debug)]
pub struct Move {
    /// What is changed.
    pub kind: MoveKind,
    /// How the job would run.
    pub placement: Placement,
    /// What the checker says.
    pub verdict: Verdict,
}

/// What a single change changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveKind {
    /// The start, by one tick.
    Earlier,
    /// The start, by one tick.
    Later,
    /// The option.
    Option,
    /// The GPUs.
    Place,
}

/// What an option could do beside the other jobs.
#[derive(Clone, Debug)]
pub struct Alternative {
    /// The option.
    pub option: OptionId,
    /// The best allowed placement, and by how much the objective grows; another one than now for the present option.
    pub best: Option<(Placement, f64)>,
    /// If none is allowed: the placement that breaks the fewest rules, and which.
    pub nearest: Option<(Placement, Vec<Violation>)>,
    /// Whether every set of GPUs was to be tried, not only one gang a domain.
    pub every_set: bool,
    /// Whether there was more to check.
    pub capped: bool,
}

/// Explains one job of a valid plan with at most `limit` checks; `None` if the job is not placed.
pub fn explain(instance: &Instance, plan: &CheckedPlan, job: JobId, limit: usize) -> Option<Explanation> {
    let placement = plan.schedule().placements[job].clone()?;
    let mut probe = Probe::new(instance, plan, job, limit);
    let mut answer = Explanation {
        job,
        placement,
        earlier: Earlier::default(),
        moves: Vec::new(),
        alternatives: Vec::new(),
        checks: 0,
        capped: false,
    };
    if instance.jobs[job].fixed.is_none() {
        let around = Surroundings::new(instance, plan.schedule(), job);
        answer.moves = moves(&mut probe, &around, &answer.placement);
        answer.earlier = earlier(&mut probe, &answer.placement);
        let count = instance.jobs[job].options.len();
        for (done, option) in instance.jobs[job].options.ids().enumerate() {
            let share = probe.left() / (count - done);
            let alternative = alternative(&mut probe, &around, &answer.placement, option, share);
            answer.capped |= alternative.capped;
            answer.alternatives.push(alternative);
        }
    }
    answer.checks = probe.checks();
    answer.capped |= answer.earlier.capped;
    answer.capped |= probe.left() == 0 && instance.jobs[job].fixed.is_none();
    Some(answer)
}

/// Walks back from the start as planned until a start is forbidden or worse.
fn earlier(probe: &mut Probe<'_>, placement: &Placement) -> Earlier {
    let mut earlier = Earlier::default();
    let least = probe.left() / 2;
    let release = probe.instance().jobs[probe.job()].release;
    let mut start = placement.start - Ticks(1);
    while start >= release {
        let moved = Placement { start, ..placement.clone() };
        let verdict = if probe.left() > least { probe.judge(&moved) } else { None };
        let Some(verdict) = verdict else {
            earlier.capped = true;
            break;
        };
        if !verdict.difference().is_some_and(|difference| difference <= 0.0 || probe.is_nothing(difference)) {
            earlier.obstacle = Some((start, verdict));
            break;
        }
        earlier.free_from = Some(start);
        start -= Ticks(1);
    }
    earlier
}

fn moves(probe: &mut Probe<'_>, around: &Surroundings<'_>, now: &Placement) -> Vec<Move> {
    let instance = probe.instance();
    let job = around.job();
    let mut candidates = Vec::new();
    for (kind, by) in [(MoveKind::Earlier, -1), (MoveKind::Later, 1)] {
        let start = now.start + Ticks(by);
        if start >= Ticks::ZERO {
            candidates.push((kind, Placement { start, ..now.clone() }));
        }
    }
    let gangs = |option, preferences: &[Prefer]| -> Vec<Vec<GpuId>> {
        preferences.iter().flat_map(|&prefer| around.gangs(option, now.start, prefer)).collect()
    };
    for (id, option) in instance.jobs[job].options.iter().filter(|&(id, _)| id != now.option) {
        let gpus = gangs(option, &[Prefer::Present, Prefer::Crowded]).into_iter().next();
        candidates.extend(gpus.map(|gpus| (MoveKind::Option, Placement { option: id, start: now.start, gpus })));
    }
    let mut places: Vec<Vec<GpuId>> = Vec::new();
    for gang in gangs(instance.option(job, now.option), &[Prefer::Other, Prefer::Elsewhere]) {
        if gang != now.gpus && !places.contains(&gang) && places.len() < SHOWN_PLACES {
            places.push(gang);
        }
    }
    candidates.extend(places.into_iter().map(|gpus| (MoveKind::Place, Placement { gpus, ..now.clone() })));
    let judged = candidates.into_iter().map_while(|(kind, placement)| {
        let verdict = probe.judge(&placement)?;
        Some(Move { kind, placement, verdict })
    });
    judged.collect()
}

/// The best allowed placement of one option with at most `share` checks.
fn alternative(
    probe: &mut Probe<'_>,
    around: &Surroundings<'_>,
    now: &Placement,
    id: OptionId,
    share: usize,
) -> Alternative {
    let option = probe.instance().option(around.job(), id);
    let stop_at = probe.left() - share;
    let every_set = around.tries_every_set(option);
    let mut found = Alternative { option: id, best: None, nearest: None, every_set, capped: false };
    let mut tried = BTreeSet::new();
    let starts = around.starts(option, now.start);
    let at = |start: Ticks, prefer: Prefer| {
        around.gangs(option, start, prefer).into_iter().map(move |gpus| (prefer, start, gpus))
    };
    let free = starts.iter().flat_map(|&start| at(start, Prefer::Present));
    // The likely ones for every start before the many others.
    let sets = starts
        .iter()
        .flat_map(|&start| around.sets(option, start).into_iter().map(move |gpus| (Prefer::Present, start, gpus)));
    // Only if nothing is allowed: what stands in the way, also where GPUs are in use or the window is too short.
    let fallback = if starts.is_empty() { vec![around.earliest(), now.start] } else { starts.clone() };
    let crowded = fallback.iter().take(CROWDED_STARTS).flat_map(|&start| at(start, Prefer::Crowded));
    for (prefer, start, gpus) in free.chain(sets).chain(crowded) {
        if prefer == Prefer::Crowded && found.best.is_some() {
            break;
        }
        let placement = Placement { option: id, start, gpus };
        if placement == *now || !tried.insert((start, placement.gpus.clone())) {
            continue;
        }
        let verdict = if probe.left() > stop_at { probe.judge(&placement) } else { None };
        let Some(verdict) = verdict else {
            found.capped = true;
            break;
        };
        found.take(probe, placement, verdict);
    }
    found.nearest = found.nearest.filter(|_| found.best.is_none());
    found
}

impl Alternative {
    /// Keeps a placement if it is better than what was found before.
    fn take(&mut self, probe: &Probe<'_>, placement: Placement, verdict: Verdict) {
        match verdict {
            Verdict::Allowed(difference) => {
                let better = |&(_, least): &(_, f64)| difference < least && !probe.is_nothing(least - difference);
                if self.best.as_ref().is_none_or(better) {
                    self.best = Some((placement, difference));
                }
            }
            Verdict::Forbidden(violations) => {
                if self.nearest.as_ref().is_none_or(|(_, fewest)| violations.len() < fewest.len()) {
                    self.nearest = Some((placement, violations));
                }
            }
        }
    }
}
