//! Operating points that were held out, of workloads that were measured at others.
//!
//! Tasks: `every-Nth-clock` (all rows of every N-th clock are fitted, the rest predicted; one split for each phase, the seed
//! is the phase), `every-4th-cell` (with several memory clocks: every fourth clock at each, staggered), `every-4th-clock-and-ends` (the lowest and the highest clock are fitted too), `one-limit-out`
//! (training under power limits: all limits but one are fitted), and the energy regret of the operating point chosen by
//! the model of `every-4th-clock`, among all points: `regret-free`, `regret-5`, `regret-10` (percent of slowdown), and with `-ends`,
//! `-cell` and `-2nd` for the other ways to choose what is fitted.
//!
//! Models: `rats`; `form` (the same without its correction); `line` (straight lines between fitted points, flat beyond);
//! `floor` (each point from its two neighbors, all others known).
//!
//! Times flagged as quantized are not judged, nor noisy ones unless they are all a source has (`time_relative`).

use std::collections::{BTreeMap, BTreeSet};

use rats_domain::format::Flag;
use rayon::prelude::*;

use crate::data::Dataset;
use crate::dvfs::card::Voltage;
use crate::dvfs::curve::Curve;
use crate::dvfs::scope::{Axis, Place, Sample};
use crate::dvfs::series::place;
use crate::dvfs::workload::Workload;
use crate::score::{Held, Quantity, Score, Subject};
use crate::split::{Split, every};

use super::regret::{TimePower, regret};
use super::{Progress, floor};

/// Distances between fitted clocks that are tried, for learning curves; 4 is the task that is to be reached.
const STRIDES: [usize; 3] = [2, 4, 8];
/// The distance of the task that is to be reached.
const MAIN: usize = 4;
/// Fewest clocks that must be fitted.
const FEWEST_FITTED: usize = 4;
/// Fewest samples that must be fitted.
const FEWEST_SAMPLES: usize = 5;
/// Fewest limits of a workload of which one is held out.
const FEWEST_LIMITS: usize = 6;
/// Limits on the slowdown, with the task's name.
const SLOWDOWNS: [(Option<f64>, &str); 3] =
    [(None, "regret-free"), (Some(0.05), "regret-5"), (Some(0.10), "regret-10")];

/// A point that is not chosen.
const NEVER: TimePower = TimePower { time: f64::INFINITY, power: f64::INFINITY };

/// One workload along one axis.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// Places and, where measured, times and powers.
    pub rows: Vec<(Place, Option<f64>, Option<f64>)>,
}

/// All workloads of one source on one type of GPU along one axis.
#[derive(Clone, Debug)]
pub struct Group {
    /// Name of the source.
    pub source: String,
    /// Type of GPU.
    pub gpu: String,
    /// What was varied.
    pub axis: Axis,
    /// The workloads.
    pub workloads: Vec<Measured>,
}

/// A split that is judged: its task, its seed, and which rows of a workload are fitted.
struct Plan {
    task: String,
    seed: u64,
    split: fn(&Measured, u64, usize) -> Split,
    stride: usize,
}

/// Scores of all tasks.
pub fn scores(dataset: &Dataset, _: &[u64], progress: Progress) -> Vec<Score> {
    let of = |group: &Group| {
        let scores = of_group(group);
        progress(&format!("{}/{}", group.source, group.gpu));
        scores
    };
    groups(dataset).par_iter().flat_map_iter(of).collect()
}

/// The workloads that can be judged, by source, GPU and axis.
pub fn groups(dataset: &Dataset) -> Vec<Group> {
    let mut dataset = dataset.clone();
    for point in &mut dataset.points {
        if point.has(Flag::TimeQuantized) || (point.has(Flag::TimeNoisy) && !point.has(Flag::TimeRelative)) {
            point.time_s = None;
        }
    }
    let mut found: BTreeMap<(String, String, Axis), Vec<Measured>> = BTreeMap::new();
    for workload in Workload::all_of(&dataset) {
        let clocks: BTreeSet<_> = workload.rows.iter().map(|row| row.sm_mhz).collect();
        let axis = if clocks.len() > 1 { Axis::Clock } else { Axis::Limit };
        let row = |row| Some((place(row, axis)?, row.time, row.power));
        let rows: Vec<_> = workload.rows.iter().filter_map(row).collect();
        if cores(&rows).len() >= FEWEST_LIMITS {
            let key = (workload.set.clone(), workload.gpu.clone(), axis);
            found.entry(key).or_default().push(Measured { name: workload.name, rows });
        }
    }
    found.into_iter().map(|((source, gpu, axis), workloads)| Group { source, gpu, axis, workloads }).collect()
}

