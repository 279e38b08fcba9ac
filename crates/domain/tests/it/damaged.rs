//! Damaged files: each names its codes and places with a remedy, all problems at once, and nothing panics.

use std::collections::BTreeSet;

use rats_domain::check::check;
use rats_domain::codes::{Code, Family};
use rats_domain::format::{PlanFile, read};
use rats_domain::instance::Instance;
use rats_domain::problem::Problems;
use serde_json::{Value, json};

use crate::mutation::{base_instance, base_plan};
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

type Row = (&'static str, Value, &'static [&'static str], &'static str);

/// A value to set at a JSON pointer of the instance, the codes that follow, and the place of one.
#[expect(clippy::too_many_lines, reason = "a table")]
fn damaged_instances() -> Vec<Row> {
    let many_levels: Vec<_> = (0..70_000).map(|level| format!("level{level}")).collect();
    vec![
        ("/format", json!("rats.instance/2"), &["R02"], "format"),
        ("/format", json!(1), &["R02"], "format"),
        ("/format", json!("rats.plan/1"), &["R02"], "format"),
        ("/name", json!(""), &["I04"], "name"),
        ("/name", json!("a/b"), &["I04"], "name"),
        ("/name", json!(7), &["R04"], "name"),
        ("/tick_s", json!(0), &["I02"], "tick_s"),
        ("/tick_s", json!(1.5), &["R04"], "tick_s"),
        ("/horizon", json!(0), &["I02"], "horizon"),
        ("/horizon", json!(2_147_483_649_i64), &["I02"], "horizon"),
        ("/horizon", json!("40"), &["R04"], "horizon"),
        ("/cluster/gpu_types", json!([]), &["I01", "I06"], "cluster.gpu_types"),
        ("/cluster/gpu_types/1/id", json!("a"), &["I05", "I06"], "cluster.gpu_types[1].id"),
        ("/cluster/gpu_types/0/id", json!("a\nb"), &["I04", "I06"], "cluster.gpu_types[0].id"),
        ("/cluster/gpu_types/0/idle_w", json!(-1), &["I02"], "cluster.gpu_types[0].idle_w"),
        ("/cluster/gpu_types/0/idle_w", json!(0.0005), &["I03"], "cluster.gpu_types[0].idle_w"),
        ("/cluster/gpu_types/0/idle_w", json!(1_000_000_000.001), &["I02"], "cluster.gpu_types[0].idle_w"),
        ("/cluster/gpu_types/0/idle_w", json!(9_000_000_000_000_000_i64), &["I02"], "cluster.gpu_types[0].idle_w"),
        ("/cluster/gpu_types/0/memory_mib", json!(-1), &["I02"], "cluster.gpu_types[0].memory_mib"),
        ("/cluster/levels", json!(["rack", "rack"]), &["I06", "I07"], "cluster.levels[1]"),
        ("/cluster/levels", json!(["rack", "cluster", "node"]), &["I07"], "cluster.levels[2]"),
        ("/cluster/levels", json!(["rack", "cluster", "gpu"]), &["I07"], "cluster.levels[2]"),
        ("/cluster/levels", json!(["rack", "cluster", ""]), &["I04"], "cluster.levels[2]"),
        ("/cluster/levels", json!(many_levels), &["I02", "I06"], "cluster.levels"),
        ("/cluster/switches/1/level", json!("pod"), &["I06"], "cluster.switches[1].level"),
        ("/cluster/switches/1/level", json!("cluster"), &["I09"], "cluster.switches[1].level"),
        ("/cluster/switches/1/id", json!("r1"), &["I05", "I06"], "cluster.switches[2].id"),
        ("/cluster/switches/1/parent", json!("r9"), &["I06"], "cluster.switches[1].parent"),
        ("/cluster/switches/1/parent", json!("r0"), &["I08", "I09"], "cluster.switches"),
        ("/cluster/switches/0/parent", json!("r0"), &["I08", "I09"], "cluster.switches"),
        ("/cluster/switches/3", json!({"id": "other", "level": "cluster"}), &["I08"], "cluster.switches"),
        ("/cluster/switches/0/uplink_gb_s", json!(1), &["I10"], "cluster.switches[0].uplink_gb_s"),
        ("/cluster/switches/1/uplink_gb_s", json!(0.000_000_1), &["I03"], "cluster.switches[1].uplink_gb_s"),
        ("/cluster/switches/1/uplink_gb_s", json!(1_000_001), &["I02"], "cluster.switches[1].uplink_gb_s"),
        ("/cluster/switches/1/power_cap_w", json!([]), &["I12"], "cluster.switches[1].power_cap_w"),
        ("/cluster/nodes", json!([]), &["I01"], "cluster.nodes"),
        ("/cluster/nodes/1/id", json!("n0"), &["I05"], "cluster.nodes[1].id"),
        ("/cluster/nodes/1/id", json!("n/1"), &["I04"], "cluster.nodes[1].id"),
        ("/cluster/nodes/1/parent", json!("rack"), &["I06"], "cluster.nodes[1].parent"),
        ("/cluster/nodes/1/gpu_type", json!("c"), &["I06"], "cluster.nodes[1].gpu_type"),
        ("/cluster/nodes/1/gpus", json!(0), &["I02"], "cluster.nodes[1].gpus"),
        ("/cluster/nodes/1/gpus", json!(1_000_000_000_000_i64), &["I02"], "cluster.nodes[1].gpus"),
        ("/cluster/nodes/0/gpus", json!(i64::MIN), &["I02"], "cluster.nodes[0].gpus"),
        ("/cluster/nodes/0/islands", json!([[0, 1], [2]]), &["I11"], "cluster.nodes[0].islands"),
        ("/cluster/nodes/0/islands", json!([[0, 1], [1, 2, 3]]), &["I11"], "cluster.nodes[0].islands"),
        ("/cluster/nodes/0/islands", json!([[0, 1], [2, 4]]), &["I11"], "cluster.nodes[0].islands"),
        ("/cluster/nodes/0/islands", json!([]), &["I11"], "cluster.nodes[0].islands"),
        ("/cluster/nodes/0/islands", json!([[0, 1], [2, -3]]), &["I11"], "cluster.nodes[0].islands"),
        ("/cluster/nodes/0/island_uplink_gb_s", json!(-0.5), &["I02"], "cluster.nodes[0].island_uplink_gb_s"),
        ("/cluster/nodes/0/base_w", json!(1e12), &["I02"], "cluster.nodes[0].base_w"),
        ("/cluster/nodes/0/power", json!("off"), &["R04"], "cluster.nodes[0].power"),
        ("/cluster/nodes/0/wake_j", json!(0.1234), &["I03"], "cluster.nodes[0].wake_j"),
        ("/cluster/nodes/0/wake_ticks", json!(-1), &["I02"], "cluster.nodes[0].wake_ticks"),
        ("/cluster/nodes/0/on_at_start", json!("yes"), &["R04"], "cluster.nodes[0].on_at_start"),
        ("/cluster/nodes/0/resources/cpu_cores", json!(-8), &["I02"], "cluster.nodes[0].resources.cpu_cores"),
        ("/cluster/nodes/0/resources/cpu_cores", json!("8"), &["R04"], "cluster.nodes[0].resources.cpu_cores"),
        ("/cluster/nodes/1/unavailable/0", json!([5, 5]), &["I18"], "cluster.nodes[1].unavailable[0]"),
        ("/cluster/nodes/1/unavailable/0", json!([9, 5]), &["I18"], "cluster.nodes[1].unavailable[0]"),
        ("/cluster/nodes/1/unavailable/0", json!([-1, 5]), &["I02"], "cluster.nodes[1].unavailable[0][0]"),
        ("/cluster/nodes/1/unavailable/0", json!([0, 5, [4]]), &["I18"], "cluster.nodes[1].unavailable[0][2]"),
        ("/cluster/nodes/1/unavailable/0", json!([0, 5, 3]), &["R04"], "cluster.nodes[1].unavailable[0]"),
        ("/cluster/nodes/1/unavailable/0", json!([0]), &["R04"], "cluster.nodes[1].unavailable[0]"),
        ("/cluster/nodes/1/unavailable/0", json!([0, 5, [], 7]), &["R04"], "cluster.nodes[1].unavailable[0]"),
        ("/cluster/nodes/1/power_cap_w", json!([[0, 9], [0, 8]]), &["I12"], "cluster.nodes[1].power_cap_w"),
        ("/cluster/nodes/1/power_cap_w", json!([[0, 9], [4, -8]]), &["I02"], "cluster.nodes[1].power_cap_w[1][1]"),
        ("/cluster/nodes/1/power_cap_w", json!([[0, "x at line 3"]]), &["R04"], "cluster.nodes[1].power_cap_w"),
        ("/cluster/nodes/1/power_cap_w", json!("100"), &["R04"], "cluster.nodes[1].power_cap_w"),
        ("/cluster/storage_gb_s", json!(-2), &["I02"], "cluster.storage_gb_s"),
        ("/cluster/power_cap_w", json!(-0.001), &["I02"], "cluster.power_cap_w"),
        ("/cluster/foreign_w", json!([[3, 1], [2, 1]]), &["I12"], "cluster.foreign_w"),
        ("/tariff", json!([]), &["I12"], "tariff"),
        ("/tariff", json!([[1, 0.1]]), &["I12"], "tariff"),
        ("/tariff", json!([[0, 0.1], [5, 0.2], [5, 0.3]]), &["I12"], "tariff"),
        ("/tariff", json!([[0, 0.000_000_1]]), &["I03"], "tariff[0][1]"),
        ("/tariff", json!([[0, -1_000_000_001]]), &["I02"], "tariff[0][1]"),
        ("/tariff", json!([[0, 1], [2_147_483_649_i64, 1]]), &["I02"], "tariff[1][0]"),
        ("/energy_budget_j", json!(-1), &["I02"], "energy_budget_j"),
        ("/objective", json!([]), &["I01"], "objective"),
        ("/objective", json!([{"term": "energy", "weight": 0}]), &["I13"], "objective"),
        (
            "/objective",
            json!([{"term": "profit", "weight": 1}, {"term": "energy", "weight": 1}]),
            &["I13"],
            "objective[0].term",
        ),
        ("/objective/0/weight", json!(-1), &["I02"], "objective[0].weight"),
        ("/objective/0/weight", json!(1e31), &["I02"], "objective[0].weight"),
        ("/objective/0/weight", json!(null), &["R04"], "objective[0].weight"),
        ("/jobs/1/id", json!("four"), &["I05", "I06"], "jobs[2].id"),
        ("/jobs/1/id", json!(""), &["I04", "I06"], "jobs[1].id"),
        ("/jobs/1/release", json!(-1), &["I02"], "jobs[1].release"),
        ("/jobs/1/deadline", json!(-1), &["I02"], "jobs[1].deadline"),
        ("/jobs/1/due", json!(2_147_483_649_i64), &["I02"], "jobs[1].due"),
        ("/jobs/1/weight", json!(-0.5), &["I02"], "jobs[1].weight"),
        ("/jobs/1/after", json!(["three"]), &["I06"], "jobs[1].after[0]"),
        ("/jobs/1/after", json!(["two"]), &["I14"], "jobs"),
        ("/jobs/1/after", json!(["four"]), &["I14"], "jobs"),
        ("/jobs/1/options", json!([]), &["I01"], "jobs[1].options"),
        ("/jobs/1/requested", json!(2), &["I16"], "jobs[1].requested"),
        ("/jobs/1/requested", json!(-1), &["I16"], "jobs[1].requested"),
        ("/jobs/0/fixed/option", json!(1), &["I16"], "jobs[0].fixed.option"),
        ("/jobs/0/fixed/start", json!(-2_147_483_649_i64), &["I02"], "jobs[0].fixed.start"),
        ("/jobs/0/fixed/start", json!(9_223_372_036_854_775_808_u64), &["R04"], "jobs[0].fixed.start"),
        ("/jobs/0/fixed/gpus", json!(["n1/00"]), &["I17"], "jobs[0].fixed.gpus"),
        ("/jobs/0/fixed/gpus", json!(["n1/0", "n1/0"]), &["I17"], "jobs[0].fixed.gpus"),
        ("/jobs/0/fixed/gpus", json!(["n1/0", "n1/1"]), &["I17"], "jobs[0].fixed.gpus"),
        ("/jobs/0/fixed/gpus", json!(["n2/0"]), &["I17"], "jobs[0].fixed.gpus"),
        ("/jobs/1/options/0/gpu_type", json!("c"), &["I06"], "jobs[1].options[0].gpu_type"),
        ("/jobs/1/options/0/gpus", json!(0), &["I02"], "jobs[1].options[0].gpus"),
        ("/jobs/1/options/0/span", json!("gpu"), &["I06"], "jobs[1].options[0].span"),
        ("/jobs/1/options/0/ticks", json!(0), &["I02"], "jobs[1].options[0].ticks"),
        ("/jobs/1/options/0/ticks", json!(2_147_483_649_i64), &["I02"], "jobs[1].options[0].ticks"),
        ("/jobs/1/options/0/power_w", json!(0.0001), &["I03"], "jobs[1].options[0].power_w"),
        ("/jobs/1/options/0/peak_w", json!(-1), &["I02"], "jobs[1].options[0].peak_w"),
        ("/jobs/1/options/0/ring_gb_s", json!(-1), &["I02"], "jobs[1].options[0].ring_gb_s"),
        ("/jobs/1/options/0/read_gb_s", json!(1e7), &["I02"], "jobs[1].options[0].read_gb_s"),
        ("/jobs/1/options/0/per_gpu/cpu_cores", json!(0.0001), &["I03"], "jobs[1].options[0].per_gpu.cpu_cores"),
        ("/jobs/1/options/0/per_gpu/unlisted", json!(-1), &["I02"], "jobs[1].options[0].per_gpu.unlisted"),
        ("/jobs/1/options/0/memory_mib", json!(-5), &["I02"], "jobs[1].options[0].memory_mib"),
        ("/jobs/1/options/0/point/sm_mhz", json!(-5), &["I02"], "jobs[1].options[0].point.sm_mhz"),
        ("/jobs/1/options/0/point/power_limit_w", json!(0.0001), &["I03"], "jobs[1].options[0].point.power_limit_w"),
    ]
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

#[test]
fn keys_that_appear_twice_are_found_at_every_depth() {
    let text = base_instance().to_string();
    let twice = [
        (r#""name":"base""#, r#""name":"base","name":"base""#, "name"),
        (r#""idle_w":50"#, r#""idle_w":50,"idle_w":50"#, "cluster.gpu_types[0].idle_w"),
        (r#""ram_gib":64.5"#, r#""ram_gib":64.5,"ram_gib":1"#, "cluster.nodes[1].resources.ram_gib"),
        (r#""sm_mhz":1410"#, r#""sm_mhz":1410,"sm_mhz":1410"#, "jobs[1].options[0].point.sm_mhz"),
        (r#""due":4"#, r#""due":4,"physics":{"a":[{"b":1,"b":2}]}"#, "jobs[1].physics.a[0].b"),
        (r#""due":4"#, r#""due":4,"unknown":{"a":1,"\u0061":2}"#, "jobs[1].unknown.a"),
    ];
    for (from, to, place) in twice {
        assert!(text.contains(from), "{from}");
        assert_problems(place, read_instance(text.replacen(from, to, 1).as_bytes()), &["R03"], place);
    }
    let plan = base_plan().to_string();
    for (from, to, place) in [
        (r#""n2":[[2,8]]"#, r#""n2":[[2,8]],"n2":[]"#, "power.n2"),
        (r#""start":-2"#, r#""start":-2,"start":-2"#, "assignments[0].start"),
    ] {
        assert_problems(place, read_plan(plan.replacen(from, to, 1).as_bytes()), &["R03"], place);
    }
}

#[test]
fn what_is_not_json_says_where() {
    let text = base_instance().to_string();
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let with_mark: Vec<u8> = [0xFF, 0xFE].into_iter().chain(utf16.clone()).collect();
    let number = |written: &str| text.replacen(r#""tick_s":60"#, &format!(r#""tick_s":{written}"#), 1).into_bytes();
    let deep = |depth: usize| {
        text.replacen(r#""due":4"#, &format!(r#""due":4,"physics":{}{}"#, "[".repeat(depth), "]".repeat(depth)), 1)
    };
    let files: Vec<(&str, Vec<u8>, &str, &str)> = vec![
        ("empty", Vec::new(), "R01", "file"),
        ("whitespace", b" \n\t\r\n".to_vec(), "R01", "file"),
        ("truncated", text.as_bytes()[..text.len() / 2].to_vec(), "R01", "line 1"),
        ("last brace missing", text.as_bytes()[..text.len() - 1].to_vec(), "R01", "line 1"),
        ("trailing garbage", format!("{text}\n}}").into_bytes(), "R01", "line 2"),
        ("two documents", format!("{text}{text}").into_bytes(), "R01", "line 1"),
        ("binary", vec![0x7F, b'E', b'L', b'F', 0, 255, 254, 1], "R01", "byte 5"),
        ("zeros", vec![0; 64], "R01", "line 1"),
        ("UTF-16 with mark", with_mark, "R01", "byte 0"),
        ("UTF-16", utf16, "R01", "line 1"),
        ("byte order mark", format!("\u{feff}{text}").into_bytes(), "R01", "byte 0"),
        ("deep", deep(10_000).into_bytes(), "R01", "line 1"),
        ("deep and open", vec![b'['; 1_000_000], "R01", "line 1"),
        ("array", format!("[{text}]").into_bytes(), "R02", "file"),
        ("number", b"5".to_vec(), "R02", "file"),
        ("text", br#""rats.instance/1""#.to_vec(), "R02", "file"),
        ("null", b"null".to_vec(), "R02", "file"),
        ("no format", b"{}".to_vec(), "R02", "format"),
        ("format deeper", br#"{"a": {"format": "rats.instance/1"}}"#.to_vec(), "R02", "format"),
        ("NaN", number("NaN"), "R01", "line 1"),
        ("infinity", number("Infinity"), "R01", "line 1"),
        ("leading zero", number("060"), "R01", "line 1"),
        ("plus", number("+60"), "R01", "line 1"),
        ("hexadecimal", number("0x3c"), "R01", "line 1"),
        ("1e999", number("1e999"), "R04", "line 1"),
        ("huge", number(&"9".repeat(400)), "R04", "line 1"),
        ("2^64", number("18446744073709551616"), "R04", "tick_s"),
        ("decimal point", number("60.0"), "R04", "tick_s"),
        ("single quotes", text.replace('"', "'").into_bytes(), "R01", "line 1"),
        ("comment", format!("// a comment\n{text}").into_bytes(), "R01", "line 1"),
    ];
    for (name, bytes, code, place) in files {
        assert_problems(name, read_instance(&bytes), &[code], place);
        if ["empty", "array", "binary", "deep and open"].contains(&name) {
            assert_problems(name, read_plan(&bytes), &[code], place);
        }
    }
    assert!(read_instance(deep(100).as_bytes()).is_ok());
}

#[test]
fn decimals_of_any_length_are_judged_by_their_value() {
    let text = base_instance().to_string();
    let number =
        |written: &str| read_instance(text.replacen(r#""idle_w":50"#, &format!(r#""idle_w":{written}"#), 1).as_bytes());
    for fine in ["50.000", "5e1", "50.0000000000000000000000000000000000000000000000", "0.05e3", "-0", "0.0"] {
        assert!(number(fine).is_ok(), "{fine}");
    }
    let place = "cluster.gpu_types[0].idle_w";
    for more in ["50.0001", "1e-4", "1e-300", "50.00000000000000000000000000000001"] {
        assert_problems(more, number(more), &["I03"], place);
    }
    for large in ["1e10", "1e36", "-1e36", "170141183460469231731687303715884105727"] {
        assert_problems(large, number(large), &["I02"], place);
    }
    for unreadable in ["1e300", "50.0000000000000000000000000000000000000000000001", "true", "null", "\"50\"", "[50]"] {
        assert_problems(unreadable, number(unreadable), &["R04"], place);
    }
}

#[test]
fn damaged_plans_name_code_and_place() {
    let rows: Vec<Row> = vec![
        ("/format", json!("rats.plan/2"), &["R02"], "format"),
        ("/format", json!("rats.instance/1"), &["R02"], "format"),
        ("/assignments", json!({}), &["R04"], "assignments"),
        ("/assignments/1/start", json!(9_223_372_036_854_775_808_u64), &["R04"], "assignments[1].start"),
        ("/assignments/1/start", json!((1_i64 << 31) + 1), &["P01"], "assignments[1].start"),
        ("/assignments/1/start", json!(i64::MIN), &["P01"], "assignments[1].start"),
        ("/assignments/1/start", json!(0.5), &["R04"], "assignments[1].start"),
        ("/assignments/1/option", json!("0"), &["R04"], "assignments[1].option"),
        ("/assignments/1/gpus", json!("n0/0"), &["R04"], "assignments[1].gpus"),
        ("/assignments/1/gpus", json!([0]), &["R04"], "assignments[1].gpus[0]"),
        ("/assignments/1/job", json!(1), &["R04"], "assignments[1].job"),
        ("/power/n2", json!([[0, i64::MAX]]), &["P01"], "power.n2[0][1]"),
        ("/power/n2", json!([[i64::MIN, 0]]), &["P01"], "power.n2[0][0]"),
        ("/power/n2", json!([[0]]), &["R04"], "power.n2"),
        ("/power/n2", json!([[0, 1, 2]]), &["R04"], "power.n2"),
        ("/power", json!([]), &["R04"], "power"),
        ("/objective", json!("1"), &["R04"], "objective"),
        ("/seed", json!(-1), &["R04"], "seed"),
    ];
    for (pointer, value, codes, place) in rows {
        let mut document = base_plan();
        let name = format!("{pointer} = {value}");
        set(&mut document, pointer, value);
        assert_problems(&name, read_plan(document.to_string().as_bytes()), codes, place);
    }
    for pointer in [
        "/format",
        "/assignments",
        "/assignments/0/job",
        "/assignments/0/option",
        "/assignments/0/start",
        "/assignments/0/gpus",
    ] {
        let mut document = base_plan();
        remove(&mut document, pointer);
        let code = if pointer == "/format" { "R02" } else { "R04" };
        let result = read_plan(document.to_string().as_bytes());
        let field = pointer.rsplit_once('/').unwrap().1;
        assert!(result.clone().unwrap_err().to_string().contains(field), "{pointer}");
        assert_problems(pointer, result, &[code], "");
    }
}

#[test]
fn all_bounds_of_a_plan_out_of_range_are_reported_together() {
    let mut document = base_plan();
    set(&mut document, "/assignments/0/start", json!(i64::MAX));
    set(&mut document, "/assignments/3/start", json!(i64::MIN));
    set(&mut document, "/power/n2", json!([[i64::MIN, i64::MAX]]));
    let Problems(problems) = read_plan(document.to_string().as_bytes()).unwrap_err();
    assert_eq!(problems.iter().map(|problem| problem.code).collect::<Vec<_>>(), [Code::P01; 4]);
}
