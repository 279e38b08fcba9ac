//! One valid plan, one named damage: exactly the code of the rule that it breaks, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use rats_domain::codes::{Code, Family};
use serde_json::{Value, json};

use crate::support::{codes, instance, remove, report, set};

/// Three nodes below two racks, two GPU types, all kinds of limits.
pub fn base_instance() -> Value {
    json!({
        "format": "rats.instance/1", "name": "base", "tick_s": 60, "horizon": 40,
        "cluster": {
            "gpu_types": [
                {"id": "a", "idle_w": 50, "memory_mib": 40960},
                {"id": "b", "idle_w": 20.5, "memory_mib": 16384}
            ],
            "levels": ["rack", "cluster"],
            "switches": [
                {"id": "root", "level": "cluster"},
                {"id": "r0", "level": "rack", "parent": "root", "uplink_gb_s": 2, "power_cap_w": 6000},
                {"id": "r1", "level": "rack", "parent": "root", "uplink_gb_s": 2}
            ],
            "nodes": [
                {"id": "n0", "parent": "r0", "uplink_gb_s": 1, "gpu_type": "a", "gpus": 4,
                 "islands": [[0, 1], [2, 3]], "island_uplink_gb_s": 1, "base_w": 100, "power": "sleep", "wake_j": 1000,
                 "wake_ticks": 2, "on_at_start": true, "resources": {"cpu_cores": 8}},
                {"id": "n1", "parent": "r0", "uplink_gb_s": 1, "gpu_type": "a", "gpus": 4, "base_w": 100,
                 "resources": {"cpu_cores": 8, "ram_gib": 64.5}, "unavailable": [[20, 25, [3]], [35, 36]],
                 "power_cap_w": [[0, 4000], [30, 2000]]},
                {"id": "n2", "parent": "r1", "gpu_type": "b", "gpus": 2, "power": "sleep", "wake_j": 500.5,
                 "wake_ticks": 1, "resources": {"cpu_cores": 8}}
            ],
            "storage_gb_s": 2, "power_cap_w": [[0, 8000], [30, 7000]], "foreign_w": [[0, 100], [20, 300.25]]
        },
        "tariff": [[0, 0.25], [6, -0.05], [12, 0.3]], "tariff_unit": "EUR", "energy_budget_j": 50_000_000,
        "objective": [{"term": "energy", "weight": 1}, {"term": "cost", "weight": 2.5}, {"term": "makespan", "weight": 1},
                      {"term": "completion", "weight": 0.5}, {"term": "tardiness", "weight": 3}],
        "jobs": [
            {"id": "fixed", "options": [{"gpu_type": "a", "gpus": 1, "span": "island", "ticks": 6, "power_w": 300,
             "read_gb_s": 0.1}], "fixed": {"option": 0, "start": -2, "gpus": ["n1/0"]}},
            {"id": "two", "deadline": 12, "due": 4, "weight": 2, "options": [
                {"gpu_type": "a", "gpus": 2, "span": "island", "point": {"sm_mhz": 1410, "power_limit_w": 300},
                 "ticks": 5, "power_w": 600, "peak_w": 650, "ring_gb_s": 0.5, "read_gb_s": 0.2,
                 "per_gpu": {"cpu_cores": 2}, "memory_mib": 20000},
                {"gpu_type": "a", "gpus": 2, "span": "island", "point": {"sm_mhz": 1005}, "ticks": 6, "power_w": 500}]},
            {"id": "four", "after": ["two"], "options": [
                {"gpu_type": "a", "gpus": 4, "span": "rack", "ticks": 4, "power_w": 1200, "ring_gb_s": 0.5,
                 "read_gb_s": 0.4, "per_gpu": {"cpu_cores": 1}},
                {"gpu_type": "a", "gpus": 4, "span": "node", "ticks": 4, "power_w": 1200}]},
            {"id": "other", "release": 3, "options": [
                {"gpu_type": "b", "gpus": 2, "span": "node", "ticks": 5, "power_w": 250, "read_gb_s": 0.2},
                {"gpu_type": "b", "gpus": 2, "span": "node", "ticks": 5, "power_w": 250, "read_gb_s": 1.7},
                {"gpu_type": "b", "gpus": 2, "span": "node", "ticks": 9, "power_w": 200, "read_gb_s": 0.1}]},
            {"id": "one", "release": 2, "deadline": 30, "requested": 1, "options": [
                {"gpu_type": "a", "gpus": 1, "span": "node", "ticks": 3, "power_w": 300, "per_gpu": {"cpu_cores": 1}},
                {"gpu_type": "a", "gpus": 1, "span": "node", "ticks": 3, "power_w": 300, "per_gpu": {"cpu_cores": 8}},
                {"gpu_type": "a", "gpus": 1, "span": "node", "ticks": 3, "power_w": 300, "read_gb_s": 0.8},
                {"gpu_type": "a", "gpus": 1, "span": "node", "ticks": 3, "power_w": 300, "peak_w": 100_000},
                {"gpu_type": "a", "gpus": 1, "span": "node", "ticks": 3, "power_w": 1_000_000, "peak_w": 300},
                {"gpu_type": "a", "gpus": 1, "span": "node", "ticks": 3, "power_w": 300, "memory_mib": 40961}]}
        ]
    })
}

