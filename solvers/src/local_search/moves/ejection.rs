//! One job takes the place of another, which goes to a drawn node at a drawn time.

use super::{Proposal, draw_node, home, partner};
use crate::grid::{Grid, Placing};
use rats_domain::random::Random;

/// Another placed job of the same GPU type, and a new place for it.
pub(super) fn draw(
    grid: &Grid<'_>,
    job: usize,
    placing: &Placing,
    random: &mut Random,
    proposal: &mut Proposal,
) -> Option<()> {
    let jobs = &grid.frame.jobs;
    let (other, there) = partner(grid, job, placing, random)?;
    let its = &jobs[other].options[there.option];
    let last = jobs[other].deadline.checked_sub(its.ticks)?;
    let start = jobs[other].release + random.below(last.checked_sub(jobs[other].release)? + 1);
    let node = draw_node(grid, its.gpu_type, random)?;
    proposal.push_near(grid, (job, placing.option, there.start), home(grid, there)?, random)?;
    proposal.push_near(grid, (other, there.option, start), node, random)
}
