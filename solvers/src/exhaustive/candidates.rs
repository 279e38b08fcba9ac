//! Every placement that a job could have by itself: rules V2, V3, V4 and V12.

use std::collections::BTreeMap;

use rats_domain::ids::{GpuId, JobId};
use rats_domain::instance::{Instance, JobOption};
use rats_domain::interval::Interval;
use rats_domain::schedule::Placement;
use rats_domain::units::Ticks;

use rats_domain::demand::{Shared, demands};

/// A placement of one job with what the search needs to know of it.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub placement: Placement,
    /// Its ticks from 0 on.
    pub ticks: std::ops::Range<usize>,
    pub end: Ticks,
    pub demands: Vec<(Shared, i64)>,
}

/// All placements of a job.
pub(super) fn candidates(instance: &Instance, job: JobId) -> Vec<Candidate> {
    if let Some(fixed) = &instance.jobs[job].fixed {
        return fixed_candidate(instance, job, fixed).into_iter().collect();
    }
    let mut all = Vec::new();
    for (id, option) in instance.jobs[job].options.iter() {
        for gpus in gpu_sets(instance, option) {
            let demands: BTreeMap<_, _> = demands(instance, option, &gpus);
            let demands: Vec<_> = demands.into_iter().collect();
            let mut start = instance.jobs[job].release;
            while start + option.ticks <= instance.latest_end(job) {
                let placement = Placement { option: id, start, gpus: gpus.clone() };
                if is_available(instance, &placement, option) {
                    all.push(candidate(option, placement, demands.clone()));
                }
                start += Ticks(1);
            }
        }
    }
    all
}

/// An upper bound on the number of placements of a job, without listing them.
pub(super) fn count(instance: &Instance, job: JobId) -> f64 {
    if instance.jobs[job].fixed.is_some() {
        return 1.0;
    }
    let of_option = |option: &JobOption| {
        let starts = (instance.latest_end(job) - option.ticks - instance.jobs[job].release).0 + 1;
        sets_within_spans(instance, option) * starts.max(0) as f64
    };
    instance.jobs[job].options.values().map(of_option).sum()
}

fn fixed_candidate(instance: &Instance, job: JobId, fixed: &Placement) -> Option<Candidate> {
    let option = instance.option(job, fixed.option);
    let in_time = fixed.start + option.ticks <= instance.latest_end(job);
    let valid = in_time && within_span(instance, &fixed.gpus, option) && is_available(instance, fixed, option);
    valid.then(|| candidate(option, fixed.clone(), demands(instance, option, &fixed.gpus).into_iter().collect()))
}

fn candidate(option: &JobOption, placement: Placement, demands: Vec<(Shared, i64)>) -> Candidate {
    let end = placement.start + option.ticks;
    let index = |at: Ticks| usize::try_from(at.0).unwrap_or(0);
    Candidate { ticks: index(placement.start)..index(end), end, placement, demands }
}

fn is_available(instance: &Instance, placement: &Placement, option: &JobOption) -> bool {
    let occupancy = Interval::new(placement.start.max(Ticks::ZERO), placement.start + option.ticks);
    let blocked = |gpu: &GpuId| {
        instance.cluster.gpus[*gpu].unavailable.iter().any(|interval| interval.intersection(occupancy).len() > Ticks(0))
    };
    !placement.gpus.iter().any(blocked)
}

fn within_span(instance: &Instance, gpus: &[GpuId], option: &JobOption) -> bool {
    let topology = &instance.cluster.topology;
    topology.narrowest(gpus).is_some_and(|domain| topology.domain(domain).rank <= option.span)
}

/// All sets of GPUs that satisfy V2 and V3.
fn gpu_sets(instance: &Instance, option: &JobOption) -> Vec<Vec<GpuId>> {
    if !instance.cluster.memory_fits(option) {
        return Vec::new();
    }
    let of_type: Vec<_> =
        instance.cluster.gpus.ids().filter(|&gpu| instance.cluster.type_of(gpu) == option.gpu_type).collect();
    let mut sets = combinations(&of_type, option.gpus.0 as usize);
    sets.retain(|gpus| within_span(instance, gpus, option));
    sets
}

fn combinations(items: &[GpuId], size: usize) -> Vec<Vec<GpuId>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    if items.len() < size {
        return Vec::new();
    }
    let mut with_first = combinations(&items[1..], size - 1);
    for rest in &mut with_first {
        rest.insert(0, items[0]);
    }
    with_first.extend(combinations(&items[1..], size));
    with_first
}

/// The number of GPU sets within the widest domains that the span allows; an upper bound that needs no listing.
fn sets_within_spans(instance: &Instance, option: &JobOption) -> f64 {
    let topology = &instance.cluster.topology;
    let of_type = |gpus: &[GpuId]| gpus.iter().filter(|&&gpu| instance.cluster.type_of(gpu) == option.gpu_type).count();
    topology.widest_within(option.span).map(|domain| choose(of_type(&domain.gpus), option.gpus.0 as usize)).sum()
}

fn choose(n: usize, k: usize) -> f64 {
    if k > n {
        return 0.0;
    }
    (0..k.min(n - k)).map(|i| (n - i) as f64 / (i + 1) as f64).product::<f64>().round()
}
