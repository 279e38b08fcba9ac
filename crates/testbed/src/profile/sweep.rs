//! The points one after the other: the grid, what the model doubts, repeats, and the reference point between them.
//!
//! # Idea
//! What comes next follows from the measurements alone, so that a sweep that was interrupted goes on as if it had not been.
//!
//! # Model
//! The reference point, the middle of the grid, is measured first, after every few points, and last. Where it is off its
//! own median by more than `drift` in time or power, it and the points next to it on that side are drifted.
//!
//! # Complexity
//! O(points^2) beside the measurements.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems, Warning};

use super::bench::{Bench, Halt};
use super::choose::{self, Known};
use super::event::Event;
use super::grid::Grid;
use super::measure::{self, measure};
use super::order::order;
use super::readings::Power;
use super::record::{Book, Head, Instrument, Line, Measured, Role, Start, Taint};
use super::spread::Spread;
use super::target::Target;
use super::{Budget, Report, Request, result};
use crate::process::Exit;

/// Window over which the idle power is measured, s.
const IDLE_S: f64 = 3.0;
/// How often a command that ends by itself is started for one point.
const STARTS: usize = 2;

/// How a sweep ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All is measured, or the model is sure enough.
    Done,
    /// The budget is used up before the grid was measured.
    Budget,
    /// Ctrl-C.
    Interrupted,
    /// Something that makes going on pointless.
    Failed(Problem),
}

/// A sweep under way.
pub struct Sweep<'a> {
    request: &'a Request,
    bench: Bench<'a>,
    book: Book,
    grid: Vec<Target>,
    candidates: &'a [Target],
    reference: Target,
    records: Vec<Measured>,
    past: usize,
    starts: Vec<Start>,
    idle_w: Option<Vec<Option<f64>>>,
    warnings: Vec<Warning>,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Next {
    target: Target,
    role: Role,
    half_width: Option<f64>,
}

impl<'a> Sweep<'a> {
    /// A sweep that goes on after what is known of it.
    pub fn new(request: &'a Request, bench: Bench<'a>, grid: &'a Grid, book: Book, past: Vec<Line>) -> Self {
        let (mut records, mut starts, mut idle_w) = (Vec::new(), Vec::new(), None);
        for line in past {
            match line {
                Line::Measured(measured) => records.push(measured),
                Line::Start(start) => starts.push(start),
                Line::Idle { power_w } => idle_w = Some(power_w),
                Line::Head(_) => {}
            }
        }
        Self {
            request,
            bench,
            book,
            grid: order(&grid.first, request.settings.seed),
            candidates: &grid.candidates,
            reference: grid.first.get(grid.first.len() / 2).copied().unwrap_or_default(),
            past: records.len(),
            records,
            starts,
            idle_w,
            warnings: grid.warnings.clone(),
        }
    }