/// A plan of [`base_instance`] that satisfies every rule.
pub fn base_plan() -> Value {
    json!({
        "format": "rats.plan/1", "instance": "base", "solver": "hand", "seed": 1, "status": "feasible",
        "assignments": [
            {"job": "fixed", "option": 0, "start": -2, "gpus": ["n1/0"]},
            {"job": "two", "option": 0, "start": 0, "gpus": ["n0/0", "n0/1"]},
            {"job": "four", "option": 0, "start": 5, "gpus": ["n0/0", "n0/1", "n1/0", "n1/1"]},
            {"job": "other", "option": 0, "start": 3, "gpus": ["n2/0", "n2/1"]},
            {"job": "one", "option": 0, "start": 10, "gpus": ["n1/3"]}
        ],
        "power": {"n2": [[2, 8]]}
    })
}

type Damage = (&'static str, &'static str, fn(&mut Value, &mut Value));

fn damages() -> Vec<Damage> {
    fn assign(plan: &mut Value, job: usize, option: i64, start: i64, gpus: &[&str]) {
        let assignment = &mut plan["assignments"][job];
        (assignment["option"], assignment["start"], assignment["gpus"]) = (json!(option), json!(start), json!(gpus));
    }
    fn power(plan: &mut Value, node: &str, intervals: Value) {
        set(plan, &format!("/power/{node}"), intervals);
    }
    vec![
        ("a job is missing", "V1", |_, p| remove(p, "/assignments/4")),
        ("a job appears twice", "V1", |_, p| {
            let again = p["assignments"][4].clone();
            set(p, "/assignments/5", again);
        }),
        ("a job is unknown", "V1", |_, p| {
            set(p, "/assignments/5", json!({"job": "x", "option": 0, "start": 0, "gpus": []}));
        }),
        ("an option does not exist", "V1", |_, p| set(p, "/assignments/4/option", json!(6))),
        ("an option is negative", "V1", |_, p| set(p, "/assignments/4/option", json!(-1))),
        ("a fixed job starts elsewhen", "V1", |_, p| set(p, "/assignments/0/start", json!(-1))),
        ("a fixed job runs elsewhere", "V1", |_, p| assign(p, 0, 0, -2, &["n1/2"])),
        ("a fixed job names no GPU there is", "V1", |_, p| assign(p, 0, 0, -2, &["n9/0"])),
        ("a fixed job names its GPU twice", "V2", |_, p| assign(p, 0, 0, -2, &["n1/0", "n1/0"])),
        ("a gang is too small", "V2", |_, p| assign(p, 3, 0, 3, &["n2/0"])),
        ("a gang is too large", "V2", |_, p| assign(p, 4, 0, 10, &["n1/3", "n1/2"])),
        ("a GPU does not exist", "V2", |_, p| assign(p, 4, 0, 10, &["n1/4"])),
        ("a GPU's index has a leading zero", "V2", |_, p| assign(p, 4, 0, 10, &["n1/03"])),
        ("a GPU is named twice", "V2", |_, p| assign(p, 3, 0, 3, &["n2/0", "n2/0"])),
        ("a GPU is of another type", "V2", |_, p| assign(p, 4, 0, 10, &["n2/0"])),
        ("the memory does not suffice", "V2", |_, p| assign(p, 4, 5, 10, &["n1/3"])),
        ("an island's gang is spread over a node", "V3", |_, p| assign(p, 1, 0, 0, &["n0/1", "n0/2"])),
        ("a node's gang is spread over a rack", "V3", |_, p| {
            assign(p, 2, 1, 5, &["n0/0", "n0/1", "n1/0", "n1/1"]);
        }),
        ("a job starts before its release", "V4", |_, p| set(p, "/assignments/4/start", json!(1))),
        ("a job ends after its deadline", "V4", |_, p| set(p, "/assignments/4/start", json!(28))),
        ("a job ends after the horizon", "V4", |i, p| {
            remove(i, "/jobs/4/deadline");
            set(p, "/assignments/4/start", json!(38));
        }),
        ("a fixed job ends after its deadline", "V4", |i, _| set(i, "/jobs/0/deadline", json!(3))),
        ("a job starts before its predecessor has ended", "V5", |_, p| {
            assign(p, 2, 0, 4, &["n0/2", "n0/3", "n1/1", "n1/2"]);
        }),
        ("a fixed job starts before its predecessor has ended", "V5", |i, _| {
            set(i, "/jobs/0/after", json!(["one"]));
        }),
        ("a GPU already runs a fixed job", "V6", |_, p| assign(p, 4, 0, 2, &["n1/0"])),
        ("a GPU runs two jobs", "V6", |_, p| assign(p, 4, 0, 8, &["n1/1"])),
        ("a node has too few cores", "V7", |i, _| set(i, "/cluster/nodes/1/resources/cpu_cores", json!(1.999))),
        ("a job needs all cores beside another", "V7", |_, p| assign(p, 4, 1, 6, &["n1/3"])),
        ("a node's uplink is too slow", "V8", |i, _| set(i, "/cluster/nodes/0/uplink_gb_s", json!(0.699_999))),
        ("an island's uplink is too slow", "V8", |i, _| {
            set(i, "/cluster/nodes/0/island_uplink_gb_s", json!(0.699_999));
        }),
        ("a rack's uplink is too slow", "V8", |i, _| set(i, "/cluster/switches/2/uplink_gb_s", json!(0.199))),
        ("a reader joins a ring", "V8", |_, p| assign(p, 4, 2, 6, &["n1/3"])),
        ("the store is too slow", "V9", |i, _| set(i, "/cluster/storage_gb_s", json!(0.599_999))),
        ("a job reads too much", "V9", |_, p| set(p, "/assignments/3/option", json!(1))),
        ("the cluster's cap is low", "V10", |i, _| set(i, "/cluster/power_cap_w", json!(1000))),
        ("a switch's cap is low", "V10", |i, _| set(i, "/cluster/switches/2/power_cap_w", json!(249.999))),
        ("a node's cap is low for some time", "V10", |i, _| {
            set(i, "/cluster/nodes/1/power_cap_w", json!([[0, 4000], [10, 549.999], [11, 4000]]));
        }),
        ("foreign power takes the cluster's cap", "V10", |i, _| set(i, "/cluster/foreign_w", json!([[7, 7000]]))),
        ("a job's peak is above the caps", "V10", |_, p| set(p, "/assignments/4/option", json!(3))),
        ("the budget is small", "V11", |i, _| set(i, "/energy_budget_j", json!(1000))),
        ("a job needs too much energy", "V11", |_, p| set(p, "/assignments/4/option", json!(4))),
        ("a GPU becomes unavailable", "V12", |_, p| set(p, "/assignments/4/start", json!(18))),
        ("a GPU is not yet available again", "V12", |_, p| set(p, "/assignments/4/start", json!(24))),
        ("a whole node is unavailable", "V12", |i, p| {
            remove(i, "/jobs/4/deadline");
            assign(p, 4, 0, 34, &["n1/0"]);
        }),
        ("a node is powered too late", "V13", |_, p| power(p, "n2", json!([[4, 8]]))),
        ("a node is never powered", "V13", |_, p| power(p, "n2", json!([]))),
        ("powered intervals overlap", "V13", |_, p| power(p, "n2", json!([[2, 5], [4, 8]]))),
        ("powered intervals touch", "V13", |_, p| power(p, "n2", json!([[2, 5], [5, 8]]))),
        ("powered intervals are closer than a wake-up", "V13", |_, p| power(p, "n0", json!([[0, 9], [10, 12]]))),
        ("a powered interval is empty", "V13", |_, p| power(p, "n2", json!([[2, 8], [12, 12]]))),
        ("a powered interval begins before tick 0", "V13", |_, p| power(p, "n0", json!([[-1, 9]]))),
        ("a powered interval ends after the horizon", "V13", |_, p| power(p, "n2", json!([[2, 41]]))),
        ("a node is powered before it can wake", "V13", |_, p| power(p, "n2", json!([[0, 8]]))),
        ("a node cannot wake by the default rule", "V13", |i, p| {
            set(i, "/cluster/nodes/2/wake_ticks", json!(4));
            set(p, "/power", json!({}));
        }),
        ("power names an unknown node", "V13", |_, p| power(p, "n7", json!([[0, 1]]))),
        ("power names an always-on node", "V13", |_, p| power(p, "n1", json!([[0, 1]]))),
    ]
}

