//! What `info`, `check`, `bound`, `compare`, `solvers` and `completions` say.

use std::io::Read as _;

use crate::harness::{CLASH, ONE_AFTER_THE_OTHER, Place, SIDE_BY_SIDE, WORKED};

#[test]
fn info_counts_the_cluster_and_the_jobs() {
    let info = Place::with_plans(&[]).rats("info i.json --json").json();
    assert_eq!(info["name"], "worked-example");
    assert_eq!(info["cluster"]["gpus"], 2);
    assert_eq!(info["cluster"]["sleep_nodes"], 1);
    assert_eq!((&info["jobs"]["count"], &info["jobs"]["options"]), (&2.into(), &4.into()));
    // Two jobs of 10 ticks on one GPU each, two GPUs for 100 ticks.
    assert_eq!(info["load"], 0.1);
    assert_eq!(info.get("job_list"), None);
}

#[test]
fn info_names_the_limits_and_tight_deadlines() {
    let place = Place::with_plans(&[]);
    let capped = WORKED.replace("\"base_w\": 200", "\"base_w\": 200, \"power_cap_w\": 900");
    place.write("i.json", &capped.replace("\"id\": \"a\",", "\"id\": \"a\", \"deadline\": 19,"));
    let info = place.rats("info i.json --jobs --json").json();
    assert_eq!(info["limits"][0]["rule"], "V10");
    assert_eq!(info["jobs"]["tight_deadlines"], 0.5);
    assert_eq!(info["job_list"][0]["deadline"], 19);
    assert!(place.rats("info i.json --jobs").stdout.contains("power caps of 1 node"));
}

#[test]
fn check_gives_the_value_of_a_valid_plan() {
    let place = Place::with_plans(&[("p.json", SIDE_BY_SIDE)]);
    let done = place.rats("check i.json p.json --json");
    let check = done.json();
    assert_eq!(done.exit, 0);
    assert_eq!(check["valid"], true);
    assert_eq!(check["terms"]["energy_mj"], 492_000_000);
    assert_eq!(check["terms"]["split"]["gpu_run"], 360_000.0);
    assert_eq!(check["terms"].get("cost"), None);
    assert_eq!(check.get("claimed_objective"), None);
}

#[test]
fn check_lists_broken_rules_and_exits_with_1() {
    let place = Place::with_plans(&[("p.json", CLASH)]);
    let done = place.rats("check i.json p.json --json");
    let check = done.json();
    assert_eq!(done.exit, 1);
    assert_eq!(check["violations"][0]["code"], "V6");
    assert_eq!(check["violations"][0]["place"], "n0/0");
    assert_eq!(check["violations"][0]["tick"], 5);
    assert_eq!(check["claimed_objective"], 5.0);
    assert_eq!(check["warnings"][0]["code"], "W2");
    let text = place.rats("check i.json p.json").stdout;
    assert!(text.contains("V6    n0/0   5"), "{text}");
}

#[test]
fn check_without_v1_has_no_terms() {
    let place = Place::with_plans(&[("p.json", r#"{"format": "rats.plan/1", "assignments": []}"#)]);
    let done = place.rats("check i.json p.json --json");
    assert_eq!((done.exit, &done.json()["terms"]), (1, &serde_json::Value::Null));
    assert!(place.rats("check i.json p.json").stdout.contains("No objective"));
}

#[test]
fn an_instance_can_come_from_standard_input() {
    let place = Place::with_plans(&[("p.json", SIDE_BY_SIDE)]);
    assert_eq!(place.fed("check - p.json --json", WORKED).json()["objective"], 492_000.0);
    assert_eq!(place.fed("info - --json", WORKED).json()["name"], "worked-example");
}

#[test]
fn bound_is_not_above_the_optimum() {
    let bound = Place::with_plans(&[]).rats("bound i.json --json").json();
    assert!(bound["bound"].as_f64().unwrap() <= 492_000.0);
    assert!(bound["name"].is_string());
}

#[test]
fn compare_states_differences_to_the_first_plan() {
    let place = Place::with_plans(&[("1.json", ONE_AFTER_THE_OTHER), ("2.json", SIDE_BY_SIDE), ("3.json", CLASH)]);
    let compare = place.rats("compare i.json 1.json 2.json 3.json --json").json();
    assert_eq!(compare["plans"][0]["difference"], 0.0);
    assert_eq!(compare["plans"][1]["difference"], 492_000.0 - 672_000.0);
    assert_eq!(compare["plans"][1]["wakes"], 1);
    assert_eq!(compare["plans"][2]["violations"]["V6"], 1);
    let text = place.rats("compare i.json 1.json 2.json").stdout;
    assert!(text.contains("492000 (-26.79 %)"), "{text}");
    assert!(!text.contains("cost"), "{text}");
}

#[test]
fn completions_know_every_command() {
    let script = Place::with_plans(&[]).rats("completions bash").stdout;
    assert!(script.contains("rats__subcmd__explain") || script.contains("rats__explain"), "{script}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::with_plans(&[]);
    let mut child = place.command("schema instance").spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn an_infeasible_instance_is_not_exported() {
    let place = Place::with_plans(&[]);
    let fixed = |job: &str, start: i64| {
        let fixed =
            format!("\"id\": \"{job}\", \"fixed\": {{\"option\": 0, \"start\": {start}, \"gpus\": [\"n0/0\"]}},");
        (format!("\"id\": \"{job}\","), fixed)
    };
    let clash =
        [fixed("a", 0), fixed("b", 5)].iter().fold(WORKED.to_owned(), |text, (from, to)| text.replace(from, to));
    place.write("i.json", &clash);
    let done = place.rats("export i.json --format mps -o m.mps");
    assert_eq!(done.exit, 1, "{}", done.stderr);
    assert!(done.stdout.starts_with("proved infeasible: the fixed jobs alone break V6"), "{}", done.stdout);
    assert!(!place.path("m.mps").exists());
    let done = place.rats("export i.json --format lp");
    assert_eq!((done.exit, done.stdout.as_str()), (1, ""));
}

#[test]
fn the_help_names_the_program_rats_whatever_its_file_is_called() {
    let place = Place::with_plans(&[]);
    let other = place.path("renamed");
    std::fs::copy(env!("CARGO_BIN_EXE_rats"), &other).unwrap();
    let help = std::process::Command::new(other).args(["solve", "--help"]).output().unwrap().stdout;
    assert!(String::from_utf8(help).unwrap().contains("Usage: rats solve"));
}

#[test]
fn a_record_below_a_proven_bound_is_replaced_and_said_to_be_wrong() {
    let place = Place::with_plans(&[]);
    place.rats("record i.json --solver exhaustive --into r.toml");
    let wrong = place.read("r.toml").replace("objective = 492000.0", "objective = 1000.0");
    place.write("r.toml", &wrong.replace("bound = 492000.0", "bound = 1000.0"));
    let done = place.rats("record i.json --solver exhaustive --into r.toml");
    assert_eq!(done.exit, 0, "{}", done.stderr);
    assert!(done.stdout.contains("CONTRADICTED: the record claimed 1000, proof gives at least 49"), "{}", done.stdout);
    assert!(place.read("r.toml").contains("objective = 492000.0"));
}

#[test]
fn what_was_recorded_before_a_failure_is_kept() {
    let place = Place::with_plans(&[]);
    place.rats("record i.json none.json --solver exhaustive --into r.toml").fails_with("error [U01] none.json: ");
    assert!(place.read("r.toml").contains("objective = 492000.0"));
}
