//! What the pass over the tree says of an option agrees with trying every set of GPUs.

use std::collections::BTreeMap;

use rats_domain::check::check;
use rats_domain::codes::Code;
use rats_domain::format::PlanFile;
use rats_domain::ids::{GpuId, Id, JobId, OptionId, Table};
use rats_domain::instance::{Instance, Placeability};
use rats_domain::schedule::{Placement, Schedule};
use rats_domain::units::Ticks;
use serde_json::{Value, json};

use crate::generate;
use crate::support::{Random, remove, set, try_instance};

/// Narrow links and few resources, no caps and times, and one job whose first option is always placeable.
fn tight_instance(random: &mut Random) -> Value {
    let mut document = generate::instance(random);
    for pointer in ["/cluster/power_cap_w", "/cluster/foreign_w", "/energy_budget_j"] {
        if document.pointer(pointer).is_some() {
            remove(&mut document, pointer);
        }
    }
    set(&mut document, "/objective", json!([{"term": "energy", "weight": 1}]));
    for list in ["nodes", "switches"] {
        for position in 0..4 {
            for field in ["power_cap_w", "unavailable"] {
                let pointer = format!("/cluster/{list}/{position}/{field}");
                if document.pointer(&pointer).is_some() {
                    remove(&mut document, &pointer);
                }
            }
        }
    }
    let kind = document["cluster"]["nodes"][0]["gpu_type"].clone();
    let there_are = i64::try_from(generate::gpus(&document, kind.as_str().unwrap()).len()).unwrap();
    let span = |random: &mut Random, has_levels: bool| {
        *random.pick(if has_levels {
            &["island", "node", "rack", "cluster"]
        } else {
            &["island", "node", "node", "node"]
        })
    };
    let has_levels = document["cluster"].get("levels").is_some();
    let mut options = vec![json!({"gpu_type": kind, "gpus": 1, "span": "island", "ticks": 1, "power_w": 1})];
    for _ in 0..6 {
        options.push(json!({
            "gpu_type": kind, "gpus": random.between(1, there_are + 1), "span": span(random, has_levels), "ticks": 1,
            "power_w": 1, "ring_gb_s": random.between(0, 6) as f64 / 8.0, "read_gb_s": random.between(0, 12) as f64 / 8.0,
            "per_gpu": {"cpu": random.between(0, 5), "ram": random.between(0, 4)},
            "memory_mib": if random.chance(10) { 50_000 } else { 1 }
        }));
    }
    set(&mut document, "/jobs", json!([{"id": "j", "options": options}]));
    document
}

/// The rule after which no set of GPUs is left; `None` if some set satisfies all.
fn obstacle_by_trial(instance: &Instance, option: OptionId) -> Option<Code> {
    let gang = instance.jobs[JobId::from_position(0)].options[option].gpus.0;
    let gpus: Vec<GpuId> = instance.cluster.gpus.ids().collect();
    let rules = [Code::V2, Code::V3, Code::V7, Code::V8, Code::V9];
    let mut furthest = 0;
    for set in 0_u32..1 << gpus.len() {
        if set.count_ones() != gang {
            continue;
        }
        let gpus = gpus.iter().filter(|gpu| set >> gpu.position() & 1 == 1).copied().collect();
        let placement = Placement { option, start: Ticks(0), gpus };
        let schedule = Schedule { placements: Table::from(vec![Some(placement)]), power: BTreeMap::new() };
        let plan: PlanFile = schedule.to_plan(instance);
        let broken: Vec<_> =
            check(instance, &plan).unwrap().violations.iter().map(|violation| violation.code).collect();
        match rules.iter().position(|rule| broken.contains(rule)) {
            None => return None,
            Some(first) => furthest = furthest.max(first),
        }
    }
    Some(rules[furthest])
}

#[test]
fn obstacles_agree_with_trying_every_set_of_gpus() {
    let mut seen = BTreeMap::new();
    for seed in 0..300 {
        let document = tight_instance(&mut Random::new(seed + 70_000));
        let Ok(instance) = try_instance(&document) else { continue };
        if instance.cluster.gpus.len() > 10 {
            continue;
        }
        let placeability = Placeability::new(&instance.cluster);
        for (id, option) in instance.jobs[JobId::from_position(0)].options.iter() {
            let obstacle = placeability.obstacle(option);
            assert_eq!(obstacle, obstacle_by_trial(&instance, id), "seed {seed}, option {id}\n{document}");
            assert_eq!(option.placeable, obstacle.is_none());
            *seen.entry(obstacle).or_insert(0) += 1;
        }
    }
    let rules = [None, Some(Code::V2), Some(Code::V3), Some(Code::V7), Some(Code::V8), Some(Code::V9)];
    assert!(rules.iter().all(|rule| seen.get(rule).is_some_and(|&times| times > 10)), "{seen:?}");
}
