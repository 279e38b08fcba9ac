//! The order in which a file lists things changes neither the value of a plan nor its violations.

use std::collections::BTreeSet;

use rats_domain::check::Report;
use serde_json::Value;

use crate::generate;
use crate::support::{Random, close, instance, report, try_instance};

fn shuffle(random: &mut Random, document: &mut Value, pointer: &str) {
    if let Some(Value::Array(entries)) = document.pointer_mut(pointer) {
        random.shuffle(entries);
    }
}

fn permute(random: &mut Random, instance: &mut Value, plan: &mut Value) {
    for pointer in ["/jobs", "/cluster/nodes", "/cluster/gpu_types", "/cluster/switches", "/objective"] {
        shuffle(random, instance, pointer);
    }
    for node in instance["cluster"]["nodes"].as_array_mut().unwrap() {
        shuffle(random, node, "/unavailable");
    }
    shuffle(random, plan, "/assignments");
    for assignment in plan["assignments"].as_array_mut().unwrap() {
        shuffle(random, assignment, "/gpus");
    }
    for intervals in plan["power"].as_object_mut().unwrap().values_mut() {
        shuffle(random, intervals, "");
    }
}

/// Code, job, place and first tick of a violation.
type Broken<'r> = (&'r str, Option<&'r str>, Option<&'r str>, Option<i64>);

fn broken(report: &Report) -> BTreeSet<Broken<'_>> {
    let bare = report.violations.iter().map(|violation| {
        let tick = violation.tick.map(|tick| tick.0);
        (violation.code.id(), violation.job.as_deref(), violation.place.as_deref(), tick)
    });
    bare.collect()
}

#[test]
fn the_order_of_lists_changes_no_term_and_no_violation() {
    for seed in 0..400 {
        let mut random = Random::new(seed + 50_000);
        let mut document = generate::instance(&mut random);
        let Ok(original) = try_instance(&document) else { continue };
        let mut plan = generate::plan(&mut random, &document);
        let before = report(&original, &plan);
        // Which of two assignments of one job is the first is a matter of order.
        if before.violations.iter().any(|violation| violation.message.contains("more than once")) {
            continue;
        }
        permute(&mut random, &mut document, &mut plan);
        let after = report(&instance(&document), &plan);
        assert_eq!(broken(&before), broken(&after), "seed {seed}\n{document}\n{plan}");
        let (Some(before), Some(after)) = (&before.evaluation, &after.evaluation) else { continue };
        assert_eq!(before.split, after.split, "seed {seed}");
        assert_eq!(before.peak_power, after.peak_power, "seed {seed}");
        assert_eq!(before.terms.cost, after.terms.cost, "seed {seed}");
        let sums = [
            (before.objective, after.objective),
            (before.terms.completion, after.terms.completion),
            (before.terms.tardiness, after.terms.tardiness),
        ];
        assert!(sums.iter().all(|&(a, b)| close(a, b)), "seed {seed}: {sums:?}");
    }
}
