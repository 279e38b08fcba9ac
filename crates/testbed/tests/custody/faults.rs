//! What GPUs, drivers and disks refuse: coded ends, and nothing left behind that could be undone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use nvml_sim::config::Privilege;

use crate::harness::{Holder, Machine, until};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_second_run_is_refused_with_the_owners_pid_and_plan() {
    let machine = Machine::new();
    let mut first = machine.holder();
    first.tell("take nightly 0 1");
    let mut second = machine.holder();
    let refused = second.tell("take other 1 2");
    let owner = format!("process {} (nightly) holds the GPU", first.child.id());
    assert!(refused.starts_with("refused [N11]") && refused.contains(&owner), "{refused}");
    // Nothing of the refused run is left: GPU 2 is free, and GPU 1 is once the first run has ended.
    assert!(!second.tell("take other 2").starts_with("refused"));
    assert_eq!(second.tell("end"), "ended 0");
    first.tell("end");
    assert!(!second.tell("take other 1 2").starts_with("refused"));
}

#[test]
fn without_permission_nothing_is_set_and_no_mark_stays() {
    let machine = Machine::with(|config| config.settings_need = Privilege::Nobody);
    let mut holder = machine.holder();
    holder.tell("take nightly 0");
    assert!(holder.tell("set 0 900 - 300").starts_with("[N04]"));
    assert_eq!(holder.tell("end"), "ended 0");
    assert_eq!(machine.journals(), 0);
    let doctor = machine.run("doctor");
    assert_eq!(doctor.status.code(), Some(1));
    assert!(text(&doctor.stdout).contains("sudo setcap cap_sys_admin+ep"), "{}", text(&doctor.stdout));
}

