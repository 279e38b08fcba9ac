//! A slice of the time that is left, for a method inside another.

use std::time::Duration;

use rats_domain::solver::{Control, Progress, Stop};

/// A control that stops when the slice is used up; what is reported in it is about a part of the work and goes nowhere.
pub(crate) struct Slice<'c> {
    control: &'c dyn Control,
    /// Time that must be left at the end; `None` without a limit.
    keep: Option<Duration>,
}

impl<'c> Slice<'c> {
    /// At most this long.
    pub fn at_most(control: &'c dyn Control, time: Duration) -> Self {
        Self::keeping(control, |left| left.saturating_sub(time))
    }

    /// Leaves what `keep` says of the time left.
    pub fn keeping(control: &'c dyn Control, keep: impl Fn(Duration) -> Duration) -> Self {
        Self { control, keep: control.remaining().map(keep) }
    }
}

impl Control for Slice<'_> {
    fn stop(&self) -> Option<Stop> {
        let used_up = self.remaining().is_some_and(|left| left.is_zero());
        self.control.stop().or(used_up.then_some(Stop::Deadline))
    }

    fn remaining(&self) -> Option<Duration> {
        Some(self.control.remaining()?.saturating_sub(self.keep?))
    }

    fn progress(&self, _: Progress) {}
}
