//! The jobs that a model of interference knows: what they are and how fast they run alone.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::problem::Problem;
use serde::{Deserialize, Serialize};

use crate::data::Pair;
use crate::statistics::{mean, median};

/// Rates of one job alone may differ by this share between rows and still count as one; the first is kept.
const ALONE_TOLERANCE: f64 = 0.01;

/// A job that had a GPU to itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Alone {
    /// Type of GPU.
    pub gpu: String,
    /// Name of the job.
    pub job: String,
    /// The model alone.
    pub model: String,
    /// The batch size.
    pub batch: Option<f64>,
    /// Steps per second.
    pub rate: f64,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Job {
    /// Name of the job.
    pub name: String,
    /// The model alone.
    pub model: String,
    /// The batch size.
    pub batch: Option<f64>,
    /// Steps per second alone, by type of GPU.
    pub alone: BTreeMap<String, f64>,
}

impl Job {
    /// Binary logarithm of the batch size; 0 where there is none.
    pub fn log_batch(&self) -> f64 {
        self.batch.map_or(0.0, |batch| batch.max(1.0).log2())
    }
}

/// All jobs in the order of their names.
pub(super) fn catalogue(pairs: &[Pair], alone: &[Alone]) -> Result<Vec<Job>, Vec<Problem>> {
    let mut jobs: BTreeMap<String, Job> = BTreeMap::new();
    let mut problems = Vec::new();
    for (row, pair) in pairs.iter().enumerate() {
        for side in [&pair.a, &pair.b] {
            let place = format!("pairs[{row}] ({} beside {} on {})", pair.a.job, pair.b.job, pair.gpu);
            let rate = side.alone_rate.unwrap_or(f64::NAN);
            let (gpu, job) = (pair.gpu.clone(), side.job.clone());
            let known = Alone { gpu, job, model: side.model.clone(), batch: side.batch, rate };
            problems.extend(enter(&mut jobs, &known, place));
        }
    }
    for (row, known) in alone.iter().enumerate() {
        problems.extend(enter(&mut jobs, known, format!("alone[{row}] ({} on {})", known.job, known.gpu)));
    }
    if problems.is_empty() { Ok(jobs.into_values().collect()) } else { Err(problems) }
}

fn enter(jobs: &mut BTreeMap<String, Job>, known: &Alone, place: String) -> Option<Problem> {
    if !(known.rate.is_finite() && known.rate > 0.0) {
        return Some(Problem::new(Code::M43, place, format!("`{}` has no rate alone above 0.", known.job)));
    }
    let job = jobs.entry(known.job.clone()).or_insert_with(|| Job {
        name: known.job.clone(),
        model: known.model.clone(),
        batch: known.batch,
        alone: BTreeMap::new(),
    });
    let rate = *job.alone.entry(known.gpu.clone()).or_insert(known.rate);
    if (rate - known.rate).abs() > ALONE_TOLERANCE * rate || job.model != known.model || job.batch != known.batch {
        let message = format!("`{}` runs at {} steps/s alone, an earlier row says {rate}.", known.job, known.rate);
        return Some(Problem::new(Code::M46, place, message));
    }
    None
}

/// What is known of each job without ever having run it beside another, standardized over the jobs (mean 0, deviation 1):
///
/// * how much faster it is on the fastest type of GPU than on the slowest, as a logarithm: a job held up by its host
///   gains little;
/// * its step time on this GPU against the mean of its model, as a logarithm: a larger batch holds the GPU longer.
///
/// A job without one of the rates gets the mean.
pub(super) fn features(jobs: &[Job], gpu: &str) -> Vec<[f64; 2]> {
    let ends = slowest_and_fastest(jobs);
    let gain = |job: &Job| {
        let (slow, fast) = ends.as_ref()?;
        Some((job.alone.get(fast)? / job.alone.get(slow)?).ln())
    };
    let step = |job: &Job| Some(-job.alone.get(gpu)?.ln());
    let relative = |job: &Job| {
        let of_model: Vec<f64> = jobs.iter().filter(|other| other.model == job.model).filter_map(step).collect();
        Some(step(job)? - mean(&of_model)?)
    };
    let columns = [standardized(jobs.iter().map(gain).collect()), standardized(jobs.iter().map(relative).collect())];
    (0..jobs.len()).map(|at| [columns[0][at], columns[1][at]]).collect()
}

/// The two types of GPU whose rates alone lie furthest apart, by the median over the jobs that ran on both.
fn slowest_and_fastest(jobs: &[Job]) -> Option<(String, String)> {
    let mut gpus: Vec<&String> = jobs.iter().flat_map(|job| job.alone.keys()).collect();
    gpus.sort();
    gpus.dedup();
    let mut best: Option<(f64, (String, String))> = None;
    for slow in &gpus {
        for fast in &gpus {
            let ratios: Vec<f64> =
                jobs.iter().filter_map(|job| Some((job.alone.get(*fast)? / job.alone.get(*slow)?).ln())).collect();
            let Some(ratio) = median(&ratios) else { continue };
            if ratio > best.as_ref().map_or(0.0, |found| found.0) {
                best = Some((ratio, ((*slow).clone(), (*fast).clone())));
            }
        }
    }
    best.map(|found| found.1)
}

fn standardized(values: Vec<Option<f64>>) -> Vec<f64> {
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    let center = mean(&known).unwrap_or(0.0);
    let variance = mean(&known.iter().map(|value| (value - center).powi(2)).collect::<Vec<_>>()).unwrap_or(0.0);
    let scale = if variance > 1e-12 { variance.sqrt() } else { 1.0 };
    values.into_iter().map(|value| value.map_or(0.0, |value| (value - center) / scale)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(name: &str, model: &str, alone: &[(&str, f64)]) -> Job {
        let alone = alone.iter().map(|&(gpu, rate)| (gpu.to_owned(), rate)).collect();
        Job { name: name.to_owned(), model: model.to_owned(), batch: None, alone }
    }

    #[test]
    fn features_are_the_gain_and_the_relative_step() {
        // Gains of new over old: 2, 2, 8: logarithms 1, 1, 3 (base 2), mean 5/3, deviation sqrt(8)/3: (-0.7071, -0.7071, 1.4142).
        // Steps on old: 1/2 and 1/8 s of model x: -1 and -3 about their mean -2: +-1; y alone: 0. Deviation sqrt(2/3).
        let jobs = [
            job("x1", "x", &[("old", 2.0), ("new", 4.0)]),
            job("x2", "x", &[("old", 8.0), ("new", 16.0)]),
            job("y", "y", &[("old", 1.0), ("new", 8.0)]),
        ];
        let found = features(&jobs, "old");
        let expected = [[-0.5_f64.sqrt(), 1.5_f64.sqrt()], [-0.5_f64.sqrt(), -1.5_f64.sqrt()], [2_f64.sqrt(), 0.0]];
        for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            assert!((found - expected).abs() < 1e-4, "{found} {expected}");
        }
    }

    #[test]
    fn with_one_gpu_there_is_no_gain() {
        let jobs = [job("a", "a", &[("g", 2.0)]), job("b", "b", &[("g", 5.0)])];
        assert!(features(&jobs, "g").iter().all(|row| row[0].abs() < f64::MIN_POSITIVE));
    }
}
