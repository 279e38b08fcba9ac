//! The whole time and power curve of a kernel that was never swept, from one to a few measurements of it.
//!
//! # Idea
//! Kernels of a GPU resemble one another. From many kernels that were measured everywhere, learn what a measurement at a
//! few operating points (and hardware counters, where there are any) says about all others.
//!
//! # Model
//! Features of a kernel: the logarithm of its power at every measured point, the logarithm of its time at every measured
//! point over that at the first, its counters at the first. Targets: the logarithm of time and of power at every operating
//! point over that at the first measured point. [`regress`] says how one follows from the other and what the intervals
//! mean; [`design`] says which points to measure.
//!
//! # Complexity
//! Some tens of milliseconds for a prediction from 160 kernels over 32 points; a model is its kernels, there is no training.
//!
//! # Limits
//! Only operating points that the known kernels share. One power figure does not tell a kernel that waits for memory from
//! one that computes: at another memory clock its time stays uncertain until it is measured there once (`docs/unseen.md`).
//!
//! # References
//! G. Wu et al., "GPGPU performance and power estimation using machine learning", HPCA 2015 (learning scaling behavior from
//! other kernels); those of [`regress`] and [`design`].

pub mod design;
pub mod kernels;
pub mod regress;
pub mod shared;

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};
use serde::{Deserialize, Serialize};

use crate::data::Point;

pub use kernels::OperatingPoint;
use kernels::{FEWEST_KERNELS, Kernel, Kernels, counter};
use regress::Lesson;

/// How far beyond the known kernels a feature may lie, as a share of their range.
const BEYOND: f64 = 0.5;
/// Least range of a feature, so that kernels that all agree leave some room: 5 % in logarithms, 0.05 in shares.
const LEAST_RANGE: f64 = 0.05;

/// Predicts kernels of one type of GPU that were not swept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnseenModel {
    /// What it knows.
    pub kernels: Kernels,
}

/// A measurement of the new kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Where.
    pub at: OperatingPoint,
    /// Time, in the unit in which curves are wanted; given at every measured point or at none.
    pub time: Option<f64>,
    /// Power, W; given at every measured point or at none.
    pub power: Option<f64>,
}

/// A predicted value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The value: seconds or whatever unit time was measured in, watts.
    pub value: f64,
    /// Holds 90 % of kernels like the known ones; `None` where too few are known to say.
    pub interval: Option<(f64, f64)>,
}

/// Time and power at one operating point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// Where.
    pub at: OperatingPoint,
    /// Time; `None` if none was measured or too few known kernels have one.
    pub time: Option<Estimate>,
    /// Power, W; likewise.
    pub power: Option<Estimate>,
    /// Whether it was measured: then time and power are what was measured.
    pub measured: bool,
}

/// Which curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Time,
    Power,
}

impl Which {
    fn of(self, kernel: &Kernel) -> Option<&Vec<f64>> {
        match self {
            Self::Time => kernel.time.as_ref(),
            Self::Power => kernel.power.as_ref(),
        }
    }
}

/// The new kernel in the terms of the grid; values are logarithms.
#[derive(Clone, Debug)]
struct Seen {
    at: Vec<usize>,
    time: Option<Vec<f64>>,
    power: Option<Vec<f64>>,
    counters: Vec<f64>,
}

impl UnseenModel {
    /// Learns from points of one type of GPU.
    ///
    /// # Errors
    /// Those of [`Kernels::gather`].
    pub fn train(points: &[Point]) -> Result<Self, Problems> {
        Ok(Self { kernels: Kernels::gather(points)? })
    }

    /// Time and power at every operating point of the grid. `counters` are those at the first measured point, by the names
    /// of the data set; a model of a source without counters asks for none.
    ///
    /// # Errors
    /// M21 without a measurement, M22 for one off the grid or twice, M23 for one that cannot be used, M24 for features
    /// farther from the known kernels than half of their range, M25 for a missing counter. All of them are returned.
    pub fn predict(
        &self,
        counters: &BTreeMap<String, f64>,
        measured: &[Measured],
    ) -> Result<Vec<Prediction>, Problems> {
        let seen = self.seen(counters, measured)?;
        let near = shared::neighborhood(&self.kernels.grid);
        let lessons = [Which::Time, Which::Power].map(|which| self.lesson(which, &seen, &near));
        let strange: Vec<Problem> = lessons.iter().flatten().flat_map(|lesson| self.strange(&seen, lesson)).collect();
        let mut distinct: Vec<Problem> = Vec::new();
        for problem in strange {
            if !distinct.contains(&problem) {
                distinct.push(problem);
            }
        }
        if !distinct.is_empty() {
            return Err(Problems(distinct));
        }
        let [time, power] = lessons.map(|lesson| lesson.as_ref().and_then(regress::predict));
        Ok(self.predictions(&seen, time.as_ref(), power.as_ref()))
    }

