//! Several processes on one simulated machine, some of them killed.

use std::process::Stdio;
use std::time::Duration;

use crate::common::{Machine, again, part, uuid};
use nvml_sim::simulator::{JobSpec, Simulator};
use rats_system::clock;

/// Waits, a minute at most, until something holds.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let watch = clock::Stopwatch::start();
    while !holds() {
        assert!(watch.elapsed() < Duration::from_secs(60), "{what}");
        clock::pause(Duration::from_millis(2));
    }
}

fn running(simulator: &Simulator) -> Vec<u32> {
    simulator.update(|state| state.jobs.iter().filter(|job| job.used != 0).map(|job| job.pid).collect()).unwrap()
}

fn lock(simulator: &Simulator, gpu: usize, mhz: u32) -> Result<(), u32> {
    simulator.set("nvmlDeviceSetGpuLockedClocks", gpu, &format!("{mhz}"), |world, state, effect| {
        nvml_sim::settings::lock_sm(world.config.kind(gpu), &mut state.gpus[gpu], mhz, mhz, effect.snapped)
    })
}

#[test]
fn a_lock_outlives_the_process_that_set_it() {
    if part().is_some() {
        lock(&Simulator::from_environment().unwrap(), 1, 1000).unwrap();
        return;
    }
    let machine = Machine::new(|_| {});
    assert!(
        again("processes::a_lock_outlives_the_process_that_set_it", &machine, "inner")
            .output()
            .unwrap()
            .status
            .success()
    );
    let marks = machine.simulator().marks().unwrap();
    assert_eq!(marks.len(), 1);
    assert_eq!((marks[0].uuid.clone(), marks[0].locked_sm_mhz), (uuid(1), Some((1000, 1000))));
    let journal = machine.simulator().journal().unwrap();
    assert_eq!((journal.len(), journal[0].code, journal[0].gpu.clone()), (1, 0, uuid(1)));
    assert_ne!(journal[0].pid, std::process::id());
}