#[test]
fn a_set_that_fails_on_the_third_gpu_leaves_the_first_two_to_be_restored() {
    let machine = Machine::new();
    machine.inject(r#"[{"kind": "fail", "code": 999, "gpu": 2, "calls": ["nvmlDeviceSetPower"]}]"#);
    let mut holder = machine.holder();
    let taken = holder.tell("take nightly 0 1 2 3");
    assert!(holder.tell("set 0 900 - 300").starts_with("set 900"));
    assert!(holder.tell("set 1 900 - 300").starts_with("set 900"));
    // The lock was set, then the limit failed: both may be in force.
    assert!(holder.tell("set 2 900 - 300").starts_with("[N10]"));
    assert_eq!(holder.tell("restore 2"), "SM clock lock: reset; power limit: 500 W as found;");
    holder.kill();
    machine.is_left_as_found(taken.split_once(' ').unwrap().0);
}

#[test]
fn a_reset_that_fails_is_made_again_and_what_the_run_cannot_undo_its_guardian_does() {
    let machine = Machine::new();
    let mut holder = machine.holder();
    let taken = holder.tell("take nightly 1");
    holder.tell("set 1 900 - 300");
    machine.inject(r#"[{"kind": "fail", "code": 999, "calls": ["nvmlDeviceResetGpu"], "times": 3}]"#);
    assert_eq!(holder.tell("restore 1"), "SM clock lock: reset; power limit: back from 300 W to 500 W;");
    // Four tries of the run fail, the first of the guardian does not; the limit is put back all the same.
    holder.tell("set 1 900 - 300");
    machine.inject(r#"[{"kind": "fail", "code": 999, "calls": ["nvmlDeviceResetGpu"], "times": 4}]"#);
    let ended = holder.tell("end");
    assert!(ended.starts_with("refused [N14]") && ended.contains("resetting the SM clock failed"), "{ended}");
    machine.is_left_as_found(taken.split_once(' ').unwrap().0);
}

#[test]
fn what_is_out_of_range_or_not_supported_is_said_before_anything_is_set() {
    let machine = Machine::new();
    let mut holder = machine.holder();
    holder.tell("take nightly 0");
    let low = holder.tell("set 0 900 - 50");
    assert!(
        low.starts_with("[N06]") && low.contains("a power limit of 50000 mW is outside 100000 to 500000 mW"),
        "{low}"
    );
    let high = holder.tell("set 0 3000 - -");
    assert!(high.starts_with("[N06]") && high.contains("outside 210 to 1410 MHz"), "{high}");
    assert_eq!(machine.simulator.marks().unwrap(), machine.found);
}

#[test]
fn a_divided_gpu_is_not_set() {
    let machine = Machine::with(|config| config.gpus[0].mig = true);
    let mut holder = machine.holder();
    holder.tell("take nightly 0");
    assert!(holder.tell("set 0 900 - -").starts_with("[N09]"));
    assert_eq!(holder.tell("end"), "ended 0");
    assert!(text(&machine.run("doctor").stdout).contains("-mig 0"));
}

#[test]
fn a_lost_gpu_keeps_its_marks_until_it_answers_and_the_others_are_restored() {
    let machine = Machine::new();
    let mut holder = machine.holder();
    holder.tell("take nightly 0 1");
    holder.tell("set 0 900 - 300");
    holder.tell("set 1 900 - 300");
    machine.inject(r#"[{"kind": "gpu_lost", "gpu": 1}]"#);
    assert!(holder.tell("set 1 600 - -").starts_with("[N07]"));
    let ended = holder.tell("end");
    assert!(ended.starts_with("refused [N14]") && ended.contains(&machine.uuid(1)), "{ended}");
    assert_eq!(machine.simulator.marks().unwrap()[0], machine.found[0], "GPU 0 is as found");
    holder.kill();
    let restore = machine.run("restore");
    assert_eq!(restore.status.code(), Some(1));
    assert!(text(&restore.stdout).contains("NOT restored: the GPU is lost"), "{}", text(&restore.stdout));
    // A new run on it is refused as long as it does not answer; others are not.
    machine.simulator.update(|state| state.gpus[1].lost = 0).unwrap();
    machine.inject("[]");
    assert_eq!(machine.run("restore").status.code(), Some(0));
    machine.is_left_as_found("none");
}

#[test]
fn a_hung_gpu_does_not_keep_the_others_waiting() {
    let machine = Machine::new();
    let mut holder = machine.holder();
    holder.tell("take nightly 0 1 2");
    for gpu in 0..3 {
        holder.tell(&format!("set {gpu} 900 - 300"));
    }
    machine.inject(r#"[{"kind": "hang", "gpu": 2, "seconds": 4}]"#);
    assert!(holder.tell("set 2 600 - -").starts_with("[N08]"));
    assert!(holder.tell("set 1 600 - 310").starts_with("set 600"), "another GPU still answers");
    holder.kill();
    let others = || {
        machine
            .simulator
            .marks()
            .unwrap()
            .iter()
            .filter(|mark| mark.uuid != machine.uuid(2))
            .cloned()
            .collect::<Vec<_>>()
    };
    until(|| others() == machine.found);
    machine.inject("[]");
    until(|| machine.run("restore").status.code() == Some(0));
    machine.is_left_as_found("none");
}

#[test]
fn a_driver_that_is_gone_is_said_and_what_it_holds_is_restored_when_it_is_back() {
    let machine = Machine::new();
    let mut holder = machine.holder();
    holder.tell("take nightly 0 1");
    holder.tell("set 0 900 - 300");
    machine.inject(r#"[{"kind": "driver_gone"}]"#);
    assert!(holder.tell("set 1 900 - -").starts_with("[N02]"));
    holder.kill();
    until(|| machine.run("restore").status.code() == Some(1));
    let doctor = machine.run("doctor");
    assert_eq!(doctor.status.code(), Some(2), "{}", text(&doctor.stderr));
    machine.inject("[]");
    until(|| machine.run("restore").status.code() == Some(0));
    machine.is_left_as_found("none");
}

#[test]
fn without_room_for_the_journal_nothing_is_changed() {
    let machine = Machine::new();
    // No file may grow beyond 1 block of 512 bytes; the signal that says so is ignored, so the write fails.
    let test = std::env::current_exe().unwrap();
    let limited = r#"trap "" XFSZ; ulimit -f 1; exec "$0" "$@""#;
    let mut shell = machine.command("sh");
    shell.args(["-c", limited]).arg(test);
    let mut holder = Holder::start(shell);
    let taken = holder.tell("take nightly 0");
    if !taken.starts_with("refused") {
        // The first lines fit; sooner or later one does not.
        let full = (0..40).map(|_| holder.tell("set 0 900 - 300")).find(|said| !said.starts_with("set 900"));
        let full = full.unwrap_or_default();
        assert!(full.starts_with("[N12]") && full.contains("Nothing was changed"), "{full}");
        let before = machine.simulator.journal().unwrap().len();
        assert!(holder.tell("set 0 600 - -").starts_with("[N12]"));
        let calls = machine.simulator.journal().unwrap();
        assert!(
            calls[before..]
                .iter()
                .all(|call| call.call.contains("Reset") || call.call.contains("PowerManagementLimit")),
            "{:?}",
            &calls[before..]
        );
        holder.kill();
        machine.is_left_as_found("none");
        return;
    }
    assert!(taken.contains("[N12]"), "{taken}");
}

#[test]
fn a_state_directory_that_cannot_be_made_is_n12() {
    let machine = Machine::new();
    fs::write(machine.state(), "a file").unwrap();
    let mut holder = machine.holder();
    assert!(holder.tell("take nightly 0").starts_with("refused [N12]"));
    assert_eq!(machine.simulator.marks().unwrap(), machine.found);
}

#[test]
fn a_limit_that_somebody_else_set_since_is_left_alone() {
    let machine = Machine::new();
    let mut holder = machine.holder();
    holder.tell("take nightly 1 2");
    holder.tell("set 1 900 - 300");
    holder.tell("set 2 - - 300");
    machine.simulator.update(|state| state.gpus[1].limit_mw = 450_000).unwrap();
    let said = holder.tell("restore 1");
    assert!(said.contains("450 W is not ours and stays (it was 500 W before the run)"), "{said}");
    assert_eq!(holder.tell("restore 2"), "power limit: back from 300 W to 500 W;");
    assert_eq!(holder.tell("restore 2"), "");
    assert_eq!(holder.tell("end"), "ended 0");
    assert_eq!(machine.simulator.marks().unwrap()[1].power_limit_mw, Some(450_000));
}

#[test]
fn every_set_is_in_the_journal_before_it_is_made() {
    let machine = Machine::new();
    // The lock succeeds, the limit hangs: the process is killed inside the second call.
    machine.inject(r#"[{"kind": "hang", "gpu": 1, "calls": ["nvmlDeviceSetPower"], "seconds": 5}]"#);
    let mut holder = machine.holder();
    let taken = holder.tell("take nightly 1");
    assert!(holder.tell("set 1 900 - 300").starts_with("[N08]"));
    let journal = fs::read_dir(machine.state().join("journal")).unwrap().next().unwrap().unwrap().path();
    let lines = fs::read_to_string(&journal).unwrap();
    assert!(lines.contains(r#""setting":"sm_lock","mhz":900"#) && lines.contains(r#""value_mw":300000"#), "{lines}");
    assert_eq!(fs::metadata(&journal).unwrap().permissions().mode() & 0o022, 0, "others may not write it");
    machine.inject("[]");
    holder.kill();
    machine.is_left_as_found(taken.split_once(' ').unwrap().0);
}
