//! Runs in which nothing goes wrong.

use std::collections::BTreeMap;
use std::fs;

use rats_testbed::trace::{JobState, Line, Record, SetRecord, read};
use serde_json::{Value, json};

use crate::lab::{Job, Lab, job, simulated, text};

#[test]
fn a_plan_is_carried_out_as_planned_and_every_gpu_is_as_it_was_found() {
    let mut lab = Lab::new(100.0);
    lab.add_eight();
    let command = simulated("--steps 50");
    let point = json!({"sm_mhz": 900, "power_limit_w": 250});
    lab.add(&Job { id: "gang", gpus: &["small/0", "small/1"], start: 16, ticks: 8, point, command, after: &["j3"] });
    let output = lab.execute(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("jobs: 9 done\n"), "{}", text(&output.stdout));
    lab.assert_clean();
    let lines = lab.lines();
    let (Record::Begin(_), Record::End(end)) = (&lines[0].record, &lines.last().unwrap().record) else { panic!() };
    assert_eq!(end.jobs, BTreeMap::from([("done".to_owned(), 9)]));
    // No job starts before its planned start, and none on a GPU that still runs another.
    let mut on: BTreeMap<&str, &str> = BTreeMap::new();
    for line in &lines {
        let Record::Job(record) = &line.record else { continue };
        let number: Option<usize> = record.job.strip_prefix('j').map(|number| number.parse().unwrap());
        let (start, gpus) = match number {
            Some(number) => {
                let gpu = [["big/0"], ["big/1"], ["small/0"], ["small/1"]][number % 4].to_vec();
                (if number < 4 { 0.0 } else { 80.0 }, gpu)
            }
            None => (160.0, vec!["small/0", "small/1"]),
        };
        assert!(line.t * lab.speedup() >= start, "{record:?}");
        for gpu in gpus {
            match record.state {
                JobState::Running => assert_eq!(on.insert(gpu, &record.job), None, "{record:?}"),
                JobState::Done => assert_eq!(on.remove(gpu), Some(record.job.as_str())),
                _ => {}
            }
        }
    }
    let sets: Vec<&SetRecord> =
        lines.iter().filter_map(|line| if let Record::Set(set) = &line.record { Some(set) } else { None }).collect();
    assert_eq!(sets.len(), 10);
    let gang = sets.iter().find(|set| set.job == "gang" && set.gpu == "small/1").unwrap();
    assert_eq!((gang.applied.sm_mhz, gang.applied.power_limit_w), (Some(900), Some(250.0)));
}

#[test]
fn jobs_get_their_gpus_by_uuid_in_tree_order_and_gangs_a_meeting_point() {
    let mut lab = Lab::new(100.0);
    let command = "env | sort; sleep 0.1".to_owned();
    let gang = ["small/1", "small/0"];
    lab.add(&Job { id: "a b", gpus: &gang, start: 0, ticks: 8, point: json!({"sm_mhz": 900}), command, after: &[] });
    let output = lab.execute(&[]);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    let log = fs::read_to_string(lab.path("run/logs/a%20b.1.log")).unwrap();
    let uuid = |gpu: usize| lab.inventory["gpus"][gpu]["uuid"].as_str().unwrap().to_owned();
    for expected in [
        format!("CUDA_VISIBLE_DEVICES={},{}", uuid(2), uuid(3)),
        "RATS_GPUS=small/0,small/1".to_owned(),
        "RATS_JOB=a b".to_owned(),
        "RATS_GANG=2".to_owned(),
        "RATS_SM_MHZ=900".to_owned(),
        "WORLD_SIZE=2".to_owned(),
        "MASTER_ADDR=127.0.0.1".to_owned(),
    ] {
        assert!(log.lines().any(|line| line == expected), "{expected}\n{log}");
    }
    assert!(log.lines().any(|line| line.starts_with("MASTER_PORT=")));
    assert!(log.lines().any(|line| line.starts_with("RATS_RUN_ID=")));
}