#[test]
fn killing_the_holder_of_the_file_lock_blocks_nobody_and_changes_nothing() {
    if part().is_some() {
        let simulator = Simulator::from_environment().unwrap();
        let _ = simulator.update(|state| {
            state.gpus[0].lock_max = 1000;
            println!("holding");
            clock::pause(Duration::from_secs(600));
        });
        return;
    }
    let machine = Machine::new(|_| {});
    let simulator = machine.simulator();
    lock(&simulator, 3, 500).unwrap();
    let name = "processes::killing_the_holder_of_the_file_lock_blocks_nobody_and_changes_nothing";
    let mut child = again(name, &machine, "inner").stdout(Stdio::piped()).spawn().unwrap();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("holding") {
        line.clear();
        assert_ne!(std::io::BufRead::read_line(&mut output, &mut line).unwrap(), 0);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let marks = simulator.marks().unwrap();
    assert_eq!(marks.len(), 1);
    assert_eq!(marks[0].uuid, uuid(3));
}

#[test]
fn a_writer_killed_at_any_moment_leaves_a_whole_state() {
    if part().is_some() {
        let simulator = Simulator::from_environment().unwrap();
        for mhz in [500, 1000, 1500].into_iter().cycle() {
            // Both or none: each change sets the same clock on two GPUs.
            let _ = simulator.update(|state| (state.gpus[0].lock_max, state.gpus[31].lock_max) = (mhz, mhz));
        }
    }
    let machine = Machine::new(|_| {});
    let simulator = machine.simulator();
    for round in 0..30_u64 {
        let before = simulator.update(|state| state.sim_ns).unwrap();
        let mut child = again("processes::a_writer_killed_at_any_moment_leaves_a_whole_state", &machine, "inner")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        eventually("the child writes", || {
            simulator.update(|state| std::mem::take(&mut state.gpus[0].lock_max)).unwrap() != 0
        });
        clock::pause(Duration::from_micros(round * 137 % 1000));
        child.kill().unwrap();
        child.wait().unwrap();
        let (first, last, now) =
            simulator.update(|state| (state.gpus[0].lock_max, state.gpus[31].lock_max, state.sim_ns)).unwrap();
        assert!(first == 0 || first == last, "{first} {last}");
        assert!(now >= before);
    }
}

#[test]
fn a_job_runs_its_steps_at_the_clock_reached() {
    let machine = Machine::new(|config| config.speedup = 100.0);
    lock(&machine.simulator(), 0, 1000).unwrap();
    let job =
        machine.job(&["--workload", "plain", "--steps", "20", "--every", "10", "--exit-code", "3", "--gpus", &uuid(0)]);
    let output = job.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    // 1 s a step at 1000 MHz.
    assert_eq!(String::from_utf8_lossy(&output.stdout), "step 10/20 time 1.000000 s\nstep 20/20 time 1.000000 s\n");
    assert!(running(&machine.simulator()).is_empty());
}

#[test]
fn a_job_that_was_killed_is_gone_before_it_is_reaped() {
    let machine = Machine::new(|_| {});
    let simulator = machine.simulator();
    let mut job = machine.job(&["--workload", "plain", "--steps", "1000000"]);
    eventually("the job registers", || running(&simulator) == [job.id()]);
    job.kill().unwrap();
    // It is a zombie now, and its id is still in use.
    eventually("the zombie is gone", || running(&simulator).is_empty());
    job.wait().unwrap();
}

#[test]
fn crashes_and_lost_gpus_end_with_an_exit_code_and_a_reason() {
    let machine = Machine::new(|config| config.speedup = 100.0);
    let output = machine.job(&["--workload", "plain", "--steps", "20", "--crash-at", "5"]).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("crashed after step 5"));
    let simulator = machine.simulator();
    let job = machine.job(&["--workload", "plain", "--steps", "1000000"]);
    eventually("the job registers", || running(&simulator) == [job.id()]);
    simulator.inject(&serde_json::from_str::<Vec<_>>(r#"[{"kind": "gpu_lost", "gpu": 0}]"#).unwrap()).unwrap();
    simulator.call("nvmlDeviceGetCount", None, |_, _, _| Ok(())).unwrap();
    let output = job.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("GPU is lost"));
}

#[test]
fn a_daemon_child_stays_on_the_gpu_when_its_parent_ends() {
    let machine = Machine::new(|config| config.speedup = 100.0);
    let simulator = machine.simulator();
    let arguments = ["--workload", "plain", "--steps", "5", "--leave", "daemon", "--child-seconds", "120"];
    let job = machine.job(&arguments);
    let parent = job.id();
    assert_eq!(job.wait_with_output().unwrap().status.code(), Some(0));
    let mut children = Vec::new();
    eventually("only the child is left", || {
        children = running(&simulator);
        children.len() == 1 && children[0] != parent
    });
    let child = rustix::process::Pid::from_raw(i32::try_from(children[0]).unwrap()).unwrap();
    rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
    eventually("the child is gone", || running(&simulator).is_empty());
}

#[test]
fn a_job_that_ignores_term_needs_kill() {
    let machine = Machine::new(|_| {});
    let simulator = machine.simulator();
    let mut job = machine.job(&["--workload", "plain", "--steps", "1000000", "--ignore-term"]);
    eventually("the job registers", || running(&simulator) == [job.id()]);
    let id = rustix::process::Pid::from_raw(i32::try_from(job.id()).unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    let before = simulator.update(|state| state.jobs[0].progress).unwrap();
    eventually("it goes on", || simulator.update(|state| state.jobs[0].progress).unwrap() > before + 0.05);
    assert_eq!(job.try_wait().unwrap(), None);
    job.kill().unwrap();
    job.wait().unwrap();
}

#[test]
fn what_cannot_be_is_refused() {
    let machine = Machine::new(|_| {});
    let simulator = machine.simulator();
    let spec = |gpu: &str, workload: &str| JobSpec {
        gpus: vec![gpu.into()],
        workload: workload.into(),
        steps: 1.0,
        startup_s: 0.0,
        lingers: false,
    };
    let attach = |pid, spec| simulator.attach(pid, &spec).unwrap_err().to_string();
    assert!(attach(std::process::id(), spec("GPU-none", "plain")).contains("GPU-none"));
    assert!(attach(std::process::id(), spec(&uuid(0), "none")).contains("`none`"));
    assert!(attach(u32::MAX, spec(&uuid(0), "plain")).contains("no process"));
    let output = machine.job(&["--workload", "none"]).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn python_readers_list_the_gpus() {
    let Ok(python) = std::env::var("NVML_SIM_PYTHON") else {
        println!("skipped: NVML_SIM_PYTHON names no Python with nvidia-ml-py and nvitop");
        return;
    };
    let machine = Machine::new(|_| {});
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(crate::common::library(), folder.path().join("libnvidia-ml.so.1")).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(&python);
        command.args(arguments).env("LD_LIBRARY_PATH", folder.path()).env("NVML_SIM_CONFIG", machine.config());
        let output = command.env("COLUMNS", "120").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let listed = run(&[
        "-c",
        "import pynvml as n; n.nvmlInit(); print([n.nvmlDeviceGetUUID(n.nvmlDeviceGetHandleByIndex(i)) for i in range(n.nvmlDeviceGetCount())])",
    ]);
    assert!((0..6).all(|gpu| listed.contains(&uuid(gpu))), "{listed}");
    let table = run(&["-m", "nvitop", "--once"]);
    assert_eq!(table.matches("00000000:").count(), 6, "{table}");
}
