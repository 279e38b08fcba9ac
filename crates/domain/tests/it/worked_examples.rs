//! Every instance and plan printed in `docs/model.md` is worth what the page says.

use std::collections::{BTreeMap, BTreeSet};

use rats_domain::codes::Code;
use serde_json::Value;

use crate::support::{close, codes, instance, report};

const PAGE: &str = include_str!("../../../../docs/model.md");

/// One fenced block: the words after `json` and the document.
struct Block {
    words: BTreeMap<&'static str, &'static str>,
    document: Value,
}

fn blocks() -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut rest = PAGE;
    while let Some((_, after)) = rest.split_once("\n```json ") {
        let (words, after) = after.split_once('\n').unwrap();
        let (text, after) = after.split_once("\n```").unwrap();
        let words = words.split_whitespace().map(|word| word.split_once('=').unwrap()).collect();
        let document = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
        blocks.push(Block { words, document });
        rest = after;
    }
    blocks
}

#[test]
fn every_plan_of_the_page_has_the_stated_energy_cost_and_violations() {
    let (plans, instances): (Vec<_>, Vec<_>) = blocks().into_iter().partition(|block| block.words.contains_key("plan"));
    let instances: BTreeMap<_, _> =
        instances.iter().map(|block| (block.words["instance"], instance(&block.document))).collect();
    assert!(instances.len() >= 5 && plans.len() >= 16, "{} instances, {} plans", instances.len(), plans.len());
    for Block { words, document } in plans {
        let name = format!("{} of {}", words["plan"], words["instance"]);
        let report = report(&instances[words["instance"]], &document);
        let expected: BTreeSet<_> = words.get("violations").map_or("", |codes| codes).split_terminator(',').collect();
        assert_eq!(codes(&report), expected, "{name}: {:?}", report.violations);
        assert_eq!(report.violations.len(), expected.len(), "{name}: {:?}", report.violations);
        assert!(report.warnings.is_empty(), "{name}: {:?}", report.warnings);
        let terms = report.evaluation.unwrap().terms;
        let energy: i128 = words["energy_mj"].parse().unwrap();
        assert_eq!(terms.energy.0, energy, "{name}");
        if let Some(cost) = words.get("cost") {
            assert!(close(terms.cost.unwrap(), cost.parse().unwrap()), "{name}: {:?}", terms.cost);
        }
    }
}

/// Ticks and places that section 16 states in its prose.
#[test]
fn the_violations_of_the_page_name_place_and_first_tick() {
    let blocks = blocks();
    let expected = [
        ("one-and-two", Code::V10, "n1", 0),
        ("one-tick-late", Code::V10, "cluster", 4),
        ("crowded", Code::V8, "n0", 0),
        ("doubled", Code::V6, "n0/1", 0),
        ("doubled", Code::V8, "n0", 0),
    ];
    for (name, code, place, tick) in expected {
        let plan = blocks.iter().find(|block| block.words.get("plan") == Some(&name)).unwrap();
        let of_plan =
            |block: &&Block| !block.words.contains_key("plan") && block.words["instance"] == plan.words["instance"];
        let instance = instance(&blocks.iter().find(of_plan).unwrap().document);
        let report = report(&instance, &plan.document);
        let found = report.violations.iter().any(|violation| {
            (violation.code, violation.place.as_deref(), violation.tick.map(|tick| tick.0))
                == (code, Some(place), Some(tick))
        });
        assert!(found, "{name}: {:?}", report.violations);
    }
}
