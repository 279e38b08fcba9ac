//! `discover`, `doctor` and `restore` as users call them.

use std::fs;

use crate::harness::Machine;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn discover_writes_a_cluster_and_an_inventory_of_the_real_uuids() {
    let machine = Machine::new();
    let folder = tempfile::tempdir().unwrap();
    let (cluster, inventory) = (folder.path().join("cluster.toml"), folder.path().join("inventory.json"));
    let words =
        format!("discover --host tux --idle-seconds 0.3 -o {} --inventory {}", cluster.display(), inventory.display());
    let output = machine.run(&words);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("tux: 4 GPUs of type a100-sxm-80gb"), "{}", text(&output.stdout));
    let scenario: toml::Table = fs::read_to_string(cluster).unwrap().parse().unwrap();
    let idle = scenario["cluster"]["gpu_types"][0]["idle_w"].as_float().unwrap();
    // The catalogue's 67.03 W, each GPU within 5 % of it.
    assert!((63.0..71.0).contains(&idle), "{idle}");
    let inventory: serde_json::Value = serde_json::from_str(&fs::read_to_string(inventory).unwrap()).unwrap();
    for gpu in 0..4 {
        assert_eq!(inventory["gpus"][gpu]["uuid"], machine.uuid(gpu));
        assert_eq!(inventory["gpus"][gpu]["node"], "tux");
    }
}

#[test]
fn doctor_finds_nothing_on_a_machine_in_order() {
    let machine = Machine::new();
    let output = machine.run("doctor --json");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = document["findings"].as_array().unwrap();
    assert!(findings.iter().all(|finding| finding["state"] != "mend"));
    let permission = findings.iter().filter(|finding| finding["check"] == "permission");
    assert_eq!(permission.filter(|finding| finding["state"] == "ok").count(), 4);
    assert_eq!(machine.simulator.marks().unwrap(), machine.found, "the test of the permission changes nothing");
}

#[test]
fn doctor_names_what_is_to_be_mended() {
    let machine = Machine::with(|config| {
        config.gpus[0].persistence = false;
        config.gpus[1].mig = true;
    });
    machine.inject(r#"[{"kind": "counter_stuck", "gpu": 2}, {"kind": "counter_missing", "gpu": 3}]"#);
    let output = machine.run("doctor --json");
    assert_eq!(output.status.code(), Some(1));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = |gpu: usize, check: &str| {
        let mut all = document["findings"].as_array().unwrap().iter();
        let finding = all.find(|finding| finding["subject"] == machine.uuid(gpu) && finding["check"] == check).unwrap();
        format!("{} {}", finding["state"].as_str().unwrap(), finding["code"].as_str().unwrap_or("-"))
    };
    assert_eq!(found(0, "persistence"), "mend N20");
    assert_eq!(found(1, "mig"), "mend N09");
    assert_eq!(found(2, "counter"), "mend N18");
    assert_eq!(found(3, "counter"), "note N18");
}

#[test]
fn what_another_doctor_tries_out_in_the_folder_of_journals_is_no_run() {
    let machine = Machine::new();
    fs::create_dir_all(machine.state().join("journal")).unwrap();
    fs::write(machine.state().join("journal/.doctor-x7Kq2a"), "").unwrap();
    let output = machine.run("doctor");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    assert!(!text(&output.stdout).contains(".doctor-"), "{}", text(&output.stdout));
    assert_eq!(text(&machine.run("restore").stdout), "nothing to restore\n");
}

#[test]
fn doctor_and_restore_see_what_a_dead_run_left() {
    let machine = Machine::new();
    let mut holder = machine.holder();
    let taken = holder.tell("take nightly 1");
    let guardian = taken.split_once(' ').unwrap().1.parse().unwrap();
    holder.tell("set 1 900 - 300");
    let live = text(&machine.run("doctor").stdout);
    assert!(live.contains(&format!("process {} (nightly) holds it", holder.child.id())), "{live}");
    assert_eq!(text(&machine.run("restore").stdout), "nothing to restore\n", "a live run is left alone");
    rats_testbed::custody::leftover::signal(&[guardian], rustix::process::Signal::KILL);
    holder.kill();
    let dead = machine.run("doctor");
    assert_eq!(dead.status.code(), Some(1));
    assert!(text(&dead.stdout).contains("[N14]") && text(&dead.stdout).contains("-> rats restore"));
    let restore = text(&machine.run("restore").stdout);
    assert!(restore.contains("SM clock lock: reset") && restore.contains("back from 300 W to 500 W"), "{restore}");
    assert_eq!(text(&machine.run("restore").stdout), "nothing to restore\n");
    machine.is_left_as_found("none");
}

#[test]
fn a_new_run_restores_what_a_dead_one_left_before_it_begins() {
    let machine = Machine::new();
    let mut holder = machine.holder();
    let taken = holder.tell("take nightly 1");
    holder.tell("set 1 900 - 300");
    rats_testbed::custody::leftover::signal(
        &[taken.split_once(' ').unwrap().1.parse().unwrap()],
        rustix::process::Signal::KILL,
    );
    holder.kill();
    let mut next = machine.holder();
    assert!(!next.tell("take other 1 2").starts_with("refused"));
    assert_eq!(machine.simulator.marks().unwrap(), machine.found);
    assert_eq!(machine.journals(), 1, "its own");
    assert_eq!(next.tell("end"), "ended 0");
}

#[test]
fn without_a_library_one_sentence_says_so() {
    let machine = Machine::new();
    for command in ["discover", "doctor"] {
        let output = machine.run(&format!("{command} --nvml-lib /nowhere/libnvidia-ml.so.1"));
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output.stderr);
        assert!(said.starts_with("error [N01] NVML: no NVML library: /nowhere/libnvidia-ml.so.1"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    // Nothing is to be restored, so no library is needed.
    assert_eq!(machine.run("restore --nvml-lib /nowhere/lib.so").status.code(), Some(0));
}
