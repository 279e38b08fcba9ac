//! What `rats explain` says of single jobs.

use serde_json::Value;

use crate::harness::{ONE_AFTER_THE_OTHER, Place, SIDE_BY_SIDE, WORKED};

#[test]
fn the_job_before_it_on_its_gpu_forbids_an_earlier_start() {
    let place = Place::with_plans(&[("p.json", ONE_AFTER_THE_OTHER)]);
    let explain = place.rats("explain i.json p.json b --json").json();
    assert_eq!(explain["earlier"]["start"], 9);
    assert_eq!(explain["earlier"]["verdict"]["violations"][0]["code"], "V6");
    assert_eq!(explain["capped"], false);
}

#[test]
fn the_best_of_every_option_is_found_on_other_gpus() {
    let place = Place::with_plans(&[("p.json", ONE_AFTER_THE_OTHER)]);
    let explain = place.rats("explain i.json p.json b --json").json();
    let best = |option: usize| &explain["alternatives"][option];
    // Side by side 492000 J, mixed 540000 J; as planned 672000 J (docs/model.md, worked examples).
    assert_eq!(best(0)["verdict"]["difference"], 492_000.0 - 672_000.0);
    assert_eq!(best(0)["runs"]["gpus"][0], "n0/1");
    assert_eq!(best(1)["verdict"]["difference"], 540_000.0 - 672_000.0);
}

#[test]
fn single_changes_are_judged() {
    let place = Place::with_plans(&[("p.json", SIDE_BY_SIDE)]);
    let explain = place.rats("explain i.json p.json b --json").json();
    let changes: Vec<_> = explain["moves"].as_array().unwrap().iter().map(change).collect();
    // One tick later the node is powered one tick longer, with one GPU idle in two: 60 s x (200 + 2 x 50) W.
    assert_eq!(
        changes,
        [("later", Ok(18_000.0)), ("option", Ok(48_000.0)), ("place", Err("V6".to_owned()))]
            .map(|(k, v)| (k.to_owned(), v))
    );
    assert_eq!(explain["earlier"], serde_json::json!({}));
}

fn change(change: &Value) -> (String, Result<f64, String>) {
    let verdict = &change["verdict"];
    let outcome =
        verdict["difference"].as_f64().ok_or_else(|| verdict["violations"][0]["code"].as_str().unwrap().to_owned());
    (change["change"].as_str().unwrap().to_owned(), outcome)
}

#[test]
fn an_option_that_misses_the_deadline_says_so() {
    let place = Place::with_plans(&[("p.json", SIDE_BY_SIDE)]);
    place.write("i.json", &WORKED.replace("\"id\": \"b\",", "\"id\": \"b\", \"deadline\": 12,"));
    let explain = place.rats("explain i.json p.json b --json").json();
    assert_eq!(explain["alternatives"][1]["verdict"]["violations"][0]["code"], "V4");
    let text = place.rats("explain i.json p.json b").stdout;
    assert!(text.contains("option 1 is forbidden. V4: job `b` ends at 14, after its deadline 12."), "{text}");
    assert!(text.contains("It starts at its release."), "{text}");
}

#[test]
fn stated_powered_intervals_do_not_chain_a_job() {
    let powered = SIDE_BY_SIDE.replacen('{', r#"{"power": {"n0": [[0, 10]]}, "#, 1);
    let place = Place::with_plans(&[("p.json", powered.as_str())]);
    let explain = place.rats("explain i.json p.json b --json").json();
    assert_eq!(explain["moves"][0]["verdict"]["difference"], 18_000.0);
}

#[test]
fn a_fixed_job_is_said_to_be_fixed() {
    let place = Place::with_plans(&[("p.json", SIDE_BY_SIDE)]);
    let fixed = "\"id\": \"b\", \"fixed\": {\"option\": 0, \"start\": 0, \"gpus\": [\"n0/1\"]},";
    place.write("i.json", &WORKED.replace("\"id\": \"b\",", fixed));
    assert!(place.rats("explain i.json p.json b").stdout.contains("The job is fixed"));
}

#[test]
fn the_number_of_checks_is_limited_and_said() {
    let place = Place::with_plans(&[("p.json", ONE_AFTER_THE_OTHER)]);
    let explain = place.rats("explain i.json p.json b --checks 5 --json").json();
    assert_eq!(explain["capped"], true);
    assert!(explain["checks"].as_u64().unwrap() <= 5);
}

#[test]
fn without_checks_nothing_is_claimed() {
    let place = Place::with_plans(&[("p.json", ONE_AFTER_THE_OTHER)]);
    let text = place.rats("explain i.json p.json b --checks 0").stdout;
    assert!(!text.contains("no other placement") && text.contains("not checked: limit reached"), "{text}");
    assert!(text.contains("0 plans checked; the limit was reached"), "{text}");
}

#[test]
fn the_option_of_now_is_shown_as_it_runs() {
    let place = Place::with_plans(&[("p.json", ONE_AFTER_THE_OTHER)]);
    let text = place.rats("explain i.json p.json b").stdout;
    let now = text.lines().find(|line| line.contains("(as now)")).unwrap();
    assert!(now.contains(" 10 ") && now.contains("n0/0") && now.ends_with("+0 (unchanged)"), "{now}");
    assert!(text.contains("The best found for each option"), "{text}");
}
