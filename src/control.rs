//! Time limit, interruption and the live line of a run.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rats_domain::objective::gap;
use rats_domain::solver::{Control, Progress, Stop};

use crate::report::{number, percent};
use rats_system::clock::Stopwatch;

/// Most changes that a trajectory keeps; of more, every other one is left out.
const MOST_CHANGES: usize = 1000;

/// A moment in which the best known plan or bound of a run changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Seconds since the start.
    pub at_s: f64,
    /// What was known from then on.
    pub progress: Progress,
}

/// How progress is shown on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Display {
    /// Not at all.
    Quiet,
    /// One line, overwritten in place.
    Terminal,
    /// A line for every change.
    Lines,
}

/// The control that the command line gives to a solver.
pub struct RunControl {
    watch: Stopwatch,
    limit: Option<Duration>,
    interrupted: Arc<AtomicBool>,
    display: Display,
    best: Mutex<Best>,
}

#[derive(Clone, Debug, Default)]
struct Best {
    progress: Progress,
    changes: Vec<Change>,
    first_plan: Option<Duration>,
    shown: bool,
}

impl Display {
    /// What suits standard error.
    pub fn for_stderr(quiet: bool) -> Self {
        match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Terminal,
            (false, false) => Self::Lines,
        }
    }
}

impl RunControl {
    /// Starts the clock.
    pub fn start(limit: Option<Duration>, interrupted: Arc<AtomicBool>, display: Display) -> Self {
        Self { watch: Stopwatch::start(), limit, interrupted, display, best: Mutex::default() }
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.watch.elapsed()
    }

    /// When the first schedule was reported.
    pub fn first_plan(&self) -> Option<Duration> {
        self.best.lock().unwrap_or_else(PoisonError::into_inner).first_plan
    }

    /// How the best known plan and bound moved, oldest first.
    pub fn trajectory(&self) -> Vec<Change> {
        self.best.lock().unwrap_or_else(PoisonError::into_inner).changes.clone()
    }

    /// Ends the line that was overwritten in place.
    pub fn finish(&self) {
        let best = self.best.lock().unwrap_or_else(PoisonError::into_inner);
        if best.shown && self.display == Display::Terminal {
            say("\r\x1b[K");
        }
    }

    fn show(&self, progress: Progress) {
        match self.display {
            Display::Quiet => {}
            Display::Terminal => say(&format!("\r\x1b[K{}", line(progress, self.elapsed()))),
            Display::Lines => say(&format!("{}\n", line(progress, self.elapsed()))),
        }
    }
}

impl Control for RunControl {
    fn stop(&self) -> Option<Stop> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Some(Stop::Interrupted);
        }
        let limit = self.limit?;
        (self.elapsed() >= limit).then_some(Stop::Deadline)
    }

    fn remaining(&self) -> Option<Duration> {
        self.limit.map(|limit| limit.saturating_sub(self.elapsed()))
    }

    fn progress(&self, progress: Progress) {
        let mut best = self.best.lock().unwrap_or_else(PoisonError::into_inner);
        let better = improved(best.progress, progress);
        if better == best.progress {
            return;
        }
        best.progress = better;
        best.note(Change { at_s: self.elapsed().as_secs_f64(), progress: better });
        if better.incumbent.is_some() && best.first_plan.is_none() {
            best.first_plan = Some(self.elapsed());
        }
        best.shown = true;
        self.show(better);
    }
}

impl Best {
    fn note(&mut self, change: Change) {
        if self.changes.len() == MOST_CHANGES {
            let mut position = 0;
            self.changes.retain(|_| {
                position += 1;
                position % 2 == 1
            });
        }
        self.changes.push(change);
    }
}

/// The better of two reports: the lower incumbent and the higher bound.
fn improved(known: Progress, new: Progress) -> Progress {
    let best = |known: Option<f64>, new: Option<f64>, pick: fn(f64, f64) -> f64| match (known, new) {
        (Some(known), Some(new)) => Some(pick(known, new)),
        (known, new) => known.or(new),
    };
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
    Progress {
        incumbent: best(known.incumbent, finite(new.incumbent), f64::min),
        bound: best(known.bound, finite(new.bound), f64::max),
    }
}

