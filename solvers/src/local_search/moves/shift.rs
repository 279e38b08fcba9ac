//! One job starts at another time, on the same GPUs.

use super::Proposal;
use crate::grid::{Grid, Placing};
use rats_domain::random::Random;

/// Farthest of the near starts.
const NEAR: usize = 4;

/// A near start in half of the cases, any of the job's window otherwise.
pub(super) fn draw(
    grid: &Grid<'_>,
    job: usize,
    placing: &Placing,
    random: &mut Random,
    proposal: &mut Proposal,
) -> Option<()> {
    let row = &grid.frame.jobs[job];
    let last = row.deadline.checked_sub(row.options[placing.option].ticks)?;
    let (low, high) = if random.chance(50) {
        (row.release.max(placing.start.saturating_sub(NEAR)), last.min(placing.start + NEAR))
    } else {
        (row.release, last)
    };
    let start = low + random.below(high.checked_sub(low)? + 1);
    if start == placing.start {
        return None;
    }
    proposal.push(job, placing.option, start, &placing.pattern);
    Some(())
}
