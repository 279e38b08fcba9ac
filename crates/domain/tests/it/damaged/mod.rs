//! Damaged files: each names its codes and places with a remedy, all problems at once, and nothing panics.

mod plan;
mod table;
mod text;

use std::collections::BTreeSet;

use rats_domain::check::check;
use rats_domain::codes::{Code, Family};
use rats_domain::format::{PlanFile, read};
use rats_domain::instance::Instance;
use rats_domain::problem::Problems;
use serde_json::{Value, json};

use self::table::damaged_instances;
use crate::mutation::base_instance;
use crate::support::{instance, remove, set};

fn read_instance(bytes: &[u8]) -> Result<(), Problems> {
    Instance::read(bytes).map(|_| ())
}

fn read_plan(bytes: &[u8]) -> Result<(), Problems> {
    check(&instance(&base_instance()), &read::<PlanFile>(bytes)?.document).map(|_| ())
}

/// Asserts that exactly these codes are reported, each with a remedy and some at `place`.
fn assert_problems(name: &str, result: Result<(), Problems>, codes: &[&str], place: &str) {
    let Problems(problems) = result.expect_err(name);
    let found: BTreeSet<_> = problems.iter().map(|problem| problem.code.id()).collect();
    assert_eq!(found, codes.iter().copied().collect(), "{name}: {problems:#?}");
    assert!(problems.iter().any(|problem| problem.place.contains(place)), "{name}: {problems:#?}");
    for problem in problems {
        assert!(!problem.place.is_empty() && problem.message.ends_with('.'), "{name}: {problem:?}");
        assert!(problem.message.len() < 400, "{name}: {problem:?}");
        assert!(problem.to_string().ends_with(problem.code.remedy()) && !problem.code.remedy().is_empty(), "{name}");
        assert!(!matches!(problem.code.family(), Family::Rule | Family::Warning), "{name}: {problem:?}");
    }
}

#[test]
fn every_rule_of_a_valid_instance_names_its_code_and_place() {
    let rows = damaged_instances();
    assert!(rows.len() > 100, "{}", rows.len());
    for (pointer, value, codes, place) in rows {
        let mut document = base_instance();
        let name = format!("{pointer} = {}", value.to_string().chars().take(60).collect::<String>());
        set(&mut document, pointer, value);
        assert_problems(&name, read_instance(document.to_string().as_bytes()), codes, place);
    }
    let not_met = Code::ALL.iter().filter(|code| code.family() == Family::Instance);
    let met: BTreeSet<_> = damaged_instances().iter().flat_map(|row| row.2).copied().collect();
    let not_met: Vec<_> = not_met.filter(|code| !met.contains(code.id())).collect();
    assert_eq!(not_met, [&Code::I15], "codes without a damaged instance; I15 has a test of its own");
}

#[test]
fn every_required_field_is_missed() {
    let required = [
        "/format",
        "/name",
        "/tick_s",
        "/horizon",
        "/cluster",
        "/objective",
        "/jobs",
        "/cluster/gpu_types",
        "/cluster/nodes",
        "/cluster/gpu_types/0/id",
        "/cluster/switches/0/id",
        "/cluster/switches/0/level",
        "/cluster/nodes/0/id",
        "/cluster/nodes/0/gpu_type",
        "/cluster/nodes/0/gpus",
        "/objective/0/term",
        "/objective/0/weight",
        "/jobs/0/id",
        "/jobs/0/options",
        "/jobs/0/options/0/gpu_type",
        "/jobs/0/options/0/gpus",
        "/jobs/0/options/0/span",
        "/jobs/0/options/0/ticks",
        "/jobs/0/options/0/power_w",
        "/jobs/0/fixed/option",
        "/jobs/0/fixed/start",
        "/jobs/0/fixed/gpus",
    ];
    for pointer in required {
        let mut document = base_instance();
        remove(&mut document, pointer);
        let code = if pointer == "/format" { "R02" } else { "R04" };
        let Problems(problems) = read_instance(document.to_string().as_bytes()).unwrap_err();
        let field = pointer.rsplit_once('/').unwrap().1;
        assert_eq!(problems[0].code.id(), code, "{pointer}: {problems:?}");
        let named = problems[0].message.contains(field) || problems[0].place.contains(field);
        assert!(named, "{pointer}: {problems:?}");
    }
    for pointer in ["/jobs/1/weight", "/jobs/1/after", "/cluster/gpu_types/0/idle_w", "/cluster/nodes/0/power"] {
        let mut document = base_instance();
        if document.pointer(pointer).is_some() {
            remove(&mut document, pointer);
        }
        assert!(read_instance(document.to_string().as_bytes()).is_ok(), "{pointer}");
    }
}

