//! One point: set, wait until steady, measure in windows, judge.
//!
//! # Idea
//! Nothing of the way to a point may count for it. After the GPUs are set, readings go on until clocks and power stand
//! still; then the first line of the command's output is thrown away (its step began before), and windows follow until
//! time and power are known well enough.
//!
//! # Model
//! Time of a step and power are taken over all windows together (moves of counters, see [`super::counter`]); the
//! windows, each measured by itself, say how far they scatter. Enough is known when the 95 % confidence intervals of both
//! are narrower than `precision`. Where a step is a whole run of the command, a run is a window.
//!
//! # Limits
//! A command whose steps differ by kind (validation now and then) needs windows that hold a whole cycle.

use rats_domain::codes::Code;
use rats_domain::problem::Problem;

use super::bench::{Bench, Halt};
use super::counter::rate;
use super::output::Output;
use super::readings::{Power, Reading, is_steady, mem, reasons, share, sm, usual, warmest};
use super::record::{Instrument, Measured, Observed, Role, Taint};
use super::spread::Spread;
use super::target::Target;
use crate::custody::PointApplied;
use crate::gpu::Throttle;
use crate::process::Exit;

/// Time after a change before anything is looked at, s: power readings look back up to a second.
const LAG_S: f64 = 1.0;
/// Window over which clocks and power must stand still, s.
const STEADY_WINDOW_S: f64 = 2.0;
/// By how much two halves of it may differ.
const STEADY: f64 = 0.01;
/// Time between two judgements, s.
const STEADY_STEP_S: f64 = 0.2;
/// Moves of the step counter that a window holds at least.
const MOVES: usize = 3;
/// Fewest windows.
const FEWEST: usize = 3;
/// Share of readings beyond which a cause counts.
const OFTEN: f64 = 0.05;

/// What a point takes at least, s.
pub fn least_s(window_s: f64) -> f64 {
    LAG_S + STEADY_WINDOW_S + FEWEST as f64 * window_s
}

/// One window.
#[derive(Clone, Debug)]
struct Window {
    step_s: f64,
    power_w: Option<f64>,
}

/// Measures a point.
///
/// # Errors
/// What ends a measurement before its time.
pub fn measure(bench: &mut Bench<'_>, target: Target, role: Role) -> Result<Measured, Halt> {
    let began_s = bench.pace.now_s();
    if bench.settings().restart {
        bench.end();
    }
    let applied = bench.set(target)?;
    let (settled, settle_s, windows, total) =
        if bench.settings().pattern.is_some() { by_steps(bench)? } else { by_runs(bench)? };
    let shared = bench.is_shared()?;
    let mut taints = Vec::new();
    taints.extend((!settled).then_some(Taint::Unsteady));
    taints.extend(shared.then_some(Taint::Shared));
    taints.extend(total.disagrees.then_some(Taint::TimeDisagrees));
    let measured = Outcome { role, target, applied, windows, total, taints, settle_s };
    measured.judge(bench, began_s)
}

/// Time of a step over all windows.
struct Total {
    step_s: f64,
    disagrees: bool,
}

type Windows = (bool, f64, Vec<Window>, Total);

fn by_steps(bench: &mut Bench<'_>) -> Result<Windows, Halt> {
    let began_s = bench.pace.now_s();
    if !bench.is_running() {
        bench.start()?;
        first_line(bench)?;
        let until = bench.pace.now_s() + bench.settings().warmup_s;
        while bench.pace.now_s() < until {
            bench.look()?;
        }
    }
    let settled = settle(bench)?;
    let settle_s = bench.pace.now_s() - began_s;
    // Its step began before.
    bench.forget();
    another_line(bench)?;
    bench.forget();
    let windows = windows(bench)?;
    let total = bench.output().and_then(|output| total(output)).ok_or_else(|| silent(bench))?;
    Ok((settled, settle_s, windows, total))
}

