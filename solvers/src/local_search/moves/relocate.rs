//! One job runs on other nodes, at the same time.

use super::{Proposal, draw_node};
use crate::grid::{Grid, Placing};
use rats_domain::random::Random;

/// Nodes drawn from all of the type.
pub(super) fn draw(
    grid: &Grid<'_>,
    job: usize,
    placing: &Placing,
    random: &mut Random,
    proposal: &mut Proposal,
) -> Option<()> {
    let option = &grid.frame.jobs[job].options[placing.option];
    let node = draw_node(grid, option.gpu_type, random)?;
    proposal.push_near(grid, (job, placing.option, placing.start), node, random)?;
    (proposal.patterns != placing.pattern).then_some(())
}
