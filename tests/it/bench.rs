//! `rats bench` through the real program: reports, going on after a crash, summaries, comparisons, baselines.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rats::best_known::{BestKnown, Entry};
use serde_json::Value;

use crate::harness::{Done, Place};

/// Names the interpreter of the baselines, `target/baselines-venv/bin/python` after `make baselines`.
const PYTHON: &str = "RATS_BASELINES_PYTHON";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A place with the first `count` tiny instances in the folder `tiny`.
fn place(count: usize) -> Place {
    let place = Place::with_plans(&[]);
    fs::create_dir(place.path("tiny")).unwrap();
    for path in tiny().into_iter().take(count) {
        fs::copy(&path, place.path("tiny").join(path.file_name().unwrap())).unwrap();
    }
    place
}

fn tiny() -> Vec<PathBuf> {
    let files = fs::read_dir(root().join("instances/tiny")).unwrap().map(|entry| entry.unwrap().path());
    let mut instances: Vec<_> = files.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect();
    instances.sort();
    instances
}

fn bench(place: &Place, more: &str) -> Done {
    place.rats(&format!("bench tiny --solvers milp,greedy_energy --time-limit 20 --threads 1 {more}"))
}

/// The rows of a report as maps from column to cell.
fn rows(place: &Place, report: &str) -> Vec<std::collections::BTreeMap<String, String>> {
    let text = place.read(&format!("{report}/raw.csv"));
    csv::Reader::from_reader(text.as_bytes()).deserialize().map(|row| row.unwrap()).collect()
}

/// Copies a report, changing one column of every row.
fn doctored(place: &Place, from: &str, to: &str, column: &str, change: impl Fn(&str) -> String) {
    fs::create_dir(place.path(to)).unwrap();
    place.write(&format!("{to}/env.json"), &place.read(&format!("{from}/env.json")));
    let text = place.read(&format!("{from}/raw.csv"));
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().unwrap().clone();
    let at = head.iter().position(|name| name == column).unwrap();
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&head).unwrap();
    for record in reader.records() {
        let record = record.unwrap();
        let cells = record.iter().enumerate().map(
            |(position, cell)| {
                if position == at { change(cell) } else { cell.to_owned() }
            },
        );
        writer.write_record(cells).unwrap();
    }
    place.write(&format!("{to}/raw.csv"), &String::from_utf8(writer.into_inner().unwrap()).unwrap());
}

#[test]
fn a_report_holds_a_judged_row_for_every_run() {
    let place = place(4);
    let done = bench(&place, "--seeds 0,1 --slug night");
    assert_eq!(done.exit, 0, "{}", done.stderr);
    let folders: Vec<_> = fs::read_dir(place.path("reports")).unwrap().map(|entry| entry.unwrap()).collect();
    let [folder] = &folders[..] else { panic!("{folders:?}") };
    let name = folder.file_name().into_string().unwrap();
    assert!(name.starts_with("20") && name.ends_with("-night"), "{name}");
    let report = format!("reports/{name}");
    let rows = rows(&place, &report);
    assert_eq!(rows.len(), 4 * 2 * 2);
    for row in &rows {
        assert_eq!((row["suite"].as_str(), row["valid"].as_str()), ("tiny", "true"), "{row:?}");
        let check = format!("solve tiny/{}.json --solver {} --seed {}", row["instance"], row["solver"], row["seed"]);
        let again = place.rats(&format!("{check} --threads 1 --json")).json();
        assert_eq!(row["objective"].parse().ok(), again["objective"].as_f64(), "{row:?}");
        assert!(row["trajectory"].contains(&format!(":{}:", again["objective"].as_f64().unwrap())), "{row:?}");
    }
    let proved =
        |row: &&std::collections::BTreeMap<String, String>| row["solver"] == "milp" && row["status"] == "optimal";
    assert_eq!(rows.iter().filter(proved).count(), 8);
    let env: Value = serde_json::from_str(&place.read(&format!("{report}/env.json"))).unwrap();
    assert_eq!(env["conditions"]["time_limit_s"], 20.0);
    assert_eq!(env["instances"].as_array().unwrap().len(), 4);
    let summary = place.read(&format!("{report}/summary.md"));
    assert!(summary.contains("none lies above a plan") && summary.contains("| milp | 8 | 8 | 8 |"), "{summary}");
}

