//! The evaluation on profiles that ship: intervals of measured curves, and the same scores whatever the threads.

use std::collections::BTreeMap;
use std::path::Path;

use rats_models::data::Dataset;
use rats_models::evaluate::{TASKS, sorted, summary};
use rats_models::score::{Quantity, Score};

/// The shipped profiles of one source.
fn shipped(source: &str) -> Dataset {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../instances/profiles").join(source);
    Dataset::of_profiles(&folder).unwrap().0
}

fn scores(task: &str, data: &Dataset) -> Vec<Score> {
    let task = TASKS.iter().find(|of| of.id == task).unwrap();
    sorted((task.scores)(data, &[1, 2], &|_| ()))
}

/// Mean over phases of the share of held-out points inside their 90 % intervals, and their number, by GPU and quantity.
fn coverages(scores: &[Score], task: &str) -> BTreeMap<(String, Quantity), (f64, usize)> {
    let mut found: BTreeMap<(String, Quantity), Vec<(f64, usize)>> = BTreeMap::new();
    for score in scores.iter().filter(|score| score.task == task && score.model == "rats") {
        found.entry((score.gpu.clone(), score.quantity)).or_default().push((score.coverage.unwrap(), score.n));
    }
    let mean = |of: Vec<(f64, usize)>| {
        (of.iter().map(|one| one.0).sum::<f64>() / of.len() as f64, of.iter().map(|one| one.1).sum())
    };
    found.into_iter().map(|(key, of)| (key, mean(of))).collect()
}

#[test]
fn intervals_hold_most_of_what_was_measured_at_other_clocks() {
    let mut data = shipped("ttu");
    // The three applications whose times count, and as many whose power alone does.
    let some = ["dgemm", "stream", "lstm", "cutcp", "lammps", "namd"];
    data.points.retain(|point| some.iter().any(|name| point.workload.contains(name)));
    data.points.extend(shipped("perseus").points);
    let found = coverages(&scores("dvfs", &data), "every-4th-clock");
    let gpus: Vec<&str> = found.keys().map(|(gpu, _)| gpu.as_str()).collect();
    assert_eq!(gpus, ["a100-sxm-80gb", "a100-sxm-80gb", "a40", "a40", "v100", "v100"]);
    // Each GPU has few workloads with nearly one curve: wide limits for each, narrow ones for all.
    assert!(found.values().all(|(share, n)| (0.7..=1.0).contains(share) && *n > 100), "{found:?}");
    let mean = found.values().map(|(share, _)| share).sum::<f64>() / found.len() as f64;
    assert!((0.84..=0.97).contains(&mean), "{mean} {found:?}");
}

#[test]
fn intervals_hold_most_of_what_was_measured_under_other_limits() {
    let found = coverages(&scores("dvfs", &shipped("zeus")), "one-limit-out");
    assert_eq!(found.len(), 8);
    assert!(found.values().all(|(share, n)| (0.75..=0.97).contains(share) && *n > 100), "{found:?}");
}

#[test]
fn scores_do_not_depend_on_the_number_of_threads() {
    let mut curves = shipped("perseus");
    curves.points.retain(|point| point.gpu == "a40");
    let mut kernels = shipped("ttu");
    kernels.points.retain(|point| point.sm_mhz.is_some_and(|mhz| mhz % 5 == 0));
    let mut pairs = shipped("gavel");
    let jobs = ["A3C", "CycleGAN", "ResNet-50", "LM"];
    pairs.pairs.retain(|pair| {
        pair.gpu == "k80" && [&pair.a, &pair.b].iter().all(|side| jobs.iter().any(|job| side.job.starts_with(job)))
    });
    for (task, data) in [("dvfs", &curves), ("unseen", &kernels), ("interference", &pairs), ("scaling", &pairs)] {
        let of = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| summary::raw(&scores(task, data)))
        };
        let (one, three) = (of(1), of(3));
        assert!(one.len() > 1000 && one == three, "{task}: {} and {} bytes", one.len(), three.len());
    }
}
