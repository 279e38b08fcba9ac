//! What goes wrong during a run: each with its code, and every GPU is as it was found.

use std::fs;
use std::os::unix::fs::symlink;

use rats_testbed::trace::{JobState, Record};
use rustix::process::Signal;
use serde_json::json;

use crate::lab::{Job, Lab, guardian, job, kill, simulated, text};

/// Carries out a job with this command and another job that is in order; the output of the run.
fn failing(command: &str, code: &str, more: &[&str]) -> String {
    let mut lab = Lab::new(100.0);
    lab.add(&Job { command: command.to_owned(), ..job("bad", &["big/0"], 0) });
    lab.add(&Job { after: &["bad"], ..job("next", &["big/0"], 8) });
    lab.add(&job("good", &["small/0"], 0));
    let output = lab.execute(more);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}{}", text(&output.stderr));
    assert!(said.contains(&format!("[{code}] job `bad`")), "{code}\n{said}");
    assert!(said.contains("[X12] job `next`: was not started: `bad` did not succeed."), "{said}");
    assert_eq!(lab.states("good").last(), Some(&JobState::Done));
    assert_eq!(lab.states("bad").last(), Some(&JobState::GivenUp));
    lab.assert_clean();
    said
}

#[test]
fn a_command_that_is_not_found() {
    let said = failing("no-such-program --steps 3", "X05", &[]);
    assert!(said.contains("no-such-program"), "{said}");
}

#[test]
fn a_job_that_ends_at_once_with_code_0() {
    failing("true", "X07", &["--retries", "0"]);
    // By its steps: 30 of the 150 that it says it has.
    failing("echo step 30/150; sleep 0.2", "X07", &["--retries", "0"]);
}