#[test]
fn a_benchmark_that_died_in_mid_row_goes_on_there() {
    let place = place(3);
    assert_eq!(bench(&place, "-o r").exit, 0);
    let whole = place.read("r/raw.csv");
    let lines: Vec<_> = whole.split_inclusive('\n').collect();
    let kept = lines[..5].concat();
    place.write("r/raw.csv", &format!("{kept}{}", &lines[5][..lines[5].len() / 2]));
    let done = bench(&place, "-o r");
    assert_eq!(done.exit, 0, "{}", done.stderr);
    assert!(done.stderr.contains("1 of 2") && done.stderr.contains("2 of 2"), "{}", done.stderr);
    let text = place.read("r/raw.csv");
    assert!(text.starts_with(&kept));
    let keys = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split(',').take(4).collect::<Vec<_>>().join(",")).collect()
    };
    assert_eq!(keys(&text), keys(&whole));
    let done = bench(&place, "-o r");
    assert!(done.exit == 0 && !done.stderr.contains(" of "), "{}", done.stderr);
    assert_eq!(place.read("r/raw.csv"), text);
}

#[test]
fn a_report_does_not_mix_conditions_and_can_grow() {
    let place = place(1);
    assert_eq!(bench(&place, "-o r").exit, 0);
    let other = "bench tiny --solvers milp --time-limit 21 --threads 2 -o r";
    place.rats(other).fails_with("error [U05] r/env.json: the report was begun with threads 1, now it is 2");
    assert_eq!(bench(&place, "-o r --seeds 7").exit, 0);
    assert_eq!(rows(&place, "r").len(), 4);
    place.write("tiny/01-race-to-idle.json", &format!("{} ", place.read("tiny/01-race-to-idle.json")));
    bench(&place, "-o r").fails_with("error [U05] r/env.json: the report was begun with the file tiny/01-race");
}

#[test]
fn a_summary_is_made_again_byte_for_byte() {
    let place = place(3);
    assert_eq!(bench(&place, "-o r").exit, 0);
    let pages = ["summary.md", "profile-time-tiny.svg", "profile-objective-tiny.svg"].map(|name| format!("r/{name}"));
    let before = pages.clone().map(|page| place.read(&page));
    for page in &pages {
        fs::remove_file(place.path(page)).unwrap();
    }
    assert_eq!(place.rats("bench summary r").exit, 0);
    assert_eq!(pages.map(|page| place.read(&page)), before);
}

#[test]
fn equal_reports_are_noise_and_a_worse_one_is_a_regression() {
    let place = place(8);
    assert_eq!(bench(&place, "-o a").exit, 0);
    doctored(&place, "a", "same", "objective", str::to_owned);
    doctored(&place, "a", "worse", "objective", |cell| (cell.parse::<f64>().unwrap().abs() * 1.01).to_string());
    let same = place.rats("bench compare a same");
    assert_eq!((same.exit, same.stdout.matches(": noise;").count()), (0, 2), "{}", same.stdout);
    let worse = place.rats("bench compare a worse");
    assert_eq!((worse.exit, worse.stdout.matches(": REGRESSION;").count()), (1, 2), "{}", worse.stdout);
    let better = place.rats("bench compare worse a");
    assert_eq!((better.exit, better.stdout.matches(": improvement;").count()), (0, 2), "{}", better.stdout);
}

#[test]
fn a_bound_above_a_plan_is_loud() {
    let place = place(2);
    assert_eq!(bench(&place, "-o a").exit, 0);
    doctored(&place, "a", "b", "bound", |cell| (cell.parse::<f64>().unwrap() * 1.1).to_string());
    let done = place.rats("bench summary b");
    assert_eq!(done.exit, 1, "{}", done.stdout);
    assert!(done.stdout.contains("BOUND ABOVE PLAN: tiny/01-race-to-idle: milp with seed 0"), "{}", done.stdout);
    assert!(place.read("b/summary.md").contains("CANNOT BE TRUE"));
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_after_the_current_row() {
    let place = place(24);
    let words = "bench tiny --solvers milp --threads 1 --seeds 0,1,2,3,4,5,6,7,8,9 -o r";
    let mut child = place.command(words).spawn().unwrap();
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut stderr, &mut line).unwrap();
    assert!(line.starts_with("1 of 240  "), "{line}");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut stderr, &mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(rest.contains("interrupted; the same command with `-o r` goes on"), "{rest}");
    let count = rows(&place, "r").len();
    assert!((1..240).contains(&count) && place.read("r/raw.csv").ends_with('\n'), "{count}");
}