    /// The `count` operating points that would tell most about the curves, given those already measured; best first.
    /// With nothing measured the first of them is the best single point.
    ///
    /// # Errors
    /// M22 for a measured point that is not on the grid.
    pub fn next_points(&self, measured: &[OperatingPoint], count: usize) -> Result<Vec<OperatingPoint>, Problems> {
        let at: Vec<usize> = measured.iter().map(|&at| self.place(at)).collect::<Result<_, _>>()?;
        Ok(design::next_points(&self.kernels, &at, count).into_iter().map(|at| self.kernels.grid[at]).collect())
    }

    fn place(&self, at: OperatingPoint) -> Result<usize, Problem> {
        self.kernels.position(at).ok_or_else(|| {
            let near = self.kernels.grid.iter().min_by_key(|point| apart(**point, at));
            let near = near.map(ToString::to_string).unwrap_or_default();
            Problem::new(
                Code::M22,
                at.to_string(),
                format!("no known kernel was measured there; the nearest is {near}."),
            )
        })
    }

    fn seen(&self, counters: &BTreeMap<String, f64>, measured: &[Measured]) -> Result<Seen, Problems> {
        let mut problems = Vec::new();
        let mut at = Vec::new();
        for point in measured {
            match self.place(point.at) {
                Ok(place) if at.contains(&place) => {
                    problems.push(Problem::new(Code::M22, point.at.to_string(), "it was measured twice."));
                }
                Ok(place) => at.push(place),
                Err(problem) => problems.push(problem),
            }
        }
        if measured.is_empty() {
            problems.push(Problem::new(Code::M21, self.kernels.gpu.clone(), "no measurement of the kernel was given."));
        }
        let time = curve(measured, "time", |point| point.time, &mut problems);
        let power = curve(measured, "power", |point| point.power, &mut problems);
        if problems.is_empty() && time.is_none() && power.is_none() {
            problems.push(Problem::new(Code::M23, measured[0].at.to_string(), "neither time nor power was measured."));
        }
        let mut values = Vec::new();
        for name in &self.kernels.counters {
            match counter(counters, name) {
                Some(value) => values.push(value),
                None => problems.push(Problem::new(
                    Code::M25,
                    name.clone(),
                    "the known kernels have this counter; the new one has none that is a number of at least 0.",
                )),
            }
        }
        if problems.is_empty() { Ok(Seen { at, time, power, counters: values }) } else { Err(Problems(problems)) }
    }

