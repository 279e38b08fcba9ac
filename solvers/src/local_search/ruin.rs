//! Ways to take jobs out of a plan: at random, around a place, a time or a job.

use super::walk::{Undo, Walk};
use crate::grid::bits;

/// A way to take jobs out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ruin {
    /// Jobs drawn at random.
    Random,
    /// Jobs near one another in time and place, from a drawn one on.
    Related,
    /// Jobs that run in a stretch of time.
    Window,
    /// Jobs of one node, those near a drawn tick.
    Node,
    /// All jobs of one powered block of a node.
    Block,
    /// Jobs that cost most beyond their cheapest option.
    Worst,
    /// A string of jobs on each of a few nodes near a job (slack induction by string removals).
    Strings,
    /// Jobs within one switch at a time.
    Rack,
    /// Jobs that end late.
    Late,
}

impl Ruin {
    pub const ALL: [Self; 9] = [
        Self::Random,
        Self::Related,
        Self::Window,
        Self::Node,
        Self::Block,
        Self::Worst,
        Self::Strings,
        Self::Rack,
        Self::Late,
    ];

    /// Takes about `count` jobs out.
    pub fn apply(self, walk: &mut Walk<'_>, count: usize, undo: &mut Undo) {
        let victims = match self {
            Self::Random => random(walk, count),
            Self::Related => related(walk, count),
            Self::Window => window(walk, count),
            Self::Node => node(walk, count),
            Self::Block => block(walk),
            Self::Worst => worst(walk, count),
            Self::Strings => strings(walk, count),
            Self::Rack => rack(walk, count),
            Self::Late => late(walk, count),
        };
        for job in victims {
            walk.take_out(job, undo);
        }
    }
}

/// A placed job drawn at random.
fn drawn(walk: &mut Walk<'_>) -> Option<usize> {
    let open = &walk.open;
    if open.is_empty() {
        return None;
    }
    let at = walk.random.below(open.len());
    (0..open.len()).map(|step| open[(at + step) % open.len()]).find(|&job| walk.grid.placing(job).is_some())
}

fn random(walk: &mut Walk<'_>, count: usize) -> Vec<usize> {
    (0..count).filter_map(|_| drawn(walk)).collect()
}

/// The middle of a job's occupancy, in half ticks.
fn middle(walk: &Walk<'_>, job: usize) -> Option<usize> {
    Some(walk.grid.placing(job)?.start + walk.grid.end_of(job)?)
}

/// The placed jobs with the least key.
fn nearest(walk: &Walk<'_>, count: usize, key: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    let mut keyed: Vec<(usize, usize)> = walk.open.iter().filter_map(|&job| Some((key(job)?, job))).collect();
    if keyed.len() > count {
        keyed.select_nth_unstable(count);
        keyed.truncate(count);
    }
    keyed.into_iter().map(|(_, job)| job).collect()
}

/// The node of the first part of a job's gang.
fn home(walk: &Walk<'_>, job: usize) -> Option<usize> {
    walk.grid.placing(job)?.pattern.first().map(|&(cell, _)| walk.frame.node_of(cell))
}

fn related(walk: &mut Walk<'_>, count: usize) -> Vec<usize> {
    let Some(seed) = drawn(walk) else { return Vec::new() };
    let (Some(at), Some(node)) = (middle(walk, seed), home(walk, seed)) else { return Vec::new() };
    let noise: Vec<usize> = (0..16).map(|_| walk.random.below(walk.frame.horizon / 4 + 1)).collect();
    let rack = walk.frame.parts[walk.frame.nodes[node].part].parent;
    nearest(walk, count, |job| {
        let other = home(walk, job)?;
        let far = match () {
            () if other == node => 0,
            () if walk.frame.parts[walk.frame.nodes[other].part].parent == rack => walk.frame.horizon / 8,
            () => walk.frame.horizon / 3,
        };
        Some(middle(walk, job)?.abs_diff(at) + far + noise[job % 16])
    })
}