/// Waits until clocks and power stand still; false if they do not in time.
fn settle(bench: &mut Bench<'_>) -> Result<bool, Halt> {
    let set_s = bench.pace.now_s();
    bench.forget();
    let mut judged_s = set_s + LAG_S + STEADY_WINDOW_S;
    loop {
        bench.look()?;
        let now_s = bench.pace.now_s();
        if now_s >= judged_s {
            let from_s = now_s - STEADY_WINDOW_S;
            let window = |readings: &Vec<Reading>| readings.partition_point(|reading| reading.from_s < from_s);
            if bench.readings.iter().all(|readings| is_steady(&readings[window(readings)..], STEADY)) {
                return Ok(true);
            }
            judged_s = now_s + STEADY_STEP_S;
        }
        if now_s >= set_s + bench.settings().settle_s {
            return Ok(false);
        }
    }
}

fn first_line(bench: &mut Bench<'_>) -> Result<(), Halt> {
    let until = bench.pace.now_s() + bench.settings().patience_s;
    while bench.output().is_some_and(|output| output.first.is_none()) {
        match bench.look() {
            Err(Halt::Ended(exit)) if exit.code == Some(0) => return Err(ended_unseen(bench, exit)),
            other => other?,
        }
        if bench.pace.now_s() >= until {
            return Err(silent(bench));
        }
    }
    Ok(())
}

/// The command ended well before a line matched.
fn ended_unseen(bench: &mut Bench<'_>, exit: Exit) -> Halt {
    let lines = bench.output().map_or(0, |output| output.lines);
    let matched = bench.output().is_some_and(|output| output.first.is_some());
    bench.ended();
    if matched {
        // The last lines came with the end.
        return Halt::Ended(exit);
    }
    let (code, message) = if lines == 0 {
        (Code::Y02, format!("ended at once without a word; see {}.", bench.log().display()))
    } else {
        (Code::Y04, format!("ended after {lines} lines of which none matches; see {}.", bench.log().display()))
    };
    Problem::new(code, bench.place(), message).into()
}

fn another_line(bench: &mut Bench<'_>) -> Result<(), Halt> {
    let until = bench.pace.now_s() + bench.settings().patience_s;
    while bench.output().is_some_and(|output| output.said.is_empty()) {
        bench.look()?;
        if bench.pace.now_s() >= until {
            return Err(silent(bench));
        }
    }
    Ok(())
}

/// No line for too long.
fn silent(bench: &mut Bench<'_>) -> Halt {
    let patience = bench.settings().patience_s;
    let matched = bench.output().is_some_and(|output| output.first.is_some());
    let code = if matched { Code::Y16 } else { Code::Y04 };
    let message = format!("no line matches `--step-pattern` within {patience} s; see {}.", bench.log().display());
    Problem::new(code, bench.place(), message).into()
}

fn windows(bench: &mut Bench<'_>) -> Result<Vec<Window>, Halt> {
    let mut windows: Vec<Window> = Vec::new();
    while !is_enough(&windows, bench.settings().precision, bench.settings().windows) {
        let from_s = bench.pace.now_s();
        let readings: Vec<usize> = bench.readings.iter().map(|readings| readings.len().saturating_sub(1)).collect();
        let lines = bench.output().map_or((0, 0), |output| (output.said.len(), output.steps.len().saturating_sub(1)));
        loop {
            bench.look()?;
            let now_s = bench.pace.now_s();
            let step_s = if now_s >= from_s + bench.settings().window_s {
                bench.output().and_then(|output| step_of(output, lines))
            } else {
                None
            };
            if let Some(step_s) = step_s {
                let power_w = power(bench.readings.iter().zip(readings).map(|(readings, from)| &readings[from..]));
                windows.push(Window { step_s, power_w });
                break;
            }
            if now_s >= from_s + bench.settings().patience_s {
                return Err(silent(bench));
            }
        }
    }
    Ok(windows)
}

/// Time of a step of the lines since a place; absent while there are too few.
fn step_of(output: &Output, (said, steps): (usize, usize)) -> Option<f64> {
    let steps = &output.steps[steps..];
    let moves = steps.windows(2).filter(|pair| pair[1].value > pair[0].value).count();
    if moves >= MOVES {
        return rate(steps).map(|rate| 1.0 / rate.per_s);
    }
    if output.said[said..].iter().any(|said| said.step.is_some()) {
        return None;
    }
    printed(&output.said[said..])
}

