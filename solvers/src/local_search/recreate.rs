//! Ways to put the jobs of the bank back: an order, then best insertion one by one; those that do not fit push out
//! others.

use rats_domain::solver::Control;

use super::insert::Taste;
use super::walk::{Undo, Walk};
use crate::grid::Placing;

/// An order in which jobs are put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Those that were hardest to place first.
    Hardness,
    /// Earliest deadline first.
    Deadline,
    /// Least room between window and shortest option first.
    Slack,
    /// Most GPU-ticks first.
    Work,
    /// Largest gang first, then most work.
    Gang,
    /// At random.
    Random,
}

impl Order {
    pub const ALL: [Self; 6] = [Self::Hardness, Self::Deadline, Self::Slack, Self::Work, Self::Gang, Self::Random];

    /// Brings jobs into the order.
    pub fn sort(self, walk: &mut Walk<'_>, jobs: &mut [usize]) {
        walk.random.shuffle(jobs);
        let frame = walk.frame;
        let key = |job: usize| -> f64 {
            let row = &frame.jobs[job];
            let least =
                |of: fn(&crate::grid::OptionFrame) -> f64| row.options.iter().map(of).fold(f64::INFINITY, f64::min);
            let work = least(|option| option.work);
            match self {
                Self::Hardness => -walk.hardness[job] * 1e6 - work,
                Self::Deadline => row.deadline as f64,
                Self::Slack => row.deadline as f64 - row.release as f64 - least(|option| option.ticks as f64),
                Self::Work => -work,
                Self::Gang => -least(|option| f64::from(option.gang)) * 1e6 - work,
                Self::Random => 0.0,
            }
        };
        jobs.sort_by(|&a, &b| key(a).total_cmp(&key(b)));
        chains_first(walk, jobs);
    }
}

/// Puts jobs behind those that must run before them.
fn chains_first(walk: &Walk<'_>, jobs: &mut [usize]) {
    for at in 0..jobs.len() {
        for _ in at..jobs.len() {
            let before = &walk.frame.jobs[jobs[at]].before;
            if before.is_empty() {
                break;
            }
            let Some(later) = (at + 1..jobs.len()).find(|&later| before.contains(&jobs[later])) else { break };
            jobs.swap(at, later);
        }
    }
}

/// Puts jobs of the bank in, in order; those left stay in the bank.
pub(super) fn recreate(walk: &mut Walk<'_>, order: Order, taste: Taste, undo: &mut Undo) {
    let mut jobs = walk.bank.clone();
    order.sort(walk, &mut jobs);
    for job in jobs {
        undo.note(job, None);
        walk.put_in(job, taste);
    }
}

/// Builds plans from nothing: those left over are harder and come first in the next; room is dearer each time.
pub(super) fn construct(walk: &mut Walk<'_>, passes: u32, control: &dyn Control) {
    let mut fewest = usize::MAX;
    let mut kept = Vec::new();
    for pass in 0..passes {
        let taste = Taste { work: walk.taste.work + walk.scarcity * 0.1 * f64::from(pass), ..walk.taste };
        let mut jobs = walk.bank.clone();
        Order::Slack.sort(walk, &mut jobs);
        jobs.sort_by(|&a, &b| walk.hardness[b].total_cmp(&walk.hardness[a]));
        chains_first(walk, &mut jobs);
        for job in jobs {
            if walk.bank.len().is_multiple_of(16) && control.stop().is_some() {
                return;
            }
            walk.put_in(job, taste);
        }
        if walk.bank.len() < fewest {
            fewest = walk.bank.len();
            kept = walk.placings();
        }
        if fewest == 0 {
            return;
        }
        for &job in &walk.bank {
            walk.hardness[job] += 1.0;
        }
        walk.restore(&[]);
    }
    walk.restore(&kept);
}

/// A place for a job of the bank and who is in its way.
struct Ejection {
    jobs: Vec<usize>,
    hardness: f64,
}

/// Pushes out those who are least hard to place so that a job of the bank fits (guided ejection, Nagata and Braysy).
pub(super) fn eject(walk: &mut Walk<'_>, job: usize, samples: usize, undo: &mut Undo) {
    let mut best: Option<Ejection> = None;
    for _ in 0..samples {
        let Some(ejection) = sample(walk, job) else { continue };
        if best.as_ref().is_none_or(|best| ejection.hardness < best.hardness) {
            best = Some(ejection);
        }
    }
    for other in best.into_iter().flat_map(|ejection| ejection.jobs) {
        walk.take_out(other, undo);
    }
}

/// A drawn option, place and start, and the jobs to be pushed out for it.
fn sample(walk: &mut Walk<'_>, job: usize) -> Option<Ejection> {
    let frame = walk.frame;
    let row = &frame.jobs[job];
    let option = row.options.get(walk.random.below(row.options.len()))?;
    let (earliest, latest) = (walk.grid.earliest(job), walk.grid.latest(job));
    let last = latest.checked_sub(option.ticks).filter(|&last| last >= earliest)?;
    let start = earliest + walk.random.below(last + 1 - earliest);
    let end = start + option.ticks;
    let nodes = &frame.by_type[option.gpu_type];
    let at = walk.random.below(nodes.len());
    let mut missing = usize::try_from(option.gang).unwrap_or(usize::MAX);
    let mut ejection = Ejection { jobs: Vec::new(), hardness: walk.random.below(1000) as f64 / 1000.0 };
    for step in 0..nodes.len() {
        let node = nodes[(at + step) % nodes.len()];
        let free: usize = frame.nodes[node].cells.clone().map(|cell| walk.grid.free(cell, start, end)).sum();
        let mut room = free;
        if room < missing {
            let mut others = on_node(walk, node, start, end);
            walk.random.shuffle(&mut others);
            others.sort_by(|a, b| walk.hardness[a.0].total_cmp(&walk.hardness[b.0]));
            for (other, count) in others {
                if room >= missing {
                    break;
                }
                if row.before.contains(&other) || ejection.jobs.contains(&other) {
                    continue;
                }
                room += count;
                ejection.jobs.push(other);
                ejection.hardness += walk.hardness[other];
            }
        }
        missing = missing.saturating_sub(room);
        if missing == 0 {
            return Some(ejection);
        }
    }
    None
}

/// The jobs on a node during `[from, to)`, with their GPUs there.
fn on_node(walk: &Walk<'_>, node: usize, from: usize, to: usize) -> Vec<(usize, usize)> {
    let jobs = walk.grid.jobs_on(node, from, to);
    let count = |placing: &Placing| -> usize {
        let here = placing.pattern.iter().filter(|&&(cell, _)| walk.frame.node_of(cell) == node);
        here.map(|&(_, count)| count as usize).sum()
    };
    jobs.map(|(job, placing)| (job, count(placing))).collect()
}
