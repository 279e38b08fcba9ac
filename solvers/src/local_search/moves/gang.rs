//! One job runs with another gang size, on or near its node, with the same start or the same end.

use super::{Proposal, draw_node, home, same_start_or_end};
use crate::grid::{Grid, Placing};
use rats_domain::random::Random;

/// An option with another gang size or GPU type.
pub(super) fn draw(
    grid: &Grid<'_>,
    job: usize,
    placing: &Placing,
    random: &mut Random,
    proposal: &mut Proposal,
) -> Option<()> {
    let options = &grid.frame.jobs[job].options;
    let old = &options[placing.option];
    let position = random.below(options.len());
    let new = &options[position];
    if new.gang == old.gang && new.gpu_type == old.gpu_type {
        return None;
    }
    let start = same_start_or_end(placing, old, new, random)?;
    let node = if new.gpu_type == old.gpu_type && random.chance(70) {
        home(grid, placing)?
    } else {
        draw_node(grid, new.gpu_type, random)?
    };
    proposal.push_near(grid, (job, position, start), node, random)
}