    /// What the known kernels say about one curve; `None` if the new kernel lacks it at its first point or too few of them
    /// have it.
    fn lesson<'a>(&self, which: Which, seen: &Seen, near: &'a [Vec<f64>]) -> Option<Lesson<'a>> {
        let own = match which {
            Which::Time => seen.time.as_ref()?,
            Which::Power => seen.power.as_ref()?,
        };
        let first = *seen.at.first()?;
        let having: Vec<&Kernel> = self.kernels.kernels.iter().filter(|kernel| which.of(kernel).is_some()).collect();
        if having.len() < FEWEST_KERNELS {
            return None;
        }
        let all = |of: Which| having.iter().all(|kernel| of.of(kernel).is_some());
        let time = seen.time.as_ref().filter(|_| all(Which::Time));
        let power = seen.power.as_ref().filter(|_| all(Which::Power));
        let row = |kernel: &Kernel| {
            let powers = kernel.power.as_ref().filter(|_| power.is_some());
            let times = kernel.time.as_ref().filter(|_| time.is_some());
            let powers = powers.map(|curve| seen.at.iter().map(|&at| curve[at]).collect());
            let times = times.map(|curve| seen.at[1..].iter().map(|&at| curve[at] - curve[first]).collect());
            [powers.unwrap_or_default(), times.unwrap_or_default(), kernel.counters[first].clone()].concat()
        };
        let curve = |kernel: &Kernel| {
            let curve = which.of(kernel).cloned().unwrap_or_default();
            curve.iter().map(|value| value - curve[first]).collect()
        };
        let times: Vec<f64> =
            time.map(|time| time[1..].iter().map(|value| value - time[0]).collect()).unwrap_or_default();
        let features = [power.cloned().unwrap_or_default(), times, seen.counters.clone()].concat();
        // How long a kernel takes says nothing about the form of its curve; how much power it needs does.
        let level = |value: f64| if which == Which::Power { value } else { 0.0 };
        Some(Lesson {
            known: having.iter().map(|kernel| row(kernel)).collect(),
            curves: having.iter().map(|kernel| curve(kernel)).collect(),
            levels: having.iter().filter_map(|kernel| which.of(kernel)).map(|curve| level(curve[first])).collect(),
            features,
            level: level(own[0]),
            seen: seen.at.clone(),
            observed: own.iter().map(|value| value - own[0]).collect(),
            near,
        })
    }

    /// Features that lie too far from the known kernels.
    fn strange(&self, seen: &Seen, lesson: &Lesson) -> Vec<Problem> {
        let outside = |(at, value): (usize, &f64)| {
            let column = lesson.known.iter().map(|row| row[at]);
            let (low, high) = column.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
            let room = BEYOND * (high - low).max(LEAST_RANGE);
            if (low - room..=high + room).contains(value) {
                return None;
            }
            let (place, what, logarithm) = self.feature(seen, lesson, at);
            let plain = |value: f64| if logarithm { value.exp() } else { value };
            let (value, low, high) = (plain(*value), plain(low), plain(high));
            let message = format!("{what} {value:.4}; the known kernels have {low:.4} to {high:.4}.");
            Some(Problem::new(Code::M24, place, message))
        };
        lesson.features.iter().enumerate().filter_map(outside).collect()
    }

    /// Place and meaning of a feature, and whether it is a logarithm: powers, then times over the first, then counters.
    fn feature(&self, seen: &Seen, lesson: &Lesson, at: usize) -> (String, &'static str, bool) {
        let counters = lesson.features.len() - self.kernels.counters.len();
        if let Some(counter) = at.checked_sub(counters) {
            return (self.kernels.counters[counter].clone(), "counter", false);
        }
        let powers = if counters >= seen.at.len() { seen.at.len() } else { 0 };
        let (place, what) = match at.checked_sub(powers) {
            Some(time) => (seen.at[time + 1], "time over that at the first point"),
            None => (seen.at[at], "power"),
        };
        (self.kernels.grid[place].to_string(), what, true)
    }

    fn predictions(
        &self,
        seen: &Seen,
        time: Option<&regress::Predicted>,
        power: Option<&regress::Predicted>,
    ) -> Vec<Prediction> {
        let estimate = |at: usize, measured: &Option<Vec<f64>>, curve: Option<&regress::Predicted>| {
            let measured = measured.as_ref()?;
            if let Some(here) = seen.at.iter().position(|&place| place == at) {
                let value = measured[here].exp();
                return Some(Estimate { value, interval: Some((value, value)) });
            }
            let (curve, level) = (curve?, measured[0]);
            let interval = curve.interval.as_ref().map(|interval| interval[at]);
            Some(Estimate {
                value: (level + curve.value[at]).exp(),
                interval: interval.map(|(low, high)| ((level + low).exp(), (level + high).exp())),
            })
        };
        let at = |(at, &point): (usize, &OperatingPoint)| Prediction {
            at: point,
            time: estimate(at, &seen.time, time),
            power: estimate(at, &seen.power, power),
            measured: seen.at.contains(&at),
        };
        self.kernels.grid.iter().enumerate().map(at).collect()
    }
}

/// Logarithms of one quantity at the measured points, if it was given; what cannot be used becomes a problem.
fn curve(
    measured: &[Measured],
    name: &str,
    value: impl Fn(&Measured) -> Option<f64>,
    problems: &mut Vec<Problem>,
) -> Option<Vec<f64>> {
    let mut logs = Vec::new();
    for point in measured {
        match value(point) {
            Some(value) if value.is_finite() && value > 0.0 => logs.push(value.ln()),
            Some(value) => {
                let message = format!("{name} is {value}; it must be a number above 0.");
                problems.push(Problem::new(Code::M23, point.at.to_string(), message));
            }
            None if measured.iter().any(|other| value(other).is_some()) => {
                let message = format!("{name} is missing here and given at another point.");
                problems.push(Problem::new(Code::M23, point.at.to_string(), message));
            }
            None => {}
        }
    }
    (logs.len() == measured.len() && !logs.is_empty()).then_some(logs)
}

/// How far two operating points are apart; the memory clock counts most, since few levels exist.
fn apart(a: OperatingPoint, b: OperatingPoint) -> (i64, i64, i64) {
    let distance = |a: Option<i64>, b: Option<i64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs(),
        (None, None) => 0,
        _ => i64::MAX,
    };
    (distance(a.mem_mhz, b.mem_mhz), distance(a.sm_mhz, b.sm_mhz), distance(a.power_limit_mw, b.power_limit_mw))
}

#[cfg(test)]
mod tests;
