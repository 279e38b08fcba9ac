//! No number that an instance may hold makes a sum overflow, whatever the plan.

use rats_domain::evaluate::evaluate;
use rats_domain::oracle::judge;
use serde_json::{Value, json};

use crate::support::{close, codes, instance, report, set, try_instance};

const TICK: i64 = 1 << 31;
const WATTS: i64 = 1_000_000_000;
const GIGABYTES: i64 = 1_000_000;

/// Every number at its upper limit; `gpus` GPUs in one node and as many jobs as `jobs`.
fn extreme(gpus: i64, jobs: usize, price: i64) -> Value {
    let option = json!({
        "gpu_type": "g", "gpus": gpus, "span": "node", "point": {"sm_mhz": TICK, "mem_mhz": TICK, "power_limit_w": WATTS},
        "ticks": TICK, "power_w": WATTS, "peak_w": WATTS, "ring_gb_s": GIGABYTES, "read_gb_s": GIGABYTES,
        "per_gpu": {"r": WATTS}, "memory_mib": 1_i64 << 40
    });
    // An option without traffic and needs keeps every job placeable.
    let modest = json!({"gpu_type": "g", "gpus": 1, "span": "island", "ticks": 1, "power_w": 0});
    let job = |number: usize| {
        json!({"id": format!("j{number}"), "release": TICK, "deadline": TICK, "due": 0, "weight": 1e30,
               "options": [option, modest]})
    };
    let term = |term: &str| json!({"term": term, "weight": 1e30});
    let terms = ["energy", "cost", "makespan", "completion", "tardiness"].map(term);
    json!({
        "format": "rats.instance/1", "name": "extreme", "tick_s": TICK, "horizon": TICK,
        "cluster": {
            "gpu_types": [{"id": "g", "idle_w": WATTS, "memory_mib": 1_i64 << 40}], "levels": ["top"],
            "switches": [{"id": "s", "level": "top", "power_cap_w": WATTS}],
            "nodes": [
                {"id": "n", "parent": "s", "uplink_gb_s": GIGABYTES, "gpu_type": "g", "gpus": gpus, "base_w": WATTS,
                 "island_uplink_gb_s": GIGABYTES, "power": "sleep", "wake_j": 1_000_000_000_000_000_000_000_f64,
                 "wake_ticks": TICK, "resources": {"r": WATTS}, "power_cap_w": [[0, WATTS], [TICK, WATTS]],
                 "unavailable": [[0, TICK]]},
                {"id": "m", "parent": "s", "gpu_type": "g", "gpus": 1, "base_w": WATTS}
            ],
            "storage_gb_s": GIGABYTES, "power_cap_w": WATTS, "foreign_w": WATTS
        },
        "tariff": [[0, price], [TICK, price]], "energy_budget_j": 1_000_000_000_000_000_000_000_f64,
        "objective": terms, "jobs": (0..jobs).map(job).collect::<Vec<_>>()
    })
}

fn all_at(start: i64, gpus: i64, jobs: usize, power: &Value) -> Value {
    let gang: Vec<_> = (0..gpus).map(|gpu| format!("n/{gpu}")).collect();
    let assignment = |number: usize| json!({"job": format!("j{number}"), "option": 0, "start": start, "gpus": gang});
    let assignments: Vec<_> = (0..jobs).map(assignment).collect();
    json!({"format": "rats.plan/1", "assignments": assignments, "power": power})
}

#[test]
fn all_numbers_at_their_limits_are_evaluated() {
    let (gpus, jobs) = (1000, 100);
    for price in [WATTS, -WATTS] {
        let instance = instance(&extreme(gpus, jobs, price));
        for power in [json!({}), json!({"n": [[0, TICK]]}), json!({"n": [[-TICK, TICK], [-TICK, -TICK]]})] {
            for start in [0, TICK, -TICK, -1] {
                let report = report(&instance, &all_at(start, gpus, jobs, &power));
                let terms = report.evaluation.unwrap().terms;
                assert!(terms.energy.0 >= 0 && terms.cost.unwrap().is_finite());
                assert!(report.violations.iter().all(|violation| !violation.message.is_empty()));
            }
        }
    }
}

#[test]
fn the_energy_of_extreme_numbers_is_exact() {
    let instance = instance(&extreme(1000, 100, WATTS));
    let report = report(&instance, &all_at(TICK, 1000, 100, &json!({})));
    // 100 jobs of 1e12 mW for 2^31 ticks, node n's base as long, node m with one idle GPU for 2^32 ticks from 0 on.
    let (mw, tick) = (1_000_000_000_000_i128, i128::from(TICK));
    let run_and_base = (100 * mw + mw) * tick * tick;
    let other_node = 2 * mw * (2 * tick) * tick;
    let wake = 1_000_000_000_000_000_000_000_000_i128;
    assert_eq!(report.evaluation.unwrap().terms.energy.0, run_and_base + other_node + wake);
    let broken: Vec<_> = report.violations.iter().map(|violation| violation.code.id()).collect();
    for code in ["V4", "V6", "V7", "V9", "V10", "V11"] {
        assert!(broken.contains(&code), "{code} of {broken:?}");
    }
}

#[test]
fn a_million_gpus_are_the_most() {
    let mut document = extreme(999_999, 1, WATTS);
    let instance = instance(&document);
    let assignment = json!({"job": "j0", "option": 1, "start": 0, "gpus": ["n/999998"]});
    let plan = json!({"format": "rats.plan/1", "assignments": [assignment], "power": {"n": [[0, TICK]]}});
    let report = report(&instance, &plan);
    assert!(codes(&report).contains("V10"));
    // For 2^31 ticks: 999 998 idle GPUs (999 999 but in the first tick) and a node; for one tick node m with its GPU.
    let (mw, tick) = (1_000_000_000_000_i128, i128::from(TICK));
    let node = (1_000_000 * tick - 1) * mw * tick;
    let wake = 1_000_000_000_000_000_000_000_000_i128;
    assert_eq!(report.evaluation.unwrap().terms.energy.0, node + 2 * mw * tick + wake);
    set(&mut document, "/cluster/nodes/1/gpus", json!(2));
    let problems = try_instance(&document).unwrap_err();
    assert!(problems.to_string().contains("cluster.nodes[1].gpus"), "{problems}");
}

#[test]
fn oracle_and_sweep_agree_on_large_powers() {
    let mut document = extreme(3, 2, WATTS);
    for (pointer, value) in [
        ("/horizon", json!(8)),
        ("/cluster/nodes/0/unavailable", json!([[2, 3]])),
        ("/cluster/nodes/0/wake_ticks", json!(1)),
        ("/jobs/0/options/0/ticks", json!(3)),
        ("/jobs/1/options/0/ticks", json!(4)),
    ] {
        set(&mut document, pointer, value);
    }
    let instance = instance(&document);
    let report = report(&instance, &all_at(1, 3, 2, &json!({})));
    let (evaluation, verdict) = (evaluate(&instance, report.schedule()), judge(&instance, report.schedule()));
    assert_eq!(evaluation.split, verdict.split);
    assert!(close(evaluation.terms.cost.unwrap(), verdict.terms.cost.unwrap()));
}
