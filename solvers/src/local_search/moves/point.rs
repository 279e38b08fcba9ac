//! One job runs at another operating point, on the same GPUs, with the same start or the same end.

use super::{Proposal, same_start_or_end};
use crate::grid::{Grid, Placing};
use rats_domain::random::Random;

/// An option with the same gang that may be spread as wide.
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
    let same = new.gpu_type == old.gpu_type && new.gang == old.gang && new.span >= old.span;
    if !same || position == placing.option {
        return None;
    }
    let start = same_start_or_end(placing, old, new, random)?;
    proposal.push(job, position, start, &placing.pattern);
    Some(())
}
