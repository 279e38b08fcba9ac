//! Small moves of placed jobs: drawn, judged with every rule and term, and applied or left.
//!
//! A move is a [`Proposal`]: new placings of a few jobs. It is judged by taking these jobs out, judging and placing them
//! one by one, and going back, so that what is judged is exactly what applying it does.

mod block;
mod ejection;
mod gang;
mod point;
mod relocate;
mod shift;
mod swap;
#[cfg(test)]
mod tests;

use rats_domain::topology::Rank;

use crate::grid::{Grid, OptionFrame, Placing};
use rats_domain::random::Random;

/// A kind of move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// One job starts at another time.
    Shift,
    /// One job runs on other nodes.
    Relocate,
    /// Two jobs exchange their places.
    Swap,
    /// One job runs at another operating point.
    Point,
    /// One job runs with another gang size.
    Gang,
    /// All jobs of one powered block move in time or to another node.
    Block,
    /// One job takes the place of another, which goes elsewhere.
    Ejection,
}

/// New placings of a few jobs.
#[derive(Clone, Debug, Default)]
pub struct Proposal {
    changes: Vec<Change>,
    patterns: Vec<(usize, u32)>,
    before: Vec<(usize, Placing)>,
}

/// The new placing of one job.
#[derive(Clone, Copy, Debug)]
struct Change {
    job: usize,
    option: usize,
    start: usize,
    pattern: (usize, usize),
}

impl Move {
    /// All kinds.
    pub const ALL: [Self; 7] =
        [Self::Shift, Self::Relocate, Self::Swap, Self::Point, Self::Gang, Self::Block, Self::Ejection];

    /// Draws a move for a placed job; whether there is one of this kind.
    pub fn draw(self, grid: &Grid<'_>, job: usize, random: &mut Random, proposal: &mut Proposal) -> bool {
        proposal.changes.clear();
        proposal.patterns.clear();
        let Some(placing) = grid.placing(job) else { return false };
        let drawn = match self {
            Self::Shift => shift::draw(grid, job, placing, random, proposal),
            Self::Relocate => relocate::draw(grid, job, placing, random, proposal),
            Self::Swap => swap::draw(grid, job, placing, random, proposal),
            Self::Point => point::draw(grid, job, placing, random, proposal),
            Self::Gang => gang::draw(grid, job, placing, random, proposal),
            Self::Block => block::draw(grid, job, placing, random, proposal),
            Self::Ejection => ejection::draw(grid, job, placing, random, proposal),
        };
        drawn.is_some()
    }
}

impl Proposal {
    /// Adds a job with the pattern that it or another job has.
    fn push(&mut self, job: usize, option: usize, start: usize, pattern: &[(usize, u32)]) {
        let from = self.patterns.len();
        self.patterns.extend_from_slice(pattern);
        self.changes.push(Change { job, option, start, pattern: (from, self.patterns.len()) });
    }

    /// Adds a job on a drawn place with enough GPUs, near `node` if it fits there.
    fn push_near(
        &mut self,
        grid: &Grid<'_>,
        (job, option, start): (usize, usize, usize),
        node: usize,
        random: &mut Random,
    ) -> Option<()> {
        let from = self.patterns.len();
        let row = &grid.frame.jobs[job].options[option];
        draw_pattern(grid, row, node, random, &mut self.patterns)?;
        self.patterns[from..].sort_unstable();
        self.changes.push(Change { job, option, start, pattern: (from, self.patterns.len()) });
        Some(())
    }

    /// What the move adds to the value and to the energy (mJ); `None` if it breaks a rule other than the budget. The
    /// grid is as before.
    pub fn judge(&mut self, grid: &mut Grid<'_>) -> Option<(f64, i64)> {
        if !self.may_fit(grid) {
            return None;
        }
        let before = (grid.value(), grid.energy());
        self.before.clear();
        for change in &self.changes {
            if let Some(placing) = grid.remove(change.job) {
                self.before.push((change.job, placing));
            }
        }
        let delta = self.try_all(grid, before);
        for change in &self.changes {
            grid.remove(change.job);
        }
        for (job, placing) in self.before.drain(..) {
            grid.place(job, placing);
        }
        delta
    }

    /// Makes the move, which must have been judged to keep the rules.
    pub fn apply(&self, grid: &mut Grid<'_>) {
        for change in &self.changes {
            grid.remove(change.job);
        }
        for change in &self.changes {
            grid.place(change.job, self.placing(change));
        }
    }