#[test]
fn a_job_that_fails_is_tried_again() {
    let mut lab = Lab::new(100.0);
    let command = "if [ -e tried ]; then sleep 0.1; else touch tried; exit 3; fi".to_owned();
    lab.add(&Job { command, ..job("j0", &["big/0"], 0) });
    let output = lab.execute(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let twice =
        [JobState::Setting, JobState::Running, JobState::Failed, JobState::Setting, JobState::Running, JobState::Done];
    assert_eq!(lab.states("j0"), twice);
    lab.assert_clean();
    failing(&simulated("--steps 100 --crash-at 20"), "X06", &["--retries", "1"]);
}

#[test]
fn a_job_that_never_ends() {
    failing(&simulated("--steps 10 --hang-at 5 --ignore-term"), "X08", &["--overrun", "1.5"]);
}

#[test]
fn a_job_that_leaves_processes_behind() {
    let mut lab = Lab::new(100.0);
    let command = "setsid sleep 600 & (setsid sh -c 'sleep 600; sleep 600' &); sleep 0.2".to_owned();
    lab.add(&Job { command, ..job("j0", &["big/0"], 0) });
    let output = lab.execute(&[]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("[X09] job `j0`: left 3 processes behind."), "{said}");
    lab.assert_clean();
}

#[test]
fn a_setting_that_fails_on_the_second_gpu_of_a_gang() {
    let mut lab = Lab::new(100.0);
    let command = simulated("--steps 50");
    let gang = ["small/0", "small/1"];
    lab.add(&Job { id: "gang", gpus: &gang, start: 0, ticks: 8, point: json!({"sm_mhz": 900}), command, after: &[] });
    lab.add(&job("good", &["big/0"], 0));
    lab.inject(json!([{"kind": "fail", "code": 999, "gpu": 3, "calls": ["nvmlDeviceSetGpuLockedClocks"]}]));
    let output = lab.execute(&["--retries", "1"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("[X15] small/1: [N10]"), "{said}");
    assert_eq!(
        lab.states("gang"),
        [JobState::Setting, JobState::Failed, JobState::Setting, JobState::Failed, JobState::GivenUp]
    );
    assert_eq!(lab.states("good").last(), Some(&JobState::Done));
    lab.assert_clean();
}

#[test]
fn a_gpu_that_is_lost_takes_its_work_with_it_and_nothing_else() {
    let mut lab = Lab::new(100.0);
    lab.add_eight();
    let run = lab.begin(&[]);
    lab.wait_for("j0", JobState::Running);
    lab.inject(json!([{"kind": "gpu_lost", "gpu": 0}]));
    assert_eq!(run.wait(), Some(1));
    let said = lab.said();
    assert!(said.contains("[X13] job `j4`: was not started: big/0 is lost."), "{said}");
    assert!(said.contains("[N14]"), "its lock could not be taken off\n{said}");
    for job in ["j1", "j2", "j3", "j5", "j6", "j7"] {
        assert_eq!(lab.states(job).last(), Some(&JobState::Done), "{job}\n{said}");
    }
    assert!(lab.lines().iter().any(|line| matches!(&line.record, Record::Lost { gpu, .. } if gpu == "big/0")));
    lab.settle();
    // The GPU comes back: what is left of the run is undone, and a rerun does the rest.
    lab.inject(json!([]));
    assert_eq!(lab.command(&["restore"]).output().unwrap().status.code(), Some(0));
    lab.assert_clean();
    assert_eq!(lab.execute(&[]).status.code(), Some(0));
    for job in ["j0", "j4"] {
        assert_eq!(lab.states(job).last(), Some(&JobState::Done), "{job}");
    }
    lab.assert_clean();
}

#[test]
fn a_gpu_that_hangs_while_all_are_read_is_given_up_and_the_others_are_read_on() {
    let mut lab = Lab::new(20.0);
    lab.add_eight();
    let run = lab.begin(&[]);
    lab.wait_for("j0", JobState::Running);
    // Nothing but what is read again and again.
    lab.inject(json!([{"kind": "hang", "gpu": 0, "calls": ["nvmlDeviceGetFieldValues"]}]));
    assert_eq!(run.wait(), Some(1));
    let said = lab.said();
    assert!(said.contains("big/0 is lost: [N08]"), "{said}");
    for job in ["j1", "j2", "j3", "j5", "j6", "j7"] {
        assert_eq!(lab.states(job).last(), Some(&JobState::Done), "{job}\n{said}");
    }
    let lines = lab.lines();
    let lost = lines.iter().position(|line| matches!(&line.record, Record::Lost { gpu, .. } if gpu == "big/0"));
    let rounds = lines[lost.unwrap()..].iter().filter_map(|line| match &line.record {
        Record::Sample { gpus } => Some(gpus),
        _ => None,
    });
    let read: Vec<[bool; 4]> = rounds.map(|gpus| std::array::from_fn(|gpu| gpus[gpu].is_some())).collect();
    assert!(!read.is_empty() && read.iter().all(|round| *round == [false, true, true, true]), "{read:?}");
    lab.settle();
    lab.inject(json!([]));
    assert_eq!(lab.command(&["restore"]).output().unwrap().status.code(), Some(0));
    lab.assert_clean();
    assert_eq!(lab.execute(&[]).status.code(), Some(0));
}

#[test]
fn a_driver_that_vanishes_stops_launching_and_leaves_its_marks_to_restore() {
    let mut lab = Lab::new(100.0);
    lab.add_eight();
    let run = lab.begin(&[]);
    lab.wait_for("j0", JobState::Running);
    lab.inject(json!([{"kind": "driver_gone"}]));
    assert_eq!(run.wait(), Some(1));
    let said = lab.said();
    assert!(said.contains("[N02]") && said.contains("[N14]"), "{said}");
    assert!(!lab.states("j7").contains(&JobState::Running), "{said}");
    lab.settle();
    lab.inject(json!([]));
    assert_eq!(lab.command(&["restore"]).output().unwrap().status.code(), Some(0));
    lab.assert_clean();
    assert_eq!(lab.execute(&[]).status.code(), Some(0));
    lab.assert_clean();
}

#[test]
fn one_interrupt_lets_jobs_run_and_starts_no_more() {
    let mut lab = Lab::new(50.0);
    lab.add_eight();
    let run = lab.begin(&[]);
    lab.wait_for("j3", JobState::Running);
    run.signal(Signal::INT);
    assert_eq!(run.wait(), Some(1));
    for job in ["j0", "j1", "j2", "j3"] {
        assert_eq!(lab.states(job).last(), Some(&JobState::Done), "{job}\n{}", lab.said());
    }
    for job in ["j4", "j5", "j6", "j7"] {
        assert_eq!(lab.states(job), [], "{job}");
    }
    assert!(lab.said().contains("[X18]"), "{}", lab.said());
    lab.assert_clean();
    assert_eq!(lab.execute(&[]).status.code(), Some(0));
    assert_eq!(lab.states("j0").iter().filter(|&&state| state == JobState::Running).count(), 1);
}

#[test]
fn two_interrupts_end_what_runs() {
    let mut lab = Lab::new(20.0);
    lab.add_eight();
    lab.add(&Job { command: simulated("--steps 9000 --ignore-term"), ..job("deaf", &["big/0"], 16) });
    let run = lab.begin(&[]);
    lab.wait_for("j3", JobState::Running);
    run.signal(Signal::INT);
    lab.wait("the run to stop launching", || lab.said().contains("drain"));
    run.signal(Signal::INT);
    assert_eq!(run.wait(), Some(1));
    for job in ["j0", "j1", "j2", "j3"] {
        assert_eq!(lab.states(job).last(), Some(&JobState::Stopped), "{job}\n{}", lab.said());
    }
    lab.assert_clean();
}

#[test]
fn a_full_disk_for_the_trace_stops_launching_and_restores() {
    let mut lab = Lab::new(100.0);
    lab.add_eight();
    fs::create_dir(lab.path("run")).unwrap();
    symlink("/dev/full", lab.path("run/trace.jsonl")).unwrap();
    let output = lab.execute(&[]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("[X10]") && said.starts_with("jobs: 8 waiting\n"), "{said}");
    lab.assert_clean();
    // With space again, what has not run is carried out.
    fs::remove_file(lab.path("run/trace.jsonl")).unwrap();
    assert_eq!(lab.execute(&[]).status.code(), Some(0));
}

#[test]
fn a_guardian_that_is_killed_is_replaced() {
    let mut lab = Lab::new(50.0);
    lab.add_eight();
    let run = lab.begin(&[]);
    lab.wait_for("j0", JobState::Running);
    let guardian = guardian(run.id()).unwrap();
    kill(guardian, Signal::KILL);
    assert_eq!(run.wait(), Some(0));
    assert!(lab.said().contains("[N13] guardian: it had ended; another was started."), "{}", lab.said());
    lab.assert_clean();
}