    /// Measures what is to be measured. The command has ended when this returns.
    pub fn run(&mut self, tell: &mut dyn FnMut(&Event<'_>)) -> End {
        tell(&Event::Begun { points: self.grid.len(), past: self.past });
        for warning in &self.warnings {
            tell(&Event::Warned(warning));
        }
        let end = self.go(tell).unwrap_or_else(|halt| match halt {
            Halt::Interrupted => End::Interrupted,
            Halt::Problem(problem) => End::Failed(problem),
            Halt::Ended(exit) => End::Failed(failed(&self.bench, exit)),
        });
        self.bench.end();
        end
    }

    fn go(&mut self, tell: &mut dyn FnMut(&Event<'_>)) -> Result<End, Halt> {
        if self.idle_w.is_none() {
            let power_w = self.idle()?;
            tell(&Event::Idle(&power_w));
            self.book.write(&Line::Idle { power_w: power_w.clone() })?;
            self.idle_w = Some(power_w);
        }
        while let Some(next) = self.next() {
            if self.is_used_up() {
                let open = self.grid.iter().any(|target| self.attempts(*target) == 0);
                return Ok(if open { End::Budget } else { End::Done });
            }
            tell(&Event::Setting { target: next.target, role: next.role, half_width: next.half_width });
            let measured = self.measured(next, tell)?;
            tell(&Event::Measured(&measured));
            self.book.write(&Line::Measured(measured.clone()))?;
            let start = self.bench.start_shown(measured.step_s.value);
            self.records.push(measured);
            if let Some(start) = start {
                self.book.write(&Line::Start(start))?;
                self.starts.push(start);
            }
            self.warn(tell);
        }
        Ok(End::Done)
    }

    fn idle(&mut self) -> Result<Vec<Option<f64>>, Halt> {
        let until = self.bench.pace.now_s() + IDLE_S;
        self.bench.forget();
        while self.bench.pace.now_s() < until {
            self.bench.look()?;
        }
        Ok(self.bench.readings.iter().map(|readings| Power::of(readings).watts()).collect())
    }

    /// One measurement; a command that ends by itself meanwhile is started again.
    fn measured(&mut self, next: Next, tell: &mut dyn FnMut(&Event<'_>)) -> Result<Measured, Halt> {
        for _ in 0..STARTS {
            match measure(&mut self.bench, next.target, next.role) {
                Err(Halt::Ended(exit)) if exit.code == Some(0) => {
                    self.bench.ended();
                    tell(&Event::Restarted);
                }
                other => return other,
            }
        }
        let least_s = self.request.settings.warmup_s + measure::least_s(self.request.settings.window_s);
        let message = format!("ends before a point is measured; it must run for {least_s:.0} s at least.");
        Err(Problem::new(Code::Y02, self.bench.place(), message).into())
    }

    fn next(&self) -> Option<Next> {
        let next = |target, role| Some(Next { target, role, half_width: None });
        let since = self.records.iter().rev().take_while(|record| record.role != Role::Reference).count();
        if since == self.records.len() || since >= self.request.settings.reference_every {
            return next(self.reference, Role::Reference);
        }
        if let Some(&target) = self.grid.iter().find(|target| self.attempts(**target) == 0) {
            return next(target, Role::Grid);
        }
        let spoiled = tainted(&self.records, self.request.settings.drift);
        let again = spoiled.keys().find(|target| self.attempts(**target) <= self.request.settings.repeats);
        if let Some(&target) = again {
            return next(target, Role::Repeat);
        }
        if let Some(doubt) = self.doubt() {
            return Some(Next { target: doubt.target, role: Role::Chosen, half_width: doubt.half_width });
        }
        if since > 0 { next(self.reference, Role::Reference) } else { None }
    }

    /// The point of which the model knows least, if it is to be known better.
    fn doubt(&self) -> Option<choose::Doubt> {
        let settings = &self.request.settings;
        if settings.until.is_none() && settings.budget.is_none() {
            return None;
        }
        let spoiled = tainted(&self.records, settings.drift);
        // What stays tainted is not tried for ever.
        let open: Vec<Target> =
            self.candidates.iter().copied().filter(|target| !spoiled.contains_key(target)).collect();
        let known: Vec<Known> = trusted(&self.records, settings.drift)
            .iter()
            .filter_map(|(&target, of)| {
                let (step_s, power_w) = pooled(of);
                Some(Known { target, step_s: step_s?.value, power_w: power_w?.value })
            })
            .collect();
        let doubt = choose::next(&open, &known)?;
        let is_sure = settings.until.zip(doubt.half_width).is_some_and(|(until, width)| width <= until);
        (!is_sure).then_some(doubt)
    }

    fn attempts(&self, target: Target) -> usize {
        self.records.iter().filter(|record| record.target == target).count()
    }

    fn is_used_up(&self) -> bool {
        match self.request.settings.budget {
            None => false,
            Some(Budget::Points(points)) => {
                self.records.iter().filter(|record| record.role != Role::Reference).count() >= points
            }
            Some(Budget::Seconds(seconds)) => self.records.iter().map(|record| record.took_s).sum::<f64>() >= seconds,
        }
    }

    /// Warns of what the last measurement showed.
    fn warn(&mut self, tell: &mut dyn FnMut(&Event<'_>)) {
        let Some(last) = self.records.last() else { return };
        let place = last.target.text();
        let mut fresh = Vec::new();
        if last.taints.contains(&Taint::Unsteady) {
            let message = format!("clocks and power were not steady after {} s.", self.request.settings.settle_s);
            fresh.push(Warning::new(Code::Y09, &place, message));
        }
        if last.taints.contains(&Taint::EnergyDisagrees) {
            let ratios = last.gpus.iter().filter_map(|gpu| gpu.integrated_over_counter);
            let ratios: Vec<String> = ratios.map(|ratio| format!("{ratio:.3}")).collect();
            let message = format!("integrated power is {} of what the energy counter says.", ratios.join(", "));
            fresh.push(Warning::new(Code::Y11, &place, message));
        }
        if last.role == Role::Reference && is_drifted(&self.records, self.request.settings.drift).last() == Some(&true)
        {
            let message = format!("moved by more than {} %.", self.request.settings.drift * 100.0);
            fresh.push(Warning::new(Code::Y10, &place, message));
        }
        let has_counter = last.instrument == Instrument::Counter;
        if !has_counter && self.warnings.iter().all(|warning| warning.code != Code::N18) {
            let message = "there is no energy counter, or it stands still; power readings are integrated.";
            fresh.push(Warning::new(Code::N18, "power", message));
        }
        for warning in &fresh {
            tell(&Event::Warned(warning));
        }
        self.warnings.append(&mut fresh);
    }

    /// What came of it.
    ///
    /// # Errors
    /// The measurements make no valid profile.
    pub fn report(self, head: &Head, end: End) -> Result<Report, Problems> {
        let drift = self.request.settings.drift;
        let tainted: Vec<_> = tainted(&self.records, drift).into_iter().collect();
        let profile = if self.records.is_empty() {
            None
        } else {
            let all =
                result::All { head, records: &self.records, starts: &self.starts, idle_w: self.idle_w.as_deref() };
            Some(result::profile(self.request, &all)?)
        };
        let mut warnings = self.warnings;
        if !tainted.is_empty() {
            let message = format!("{} points stay tainted: their measurements are flagged.", tainted.len());
            warnings.push(Warning::new(Code::Y14, "profile", message));
        }
        if end == End::Budget {
            warnings.push(Warning::new(Code::Y17, "profile", "the budget is used up; points of the grid are missing."));
        }
        if end == End::Interrupted {
            warnings.push(Warning::new(
                Code::Y15,
                "profile",
                "the sweep was interrupted; the same command goes on with it.",
            ));
        }
        Ok(Report { profile, end, tainted, idle_w: self.idle_w.unwrap_or_default(), warnings })
    }
}

/// The problem of a command that ended badly.
fn failed(bench: &Bench<'_>, exit: Exit) -> Problem {
    let how = match (exit.code, exit.signal) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, signal) => format!("was ended by signal {}", signal.unwrap_or(0)),
    };
    let code = if matches!(exit.code, Some(126 | 127)) { Code::Y01 } else { Code::Y03 };
    let log = std::fs::read(bench.log()).unwrap_or_default();
    let tail = String::from_utf8_lossy(&log[log.len().saturating_sub(2000)..]).into_owned();
    let last = tail.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let last: String = last.trim().chars().take(200).collect();
    Problem::new(code, bench.place(), format!("{how}; the last line of {} is `{last}`.", bench.log().display()))
}

/// Which records drift spoils.
pub fn is_drifted(records: &[Measured], bound: f64) -> Vec<bool> {
    let references: Vec<usize> = (0..records.len()).filter(|&at| records[at].role == Role::Reference).collect();
    let middle = |value: fn(&Measured) -> Option<f64>| {
        let values: Vec<f64> = references.iter().filter_map(|&at| value(&records[at])).collect();
        rats_models::statistics::median(&values)
    };
    let time = |record: &Measured| Some(record.step_s.value);
    let power = |record: &Measured| record.power_w.map(|power| power.value);
    let (step_s, power_w) = (middle(time), middle(power));
    let off =
        |value: Option<f64>, of: Option<f64>| value.zip(of).is_some_and(|(value, of)| (value / of - 1.0).abs() > bound);
    let moved = |at: usize| off(time(&records[at]), step_s) || off(power(&records[at]), power_w);
    let mut drifted = vec![false; records.len()];
    for (position, &at) in references.iter().enumerate().filter(|&(_, &at)| moved(at)) {
        let from = position.checked_sub(1).map_or(0, |before| references[before] + 1);
        let to = references.get(position + 1).copied().unwrap_or(records.len());
        drifted[from..at].fill(true);
        drifted[at..to].fill(true);
    }
    drifted
}

/// Untainted records by point.
pub fn trusted(records: &[Measured], drift: f64) -> BTreeMap<Target, Vec<&Measured>> {
    let mut by_target: BTreeMap<Target, Vec<&Measured>> = BTreeMap::new();
    let drifted = is_drifted(records, drift);
    for (record, _) in records.iter().zip(drifted).filter(|(record, drifted)| record.taints.is_empty() && !drifted) {
        by_target.entry(record.target).or_default().push(record);
    }
    by_target
}

/// Points of which no measurement can be trusted, with what spoils the last one.
pub fn tainted(records: &[Measured], drift: f64) -> BTreeMap<Target, Vec<Taint>> {
    let trusted = trusted(records, drift);
    let drifted = is_drifted(records, drift);
    let spoiled = records.iter().zip(drifted).filter(|(record, _)| !trusted.contains_key(&record.target));
    let taints = |(record, drifted): (&Measured, bool)| {
        let all = record.taints.iter().copied().chain(drifted.then_some(Taint::Drifted)).collect();
        (record.target, all)
    };
    spoiled.map(taints).collect()
}

/// Time and power of several measurements of a point as one.
pub fn pooled(records: &[&Measured]) -> (Option<Spread>, Option<Spread>) {
    let steps: Vec<Spread> = records.iter().map(|record| record.step_s).collect();
    let powers: Vec<Spread> = records.iter().filter_map(|record| record.power_w).collect();
    (Spread::pooled(&steps), Spread::pooled(&powers))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(role: Role, sm_mhz: i64, step_s: f64) -> Measured {
        let spread = |value| Spread { value, spread: 0.0, confidence: None, samples: 3 };
        Measured {
            role,
            target: Target { sm_mhz: Some(sm_mhz), ..Target::default() },
            gpus: Vec::new(),
            step_s: spread(step_s),
            power_w: Some(spread(200.0)),
            instrument: Instrument::Counter,
            taints: Vec::new(),
            settle_s: 0.0,
            took_s: 10.0,
        }
    }

    #[test]
    fn points_beside_a_reference_that_moved_are_drifted() {
        use Role::{Grid, Reference};
        // The reference takes 1.0, 1.05, 1.0: its median is 1.0, the second is 5 % off.
        let records = [
            record(Reference, 900, 1.0),
            record(Grid, 100, 2.0),
            record(Reference, 900, 1.05),
            record(Grid, 200, 1.9),
            record(Reference, 900, 1.0),
            record(Grid, 300, 1.8),
        ];
        assert_eq!(is_drifted(&records, 0.02), [false, true, true, true, false, false]);
        assert_eq!(is_drifted(&records, 0.06), [false; 6]);
        let spoiled: Vec<i64> = tainted(&records, 0.02).keys().filter_map(|target| target.sm_mhz).collect();
        assert_eq!(spoiled, [100, 200]);
    }

    #[test]
    fn a_good_repeat_makes_up_for_a_tainted_point() {
        let mut bad = record(Role::Grid, 100, 2.0);
        bad.taints.push(Taint::Unsteady);
        let records = [bad.clone(), record(Role::Repeat, 100, 1.5)];
        assert!(tainted(&records, 0.02).is_empty());
        let (step_s, _) = pooled(&trusted(&records, 0.02)[&bad.target]);
        assert_eq!(step_s.map(|step| step.value), Some(1.5));
    }
}
