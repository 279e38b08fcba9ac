//! One job takes the place of another, which goes to a drawn node at a drawn time.

use super::{Proposal, draw_node, home};
use crate::grid::{Grid, Placing};
use crate::random::Random;

/// Another placed job of the same GPU type, and a new place for it.
pub(super) fn draw(
    grid: &Grid<'_>,
    job: usize,
    placing: &Placing,
    random: &mut Random,
    proposal: &mut Proposal,
) -> Option<()> {
    let jobs = &grid.frame.jobs;
    let other = random.below(jobs.len());
    let there = grid.placing(other).filter(|_| other != job)?;
    let (mine, its) = (&jobs[job].options[placing.option], &jobs[other].options[there.option]);
    if mine.gpu_type != its.gpu_type {
        return None;
    }
    let last = jobs[other].deadline.checked_sub(its.ticks)?;
    let start = jobs[other].release + random.below(last.checked_sub(jobs[other].release)? + 1);
    let node = draw_node(grid, its.gpu_type, random)?;
    proposal.push_near(grid, (job, placing.option, there.start), home(grid, there)?, random)?;
    proposal.push_near(grid, (other, there.option, start), node, random)
}
