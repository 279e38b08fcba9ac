//! All jobs of one powered block move together: in time, or to another node of the same class.

use super::{Proposal, draw_node, home};
use crate::grid::{Grid, Placing, bits};
use rats_domain::random::Random;

/// Most jobs of a block that moves.
const MOST_JOBS: usize = 12;
/// Farthest that a block moves in time.
const FARTHEST: usize = 12;

/// The block in which the job runs; only if all its jobs run within the node.
pub(super) fn draw(
    grid: &Grid<'_>,
    job: usize,
    placing: &Placing,
    random: &mut Random,
    proposal: &mut Proposal,
) -> Option<()> {
    let frame = grid.frame;
    let node = home(grid, placing)?;
    let row = &frame.nodes[node];
    let (from, to) = bits::block(grid.busy(node), placing.start);
    let option = grid.option_of(job)?;
    let target = draw_node(grid, option.gpu_type, random)?;
    let other = &frame.nodes[target];
    let in_time = target == node || other.class != row.class || random.chance(50);
    let (later, by) = (random.chance(50), 1 + random.below(FARTHEST));
    for (member, placing) in grid.jobs_on(node, from, to) {
        if proposal.changes.len() == MOST_JOBS {
            return None;
        }
        let at_home = |&(cell, _): &(usize, u32)| row.cells.contains(&cell);
        if !placing.pattern.iter().all(at_home) {
            return None;
        }
        let start = match (in_time, later) {
            (false, _) => placing.start,
            (true, true) => placing.start + by,
            (true, false) => placing.start.checked_sub(by)?,
        };
        proposal.push(member, placing.option, start, &placing.pattern);
    }
    if !in_time {
        for (cell, _) in &mut proposal.patterns {
            *cell = *cell - row.cells.start + other.cells.start;
        }
    }
    (!proposal.changes.is_empty()).then_some(())
}