#[test]
fn a_dry_run_changes_nothing() {
    let mut lab = Lab::new(100.0);
    lab.add_eight();
    let output = lab.execute(&["--dry-run"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), 8);
    assert!(
        text(&output.stdout).starts_with("       0 s  j0  80 s  SM 1200 MHz  on big/0\n"),
        "{}",
        text(&output.stdout)
    );
    assert!(!lab.path("run").exists() && !lab.path("custody").exists());
    assert_eq!(lab.simulator.journal().unwrap(), []);
}

#[test]
fn the_stream_is_the_trace() {
    let mut lab = Lab::new(100.0);
    lab.add(&job("j0", &["big/0"], 0));
    let output = lab.execute(&["--json"]);
    assert_eq!(output.status.code(), Some(0));
    let stream: Vec<Line> = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(stream, lab.lines());
}

#[test]
fn a_second_run_of_a_directory_has_nothing_to_do_and_another_plan_is_refused() {
    let mut lab = Lab::new(100.0);
    lab.add(&job("j0", &["big/0"], 0));
    assert_eq!(lab.execute(&[]).status.code(), Some(0));
    let again = lab.execute(&[]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    assert_eq!(lab.states("j0").iter().filter(|&&state| state == JobState::Running).count(), 1);
    lab.add(&job("j1", &["big/1"], 0));
    let other = lab.execute(&[]);
    assert_eq!(other.status.code(), Some(2));
    assert!(text(&other.stderr).contains("[X17]"), "{}", text(&other.stderr));
}

#[test]
fn the_report_compares_with_the_plan_and_names_a_slow_gpu() {
    let mut lab = Lab::with(50.0, |config| config.gpus[3].slowness = 1.15);
    for number in 0..3 {
        for gpu in ["small/0", "small/1", "big/0", "big/1"] {
            let id = format!("{}-{number}", gpu.replace('/', ""));
            let command = simulated("--steps 300 --every 5");
            let (start, point) = (number * 16, json!({"sm_mhz": 1200}));
            lab.add(&Job { id: &id, gpus: &[gpu], start, ticks: 15, point, command, after: &[] });
        }
    }
    let output = lab.execute(&["--hz", "40"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = lab.command(&["report", "trace", "run/trace.jsonl", "--json"]).output().unwrap();
    let verdict: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(verdict["slow"].as_array().unwrap().len(), 1, "{verdict:#}");
    assert_eq!(verdict["slow"][0]["gpus"], json!(["small/1"]));
    // 15 % planted, and GPUs differ by up to 3 % in speed.
    let excess = verdict["slow"][0]["excess"].as_f64().unwrap();
    assert!((0.07..0.24).contains(&excess), "{excess}");
    // The counter agrees with the hidden truth at the clocks that were set.
    let trace = read(&lab.path("run/trace.jsonl")).unwrap();
    assert!(trace.lines.iter().any(|line| matches!(line.record, Record::Progress { .. })));
    for job in verdict["jobs"].as_array().unwrap() {
        let gpu = job["gpus"][0].as_str().unwrap();
        let position = ["big/0", "big/1", "small/0", "small/1"].iter().position(|name| *name == gpu).unwrap();
        let config = &lab.simulator.config().gpus[position];
        let truth = lab.simulator.truth(&config.uuid, "net", 1200, if position < 2 { 1593 } else { 7251 }).unwrap();
        let step_s = job["measured"]["step_s"].as_f64().unwrap();
        // On a busy machine the end of a process is seen some 30 ms late, which is 1.5 s of 50.
        assert!((step_s / truth.step_s - 1.0).abs() < 0.06, "{gpu}: {step_s} against {truth:?}");
    }
    let arguments = ["report", "trace", "run/trace.jsonl", "--profiles", "measured"];
    let shown = lab.command(&arguments).output().unwrap();
    // What is fed back is valid, and the slow GPU has no part in it.
    let content = fs::read(lab.path("measured/a40-net-trace.json")).unwrap();
    let profile = rats_domain::profile::Profile::read(&content).unwrap().profile;
    assert_eq!((profile.points.len(), profile.points[0].samples), (1, Some(3)));
    assert!(text(&shown.stdout).contains("slow: small/1 takes"), "{}", text(&shown.stdout));
}