fn cores(rows: &[(Place, Option<f64>, Option<f64>)]) -> BTreeSet<u64> {
    rows.iter().map(|(at, _, _)| at.core.to_bits()).collect()
}

fn of_group(group: &Group) -> Vec<Score> {
    let least = group.workloads.iter().map(|workload| cores(&workload.rows).len()).min().unwrap_or(0);
    let memories = group.workloads.iter().any(|workload| {
        let first = workload.rows.first().map(|row| row.0.mem.to_bits());
        workload.rows.iter().any(|row| Some(row.0.mem.to_bits()) != first)
    });
    let mut plans = Vec::new();
    if group.axis == Axis::Clock {
        for stride in STRIDES.into_iter().filter(|stride| least / stride >= FEWEST_FITTED) {
            let task = format!("every-{stride}{}-clock", if stride == 2 { "nd" } else { "th" });
            plans.extend((0..stride as u64).map(|seed| Plan { task: task.clone(), seed, split: by_clock, stride }));
        }
        if least / MAIN >= FEWEST_FITTED {
            let task = "every-4th-clock-and-ends".to_owned();
            let plan = |seed| Plan { task: task.clone(), seed, split: by_clock_with_ends, stride: MAIN };
            plans.extend((0..MAIN as u64).map(plan));
        }
        if memories && least / MAIN >= FEWEST_FITTED {
            let task = "every-4th-cell".to_owned();
            plans.extend((0..MAIN as u64).map(|seed| Plan { task: task.clone(), seed, split: by_cell, stride: MAIN }));
        }
    } else {
        plans.extend((0..least as u64).map(|seed| Plan {
            task: "one-limit-out".to_owned(),
            seed,
            split: one_limit_out,
            stride: 1,
        }));
    }
    let mut scores: Vec<Score> = plans.par_iter().flat_map_iter(|plan| of_plan(group, plan)).collect();
    scores.extend([Quantity::Time, Quantity::Power].into_iter().filter_map(|quantity| floor_of(group, quantity)));
    scores
}

fn by_clock(workload: &Measured, phase: u64, stride: usize) -> Split {
    let keys: Vec<u64> = workload.rows.iter().map(|row| row.0.core.to_bits()).collect();
    every(&keys, stride, usize::try_from(phase).unwrap_or(0))
}

/// The same with the lowest and the highest clock among the fitted ones.
fn by_clock_with_ends(workload: &Measured, phase: u64, stride: usize) -> Split {
    let all = cores(&workload.rows);
    let ends = [all.first().copied(), all.last().copied()];
    let core = |at: usize| Some(workload.rows[at].0.core.to_bits());
    let split = by_clock(workload, phase, stride);
    Split::by(workload.rows.len(), |at| ends.contains(&core(at)) || split.fitted.contains(&at))
}

/// Every fourth clock at each memory clock, the next memory clock two clocks further: all memories and as many clocks as by
/// whole clocks, but no clock at all memories.
fn by_cell(workload: &Measured, phase: u64, stride: usize) -> Split {
    let rank = |of: BTreeSet<u64>, key: u64| of.iter().position(|&other| other == key).unwrap_or(0);
    let memories: BTreeSet<u64> = workload.rows.iter().map(|row| row.0.mem.to_bits()).collect();
    let all = cores(&workload.rows);
    let phase = usize::try_from(phase).unwrap_or(0);
    Split::by(workload.rows.len(), |at| {
        let place = workload.rows[at].0;
        let step = rank(all.clone(), place.core.to_bits()) + 2 * rank(memories.clone(), place.mem.to_bits());
        step % stride == phase
    })
}

