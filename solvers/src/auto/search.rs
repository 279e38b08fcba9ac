//! A searching line: local search from the best plan on, with a new seed in every leg.

use rats_domain::solver::{Control, Request};

use super::board::Board;
use super::line::Line;
use crate::local_search::improve;

/// Legs into which a searching line divides its time.
const LEGS: u64 = 5;
/// Above so many jobs there is one leg: a new start would cost more than a new seed gains.
const MANY_JOBS: usize = 2000;
/// Distance of the seeds of two lines.
const STRIDE: u64 = 1000;

/// Searches until plan and bound meet or the time is up.
pub(super) fn until_settled(board: &Board<'_>, request: &Request, line: u64, control: &dyn Control) {
    let legs = if board.instance.jobs.len() > MANY_JOBS { 1 } else { LEGS };
    for leg in 0..legs {
        if control.stop().is_some() || board.is_settled() {
            return;
        }
        let part = 1.0 / (legs - leg) as f64;
        once(board, request.seed + STRIDE * line + leg, &Line::part(board, control, part));
    }
}

/// One leg.
pub(super) fn once(board: &Board<'_>, seed: u64, control: &Line<'_>) {
    let start = board.best().map(|(_, schedule)| schedule);
    if let Some(found) = improve(board.instance, start.as_ref(), seed, None, control) {
        board.offer(found);
    }
}