#[test]
fn the_undamaged_plan_is_valid() {
    let report = report(&instance(&base_instance()), &base_plan());
    assert!(report.is_valid() && report.warnings.is_empty(), "{:?} {:?}", report.violations, report.warnings);
}

#[test]
fn one_damage_breaks_one_rule() {
    for (name, code, damage) in damages() {
        let (mut instance_document, mut plan) = (base_instance(), base_plan());
        damage(&mut instance_document, &mut plan);
        let report = report(&instance(&instance_document), &plan);
        assert_eq!(codes(&report), BTreeSet::from([code]), "{name}: {:#?}", report.violations);
        let names_something = report.violations.iter().all(|violation| {
            code == "V11" || (violation.job.is_some() != violation.place.is_some() && !violation.message.is_empty())
        });
        assert!(names_something, "{name}: {:?}", report.violations);
        assert_eq!(report.evaluation.is_none(), ["V1", "V2"].contains(&code), "{name}");
    }
}

#[test]
fn every_rule_has_two_damages() {
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, code, _) in damages() {
        *times.entry(code).or_default() += 1;
    }
    for rule in Code::ALL.iter().filter(|code| code.family() == Family::Rule) {
        assert!(times.get(rule.id()).is_some_and(|&times| times >= 2), "{rule}: {times:?}");
    }
}