    /// A quick look: windows, and GPUs with those of the jobs themselves free.
    fn may_fit(&self, grid: &mut Grid<'_>) -> bool {
        let ticks = |grid: &Grid<'_>, change: &Change| grid.frame.jobs[change.job].options[change.option].ticks;
        let in_window = |change: &Change| {
            let row = &grid.frame.jobs[change.job];
            change.start >= row.release && change.start + ticks(grid, change) <= row.deadline
        };
        if !self.changes.iter().all(in_window) {
            return false;
        }
        for change in &self.changes {
            grid.lift(change.job, true);
        }
        let mut held = 0;
        for change in &self.changes {
            let (ticks, pattern) = (ticks(grid, change), &self.patterns[change.pattern.0..change.pattern.1]);
            if !grid.has_gpus(change.start, ticks, pattern) {
                break;
            }
            grid.hold(change.start, ticks, pattern, true);
            held += 1;
        }
        for change in &self.changes[..held] {
            let pattern = &self.patterns[change.pattern.0..change.pattern.1];
            grid.hold(change.start, ticks(grid, change), pattern, false);
        }
        for change in &self.changes {
            grid.lift(change.job, false);
        }
        held == self.changes.len()
    }

    /// Places all but the last, which is only judged.
    fn try_all(&self, grid: &mut Grid<'_>, (value, energy): (f64, i64)) -> Option<(f64, i64)> {
        let (last, others) = self.changes.split_last()?;
        for change in others {
            let pattern = &self.patterns[change.pattern.0..change.pattern.1];
            grid.judge(change.job, change.option, change.start, pattern)?;
            grid.place(change.job, self.placing(change));
        }
        let pattern = &self.patterns[last.pattern.0..last.pattern.1];
        let effect = grid.judge(last.job, last.option, last.start, pattern)?;
        Some((grid.value() + effect.value - value, grid.energy() + effect.energy - energy))
    }

    fn placing(&self, change: &Change) -> Placing {
        let pattern = self.patterns[change.pattern.0..change.pattern.1].to_vec();
        Placing { option: change.option, start: change.start, pattern }
    }
}

/// The node of the first GPUs of a placing.
fn home(grid: &Grid<'_>, placing: &Placing) -> Option<usize> {
    placing.pattern.first().map(|&(cell, _)| grid.frame.node_of(cell))
}

/// Another placed job of the same GPU type.
fn partner<'g>(grid: &'g Grid<'_>, job: usize, placing: &Placing, random: &mut Random) -> Option<(usize, &'g Placing)> {
    let jobs = &grid.frame.jobs;
    let other = random.below(jobs.len());
    let there = grid.placing(other).filter(|_| other != job)?;
    let (mine, its) = (&jobs[job].options[placing.option], &jobs[other].options[there.option]);
    (mine.gpu_type == its.gpu_type).then_some((other, there))
}

/// The start of another option with which the job keeps its start, or its end.
fn same_start_or_end(placing: &Placing, old: &OptionFrame, new: &OptionFrame, random: &mut Random) -> Option<usize> {
    if random.chance(50) { Some(placing.start) } else { (placing.start + old.ticks).checked_sub(new.ticks) }
}

/// A node of a GPU type.
fn draw_node(grid: &Grid<'_>, gpu_type: usize, random: &mut Random) -> Option<usize> {
    let nodes = &grid.frame.by_type[gpu_type];
    (!nodes.is_empty()).then(|| nodes[random.below(nodes.len())])
}

/// GPUs for an option, free or not: in a drawn island of the node, the node, or the nodes from it on in its switch.
fn draw_pattern(
    grid: &Grid<'_>,
    option: &OptionFrame,
    node: usize,
    random: &mut Random,
    pattern: &mut Vec<(usize, u32)>,
) -> Option<()> {
    let frame = grid.frame;
    let mut left = option.gang;
    let row = &frame.nodes[node];
    if option.span < Rank::NODE {
        let islands = &frame.parts[row.part].children;
        let island = islands[random.below(islands.len())];
        return take(grid, frame.parts[island].cells.iter().copied(), &mut left, pattern);
    }
    let count = row.cells.len();
    let first = random.below(count);
    let cells = (0..count).map(|step| row.cells.start + (first + step) % count);
    if option.span == Rank::NODE || row.gpus >= left {
        return take(grid, cells, &mut left, pattern);
    }
    let above = |&part: &usize| frame.parts[part].rank <= option.span;
    let up = std::iter::successors(frame.parts[row.part].parent, |&part| frame.parts[part].parent);
    let top = up.take_while(above).last()?;
    let nodes = &frame.parts[top].nodes;
    let at = nodes.iter().position(|&other| other == node)?;
    let others = (0..nodes.len()).map(|step| nodes[(at + step) % nodes.len()]);
    let fitting = others.filter(|&other| frame.nodes[other].gpu_type == option.gpu_type);
    take(grid, fitting.flat_map(|other| frame.nodes[other].cells.clone()), &mut left, pattern)
}

fn take(
    grid: &Grid<'_>,
    cells: impl Iterator<Item = usize>,
    left: &mut u32,
    pattern: &mut Vec<(usize, u32)>,
) -> Option<()> {
    for cell in cells {
        let count = grid.frame.gpus_in(cell).min(*left);
        pattern.push((cell, count));
        *left -= count;
        if *left == 0 {
            return Some(());
        }
    }
    None
}
