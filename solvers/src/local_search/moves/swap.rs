//! Two jobs exchange their places: GPUs and start if the gangs are equal, else nodes and start.

use super::{Proposal, home, partner};
use crate::grid::{Grid, Placing};
use rats_domain::random::Random;

/// Another placed job of the same GPU type.
pub(super) fn draw(
    grid: &Grid<'_>,
    job: usize,
    placing: &Placing,
    random: &mut Random,
    proposal: &mut Proposal,
) -> Option<()> {
    let jobs = &grid.frame.jobs;
    let (other, there) = partner(grid, job, placing, random)?;
    let (mine, its) = (&jobs[job].options[placing.option], &jobs[other].options[there.option]);
    if mine.gang == its.gang && mine.span == its.span {
        proposal.push(job, placing.option, there.start, &there.pattern);
        proposal.push(other, there.option, placing.start, &placing.pattern);
        return (placing.start != there.start || placing.pattern != there.pattern).then_some(());
    }
    proposal.push_near(grid, (job, placing.option, there.start), home(grid, there)?, random)?;
    proposal.push_near(grid, (other, there.option, placing.start), home(grid, placing)?, random)
}
