//! What keeps a run from starting: each with its code, and nothing is changed.

use nvml_sim::config::Privilege;
use nvml_sim::simulator::JobSpec;
use rats_testbed::trace::JobState;
use serde_json::json;

use crate::lab::{Job, Lab, job, text};

/// Asserts that the executor refuses with this code and changes nothing.
fn refused(lab: &Lab, code: &str, says: &str) {
    let output = lab.execute(&[]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(&format!("error [{code}]")) && said.contains(says), "{code} {says}\n{said}");
    let set = lab.simulator.journal().unwrap().into_iter().filter(|line| line.code == 0).count();
    assert_eq!(set, 0, "something was set");
    lab.assert_clean();
}

fn with_point(point: serde_json::Value) -> Lab {
    let mut lab = Lab::new(100.0);
    lab.add(&Job { point, ..job("j0", &["small/0"], 0) });
    lab
}

#[test]
fn permission_denied() {
    let mut lab = Lab::with(100.0, |config| config.settings_need = Privilege::Nobody);
    lab.add(&job("j0", &["small/0"], 0));
    refused(&lab, "N04", "setcap cap_sys_admin+ep");
}

#[test]
fn a_memory_lock_that_the_gpu_does_not_support() {
    let mut lab = Lab::with(100.0, |config| {
        for kind in config.types.values_mut() {
            kind.architecture = nvml_sim::config::Architecture::Volta;
        }
    });
    lab.add(&Job { point: json!({"mem_mhz": 7251}), ..job("j0", &["small/0"], 0) });
    refused(&lab, "N05", "memory clock");
}

#[test]
fn a_limit_or_clock_out_of_range() {
    refused(&with_point(json!({"power_limit_w": 301})), "N06", "100000 to 300000 mW");
    refused(&with_point(json!({"sm_mhz": 5000})), "N06", "to 1740 MHz");
    refused(&with_point(json!({"mem_mhz": 10})), "N06", "memory clock");
}

#[test]
fn mig() {
    let mut lab = Lab::with(100.0, |config| config.gpus[0].mig = true);
    lab.add(&job("j0", &["big/0"], 0));
    refused(&lab, "N09", "MIG is on");
}

#[test]
fn an_unknown_uuid() {
    let mut lab = Lab::new(100.0);
    lab.add(&job("j0", &["big/0"], 0));
    lab.inventory["gpus"][0]["uuid"] = json!("GPU-00000000-0000-0000-0000-000000000000");
    refused(&lab, "N03", "big/0");
}

#[test]
fn an_inventory_of_another_kind_place_or_machine() {
    let mut lab = Lab::new(100.0);
    lab.add(&job("j0", &["big/0"], 0));
    let good = lab.inventory.clone();
    lab.inventory["gpus"][0]["gpu_type"] = json!("a40");
    refused(&lab, "X02", "is a `a40` in the inventory");
    lab.inventory = good.clone();
    lab.inventory["gpus"][0]["host"] = json!("elsewhere");
    refused(&lab, "X02", "is on `elsewhere`");
    lab.inventory = good.clone();
    lab.inventory["gpus"][0]["uuid"] = good["gpus"][2]["uuid"].clone();
    lab.inventory["gpus"][2]["uuid"] = good["gpus"][0]["uuid"].clone();
    refused(&lab, "X02", "the plan takes it for a `a100-sxm-80gb`");
    lab.inventory["gpus"].as_array_mut().unwrap().remove(0);
    refused(&lab, "X02", "is not in the inventory");
}

#[test]
fn a_stranger_on_a_gpu() {
    let mut lab = Lab::new(100.0);
    lab.add(&job("j0", &["big/0"], 0));
    let gpus = vec![lab.simulator.config().gpus[0].uuid.clone()];
    let spec = JobSpec { gpus, workload: "net".to_owned(), steps: f64::INFINITY, startup_s: 0.0, lingers: true };
    let stranger = lab.simulator.attach(std::process::id(), &spec).unwrap();
    refused(&lab, "N16", &format!("process {}", std::process::id()));
    lab.simulator.detach(stranger).unwrap();
}

#[test]
fn a_job_without_a_command_or_with_a_placeholder_without_a_value() {
    let mut lab = Lab::new(100.0);
    lab.add(&Job { command: " ".to_owned(), ..job("j0", &["big/0"], 0) });
    refused(&lab, "X03", "job `j0`: has no command");
    let mut lab = Lab::new(100.0);
    lab.add(&Job { command: "train {mem_mhz}".to_owned(), ..job("j0", &["big/0"], 0) });
    refused(&lab, "X03", "`{mem_mhz}`");
}

#[test]
fn a_plan_that_breaks_a_rule() {
    let mut lab = Lab::new(100.0);
    lab.add(&job("j0", &["big/0"], 0));
    lab.add(&job("j1", &["big/0"], 5));
    refused(&lab, "U06", "V6");
}

#[test]
fn no_library() {
    let mut lab = Lab::new(100.0);
    lab.add(&job("j0", &["big/0"], 0));
    let output = lab.execute(&["--nvml-lib", "/nowhere/libnvidia-ml.so.1"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("[N01]") && said.lines().count() == 1, "{said}");
}

#[test]
fn a_second_executor_is_refused_with_the_owners_pid_and_plan() {
    let mut lab = Lab::new(20.0);
    lab.add(&job("j0", &["big/0"], 0));
    let first = lab.begin(&[]);
    lab.wait_for("j0", JobState::Setting);
    let second = lab.execute(&["--run-dir", "other"]);
    let said = text(&second.stderr);
    assert_eq!(second.status.code(), Some(2), "{said}");
    // Its job may run by now: then the GPU is in use, too.
    let owner = format!("process {} (plan.json) holds the GPU", first.id());
    assert!(said.contains("[N16]") || (said.contains("[N11]") && said.contains(&owner)), "{said}");
    assert_eq!(first.wait(), Some(0));
    lab.assert_clean();
}