fn one_limit_out(workload: &Measured, held: u64, _: usize) -> Split {
    let all = cores(&workload.rows);
    let held = usize::try_from(held).ok().and_then(|held| all.iter().nth(held).copied());
    Split::by(workload.rows.len(), |at| Some(workload.rows[at].0.core.to_bits()) != held)
}

/// The samples of a quantity and, for each, whether it is fitted.
fn samples(workload: &Measured, split: &Split, quantity: Quantity) -> (Vec<Sample>, Vec<Sample>) {
    let of = |positions: &[usize]| {
        let sample = |&at: &usize| {
            let (at, time, power) = workload.rows[at];
            Some(Sample { at, value: if quantity == Quantity::Time { time? } else { power? } })
        };
        positions.iter().filter_map(sample).collect()
    };
    (of(&split.fitted), of(&split.held))
}

/// A workload fitted on one side of a split.
struct Fit {
    time: Option<Curve>,
    power: Option<Curve>,
    split: Split,
}

fn of_plan(group: &Group, plan: &Plan) -> Vec<Score> {
    let fits = fits(group, |workload| (plan.split)(workload, plan.seed, plan.stride));
    let subject = |task: &str, model: &str, quantity| Subject {
        task: task.to_owned(),
        source: group.source.clone(),
        gpu: group.gpu.clone(),
        model: model.to_owned(),
        quantity,
        seed: plan.seed,
    };
    let mut scores = Vec::new();
    for quantity in [Quantity::Time, Quantity::Power] {
        let mut judged: [Vec<Vec<Held>>; 3] = Default::default();
        let mut refused = 0;
        for (workload, fit) in group.workloads.iter().zip(&fits) {
            let (fitted, held) = samples(workload, &fit.split, quantity);
            let curve = if quantity == Quantity::Time { &fit.time } else { &fit.power };
            let Some(curve) = curve else {
                refused += held.len();
                continue;
            };
            let [rats, form, line] = judge(curve, &fitted, &held);
            refused += held.len() - rats.len();
            for (all, own) in judged.iter_mut().zip([rats, form, line]) {
                all.push(own);
            }
        }
        for (model, held) in ["rats", "form", "line"].into_iter().zip(&judged) {
            if held.iter().any(|group| !group.is_empty()) {
                scores.push(Score::of_groups(subject(&plan.task, model, quantity), held, refused));
            }
        }
    }
    // What is fitted, as the names of the choices' tasks end.
    let design = match plan.task.as_str() {
        "every-4th-clock" => Some(""),
        "every-4th-clock-and-ends" => Some("-ends"),
        "every-4th-cell" => Some("-cell"),
        "every-2nd-clock" => Some("-2nd"),
        _ => None,
    };
    if let Some(design) = design {
        for (slowdown, name) in SLOWDOWNS {
            let task = format!("{name}{design}");
            scores.extend(regrets(group, &fits, slowdown, subject(&task, "rats", Quantity::Energy)));
            scores.extend(regret_floor(group, slowdown, subject(&task, "floor", Quantity::Energy)));
        }
    }
    scores
}

/// Fits every workload of a group, with the voltage curve of the group's fitted powers.
fn fits(group: &Group, split: impl Fn(&Measured) -> Split + Sync) -> Vec<Fit> {
    let splits: Vec<Split> = group.workloads.iter().map(&split).collect();
    let pairs = || group.workloads.iter().zip(&splits);
    let powers: Vec<Vec<Sample>> =
        pairs().map(|(w, split)| samples(w, split, Quantity::Power).0).filter(|s| s.len() >= FEWEST_SAMPLES).collect();
    let card = (group.axis == Axis::Clock).then(|| Voltage::fit(&powers)).flatten();
    let curve = |workload: &Measured, split: &Split, quantity| {
        let (fitted, _) = samples(workload, split, quantity);
        let enough = fitted.len() >= FEWEST_SAMPLES;
        enough.then(|| Curve::fit(quantity, group.axis, &fitted, card.as_ref())).flatten()
    };
    group
        .workloads
        .par_iter()
        .zip(splits.par_iter())
        .map(|(workload, split)| Fit {
            time: curve(workload, split, Quantity::Time),
            power: curve(workload, split, Quantity::Power),
            split: split.clone(),
        })
        .collect()
}