fn printed(said: &[super::output::Said]) -> Option<f64> {
    let times: Vec<f64> = said.iter().filter_map(|said| said.time_s).collect();
    (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
}

/// The step counter on the clock; the printed times where there is none. Both are compared.
fn total(output: &Output) -> Option<Total> {
    const AGREE: f64 = 0.05;
    let (counted, printed) = (rate(&output.steps), printed(&output.said));
    let step_s = counted.map(|rate| 1.0 / rate.per_s).or(printed)?;
    let disagrees =
        counted.zip(printed).is_some_and(|(rate, printed)| (printed * rate.per_s - 1.0).abs() > AGREE + rate.error);
    Some(Total { step_s, disagrees })
}

/// Whole runs.
fn by_runs(bench: &mut Bench<'_>) -> Result<Windows, Halt> {
    let mut windows = Vec::new();
    bench.forget();
    while !is_enough(&windows, bench.settings().precision, bench.settings().windows) {
        let readings: Vec<usize> = bench.readings.iter().map(Vec::len).collect();
        let from_s = bench.pace.now_s();
        bench.start()?;
        loop {
            match bench.look() {
                Err(Halt::Ended(exit)) if exit.code == Some(0) => break,
                other => other?,
            }
        }
        let step_s = bench.pace.now_s() - from_s;
        bench.ended();
        let power_w = power(bench.readings.iter().zip(readings).map(|(readings, from)| &readings[from..]));
        if power_w.is_none() && step_s < bench.settings().window_s {
            let message = format!("ended after {step_s:.3} s, before anything could be measured.");
            return Err(Problem::new(Code::Y02, bench.place(), message).into());
        }
        windows.push(Window { step_s, power_w });
    }
    let step_s = windows.iter().map(|window| window.step_s).sum::<f64>() / windows.len().max(1) as f64;
    Ok((true, 0.0, windows, Total { step_s, disagrees: false }))
}

/// Mean power of one GPU of a gang, W; absent if one of them does not tell.
fn power<'r>(gang: impl Iterator<Item = &'r [Reading]>) -> Option<f64> {
    let watts: Vec<f64> = gang.map(|readings| Power::of(readings).watts()).collect::<Option<_>>()?;
    (!watts.is_empty()).then(|| watts.iter().sum::<f64>() / watts.len() as f64)
}

fn is_enough(windows: &[Window], precision: f64, most: usize) -> bool {
    let steps: Vec<f64> = windows.iter().map(|window| window.step_s).collect();
    let powers: Vec<f64> = windows.iter().filter_map(|window| window.power_w).collect();
    let is_known = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        values.is_empty()
            || Spread::new(mean, values).and_then(|spread| spread.confidence).is_some_and(|c| c <= precision)
    };
    windows.len() >= most || (windows.len() >= FEWEST.min(most) && is_known(&steps) && is_known(&powers))
}

/// What was seen, before it is judged.
struct Outcome {
    role: Role,
    target: Target,
    applied: Vec<PointApplied>,
    windows: Vec<Window>,
    total: Total,
    taints: Vec<Taint>,
    settle_s: f64,
}

impl Outcome {
    fn judge(mut self, bench: &Bench<'_>, began_s: f64) -> Result<Measured, Halt> {
        let mut gpus = Vec::new();
        let (mut watts, mut counted) = (Vec::new(), true);
        for (readings, applied) in bench.readings.iter().zip(&self.applied) {
            let power = Power::of(readings);
            watts.push(power.watts());
            counted &= power.counter.is_some();
            self.taints.extend(taints(readings, applied, self.target, &power, bench.settings().agree));
            gpus.push(Observed {
                applied: applied_target(applied),
                sm_mhz: usual(readings, sm),
                mem_mhz: usual(readings, mem),
                power_w: power.watts(),
                integrated_over_counter: power.ratio(),
                temperature_c: warmest(readings),
                throttle: reasons(readings).names().into_iter().map(str::to_owned).collect(),
            });
        }
        self.taints.sort_unstable();
        self.taints.dedup();
        let steps: Vec<f64> = self.windows.iter().map(|window| window.step_s).collect();
        let powers: Vec<f64> = self.windows.iter().filter_map(|window| window.power_w).collect();
        let none = || Problem::new(Code::Y02, bench.place(), "no step could be measured.");
        let step_s = Spread::new(self.total.step_s, &steps).ok_or_else(none)?;
        let watts: Option<Vec<f64>> = watts.into_iter().collect();
        let mean = |watts: Vec<f64>| watts.iter().sum::<f64>() / watts.len().max(1) as f64;
        Ok(Measured {
            role: self.role,
            target: self.target,
            gpus,
            step_s,
            power_w: watts.map(mean).and_then(|mean| Spread::new(mean, &powers)),
            instrument: if counted { Instrument::Counter } else { Instrument::Integrated },
            taints: self.taints,
            settle_s: self.settle_s,
            took_s: bench.pace.now_s() - began_s,
        })
    }
}