#[test]
fn a_root_node_needs_no_parent_and_has_no_uplink() {
    let node = json!({"id": "n", "gpu_type": "g", "gpus": 1});
    let mut document = json!({
        "format": "rats.instance/1", "name": "one", "tick_s": 1, "horizon": 1,
        "cluster": {"gpu_types": [{"id": "g"}], "nodes": [node]},
        "objective": [{"term": "energy", "weight": 1}], "jobs": []
    });
    assert!(read_instance(document.to_string().as_bytes()).is_ok());
    set(&mut document, "/cluster/nodes/0/uplink_gb_s", json!(1));
    let place = "cluster.nodes[0].uplink_gb_s";
    assert_problems("root with uplink", read_instance(document.to_string().as_bytes()), &["I10"], place);
    remove(&mut document, "/cluster/nodes/0/uplink_gb_s");
    set(&mut document, "/cluster/nodes/1", json!({"id": "m", "gpu_type": "g", "gpus": 1}));
    assert_problems("two roots", read_instance(document.to_string().as_bytes()), &["I08"], "cluster.nodes[0].parent");
}

#[test]
fn a_job_that_fits_nowhere_names_the_rule() {
    let damages: [(&str, Value); 5] = [
        ("V2", json!({"gpu_type": "b", "gpus": 3, "span": "cluster", "ticks": 1, "power_w": 1})),
        (
            "V3",
            json!({"gpu_type": "a", "gpus": 3, "span": "island", "ticks": 1, "power_w": 1, "per_gpu": {"cpu_cores": 3}}),
        ),
        (
            "V7",
            json!({"gpu_type": "b", "gpus": 2, "span": "node", "ticks": 1, "power_w": 1, "per_gpu": {"cpu_cores": 4.001}}),
        ),
        ("V8", json!({"gpu_type": "a", "gpus": 8, "span": "rack", "ticks": 1, "power_w": 1, "ring_gb_s": 1.000_001})),
        ("V9", json!({"gpu_type": "b", "gpus": 2, "span": "node", "ticks": 1, "power_w": 1, "read_gb_s": 2.000_001})),
    ];
    for (rule, mut option) in damages {
        let mut document = base_instance();
        if rule == "V3" {
            // A node of one island of four would do.
            option["span"] = json!("island");
            set(&mut document, "/cluster/nodes/1/islands", json!([[0], [1, 2, 3]]));
            option["gpus"] = json!(4);
            option["per_gpu"] = json!({});
        }
        if rule == "V9" {
            remove(&mut document, "/cluster/switches/2/uplink_gb_s");
        }
        set(&mut document, "/jobs/5", json!({"id": "nowhere", "options": [option]}));
        let result = read_instance(document.to_string().as_bytes());
        let message = result.clone().unwrap_err().to_string();
        assert!(message.contains(&format!("by rule {rule}.")), "{rule}: {message}");
        assert_problems(rule, result, &["I15"], "jobs[5].options");
        // Beside an option that fits it is only a warning.
        set(
            &mut document,
            "/jobs/5/options/1",
            json!({"gpu_type": "a", "gpus": 1, "span": "node", "ticks": 1, "power_w": 1}),
        );
        let read = Instance::read(document.to_string().as_bytes()).unwrap();
        let warning = read.warnings.iter().find(|warning| warning.place == "jobs[5].options[0]").unwrap();
        assert!(warning.code == Code::W4 && warning.message.contains(rule), "{warning}");
    }
}