fn window(walk: &mut Walk<'_>, count: usize) -> Vec<usize> {
    let at = walk.random.below(2 * walk.frame.horizon);
    nearest(walk, count, |job| middle(walk, job).map(|middle| middle.abs_diff(at)))
}

/// The jobs of a node nearest to a point in time, in half ticks.
fn nearest_on(walk: &Walk<'_>, node: usize, at: usize, count: usize) -> Vec<usize> {
    let jobs = walk.grid.jobs_on(node, 0, walk.frame.horizon);
    let mut keyed: Vec<(usize, usize)> =
        jobs.filter_map(|(job, _)| Some((middle(walk, job)?.abs_diff(at), job))).collect();
    keyed.sort_unstable();
    keyed.into_iter().take(count).map(|(_, job)| job).collect()
}

fn node(walk: &mut Walk<'_>, count: usize) -> Vec<usize> {
    let Some(node) = drawn(walk).and_then(|job| home(walk, job)) else { return Vec::new() };
    let at = walk.random.below(2 * walk.frame.horizon);
    nearest_on(walk, node, at, count)
}

fn block(walk: &mut Walk<'_>) -> Vec<usize> {
    let Some(seed) = drawn(walk) else { return Vec::new() };
    let (Some(node), Some(placing)) = (home(walk, seed), walk.grid.placing(seed)) else { return Vec::new() };
    let (from, end) = bits::block(walk.grid.busy(node), placing.start);
    let mut jobs: Vec<usize> = walk.grid.jobs_on(node, from, end).map(|(job, _)| job).collect();
    jobs.truncate(24);
    jobs
}

fn worst(walk: &mut Walk<'_>, count: usize) -> Vec<usize> {
    let mut keyed: Vec<(f64, usize)> = Vec::new();
    for at in 0..walk.open.len() {
        let job = walk.open[at];
        let (Some(option), Some(placing)) = (walk.grid.option_of(job), walk.grid.placing(job)) else { continue };
        let start = placing.start;
        let noise = 0.5 + walk.random.below(1000) as f64 / 1000.0;
        keyed.push(((walk.grid.alone(job, option, start) - walk.least[job]) * noise, job));
    }
    keyed.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    keyed.into_iter().take(count).map(|(_, job)| job).collect()
}

fn strings(walk: &mut Walk<'_>, count: usize) -> Vec<usize> {
    let mut taken = Vec::new();
    let Some(seed) = drawn(walk) else { return taken };
    let Some(at) = middle(walk, seed) else { return taken };
    let each = 1 + walk.random.below(4);
    let mut node = home(walk, seed);
    for _ in 0..count.div_ceil(each) {
        let Some(here) = node else { break };
        let string = nearest_on(walk, here, at, each);
        taken.extend(string);
        node = drawn(walk).and_then(|job| home(walk, job));
    }
    taken
}

fn rack(walk: &mut Walk<'_>, count: usize) -> Vec<usize> {
    let Some(seed) = drawn(walk) else { return Vec::new() };
    let (Some(node), Some(at)) = (home(walk, seed), middle(walk, seed)) else { return Vec::new() };
    let rack = |node: usize| walk.frame.parts[walk.frame.nodes[node].part].parent;
    let here = rack(node);
    nearest(walk, count, |job| {
        (rack(home(walk, job)?) == here).then_some(())?;
        middle(walk, job).map(|middle| middle.abs_diff(at))
    })
}

fn late(walk: &mut Walk<'_>, count: usize) -> Vec<usize> {
    let end = walk.grid.makespan();
    let noise: Vec<usize> = (0..16).map(|_| walk.random.below(walk.frame.horizon / 4 + 1)).collect();
    nearest(walk, count, |job| Some(end.saturating_sub(walk.grid.end_of(job)?) + noise[job % 16]))
}