fn applied_target(applied: &PointApplied) -> Target {
    Target {
        sm_mhz: applied.sm.map(|clock| clock.applied.0),
        mem_mhz: applied.mem.map(|clock| clock.applied.0),
        power_limit_mw: applied.power_limit.map(|limit| limit.applied.0),
    }
}

/// What spoils the readings of one GPU.
fn taints(readings: &[Reading], applied: &PointApplied, target: Target, power: &Power, agree: f64) -> Vec<Taint> {
    let mut taints = Vec::new();
    let held = |holds: fn(Throttle) -> bool| share(readings, |sample| sample.throttle.is_some_and(holds)) > OFTEN;
    let by_power = held(Throttle::is_power_limit);
    let by_heat = held(|throttle| throttle.is_taint() && !throttle.is_power_limit() || throttle.is_thermal());
    taints.extend((by_power && target.power_limit_mw.is_none()).then_some(Taint::ThrottledPower));
    taints.extend(by_heat.then_some(Taint::ThrottledHeat));
    let missed = |sample: &crate::gpu::Sample| {
        applied.sm.is_some_and(|set| sample.sm.is_some_and(|clock| clock != set.applied))
            || applied.mem.is_some_and(|set| sample.mem.is_some_and(|clock| clock != set.applied))
    };
    // A step that ends between two readings leaves the GPU idle for a moment, with its clock as it likes.
    if !by_power && !by_heat && share(readings, missed) > 0.5 {
        taints.push(Taint::ClockMissed);
    }
    let error = power.counter.map_or(0.0, |rate| rate.error);
    if power.ratio().is_some_and(|ratio| (ratio - 1.0).abs() > agree + error) {
        taints.push(Taint::EnergyDisagrees);
    }
    taints
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{Applied, Megahertz, Sample};

    fn readings(sm: i64, throttle: u64) -> Vec<Reading> {
        let sample = Sample { sm: Some(Megahertz(sm)), throttle: Some(Throttle(throttle)), ..Sample::default() };
        vec![Reading { from_s: 0.0, to_s: 0.0, sample }; 10]
    }

    fn judged(sm: i64, throttle: u64, target: Target) -> Vec<Taint> {
        let clock = Applied { requested: Megahertz(1400), applied: Megahertz(1395) };
        let applied = PointApplied { sm: Some(clock), ..PointApplied::default() };
        taints(&readings(sm, throttle), &applied, target, &Power { counter: None, integrated_w: None }, 0.05)
    }

    #[test]
    fn a_lower_clock_is_named_by_its_cause() {
        let none = Target::default();
        assert_eq!(judged(1395, 0x2, none), []);
        assert_eq!(judged(1200, 0x2 | 0x4, none), [Taint::ThrottledPower]);
        assert_eq!(judged(1200, 0x20, none), [Taint::ThrottledHeat]);
        assert_eq!(judged(1350, 0x2, none), [Taint::ClockMissed]);
        // Whoever asks for a limit wants it to hold.
        assert_eq!(judged(1200, 0x4, Target { power_limit_mw: Some(150_000), ..none }), []);
    }

    #[test]
    fn windows_end_when_both_are_known_well_enough() {
        let window = |step_s, power_w| Window { step_s, power_w: Some(power_w) };
        let steady: Vec<Window> = (0..3).map(|_| window(1.0, 200.0)).collect();
        assert!(!is_enough(&steady[..2], 0.01, 10) && is_enough(&steady, 0.01, 10));
        // 190, 200, 210 W: 4.303 x 10 / sqrt 3 / 200 = 12 %.
        let noisy: Vec<Window> = [190.0, 200.0, 210.0].map(|watts| window(1.0, watts)).to_vec();
        assert!(!is_enough(&noisy, 0.01, 10) && is_enough(&noisy, 0.13, 10) && is_enough(&noisy, 0.01, 3));
    }
}