#[test]
fn a_fixed_job_that_needs_more_memory_than_there_is_breaks_v2() {
    let mut document = base_instance();
    set(
        &mut document,
        "/jobs/0/options/1",
        json!({"gpu_type": "a", "gpus": 1, "span": "node", "ticks": 1, "power_w": 1, "memory_mib": 50_000}),
    );
    set(&mut document, "/jobs/0/fixed/option", json!(1));
    assert_problems("memory", read_instance(document.to_string().as_bytes()), &["I17"], "jobs[0].fixed");
}

#[test]
fn independent_problems_are_reported_together() {
    let mut document = base_instance();
    set(&mut document, "/tick_s", json!(0));
    set(&mut document, "/objective/0/term", json!("profit"));
    set(&mut document, "/tariff/0/0", json!(1));
    set(&mut document, "/cluster/nodes/0/gpu_type", json!("c"));
    set(&mut document, "/cluster/nodes/0/base_w", json!(-1));
    set(&mut document, "/cluster/nodes/2/islands", json!([[0]]));
    set(&mut document, "/cluster/switches/0/uplink_gb_s", json!(1));
    set(&mut document, "/jobs/0/fixed/option", json!(9));
    set(&mut document, "/jobs/0/fixed/start", json!(i64::MAX));
    set(&mut document, "/jobs/1/options/0/ticks", json!(0));
    set(&mut document, "/jobs/3/after", json!(["nobody"]));
    set(&mut document, "/jobs/4/options/2/span", json!("galaxy"));
    let Problems(problems) = read_instance(document.to_string().as_bytes()).unwrap_err();
    let places = [
        "tick_s",
        "objective[0].term",
        "tariff",
        "cluster.nodes[0].gpu_type",
        "cluster.nodes[0].base_w",
        "cluster.nodes[2].islands",
        "cluster.switches[0].uplink_gb_s",
        "jobs[0].fixed.option",
        "jobs[0].fixed.start",
        "jobs[1].options[0].ticks",
        "jobs[3].after[0]",
        "jobs[4].options[2].span",
    ];
    for place in places {
        assert_eq!(problems.iter().filter(|problem| problem.place == place).count(), 1, "{place}: {problems:#?}");
    }
    assert_eq!(problems.len(), places.len(), "{problems:#?}");
}

#[test]
fn the_greatest_tick_is_accepted() {
    let mut document = base_instance();
    set(&mut document, "/horizon", json!(1_i64 << 31));
    set(&mut document, "/jobs/1/deadline", json!(1_000_000_000));
    set(&mut document, "/jobs/1/options/0/ticks", json!(1_i64 << 31));
    set(&mut document, "/cluster/power_cap_w", json!([[1_i64 << 31, 5]]));
    assert!(read_instance(document.to_string().as_bytes()).is_ok());
}

#[test]
fn unknown_fields_are_warnings() {
    let mut document = base_instance();
    set(&mut document, "/jobs/1/options/0/colour", json!("red"));
    set(&mut document, "/cluster/pue", json!(1.2));
    set(&mut document, "/jobs/1/physics", json!({"anything": [1, {"goes": null}]}));
    let warnings = Instance::read(document.to_string().as_bytes()).unwrap().warnings;
    let unknown = warnings.iter().filter(|warning| warning.code == Code::W3);
    let found: Vec<_> = unknown.map(|warning| (warning.code, warning.place.as_str())).collect();
    assert_eq!(found, [(Code::W3, "cluster.pue"), (Code::W3, "jobs[1].options[0].colour")]);
}
