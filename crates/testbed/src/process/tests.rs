//! Real processes: what they leave behind is found and ended.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rats_system::clock::{Stopwatch, pause};

use super::*;

fn start(directory: &Path, run: &str, command: &str) -> Process {
    let launch = Launch {
        run,
        job: "a b",
        command,
        environment: &[("X".to_owned(), "y z".to_owned())],
        directory: Some(directory),
        log: &directory.join("log"),
        grace: Duration::from_millis(200),
    };
    launch.start().unwrap()
}

fn ended(process: &mut Process) -> Exit {
    let watch = Stopwatch::start();
    loop {
        if let Some(exit) = process.poll(watch.elapsed()) {
            return exit;
        }
        assert!(watch.elapsed() < Duration::from_secs(60), "the job does not end");
        pause(Duration::from_millis(5));
    }
}

fn appears(path: &Path) {
    let watch = Stopwatch::start();
    while !path.exists() {
        assert!(watch.elapsed() < Duration::from_secs(60), "{} does not appear", path.display());
        pause(Duration::from_millis(5));
    }
}

fn left(run: &str) -> Vec<u32> {
    crate::custody::leftover::processes(run, &[])
}

#[test]
fn output_environment_and_exit_code_arrive() {
    let directory = tempfile::tempdir().unwrap();
    let mut process = start(directory.path(), "t-output", "echo \"$RATS_RUN_ID|$RATS_JOB|$X\"; pwd; exit 3");
    assert_eq!(ended(&mut process), Exit { code: Some(3), signal: None, left_behind: 0 });
    let log = fs::read_to_string(directory.path().join("log")).unwrap();
    let here = fs::canonicalize(directory.path()).unwrap();
    assert_eq!(log, format!("t-output|a b|y z\n{}\n", here.display()));
}

#[test]
fn what_cannot_be_found_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let mut process = start(directory.path(), "t-missing", "no-such-program-anywhere --now");
    assert_eq!(ended(&mut process).code, Some(127));
}

#[test]
fn children_that_left_the_group_are_found_and_ended() {
    // The inner shells leave by setsid, one of them after a double fork; one ignores SIGTERM.
    let directory = tempfile::tempdir().unwrap();
    let command = "setsid sh -c 'touch one; sleep 600' & \
        (setsid sh -c 'trap \"\" TERM; touch two; sleep 600; sleep 600' &) ; sleep 600 & \
        while [ ! -e one ] || [ ! -e two ]; do sleep 0.01; done; exit 0";
    let mut process = start(directory.path(), "t-escape", command);
    let exit = ended(&mut process);
    assert_eq!(exit.code, Some(0));
    assert!(exit.left_behind >= 3, "{exit:?}");
    assert_eq!(left("t-escape"), Vec::<u32>::new());
}

#[test]
fn a_job_that_ignores_the_polite_signal_is_killed_with_its_children() {
    let directory = tempfile::tempdir().unwrap();
    let command = "trap '' TERM; setsid sleep 600 & touch up; while :; do sleep 600; done";
    let mut process = start(directory.path(), "t-stubborn", command);
    appears(&directory.path().join("up"));
    process.stop(Duration::ZERO);
    assert_eq!(ended(&mut process).signal, Some(9));
    assert_eq!(left("t-stubborn"), Vec::<u32>::new());
}