#[test]
fn what_cannot_be_run_is_said_before_anything_runs() {
    let place = place(1);
    place.rats("bench tiny --solvers nobody -o r").fails_with("error [U03] --solvers: there is no solver `nobody`");
    place.rats("bench tiny/none.json -o r").fails_with("error [U01] tiny/none.json: ");
    let scripts = root().join("benches/baselines");
    let words = format!("bench tiny --solvers cp_sat --baselines {} --python no-python -o r", scripts.display());
    place.rats(&words).fails_with("error [U01] no-python: the baseline cp_sat cannot be run: ");
    assert!(!place.path("r").exists());
    place.write("file", "");
    bench(&place, "-o file/r").fails_with("error [U02] file/r: ");
    place.rats("bench summary r").fails_with("error [U01] r/env.json: ");
}

#[test]
fn a_solver_that_refuses_has_a_row_that_says_so() {
    let place = place(0);
    let instance = root().join("instances/small/small-v1-01.json");
    let done = place.rats(&format!("bench {} --solvers exhaustive --time-limit 5 -o r", instance.display()));
    assert_eq!(done.exit, 0, "{}", done.stderr);
    let rows = rows(&place, "r");
    assert_eq!((rows[0]["suite"].as_str(), rows[0]["status"].as_str()), ("small", "refused"), "{rows:?}");
}

#[test]
fn recording_goes_through_the_registry() {
    let place = place(2);
    fs::create_dir(place.path("instances")).unwrap();
    assert_eq!(bench(&place, "-o a").exit, 0);
    assert!(!place.path("instances/best_known.toml").exists());
    assert_eq!(bench(&place, "-o b --record").exit, 0);
    let known = BestKnown::parse(&place.read("instances/best_known.toml")).unwrap();
    assert_eq!(known.get("tiny", "01-race-to-idle").and_then(|entry| entry.objective), Some(492_000.0));
}

/// Runs a baseline by itself.
fn baseline(python: &str, script: &str, instance: &Path, more: &[&str]) -> Value {
    let mut command = Command::new(python);
    command.arg(root().join("benches/baselines").join(script)).arg(instance);
    let output = command.args(["--rats", env!("CARGO_BIN_EXE_rats"), "--threads", "1"]).args(more).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{script}: {error}: {errors}"))
}

#[track_caller]
fn is_as_recorded(who: &str, status: &str, objective: Option<f64>, known: &Entry) {
    assert_eq!(status, known.status, "{who}");
    if let Some(expected) = known.objective {
        let found = objective.unwrap();
        assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{who}: {found} is not {expected}");
    }
}

/// The models of the baselines are equal to ours: they prove the same optima, and the same instances infeasible.
#[test]
fn baselines_prove_the_recorded_optima_of_all_tiny_instances() {
    let Ok(python) = std::env::var(PYTHON) else {
        eprintln!("skipped: {PYTHON} does not name an interpreter; `make baselines` makes one");
        return;
    };
    let python = root().join(python).display().to_string();
    let known = BestKnown::parse(&fs::read_to_string(root().join("instances/best_known.toml")).unwrap()).unwrap();
    let place = Place::with_plans(&[]);
    let (suite, scripts) = (root().join("instances/tiny"), root().join("benches/baselines"));
    let (suite, scripts) = (suite.display(), scripts.display());
    let solvers = "--solvers cp_sat,highs_cli --time-limit 60 --threads 1";
    let done = place.rats(&format!("bench {suite} {solvers} --baselines {scripts} --python {python} -o r"));
    assert_eq!(done.exit, 0, "{}", done.stderr);
    let rows = rows(&place, "r");
    assert_eq!(rows.len(), 2 * tiny().len());
    for row in rows {
        let known = known.get("tiny", &row["instance"]).unwrap();
        is_as_recorded(&format!("{row:?}"), &row["status"], row["objective"].parse().ok(), known);
    }
    for path in tiny() {
        let known = known.get("tiny", path.file_stem().unwrap().to_str().unwrap()).unwrap();
        for more in [["--starts", "interval"], ["--patterns", "0"]] {
            let solved = baseline(&python, "cp_sat.py", &path, &more);
            let who = format!("{} {more:?}", path.display());
            is_as_recorded(&who, solved["status"].as_str().unwrap(), solved["objective"].as_f64(), known);
        }
    }
}