/// Held-out samples as the curve, its form alone and straight lines predict them; those that the curve refuses left out.
fn judge(curve: &Curve, fitted: &[Sample], held: &[Sample]) -> [Vec<Held>; 3] {
    let mut judged: [Vec<Held>; 3] = Default::default();
    for sample in held {
        let Some(said) = curve.predict(sample.at) else { continue };
        let measured = sample.value;
        judged[0].push(Held { measured, predicted: said.value, interval: Some((said.low, said.high)) });
        let form = curve.fitted.value(&curve.scope, sample.at);
        judged[1].push(Held { measured, predicted: form, interval: None });
        judged[2].push(Held { measured, predicted: line(fitted, sample.at), interval: None });
    }
    judged
}

/// The straight line between the two fitted neighbors at the same memory clock, or the nearest one; of the nearest
/// memory clock where there is none at this one.
fn line(fitted: &[Sample], at: Place) -> f64 {
    let same: Vec<&Sample> = fitted.iter().filter(|sample| sample.at.mem.total_cmp(&at.mem).is_eq()).collect();
    let pool: Vec<&Sample> = if same.is_empty() { fitted.iter().collect() } else { same };
    let below = pool.iter().filter(|s| s.at.core <= at.core).max_by(|a, b| a.at.core.total_cmp(&b.at.core));
    let above = pool.iter().filter(|s| s.at.core >= at.core).min_by(|a, b| a.at.core.total_cmp(&b.at.core));
    match (below, above) {
        (Some(a), Some(b)) if b.at.core > a.at.core => {
            a.value + (b.value - a.value) * (at.core - a.at.core) / (b.at.core - a.at.core)
        }
        (Some(one), _) | (None, Some(one)) => one.value,
        (None, None) => f64::NAN,
    }
}

/// Mean regret and violation of the point chosen for each workload, against the best of all that were measured. A point that
/// the model refuses to predict is not chosen.
fn regrets(group: &Group, fits: &[Fit], slowdown: Option<f64>, subject: Subject) -> Option<Score> {
    let mut held = Vec::new();
    let mut violations = Vec::new();
    for (workload, fit) in group.workloads.iter().zip(fits) {
        let (Some(time), Some(power)) = (&fit.time, &fit.power) else { continue };
        let both = workload.rows.iter().filter_map(|&(at, time, power)| Some((at, time?, power?)));
        let (measured, predicted): (Vec<TimePower>, Vec<TimePower>) = both
            .map(|(at, t, p)| {
                let said = time.predict(at).zip(power.predict(at));
                let said = said.map_or(NEVER, |(time, power)| TimePower { time: time.value, power: power.value });
                (TimePower { time: t, power: p }, said)
            })
            .unzip();
        let some = predicted.iter().any(|said| *said != NEVER);
        let Some(found) = regret(&measured, &predicted, slowdown).filter(|_| some) else { continue };
        // As a share: 1 is the energy of the best point.
        held.push(Held { measured: 1.0, predicted: 1.0 + found.regret, interval: None });
        violations.push(found.violation);
    }
    let score = Score::of(subject, &held, 0);
    (!held.is_empty()).then(|| Score { violation: crate::statistics::mean(&violations), ..score })
}

/// The regret of choosing by what its two neighbors say of each inner point, at the ends by the measurement: what noise and
/// steps between clocks cost even where everything else was measured.
fn regret_floor(group: &Group, slowdown: Option<f64>, subject: Subject) -> Option<Score> {
    let mut held = Vec::new();
    let mut violations = Vec::new();
    for workload in &group.workloads {
        let both =
            workload.rows.iter().filter_map(|&(at, time, power)| Some((at, TimePower { time: time?, power: power? })));
        let mut points: Vec<(Place, TimePower)> = both.collect();
        points.sort_by(|a, b| a.0.mem.total_cmp(&b.0.mem).then(a.0.core.total_cmp(&b.0.core)));
        let said: Vec<TimePower> = (0..points.len()).map(|at| between(&points, at)).collect();
        let measured: Vec<TimePower> = points.iter().map(|point| point.1).collect();
        let Some(found) = regret(&measured, &said, slowdown) else { continue };
        held.push(Held { measured: 1.0, predicted: 1.0 + found.regret, interval: None });
        violations.push(found.violation);
    }
    let score = Score::of(subject, &held, 0);
    (!held.is_empty()).then(|| Score { violation: crate::statistics::mean(&violations), ..score })
}

