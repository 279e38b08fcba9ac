//! A line of the portfolio, as the methods on it see control: a slice of the time, cut short when all is settled.

use std::time::Duration;

use rats_domain::solver::{Control, Progress, Stop};

use super::board::Board;

/// The control of one method.
pub(super) struct Line<'b> {
    board: &'b Board<'b>,
    control: &'b dyn Control,
    /// Time that must be left when the method ends.
    keep: Option<Duration>,
    shows: Shows,
}

/// What of a method's progress is about the instance, not about a relaxation of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shows {
    Plans,
    Bounds,
}

impl<'b> Line<'b> {
    /// A part of the time that is left.
    pub fn part(board: &'b Board<'b>, control: &'b dyn Control, part: f64) -> Self {
        let keep = control.remaining().map(|left| left.saturating_sub(left.mul_f64(part.clamp(0.0, 1.0))));
        Self { board, control, keep, shows: Shows::Plans }
    }

    /// At most this long.
    pub fn at_most(board: &'b Board<'b>, control: &'b dyn Control, time: Duration) -> Self {
        let keep = control.remaining().map(|left| left.saturating_sub(time));
        Self { board, control, keep, shows: Shows::Plans }
    }

    /// The same for a method of which only the bounds hold for the whole instance.
    pub fn for_bounds(self) -> Self {
        Self { shows: Shows::Bounds, ..self }
    }
}

impl Control for Line<'_> {
    fn stop(&self) -> Option<Stop> {
        let used_up = self.remaining().is_some_and(|left| left.is_zero());
        let early = used_up || self.board.is_settled();
        self.control.stop().or(early.then_some(Stop::Deadline))
    }

    fn remaining(&self) -> Option<Duration> {
        Some(self.control.remaining()?.saturating_sub(self.keep?))
    }

    fn progress(&self, progress: Progress) {
        let incumbent = progress.incumbent.filter(|_| self.shows == Shows::Plans);
        let below = |bound: f64| self.board.value().map_or(bound, |value| bound.min(value));
        let bound = progress.bound.filter(|_| self.shows == Shows::Bounds).map(below);
        self.control.progress(Progress { incumbent, bound });
    }
}
