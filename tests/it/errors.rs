//! Errors: exit code 2, nothing on standard output, one line with a code on standard error.

use crate::harness::{CLASH, Place, SIDE_BY_SIDE, WORKED};

#[test]
fn a_missing_file_is_u01() {
    Place::with_plans(&[]).rats("info none.json --json").fails_with("error [U01] none.json: ");
}

#[test]
fn every_problem_of_an_instance_is_listed_with_its_place() {
    let place = Place::with_plans(&[]);
    place.write(
        "i.json",
        &WORKED.replace("\"tick_s\": 60", "\"tick_s\": 0").replace("\"span\": \"node\"", "\"span\": \"x\""),
    );
    let done = place.rats("check i.json i.json");
    done.fails_with("error [I02] i.json: tick_s: ");
    done.fails_with("error [I06] i.json: jobs[1].options[1].span: ");
}

#[test]
fn a_file_of_another_format_is_r02() {
    Place::with_plans(&[]).rats("check i.json i.json").fails_with("error [R02] i.json: format: ");
}

#[test]
fn a_wrong_command_line_is_u05() {
    let place = Place::with_plans(&[]);
    place.rats("solve").fails_with("error [U05] command line: ");
    place.rats("solve i.json --gap 2").fails_with("error [U05] command line: ");
    place.rats("solve i.json --time-limit -1").fails_with("error [U05] command line: ");
    place.rats("slove i.json").fails_with("error [U05] command line: ");
    place.rats("solve i.json --json -o -").fails_with("error [U05] command line: ");
    place.rats("").fails_with("error [U05] command line: ");
}

#[test]
fn help_and_version_are_answers() {
    let place = Place::with_plans(&[]);
    let help = place.rats("solve --help");
    assert_eq!((help.exit, help.stderr.as_str()), (0, ""));
    assert!(help.stdout.contains("rats solve small.json -o plan.json"));
    assert!(place.rats("--version").stdout.starts_with("rats "));
}

#[test]
fn an_unknown_solver_is_u03() {
    Place::with_plans(&[]).rats("solve i.json --solver none").fails_with("error [U03] none: ");
}

#[test]
fn a_plan_for_another_file_is_a_warning_and_strictly_an_error() {
    let other = SIDE_BY_SIDE.replacen('{', r#"{"instance_sha256": "00", "#, 1);
    let place = Place::with_plans(&[("p.json", other.as_str())]);
    let done = place.rats("check i.json p.json --json");
    assert_eq!((done.exit, &done.json()["warnings"][0]["code"]), (0, &"W1".into()));
    place.rats("check i.json p.json --json --strict").fails_with("error [W1] p.json: instance_sha256: ");
}

#[test]
fn explaining_needs_a_valid_plan_and_a_job_that_exists() {
    let place = Place::with_plans(&[("bad.json", CLASH), ("p.json", SIDE_BY_SIDE)]);
    place.rats("explain i.json bad.json a").fails_with("error [U06] bad.json: V6: ");
    place.rats("explain i.json p.json c").fails_with("error [U07] c: ");
}

#[test]
fn unknown_fields_are_warned_of() {
    let place = Place::with_plans(&[]);
    place.write("i.json", &WORKED.replacen('{', r#"{"colour": 1, "#, 1));
    let done = place.rats("bound i.json --json");
    assert_eq!(done.exit, 0);
    assert!(done.stderr.starts_with("warning [W3] i.json: colour: "), "{}", done.stderr);
}
