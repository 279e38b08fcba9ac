//! Profiles and pairs: what is valid is read, what is not is named with code and place.

use proptest::prelude::*;
use rats_domain::codes::Code;
use rats_domain::pairs::Pairs;
use rats_domain::problem::Problems;
use rats_domain::profile::Profile;
use serde_json::{Value, json};

fn valid() -> Value {
    json!({
        "format": "rats.profile/1",
        "id": "a40-net",
        "gpu_type": "a40",
        "workload": { "model": "net", "step": "one training step" },
        "source": { "title": "ours" },
        "origin": { "step_s": { "kind": "measured" }, "power_w": { "kind": "derived", "note": "energy / time" } },
        "gang": { "gpus": 8, "dp": 2, "pp": 2, "tp": 2 },
        "overlap": { "value": 0.5, "kind": "assumed" },
        "parameters": { "value": 1e9, "kind": "measured" },
        "counters": { "util_l2": 0.25 },
        "points": [
            { "sm_mhz": 1740, "step_s": 0.1, "power_w": 290.5, "samples": 3, "flags": ["throttled"],
              "counters": { "sm_active": 0.9 } },
            { "sm_mhz": 1000, "step_s": 0.15, "power_w": 180, "flags": ["time_unusable"] },
            { "power_limit_w": 200.5, "step_s": 0.12 }
        ],
        "scaling": [{ "gpus": 2, "consolidated": true, "step_s": 0.11 }]
    })
}

/// The codes and places of a profile with one value replaced.
fn found(pointer: &str, value: Value) -> Vec<(Code, String)> {
    let mut file = valid();
    *file.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value;
    listed(Profile::read(file.to_string().as_bytes()).unwrap_err())
}

fn listed(problems: Problems) -> Vec<(Code, String)> {
    problems.0.into_iter().map(|problem| (problem.code, problem.place)).collect()
}

#[test]
fn only_points_with_usable_time_and_power_become_options() {
    let read = Profile::read(valid().to_string().as_bytes()).unwrap();
    assert_eq!(read.warnings, []);
    let points: Vec<_> = read.profile.operating_points().collect();
    assert_eq!(points.len(), 1);
    assert_eq!((points[0].point.sm_mhz, points[0].step_s, points[0].power_w), (Some(1740), 0.1, 290.5));
}

#[test]
fn every_rule_of_a_profile_is_named_with_code_and_place() {
    let cases = [
        ("/format", json!("rats.plan/1"), Code::R02, "format"),
        ("/id", json!("a/b"), Code::I04, "id"),
        ("/gpu_type", json!(""), Code::I04, "gpu_type"),
        ("/workload/model", json!(" "), Code::D13, "workload.model"),
        ("/workload/step", json!(""), Code::D13, "workload.step"),
        ("/source/title", json!(""), Code::D13, "source.title"),
        ("/origin/power_w", Value::Null, Code::D13, "origin.power_w"),
        ("/overlap/value", json!(1.5), Code::D05, "overlap.value"),
        ("/gang/tp", json!(0), Code::D05, "gang.tp"),
        ("/gang/gpus", json!(9), Code::D11, "gang.gpus"),
        ("/points/0/step_s", json!(0), Code::D05, "points[0].step_s"),
        ("/points/0/power_w", json!(-1), Code::D05, "points[0].power_w"),
        ("/points/0/counters/sm_active", json!(-0.5), Code::D05, "points[0].counters.sm_active"),
        ("/points/0/counters", json!({ "SM active": 0.5 }), Code::I04, "points[0].counters"),
        ("/counters/util_l2", json!(-1), Code::D05, "counters.util_l2"),
        ("/parameters/value", json!(0.5), Code::D05, "parameters.value"),
        ("/points/0/samples", json!(0), Code::D05, "points[0].samples"),
        ("/points/0/sm_mhz", json!(1000), Code::D07, "points[1]"),
        ("/points/2/step_s", Value::Null, Code::D14, "points[2]"),
        ("/points/2/power_limit_w", json!(0.0001), Code::I03, "points[2].power_limit_w"),
        ("/scaling/0/gpus", json!(0), Code::D05, "scaling[0].gpus"),
        ("/scaling/0/step_s", json!(-2), Code::D05, "scaling[0].step_s"),
    ];
    for (pointer, value, code, place) in cases {
        let found = found(pointer, value);
        assert!(found.contains(&(code, place.to_owned())), "{pointer}: {found:?}");
    }
}

#[test]
fn a_flag_or_kind_that_is_unknown_is_a_wrong_field() {
    assert_eq!(found("/points/0/flags/0", json!("odd"))[0].0, Code::R04);
    assert_eq!(found("/overlap/kind", json!("guessed"))[0].0, Code::R04);
}

#[test]
fn a_time_of_unknown_unit_is_no_option_of_a_plan() {
    let mut file = valid();
    file["points"][0]["flags"] = json!(["time_relative"]);
    let read = Profile::read(file.to_string().as_bytes()).unwrap();
    assert_eq!(read.profile.operating_points().count(), 0);
}

#[test]
fn flags_are_written_as_their_names_say() {
    for flag in rats_domain::format::Flag::ALL {
        assert_eq!(serde_json::to_value(flag).unwrap(), json!(flag.name()));
    }
}

#[test]
fn a_profile_without_measurements_is_none() {
    let mut file = valid();
    file["points"] = json!([]);
    file["scaling"] = json!([]);
    let found = listed(Profile::read(file.to_string().as_bytes()).unwrap_err());
    assert_eq!(found, [(Code::D14, "points".to_owned())]);
}

#[test]
fn pairs_refer_to_listed_workloads_once() {
    let file = |pairs: Value| {
        json!({
            "format": "rats.pairs/1", "id": "p", "gpu_type": "v100", "source": { "title": "ours" },
            "workloads": [{ "name": "a", "gpus": 1 }, { "name": "b", "gpus": 1, "batch": 8, "alone": 2.5 }], "pairs": pairs
        })
        .to_string()
    };
    let (pairs, _) = Pairs::read(file(json!([[0, 1, 1.5, 2], [1, 1, 0, 0]])).as_bytes()).unwrap();
    assert_eq!(pairs.pairs.iter().map(rats_domain::format::PairFile::can_share).collect::<Vec<_>>(), [true, false]);
    for (wrong, code) in [
        (json!([[0, 2, 1, 1]]), Code::I06),
        (json!([[0, 1, -1, 1]]), Code::D05),
        (json!([[0, 1, 1, 1], [0, 1, 2, 2]]), Code::D07),
    ] {
        assert_eq!(listed(Pairs::read(file(wrong).as_bytes()).unwrap_err())[0].0, code);
    }
}

proptest! {
    #[test]
    fn bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Profile::read(&bytes);
        let _ = Pairs::read(&bytes);
    }

    /// Whatever is read holds numbers that can be used.
    #[test]
    fn numbers_of_a_valid_profile_are_finite_and_in_range(step in any::<f64>(), power in any::<f64>()) {
        let mut file = valid();
        file["points"][0]["step_s"] = json!(step);
        file["points"][0]["power_w"] = json!(power);
        if let Ok(read) = Profile::read(file.to_string().as_bytes()) {
            for point in read.profile.operating_points() {
                prop_assert!(point.step_s.is_finite() && point.step_s > 0.0 && point.power_w > 0.0);
            }
        }
    }
}
