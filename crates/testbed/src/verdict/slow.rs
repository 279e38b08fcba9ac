//! Which GPUs are slower than their plan says and than others are.
//!
//! # Idea
//! A gang goes at the pace of its slowest GPU. A GPU is named if its jobs took longer, against their prediction, than
//! jobs of other GPUs did: then the prediction is not to blame, which would be wrong everywhere.
//!
//! # Model
//! For each job, q = log(time / predicted time), of a step where it is known, less the median of q over the jobs of the same
//! workload on other GPUs of the same kind (of all workloads, where that one ran nowhere else). For each GPU, the median of
//! this over its jobs. The GPU with the largest excess is named if that exceeds 5 % and three times the spread of the others (median absolute
//! deviation x 1.4826, which for normal errors is their standard deviation: P. J. Rousseeuw and C. Croux, "Alternatives to
//! the Median Absolute Deviation", 1993). Its jobs are then left out and the next is looked for. GPUs that only ran in the
//! same gangs cannot be told apart and are named together.
//!
//! # Limits
//! A GPU is judged against others of its kind: one without any, or that ran nothing, is not. A GPU whose clock is held down
//! by heat is slow, too: the verdict on its jobs says so.

use std::collections::{BTreeMap, BTreeSet};

use rats_models::statistics;
use serde::Serialize;

use super::measure::JobMeasured;

/// Excess that is no accident, as a share.
const LEAST: f64 = 0.05;

/// How many times the spread of others an excess must be.
const TIMES: f64 = 3.0;

/// GPUs that are slow, and by how much.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slow {
    /// The GPU; several where they ran in the same gangs only.
    pub gpus: Vec<String>,
    /// Its jobs take this share longer than others do, against their prediction.
    pub excess: f64,
    /// Number of its jobs.
    pub jobs: usize,
    /// Names of its jobs.
    #[serde(skip)]
    pub of: BTreeSet<String>,
}

struct Case<'a> {
    job: &'a JobMeasured,
    q: f64,
}

/// The slow GPUs, the slowest first.
pub(super) fn slow(jobs: &[JobMeasured]) -> Vec<Slow> {
    let mut cases: Vec<Case<'_>> = jobs.iter().filter_map(|job| Some(Case { job, q: deviation(job)? })).collect();
    let mut found = Vec::new();
    while let Some(worst) = worst(&cases) {
        cases.retain(|case| !case.job.gpus.iter().any(|gpu| worst.gpus.contains(gpu)));
        found.push(worst);
    }
    found
}

/// log(time / predicted time), of a step where both are known.
fn deviation(job: &JobMeasured) -> Option<f64> {
    let times = match (job.measured.step_s, job.planned.step_s) {
        (Some(measured), Some(planned)) => (measured, planned),
        _ => (job.measured.run_s, job.planned.run_s),
    };
    let q = (times.0 / times.1).ln();
    q.is_finite().then_some(q)
}

fn worst(cases: &[Case<'_>]) -> Option<Slow> {
    let mut by_gpu: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (position, case) in cases.iter().enumerate() {
        for gpu in &case.job.gpus {
            by_gpu.entry(gpu).or_default().insert(position);
        }
    }
    let judged = by_gpu.iter().filter_map(|(gpu, own)| Some((*gpu, own, excess(cases, own)?)));
    let (_, own, excess) = judged.max_by(|a, b| a.2.total_cmp(&b.2))?;
    let gpus = by_gpu.iter().filter(|(_, cases)| *cases == own).map(|(gpu, _)| (*gpu).to_owned()).collect();
    let of: BTreeSet<String> = own.iter().map(|&position| cases[position].job.job.clone()).collect();
    Some(Slow { gpus, excess: excess.exp_m1(), jobs: own.len(), of })
}

/// The excess of these cases over the others, if it is one.
fn excess(cases: &[Case<'_>], own: &BTreeSet<usize>) -> Option<f64> {
    let kind = &cases[*own.first()?].job.gpu_type;
    let rest = cases.iter().enumerate().filter(|(position, _)| !own.contains(position)).map(|(_, case)| case);
    let peers: Vec<&Case<'_>> = rest.filter(|case| case.job.gpu_type == *kind).collect();
    let middle = |workload: &Option<String>| {
        let same: Vec<f64> = peers.iter().filter(|case| case.job.workload == *workload).map(|case| case.q).collect();
        statistics::median(&same).unwrap_or_else(|| median(peers.iter().map(|case| case.q)))
    };
    let over = |case: &Case<'_>| case.q - middle(&case.job.workload);
    let spread = 1.4826 * median(peers.iter().map(|case| over(case).abs()));
    let excess = median(own.iter().map(|&position| over(&cases[position])));
    (excess > LEAST.ln_1p() && excess > TIMES * spread).then_some(excess)
}

/// The median; of nothing it is no number, which exceeds nothing.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    statistics::median(&values.collect::<Vec<_>>()).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::super::tests::measured;
    use super::*;

    #[test]
    fn a_slow_gpu_is_named_and_a_wrong_model_is_not_blamed_on_gpus() {
        // Everything is 10 % slower than predicted; jobs on GPU 3 take 1.10 x 1.15.
        let jobs: Vec<JobMeasured> = (0..8)
            .map(|number| {
                let gpu = number % 4;
                let factor = 1.10 * if gpu == 3 { 1.15 } else { 1.0 } * (1.0 + 0.002 * f64::from(number % 3));
                measured(&format!("j{number}"), &[&format!("n/{gpu}")], 100.0, 100.0 * factor)
            })
            .collect();
        let found = slow(&jobs);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].gpus.clone(), found[0].jobs), (vec!["n/3".to_owned()], 2));
        assert!((found[0].excess - 0.15).abs() < 0.01, "{found:?}");
        // Nothing to compare with.
        assert_eq!(slow(&jobs[3..4]), []);
    }

    #[test]
    fn a_gpu_that_slows_a_gang_is_told_from_its_fellows_by_their_other_jobs() {
        let jobs = [
            measured("gang", &["n/0", "n/1"], 100.0, 120.0),
            measured("alone", &["n/0"], 100.0, 100.0),
            measured("other", &["n/2"], 100.0, 101.0),
            measured("third", &["n/3"], 100.0, 99.0),
        ];
        assert_eq!(slow(&jobs)[0].gpus, ["n/1"]);
        let both = [jobs[0].clone(), jobs[2].clone(), jobs[3].clone()];
        assert_eq!(slow(&both)[0].gpus, ["n/0", "n/1"]);
    }
}
