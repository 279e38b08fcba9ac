//! A line of the portfolio, as the methods on it see control: a slice of the time, cut short when all is settled.

use std::time::Duration;

use rats_domain::solver::{Control, Progress, Stop};

use super::board::Board;
use crate::slice::Slice;

/// The control of one method.
pub(super) struct Line<'b> {
    board: &'b Board<'b>,
    control: &'b dyn Control,
    slice: Slice<'b>,
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
        let slice = Slice::keeping(control, |left| left.saturating_sub(left.mul_f64(part.clamp(0.0, 1.0))));
        Self { board, control, slice, shows: Shows::Plans }
    }

    /// At most this long.
    pub fn at_most(board: &'b Board<'b>, control: &'b dyn Control, time: Duration) -> Self {
        Self { board, control, slice: Slice::at_most(control, time), shows: Shows::Plans }
    }

    /// The same for a method of which only the bounds hold for the whole instance.
    pub fn for_bounds(self) -> Self {
        Self { shows: Shows::Bounds, ..self }
    }
}

impl Control for Line<'_> {
    fn stop(&self) -> Option<Stop> {
        self.slice.stop().or_else(|| self.board.is_settled().then_some(Stop::Deadline))
    }

    fn remaining(&self) -> Option<Duration> {
        self.slice.remaining()
    }

    fn progress(&self, progress: Progress) {
        let incumbent = progress.incumbent.filter(|_| self.shows == Shows::Plans);
        let below = |bound: f64| self.board.value().map_or(bound, |value| bound.min(value));
        let bound = progress.bound.filter(|_| self.shows == Shows::Bounds).map(below);
        self.control.progress(Progress { incumbent, bound });
    }
}
