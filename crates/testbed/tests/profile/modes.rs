//! Ways to sweep: counted steps, whole runs, gangs, starts for each point, refinement, strangers.

use std::fs;

use nvml_sim::simulator::JobSpec;
use rats_testbed::profile::record::{Role, Taint};

use crate::machine::{COUNTED, Machine, PRINTED, told, until};

const JOB: &str = "--workload gpt --steps 1000000 --every 1 --startup 6";

#[test]
fn counted_steps_are_timed_by_the_clock() {
    let machine = Machine::of("A100-SXM4-80GB");
    let output = machine.sweep(&["--step-pattern", COUNTED, "--sm-mhz", "510,1005"], JOB).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    for record in machine.records() {
        let sm = u32::try_from(record.gpus[0].sm_mhz.unwrap()).unwrap();
        let mem = machine.simulator.config().kind(0).default_mem_mhz;
        let truth = machine.simulator.truth(&machine.uuid(0), "gpt", sm, mem).unwrap();
        // Looks and lines are milliseconds late on a busy machine, which is 40 times that for the GPU.
        assert!((record.step_s.value / truth.step_s - 1.0).abs() < 0.05, "{record:#?}");
    }
    let profile = machine.profile();
    let blocked = machine.simulator.world().truth(0).blocked_mw / 1e3;
    assert!((profile.blocked_w.unwrap().value / blocked - 1.0).abs() < 0.015);
    assert!((5.5..9.0).contains(&profile.startup_s.unwrap().value));
}

#[test]
fn a_whole_run_is_a_step_without_a_pattern() {
    let machine = Machine::of("A100-SXM4-80GB");
    let job = "--workload gpt --steps 40";
    let output = machine.sweep(&["--sm-mhz", "510,1005", "--windows", "3"], job).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    machine.is_left_as_found();
    let profile = machine.profile();
    assert_eq!((profile.points.len(), profile.workload.step.as_str()), (2, "one run of the command"));
    for point in &profile.points {
        let sm = u32::try_from(point.sm_mhz.unwrap()).unwrap();
        let truth = machine.simulator.truth(&machine.uuid(0), "gpt", sm, 1593).unwrap();
        // 40 steps and the start of a process.
        assert!(point.step_s.unwrap() > 40.0 * truth.step_s);
        assert!(point.power_w.unwrap() * 1e3 < truth.power_mw * 1.015);
    }
}

#[test]
fn a_gang_is_set_alike_and_its_power_is_that_of_one_gpu() {
    let machine = Machine::with(&[("A100-SXM4-80GB", 2)], |_| {});
    let output =
        machine.sweep(&["--step-pattern", PRINTED, "--gpus", "0,1", "--sm-mhz", "510,1005"], JOB).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    machine.is_left_as_found();
    let gang = machine.profile().gang.unwrap();
    assert_eq!((gang.gpus, gang.dp), (2, 2));
    for record in machine.records() {
        let powers: Vec<f64> = record.gpus.iter().map(|gpu| gpu.power_w.unwrap()).collect();
        assert_eq!(record.gpus[0].sm_mhz, record.gpus[1].sm_mhz);
        assert!((record.power_w.unwrap().value - f64::midpoint(powers[0], powers[1])).abs() < 1e-9);
    }
}

#[test]
fn the_command_can_be_started_anew_for_each_point() {
    let machine = Machine::of("A100-SXM4-80GB");
    machine.profiled(&["--sm-mhz", "510,1005", "--restart", "--warmup", "1"]);
    machine.agrees(&machine.records());
    let starts = fs::read_to_string(machine.path("p.jsonl")).unwrap().matches("{\"start\"").count();
    assert_eq!(starts, machine.records().len());
}

#[test]
fn a_command_that_ends_is_started_again() {
    let machine = Machine::of("A100-SXM4-80GB");
    // Some 150 steps of 0.2 to 0.4 s: two or three points.
    let words = ["--step-pattern", PRINTED, "--sm-mhz", "510,705,900,1005", "--json"];
    let output = machine.sweep(&words, "--workload gpt --steps 150 --every 1").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(told(&output).contains("\"restarted\""));
    machine.agrees(&machine.records());
}

#[test]
fn after_the_grid_the_points_follow_of_which_the_model_knows_least() {
    let machine = Machine::of("A100-SXM4-80GB");
    machine.profiled(&["--sm-mhz", "4points", "--budget", "8points"]);
    let records = machine.records();
    let chosen: Vec<_> = records.iter().filter(|record| record.role == Role::Chosen).collect();
    // One of the four of the grid is the reference, which does not count.
    assert_eq!(chosen.len(), 5, "{records:#?}");
    machine.agrees(&records);
    // With a bound that every model meets nothing follows.
    let machine = Machine::of("A100-SXM4-80GB");
    machine.profiled(&["--sm-mhz", "5points", "--until", "1"]);
    assert!(machine.records().iter().all(|record| record.role != Role::Chosen));
}

#[test]
fn a_stranger_marks_the_point_and_it_is_measured_again() {
    let machine = Machine::of("A100-SXM4-80GB");
    let words = ["--step-pattern", PRINTED, "--sm-mhz", "510,705,1005"];
    let mut sweep = machine.sweep(&words, JOB).spawn().unwrap();
    until(&mut sweep, || !machine.records().is_empty());
    let mut stranger = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let spec = JobSpec {
        gpus: vec![machine.uuid(0)],
        workload: "gpt".to_owned(),
        steps: f64::INFINITY,
        startup_s: 0.0,
        lingers: false,
    };
    let id = machine.simulator.attach(stranger.id(), &spec).unwrap();
    let shared = || machine.records().iter().any(|record| record.taints.contains(&Taint::Shared));
    until(&mut sweep, shared);
    machine.simulator.detach(id).unwrap();
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    let output = sweep.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", told(&output));
    assert!(machine.records().iter().any(|record| record.role == Role::Repeat));
    let clean: Vec<_> = machine.records().into_iter().filter(|record| record.taints.is_empty()).collect();
    machine.agrees(&clean);
    assert!(machine.profile().points.iter().all(|point| point.flags.is_empty()));
}

#[test]
fn a_dry_run_prints_the_points_and_touches_nothing() {
    let machine = Machine::of("A100-SXM4-80GB");
    let output = machine.sweep(&["--sm-mhz", "3points", "--dry-run"], JOB).output().unwrap();
    let text = told(&output);
    assert!(output.status.success() && text.contains("1410 MHz") && text.contains("3 points"), "{text}");
    assert!(machine.simulator.journal().unwrap().is_empty() && !machine.path("p.jsonl").exists());
}
