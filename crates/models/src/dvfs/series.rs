//! Rows that can be fitted: everything that makes a fit worthless is found before, with row and remedy.

use std::collections::{BTreeMap, BTreeSet};

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::format::GpuFile;
use rats_domain::problem::{Problem, Problems};

use crate::score::Quantity;
use crate::statistics::median;

use super::scope::{Axis, Place, Sample};
use super::workload::{Observation, Workload};

/// Fewest points of a curve.
const FEWEST_POINTS: usize = 5;
/// Fewest different clocks or limits.
const FEWEST_CORES: usize = 4;
/// Least ratio of the highest to the lowest clock or limit.
const LEAST_RANGE: f64 = 1.05;
/// Most by which repeated measurements of one place may differ: time, power.
const AGREEMENT: (f64, f64) = (0.05, 0.10);
/// Factor off the median of all rows from which on a value looks like one in another unit.
const OTHER_UNIT: f64 = 30.0;
/// Power of one GPU where its limits are not known, W.
const POWERS: (f64, f64) = (1.0, 2000.0);
/// Mean power over the highest limit that a board may show.
const OVERSHOOT: f64 = 1.5;
/// Time of a step, s: from a short kernel to weeks.
const TIMES: (f64, f64) = (1e-9, 1e7);
/// Distance of a clock from the listed one: lists are rounded to whole MHz.
const CLOCK_ROUNDING: i64 = 1;

/// Samples of both quantities along one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The axis.
    pub axis: Axis,
    /// Times; empty where none was measured.
    pub time: Vec<Sample>,
    /// Powers; empty where none was measured.
    pub power: Vec<Sample>,
}

impl Series {
    /// The samples of a quantity.
    pub fn of(&self, quantity: Quantity) -> &[Sample] {
        if quantity == Quantity::Time { &self.time } else { &self.power }
    }

    /// Checks the rows of a workload; `card` is its type of GPU, if that is known.
    ///
    /// # Errors
    /// Everything that is wrong, M01 to M07 and M12, each with its row.
    pub fn new(workload: &Workload, card: Option<&GpuFile>) -> Result<Self, Problems> {
        let mut problems = Vec::new();
        let axis = axis(&workload.rows, &mut problems);
        values(workload, card, &mut problems);
        if let Some(card) = card {
            settings(&workload.rows, card, &mut problems);
        }
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
        let Some(axis) = axis else {
            return Err(Problem::new(Code::M01, &workload.id, "there is no row.").into());
        };
        let samples = |value: fn(&Observation) -> Option<f64>| {
            let sample = |row: &Observation| Some(Sample { at: place(row, axis)?, value: value(row)? });
            workload.rows.iter().filter_map(sample).collect::<Vec<_>>()
        };
        let series = Self { axis, time: samples(|row| row.time), power: samples(|row| row.power) };
        series.check(workload, &mut problems);
        if problems.is_empty() { Ok(series) } else { Err(Problems(problems)) }
    }

    fn check(&self, workload: &Workload, problems: &mut Vec<Problem>) {
        if self.time.is_empty() && self.power.is_empty() {
            problems.push(Problem::new(Code::M01, &workload.id, "no row has a usable time or power."));
        }
        for (name, samples) in [("time", &self.time), ("power", &self.power)] {
            if !samples.is_empty() {
                amount(&format!("{}, {name}", workload.id), samples, problems);
            }
        }
        let column = |samples: &[Sample]| samples.iter().map(|sample| sample.value.to_bits()).collect::<Vec<_>>();
        if self.time.len() > 1 && column(&self.time) == column(&self.power) {
            problems.push(Problem::new(Code::M07, &workload.id, "the columns of time and power are the same."));
        }
    }
}

/// Where a row was measured.
pub fn place(row: &Observation, axis: Axis) -> Option<Place> {
    let core = match axis {
        Axis::Clock => row.sm_mhz? as f64,
        Axis::Limit => row.power_limit_w?,
    };
    Some(Place { core, mem: row.mem_mhz.map_or(1.0, |mhz| mhz as f64) })
}

/// Workloads of one GPU that share a whole column: one of the two is a copy.
pub fn identical(workloads: &[Workload]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (name, value) in [("times", (|row| row.time) as fn(&Observation) -> Option<f64>), ("powers", |row| row.power)] {
        let mut first: BTreeMap<(&str, Vec<u64>), &str> = BTreeMap::new();
        for workload in workloads {
            let column: Vec<u64> = workload.rows.iter().filter_map(value).map(f64::to_bits).collect();
            if column.len() < FEWEST_POINTS {
                continue;
            }
            if let Some(other) = first.get(&(workload.gpu.as_str(), column.clone())) {
                let message = format!("all {} {name} are those of `{other}`.", column.len());
                problems.push(Problem::new(Code::M07, &workload.id, message));
            } else {
                first.insert((&workload.gpu, column), &workload.id);
            }
        }
    }
    problems
}

