//! `rats solve` with every solver of the registry.

use serde_json::Value;

use crate::harness::{CLASH, Place, SIDE_BY_SIDE};

fn solvers(place: &Place) -> Vec<Value> {
    place.rats("solvers --json").json().as_array().unwrap().clone()
}

#[test]
fn every_solver_writes_a_plan_that_the_checker_confirms() {
    let place = Place::with_plans(&[]);
    for solver in solvers(&place) {
        let id = solver["id"].as_str().unwrap();
        let done = place.rats(&format!("solve i.json --solver {id} --iterations 200 --threads 1 -o p.json --json"));
        let solved = done.json();
        assert_eq!(done.exit, 0, "{id}: {}", done.stderr);
        assert_eq!(solved["solver"], id);
        assert_eq!(solved.get("plan"), None);
        let check = place.rats("check i.json p.json --strict --json").json();
        assert_eq!((&check["valid"], &check["objective"]), (&true.into(), &solved["objective"]), "{id}");
        assert_eq!(check["warnings"], serde_json::json!([]), "{id}");
        if solver["exact"] == true {
            assert_eq!((&solved["status"], &solved["objective"]), (&"optimal".into(), &492_000.0.into()), "{id}");
        }
        let plan: Value = serde_json::from_str(&place.read("p.json")).unwrap();
        for stamp in
            ["solver", "version", "seed", "status", "objective", "bound", "wall_s", "instance", "instance_sha256"]
        {
            assert!(!plan[stamp].is_null(), "{id} does not stamp {stamp}");
        }
    }
}

#[test]
fn every_solver_can_print_its_plan_into_a_pipe() {
    let place = Place::with_plans(&[]);
    for solver in solvers(&place) {
        let id = solver["id"].as_str().unwrap();
        let plan = place.rats(&format!("solve i.json --solver {id} --iterations 200 --quiet -o -"));
        assert_eq!(plan.stderr, "", "{id}");
        assert_eq!(place.fed("check i.json - --json", &plan.stdout).exit, 0, "{id}");
    }
}

#[test]
fn an_impossible_deadline_gives_no_plan_and_exit_code_1() {
    let place = Place::with_plans(&[]);
    place.write("i.json", &crate::harness::WORKED.replace("\"id\": \"b\",", "\"id\": \"b\", \"deadline\": 9,"));
    for solver in solvers(&place).iter().filter(|solver| solver["exact"] == true) {
        let id = solver["id"].as_str().unwrap();
        let done = place.rats(&format!("solve i.json --solver {id} -o p.json --json"));
        assert_eq!((done.exit, &done.json()["status"]), (1, &"infeasible".into()), "{id}");
        assert!(!place.path("p.json").exists(), "{id}");
    }
}

#[test]
fn an_impossible_deadline_is_explained_by_the_job_that_has_it() {
    let place = Place::with_plans(&[]);
    place.write("i.json", &crate::harness::WORKED.replace("\"id\": \"b\",", "\"id\": \"b\", \"deadline\": 9,"));
    let done = place.rats("solve i.json --json -q");
    let conflict = serde_json::json!({"jobs": ["b"], "rules": ["V4"], "irreducible": true});
    assert_eq!((done.exit, &done.json()["conflict"]), (1, &conflict));
    let text = place.rats("solve i.json -q").stdout;
    assert!(text.contains("cannot hold together, whatever the rest: jobs `b`; rules V4."), "{text}");
}

#[test]
fn a_warm_start_must_be_valid() {
    let place = Place::with_plans(&[("bad.json", CLASH), ("p.json", SIDE_BY_SIDE)]);
    for solver in solvers(&place) {
        let id = solver["id"].as_str().unwrap();
        let words = format!("solve i.json --solver {id} --iterations 200 --warm-start");
        place.rats(&format!("{words} bad.json")).fails_with("error [U06] bad.json: V6: ");
        // A baseline takes no start.
        let expected = if id == "fifo_max" { 2 } else { 0 };
        assert_eq!(place.rats(&format!("{words} p.json")).exit, expected, "{id}");
    }
}

#[test]
fn a_plan_that_cannot_be_written_is_u02() {
    let place = Place::with_plans(&[]);
    for solver in solvers(&place) {
        let id = solver["id"].as_str().unwrap();
        place
            .rats(&format!("solve i.json --solver {id} --iterations 200 -q -o none/p.json"))
            .fails_with("error [U02] none/p.json: ");
    }
}
