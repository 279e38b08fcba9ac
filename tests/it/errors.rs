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

#[test]
fn numbers_out_of_range_are_answered_with_the_range() {
    let place = Place::with_plans(&[]);
    let cases = [
        ("--time-limit -1", "must be from 0 to 1000000000 seconds"),
        ("--time-limit inf", "must be from 0 to 1000000000 seconds"),
        ("--gap -0.5", "must be from 0 to 1"),
        ("--seed -3", "must be a whole number from 0"),
    ];
    for (words, range) in cases {
        let done = place.rats(&format!("solve i.json {words}"));
        done.fails_with("error [U05] command line: ");
        assert!(done.stderr.contains(range), "{}", done.stderr);
    }
}

#[test]
fn an_output_never_replaces_an_input() {
    let place = Place::with_plans(&[("p.json", SIDE_BY_SIDE)]);
    for words in [
        "solve i.json -o ./i.json",
        "solve i.json --warm-start p.json -o p.json",
        "export i.json --format lp -o i.json",
        "record i.json --into i.json",
    ] {
        place.rats(words).fails_with("error [U05] command line: ");
    }
    assert_eq!((place.read("i.json").as_str(), place.read("p.json").as_str()), (WORKED, SIDE_BY_SIDE));
}

#[test]
fn a_directory_is_refused_as_output_before_solving() {
    let place = Place::with_plans(&[]);
    for words in ["solve i.json -o .", "export i.json --format mps -o .", "record i.json --into ."] {
        place.rats(words).fails_with("error [U02] .: ");
    }
}

#[test]
fn standard_input_can_be_read_once() {
    let place = Place::with_plans(&[]);
    for words in ["check - -", "compare - -", "solve - --warm-start -", "explain - - a", "record - - --into r.toml"] {
        let done = place.fed(words, WORKED);
        done.fails_with("error [U05] command line: standard input can be read once.");
    }
}

#[test]
fn names_from_files_do_not_steer_the_terminal() {
    let odd = SIDE_BY_SIDE.replace("\"job\": \"a\"", r#""job": "\u001b[2Jx\nerror [V1] fake\u202e""#);
    let place = Place::with_plans(&[("p.json", odd.as_str())]);
    let check = place.rats("check i.json p.json").stdout;
    assert!(check.contains(r"\u{1b}[2Jx\nerror [V1] fake\u{202e}"), "{check}");
    let explain = place.rats("explain i.json p.json a").stderr;
    assert!(!explain.contains(['\u{1b}', '\u{202e}']) && !explain.contains("\nerror [V1]"), "{explain}");
}

#[test]
fn a_name_of_any_length_can_be_shown() {
    let long = SIDE_BY_SIDE.replace("\"job\": \"a\"", &format!("\"job\": \"{}\"", "x".repeat(70_000)));
    let done = Place::with_plans(&[("p.json", long.as_str())]).rats("check i.json p.json");
    assert_eq!((done.exit, done.stderr.as_str()), (1, ""));
    assert!(done.stdout.lines().all(|line| line.len() < 700), "{}", done.stdout);
}