/// The axis along which all rows were measured, the other one being fixed.
fn axis(rows: &[Observation], problems: &mut Vec<Problem>) -> Option<Axis> {
    let first = rows.first()?;
    let limits: BTreeSet<Option<u64>> = rows.iter().map(|row| row.power_limit_w.map(f64::to_bits)).collect();
    let clocks: BTreeSet<Option<i64>> = rows.iter().map(|row| row.sm_mhz).collect();
    let axis = match (first.sm_mhz, first.power_limit_w) {
        (Some(_), Some(_)) if limits.len() > 1 && clocks.len() == 1 => Axis::Limit,
        (None, Some(_)) => Axis::Limit,
        _ => Axis::Clock,
    };
    for row in rows {
        let missing = place(row, axis).is_none();
        let mixed = if axis == Axis::Clock {
            row.power_limit_w.map(f64::to_bits) != first.power_limit_w.map(f64::to_bits)
        } else {
            row.sm_mhz != first.sm_mhz
        };
        let memory = row.mem_mhz.is_none() != first.mem_mhz.is_none();
        let message = match axis {
            Axis::Clock if missing => "has no SM clock.",
            Axis::Limit if missing => "has no power limit.",
            Axis::Clock if mixed => "has another power limit than the first row.",
            Axis::Limit if mixed => "has another SM clock than the first row.",
            _ if memory => "states a memory clock where the first row does not, or the other way round.",
            _ => continue,
        };
        problems.push(Problem::new(Code::M12, &row.row, message));
    }
    Some(axis)
}

/// Times and powers that no measurement of this card could give.
fn values(workload: &Workload, card: Option<&GpuFile>, problems: &mut Vec<Problem>) {
    let most_w = card.map_or(POWERS.1, |card| OVERSHOOT * card.power_limit_w.max.value.to_f64());
    for (name, unit, value, range) in [
        ("time", "s", (|row| row.time) as fn(&Observation) -> Option<f64>, TIMES),
        ("power", "W", |row| row.power, (POWERS.0, most_w)),
    ] {
        let all: Vec<f64> = workload.rows.iter().filter_map(value).filter(|v| v.is_finite() && *v > 0.0).collect();
        let middle = median(&all);
        for row in &workload.rows {
            let Some(found) = value(row) else { continue };
            let off = middle.map_or(1.0, |middle| found / middle);
            if !found.is_finite() || found <= 0.0 {
                problems.push(Problem::new(Code::M03, &row.row, format!("the {name} is {found}.")));
            } else if !(1.0 / OTHER_UNIT..=OTHER_UNIT).contains(&off) {
                let message = format!("the {name} {found} is {off:.3e} times the median of the workload.");
                problems.push(Problem::new(Code::M06, &row.row, message));
            } else if !(range.0..=range.1).contains(&found) {
                let message = format!("the {name} {found} {unit} is not between {} and {} {unit}.", range.0, range.1);
                problems.push(Problem::new(Code::M06, &row.row, message));
            }
        }
    }
}

/// Clocks and limits that the card does not have.
fn settings(rows: &[Observation], card: &GpuFile, problems: &mut Vec<Problem>) {
    let pairs: BTreeSet<(i64, i64)> = card.pairs().collect();
    let near = |a: i64, b: i64| (a - b).abs() <= CLOCK_ROUNDING;
    let limits = [&card.power_limit_w.min, &card.power_limit_w.max].map(|figure| figure.value);
    for row in rows {
        if let Some(sm) = row.sm_mhz {
            let listed = |&(mem, clock): &(i64, i64)| near(clock, sm) && row.mem_mhz.is_none_or(|mhz| near(mem, mhz));
            if !pairs.iter().any(listed) {
                let memory = row.mem_mhz.map_or(String::new(), |mhz| format!(" at a memory clock of {mhz} MHz"));
                let message = format!("`{}` has no SM clock of {sm} MHz{memory}.", card.id);
                problems.push(Problem::new(Code::M04, &row.row, message));
            }
        }
        if let Some(limit) = row.power_limit_w
            && !(limits[0].to_f64()..=limits[1].to_f64()).contains(&limit)
        {
            let [low, high] = limits.map(Decimal::to_f64);
            let message = format!("`{}` has no power limit of {limit} W, but {low} to {high} W.", card.id);
            problems.push(Problem::new(Code::M04, &row.row, message));
        }
    }
}

/// Whether there are enough points, over a wide enough range, that agree where they were repeated.
fn amount(place: &str, samples: &[Sample], problems: &mut Vec<Problem>) {
    let mut by_place: BTreeMap<(u64, u64), (f64, f64)> = BTreeMap::new();
    for sample in samples {
        let key = (sample.at.core.to_bits(), sample.at.mem.to_bits());
        let (low, high) = by_place.entry(key).or_insert((sample.value, sample.value));
        (*low, *high) = (low.min(sample.value), high.max(sample.value));
    }
    let most = if place.ends_with("power") { AGREEMENT.1 } else { AGREEMENT.0 };
    for ((core, _), (low, high)) in &by_place {
        if high / low > 1.0 + most {
            let message = format!("at {} it was measured as {low} and as {high}.", f64::from_bits(*core));
            problems.push(Problem::new(Code::M05, place, message));
        }
    }
    let cores: BTreeSet<u64> = by_place.keys().map(|(core, _)| *core).collect();
    let bounds = cores.first().zip(cores.last()).map(|(low, high)| f64::from_bits(*high) / f64::from_bits(*low));
    if bounds.is_some_and(|ratio| ratio < LEAST_RANGE) {
        let message = format!("all {} measurements lie within 5 % of one clock or limit.", samples.len());
        problems.push(Problem::new(Code::M02, place, message));
    } else if by_place.len() < FEWEST_POINTS || cores.len() < FEWEST_CORES {
        let message = format!("{} points at {} clocks or limits.", by_place.len(), cores.len());
        problems.push(Problem::new(Code::M01, place, message));
    }
}