/// A point on the lines between its neighbors at the same memory clock; itself at an end.
fn between(points: &[(Place, TimePower)], at: usize) -> TimePower {
    let ends = at.checked_sub(1).and_then(|before| Some((points.get(before)?, points.get(at + 1)?)));
    let (place, own) = points[at];
    match ends {
        Some((a, b)) if a.0.mem.total_cmp(&b.0.mem).is_eq() && a.0.core < place.core && place.core < b.0.core => {
            let share = (place.core - a.0.core) / (b.0.core - a.0.core);
            let mix = |a: f64, b: f64| a + share * (b - a);
            TimePower { time: mix(a.1.time, b.1.time), power: mix(a.1.power, b.1.power) }
        }
        _ => own,
    }
}

/// What the neighbors of a point say of it, all others known.
fn floor_of(group: &Group, quantity: Quantity) -> Option<Score> {
    let of = |workload: &Measured| {
        let mut by_memory: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
        for &(at, time, power) in &workload.rows {
            if let Some(value) = if quantity == Quantity::Time { time } else { power } {
                by_memory.entry(at.mem.to_bits()).or_default().push((at.core, value));
            }
        }
        by_memory.values().flat_map(|points| floor::neighbors(points)).collect::<Vec<Held>>()
    };
    let held: Vec<Vec<Held>> = group.workloads.iter().map(of).collect();
    let subject = Subject {
        task: if group.axis == Axis::Clock { "neighbors" } else { "neighbors-limits" }.to_owned(),
        source: group.source.clone(),
        gpu: group.gpu.clone(),
        model: "floor".to_owned(),
        quantity,
        seed: 0,
    };
    held.iter().any(|held| !held.is_empty()).then(|| Score::of_groups(subject, &held, 0))
}

/// A workload with every point and what the model that was fitted to every fourth clock says of it, for a plot.
pub struct Example {
    /// Source, GPU and name of the workload.
    pub title: String,
    /// What is shown.
    pub quantity: Quantity,
    /// Place, measured value, whether it was fitted, and what was said: value, low, high.
    pub points: Vec<(Place, f64, bool, [f64; 3])>,
}

/// The workload of the median error of each group measured over clocks, for both quantities.
pub fn examples(dataset: &Dataset) -> Vec<Example> {
    let groups = groups(dataset);
    let wide = |group: &&Group| {
        group.axis == Axis::Clock && group.workloads.iter().all(|w| cores(&w.rows).len() / MAIN >= FEWEST_FITTED)
    };
    groups.par_iter().filter(wide).flat_map_iter(of_examples).collect()
}

fn of_examples(group: &Group) -> Vec<Example> {
    let fits = fits(group, |workload| by_clock(workload, 0, MAIN));
    let mut found = Vec::new();
    for quantity in [Quantity::Time, Quantity::Power] {
        let mut all: Vec<(f64, Example)> = Vec::new();
        for (workload, fit) in group.workloads.iter().zip(&fits) {
            let Some(curve) = (if quantity == Quantity::Time { &fit.time } else { &fit.power }) else { continue };
            let (fitted, held) = samples(workload, &fit.split, quantity);
            let point = |sample: &Sample, fitted| {
                let said = curve.predict(sample.at)?;
                Some((sample.at, sample.value, fitted, [said.value, said.low, said.high]))
            };
            let points =
                fitted.iter().filter_map(|s| point(s, true)).chain(held.iter().filter_map(|s| point(s, false)));
            let mut points: Vec<_> = points.collect();
            points.sort_by(|a, b| a.0.mem.total_cmp(&b.0.mem).then(a.0.core.total_cmp(&b.0.core)));
            let error: f64 =
                points.iter().map(|p| (p.3[0] / p.1 - 1.0).abs()).sum::<f64>() / points.len().max(1) as f64;
            let title = format!("{} {} {}", group.source, group.gpu, workload.name);
            all.push((error, Example { title, quantity, points }));
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let middle = all.len() / 2;
        found.extend(all.into_iter().nth(middle).map(|(_, example)| example));
    }
    found
}
