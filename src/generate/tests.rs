//! What generated instances promise, for several seeds of every family.

use rats_domain::codes::Code;

use super::*;
use crate::layout::laid_out;

fn wanted(family: Family, seed: u64) -> Wanted {
    Wanted { family, seed, jobs: None, nodes: None, gpus_per_node: None }
}

/// Load, deadlines, witness and baseline, by the checker alone.
#[track_caller]
fn keeps_promises(wanted: &Wanted) -> Generated {
    let generated = generate(wanted).unwrap();
    // What is promised of the instance holds for the file as others read it.
    let text = laid_out(&serde_json::to_string(&generated.file).unwrap());
    let read = Instance::read(text.as_bytes()).unwrap();
    assert_eq!(read.warnings, [], "{}", read.instance.name);
    let instance = read.instance;
    let name = &instance.name;
    assert!((0.5..=0.8).contains(&promises::load(&instance)), "{name}: {}", promises::load(&instance));
    assert!(promises::tight(&instance) >= 0.3, "{name}: {}", promises::tight(&instance));
    let plan = rats_domain::check::check(&instance, &generated.plan()).unwrap();
    assert!(plan.violations.is_empty(), "{name}: {:?}", plan.violations);
    let (_, report) = promises::baseline(&instance);
    let broken: Vec<Code> = report.unwrap().violations.iter().map(|violation| violation.code).collect();
    assert!(broken.iter().any(|code| [Code::V4, Code::V10, Code::V11].contains(code)), "{name}: {broken:?}");
    generated
}

#[test]
fn small_instances_keep_their_promises() {
    for seed in 1..=36 {
        let instance = keeps_promises(&wanted(Family::Small, seed)).instance;
        assert!((6..=12).contains(&instance.jobs.len()) && (2..=4).contains(&instance.cluster.nodes.len()));
    }
}

#[test]
fn medium_instances_keep_their_promises() {
    for seed in 1..=12 {
        let instance = keeps_promises(&wanted(Family::Medium, seed)).instance;
        assert!((20..=60).contains(&instance.jobs.len()) && (4..=16).contains(&instance.cluster.nodes.len()));
    }
}

#[test]
fn large_instances_keep_their_promises() {
    for seed in [1, 5, 10, 11] {
        let wanted = Wanted { jobs: Some(150), ..wanted(Family::Large, seed) };
        let instance = keeps_promises(&wanted).instance;
        assert!(instance.jobs.len() == 150 && (16..=256).contains(&instance.cluster.nodes.len()));
    }
}

#[test]
fn huge_instances_keep_their_promises_at_a_smaller_size() {
    let wanted = Wanted { jobs: Some(800), nodes: Some(100), ..wanted(Family::Huge, 3) };
    let instance = keeps_promises(&wanted).instance;
    assert!(promises::work(&instance) >= 3.0, "{}", promises::work(&instance));
    assert!(instance.cluster.power_cap.is_some());
}

#[test]
fn twelve_seeds_show_every_feature_and_every_term() {
    let all: Vec<Instance> = (1..=12).map(|seed| generate(&wanted(Family::Small, seed)).unwrap().instance).collect();
    let some = |has: fn(&Instance) -> bool| all.iter().any(has);
    for (name, has) in [
        ("cap in steps", some(|i| i.cluster.power_cap.as_ref().is_some_and(|cap| cap.steps().len() > 1))),
        ("node cap", some(|i| i.cluster.nodes.values().any(|node| node.power_cap.is_some()))),
        ("switch cap", some(|i| i.cluster.switches.values().any(|switch| switch.power_cap.is_some()))),
        ("budget", some(|i| i.energy_budget.is_some())),
        ("several types", some(|i| i.cluster.gpu_types.len() > 1)),
        ("after", some(|i| i.jobs.values().any(|job| !job.after.is_empty()))),
        ("releases", some(|i| i.jobs.values().any(|job| job.release.0 > 0))),
        ("due", some(|i| i.jobs.values().any(|job| job.due.is_some()))),
        ("unavailable", some(|i| i.cluster.gpus.values().any(|gpu| !gpu.unavailable.is_empty()))),
        ("resources", some(|i| i.jobs.values().any(|job| job.options.values().any(|o| !o.per_gpu.is_empty())))),
        ("energy", some(|i| i.objective.energy > 0.0)),
        ("cost", some(|i| i.objective.cost > 0.0)),
        ("makespan", some(|i| i.objective.makespan > 0.0)),
        ("completion", some(|i| i.objective.completion > 0.0)),
        ("tardiness", some(|i| i.objective.tardiness > 0.0)),
    ] {
        assert!(has, "{name}");
    }
}

#[test]
fn the_edl_workload_has_a_plan_and_the_published_figures() {
    for (per_node, family) in [(1, Family::Edl), (4, Family::EdlOnline), (16, Family::Edl)] {
        let wanted = Wanted { jobs: Some(300), gpus_per_node: Some(per_node), ..wanted(family, 1) };
        let Generated { instance, witness, .. } = generate(&wanted).unwrap();
        assert_eq!(instance.cluster.gpus.len(), 2048);
        assert!(promises::keeps_all(&instance, &witness));
        // At default clocks a task draws P* of 175 to 206 W, less where its last tick is partly idle at 85 W.
        for job in instance.jobs.values() {
            let asked = &job.options[job.requested];
            assert!((175_000..=206_000).contains(&asked.peak.0), "{}", asked.peak);
            assert!(job.options.len() > 2);
        }
    }
}

#[test]
fn a_seed_says_everything() {
    let text = |seed: u64| serde_json::to_string(&generate(&wanted(Family::Small, seed)).unwrap().file).unwrap();
    assert_eq!(text(17), text(17));
    assert_ne!(text(17), text(18));
}

#[test]
fn sizes_that_do_not_suit_the_family_are_b08() {
    let wanted = Wanted { jobs: Some(1), nodes: Some(64), ..wanted(Family::Small, 1) };
    assert_eq!(generate(&wanted).unwrap_err().code, Code::B08);
}
