//! What cannot be profiled ends with a code and leaves the GPU as it was.

use nvml_sim::config::Privilege;
use nvml_sim::simulator::JobSpec;
use rats_domain::codes::Code;

use crate::machine::{Machine, PRINTED, told};

const JOB: &str = "--workload gpt --steps 1000000 --every 1";

/// The sweep ends with exit code 2 and this code.
#[track_caller]
fn refuses(machine: &Machine, words: &[&str], job: &str, code: Code) {
    let words: Vec<&str> = ["--step-pattern", PRINTED].iter().chain(words).copied().collect();
    let output = machine.sweep(&words, job).output().unwrap();
    let text = told(&output);
    assert!(output.status.code() == Some(2) && text.contains(&format!("[{code}]")), "{text}");
    machine.is_left_as_found();
}

#[test]
fn without_permission() {
    let machine = Machine::with(&[("A100-SXM4-80GB", 1)], |config| config.settings_need = Privilege::Nobody);
    refuses(&machine, &["--sm-mhz", "2points"], JOB, Code::N04);
}

#[test]
fn a_memory_lock_where_there_is_none() {
    refuses(&Machine::of("V100"), &["--mem-mhz", "all"], JOB, Code::N05);
}

#[test]
fn a_lock_of_the_sm_clock_where_there_is_none() {
    refuses(&Machine::of("P100"), &["--sm-mhz", "all"], JOB, Code::N05);
}

#[test]
fn a_limit_or_clock_out_of_range() {
    let machine = Machine::of("A100-SXM4-80GB");
    refuses(&machine, &["--power-limit-w", "5"], JOB, Code::N06);
    refuses(&machine, &["--sm-mhz", "9000"], JOB, Code::N06);
}

#[test]
fn a_divided_gpu() {
    let machine = Machine::with(&[("A100-SXM4-80GB", 1)], |config| config.gpus[0].mig = true);
    refuses(&machine, &[], JOB, Code::N09);
}

#[test]
fn a_gpu_that_a_stranger_uses() {
    let machine = Machine::of("A100-SXM4-80GB");
    let spec = JobSpec {
        gpus: vec![machine.uuid(0)],
        workload: "gpt".to_owned(),
        steps: f64::INFINITY,
        startup_s: 0.0,
        lingers: false,
    };
    machine.simulator.attach(std::process::id(), &spec).unwrap();
    refuses(&machine, &[], JOB, Code::N16);
}

#[test]
fn a_command_that_cannot_be_found() {
    let machine = Machine::of("A100-SXM4-80GB");
    let output = machine.sweep_of(&[], &["no-such-program-anywhere"], "").output().unwrap();
    let text = told(&output);
    assert!(output.status.code() == Some(2) && text.contains("[Y01]"), "{text}");
    assert!(machine.simulator.journal().unwrap().is_empty());
}

#[test]
fn a_command_that_ends_at_once_without_a_word() {
    let machine = Machine::of("A100-SXM4-80GB");
    let words = ["--sm-mhz", "510", "--step-pattern", PRINTED];
    let output = machine.sweep_of(&words, &["true"], "").output().unwrap();
    let text = told(&output);
    assert!(output.status.code() == Some(2) && text.contains("[Y02]"), "{text}");
    machine.is_left_as_found();
}

#[test]
fn a_command_that_ends_before_a_point_is_measured() {
    refuses(&Machine::of("A100-SXM4-80GB"), &["--sm-mhz", "510"], "--workload gpt --steps 20 --every 1", Code::Y02);
}

#[test]
fn a_command_that_fails() {
    let machine = Machine::of("A100-SXM4-80GB");
    refuses(&machine, &["--sm-mhz", "510"], "--workload gpt --steps 1000 --every 1 --crash-at 30", Code::Y03);
}

#[test]
fn a_pattern_that_no_line_matches() {
    let machine = Machine::of("A100-SXM4-80GB");
    let words = ["--sm-mhz", "510", "--patience", "20", "--step-pattern", "epoch (?<step>\\d+)"];
    let output = machine.sweep(&words, JOB).output().unwrap();
    let text = told(&output);
    assert!(output.status.code() == Some(2) && text.contains("[Y04]"), "{text}");
    machine.is_left_as_found();
}

#[test]
fn a_command_that_hangs() {
    let machine = Machine::of("A100-SXM4-80GB");
    let job = "--workload gpt --steps 1000 --every 1 --hang-at 30";
    refuses(&machine, &["--sm-mhz", "510", "--patience", "20"], job, Code::Y16);
}

#[test]
fn a_pattern_without_a_group_and_gangs_that_do_not_fit() {
    let machine = Machine::with(&[("A100-SXM4-80GB", 1), ("A40", 1)], |_| {});
    let refused = |words: &[&str]| {
        let output = machine.sweep(words, JOB).output().unwrap();
        (output.status.code(), told(&output))
    };
    for (words, code) in [
        (vec!["--gpus", "0", "--step-pattern", "step"], "[U05]"),
        (vec!["--step-pattern", PRINTED], "[U05]"),
        (vec!["--gpus", "0,1", "--gang", "1,1,1"], "[U05]"),
        (vec!["--gpus", "0,1"], "[Y12]"),
        (vec!["--gpus", "7"], "[N03]"),
    ] {
        let (exit, text) = refused(&words);
        assert!(exit == Some(2) && text.contains(code), "{words:?}: {text}");
    }
    machine.is_left_as_found();
}
