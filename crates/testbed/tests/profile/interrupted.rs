//! Ends that nobody planned leave no mark, and the sweep goes on where it was.

use rats_domain::codes::Code;
use rats_testbed::profile::record::Role;
use rustix::process::{Pid, Signal, kill_process};

use crate::machine::{Machine, PRINTED, told, until};

const WORDS: [&str; 4] = ["--step-pattern", PRINTED, "--sm-mhz", "510,705,900,1110"];
const JOB: &str = "--workload gpt --steps 1000000 --every 1";

/// Points in the order in which they were measured, without references.
fn measured(machine: &Machine) -> Vec<i64> {
    let records = machine.records().into_iter().filter(|record| record.role != Role::Reference);
    records.filter_map(|record| record.target.sm_mhz).collect()
}

#[test]
fn a_killed_sweep_leaves_no_mark_and_goes_on() {
    let machine = Machine::of("A100-SXM4-80GB");
    for least in [1, 3] {
        let mut sweep = machine.sweep(&WORDS, JOB).spawn().unwrap();
        until(&mut sweep, || machine.records().len() >= least);
        sweep.kill().unwrap();
        sweep.wait().unwrap();
        machine.is_left_as_found();
        assert!(!machine.path("p.json").exists());
    }
    let before = machine.records();
    machine.profiled(&WORDS[2..]);
    let after = machine.records();
    assert_eq!(after[..before.len()], before);
    // Each point of the grid once; the middle one is the reference.
    let mut points = measured(&machine);
    points.sort_unstable();
    assert_eq!(points, [510, 705, 1110]);
    assert_eq!(machine.profile().points.len(), 4);
    machine.agrees(&after);
}

#[test]
fn ctrl_c_ends_the_sweep_cleanly_with_what_was_measured() {
    let machine = Machine::of("A100-SXM4-80GB");
    let mut sweep = machine.sweep(&WORDS, JOB).spawn().unwrap();
    until(&mut sweep, || machine.records().len() >= 2);
    let pid = Pid::from_raw(i32::try_from(sweep.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let output = sweep.wait_with_output().unwrap();
    let text = told(&output);
    assert!(output.status.code() == Some(1) && text.contains(Code::Y15.id()), "{text}");
    machine.is_left_as_found();
    let count = machine.records().len();
    assert!(!machine.profile().points.is_empty());
    machine.profiled(&WORDS[2..]);
    assert!(machine.records().len() > count && machine.profile().points.len() == 4);
}

#[test]
fn a_gpu_that_is_lost_ends_the_sweep_and_keeps_what_was_measured() {
    let machine = Machine::of("A100-SXM4-80GB");
    let mut sweep = machine.sweep(&WORDS, JOB).spawn().unwrap();
    until(&mut sweep, || machine.records().len() >= 2);
    machine.inject(r#"[{"kind": "gpu_lost"}]"#);
    let output = sweep.wait_with_output().unwrap();
    let text = told(&output);
    assert!(output.status.code() == Some(2) && text.contains("[N"), "{text}");
    // The driver answers again: what the journal says is undone.
    machine.inject("[]");
    machine.profiled(&WORDS[2..]);
    assert_eq!(machine.profile().points.len(), 4);
}

#[test]
fn measurements_of_another_command_are_refused() {
    let machine = Machine::of("A100-SXM4-80GB");
    let output = machine.sweep_of(&["--sm-mhz", "510"], &["sleep", "0.2"], "").output().unwrap();
    assert!(output.status.code().is_some(), "{}", told(&output));
    let output = machine.sweep(&WORDS, JOB).output().unwrap();
    let text = told(&output);
    assert!(output.status.code() == Some(2) && text.contains(Code::Y07.id()), "{text}");
    machine.is_left_as_found();
}