fn line(progress: Progress, elapsed: Duration) -> String {
    let value = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
    let gap = progress.incumbent.zip(progress.bound).map(|(incumbent, bound)| gap(incumbent, bound));
    let gap = gap.map_or_else(|| "-".to_owned(), percent);
    let (incumbent, bound) = (value(progress.incumbent), value(progress.bound));
    format!("{:8.1} s  incumbent {incumbent}  bound {bound}  gap {gap}", elapsed.as_secs_f64())
}

/// Writes to standard error; that nobody reads it is no reason to stop.
fn say(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}

/// Sets up Ctrl-C and SIGTERM: the first sets the flag that is returned, the second ends the process with 130.
///
/// # Errors
/// The handler cannot be installed.
pub fn catch_interrupts() -> Result<Arc<AtomicBool>, ctrlc::Error> {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&flag);
    ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        say("\nstopping; once more to stop at once\n");
    })?;
    Ok(flag)
}

/// Counts Ctrl-C and SIGTERM without ending the process: the first asks to end soon, the next to end now.
///
/// # Errors
/// The handler cannot be installed.
pub fn count_interrupts() -> Result<Arc<AtomicUsize>, ctrlc::Error> {
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    ctrlc::set_handler(move || {
        if seen.fetch_add(1, Ordering::Relaxed) == 0 {
            say("\nending after the current run; once more to end now\n");
        }
    })?;
    Ok(count)
}

/// Highest resident memory of this process so far in MiB; 0 where the system does not say.
pub fn peak_memory_mib() -> u64 {
    peak_memory_of("self")
}

/// Highest resident memory so far of the process with this id, in MiB; 0 where the system does not say.
pub fn peak_memory_of(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let kib =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix("kB")?.trim().parse().ok());
    kib.map_or(0, |kib: u64| kib.div_ceil(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(limit: Option<Duration>) -> RunControl {
        RunControl::start(limit, Arc::default(), Display::Quiet)
    }

    #[test]
    fn an_interrupt_stops_before_the_deadline() {
        let control = control(Some(Duration::ZERO));
        assert_eq!(control.stop(), Some(Stop::Deadline));
        control.interrupted.store(true, Ordering::Relaxed);
        assert_eq!(control.stop(), Some(Stop::Interrupted));
    }

    #[test]
    fn without_a_limit_it_goes_on() {
        let control = control(None);
        assert_eq!(control.stop(), None);
        assert_eq!(control.remaining(), None);
    }

    #[test]
    fn progress_keeps_the_best_of_both() {
        let known = Progress { incumbent: Some(10.0), bound: Some(4.0) };
        let new = Progress { incumbent: Some(12.0), bound: Some(f64::INFINITY) };
        assert_eq!(improved(known, new), known);
        let new = Progress { incumbent: Some(8.0), bound: Some(5.0) };
        assert_eq!(improved(known, new), new);
    }

    #[test]
    fn the_first_plan_is_noted_once() {
        let control = control(None);
        control.progress(Progress { incumbent: None, bound: Some(1.0) });
        assert_eq!(control.first_plan(), None);
        control.progress(Progress { incumbent: Some(3.0), bound: None });
        let first = control.first_plan();
        assert!(first.is_some());
        control.progress(Progress { incumbent: Some(2.0), bound: None });
        assert_eq!(control.first_plan(), first);
        let seen: Vec<_> = control.trajectory().iter().map(|change| change.progress.incumbent).collect();
        assert_eq!(seen, [None, Some(3.0), Some(2.0)]);
    }

    #[test]
    fn a_long_trajectory_is_thinned_out_and_keeps_its_ends() {
        let control = control(None);
        for step in 0..2500 {
            control.progress(Progress { incumbent: Some(f64::from(5000 - step)), bound: None });
        }
        let changes = control.trajectory();
        let incumbents = |position: usize| changes[position].progress.incumbent;
        assert!(changes.len() <= MOST_CHANGES);
        assert_eq!((incumbents(0), incumbents(changes.len() - 1)), (Some(5000.0), Some(2501.0)));
    }
}
