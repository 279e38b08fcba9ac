//! A simulated machine and the program on it.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output};
use std::time::Duration;

use nvml_sim::config::Config;
use nvml_sim::faults::Fault;
use nvml_sim::settings::Mark;
use nvml_sim::simulator::Simulator;
use rats_domain::format::{Flag, MeasuredPointFile};
use rats_domain::profile::Profile;
use rats_system::clock::{Stopwatch, pause};
use rats_testbed::custody::{RUN_VARIABLE, procfs};
use rats_testbed::profile::record::{Line, Measured};
use tempfile::TempDir;

use crate::job;
use crate::simulated::{self, PROGRAM, machine};

/// Longer than anything here takes, even on a machine that is busy with other things.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// What the stand-in prints.
pub const PRINTED: &str = r"time (?<time>[0-9.]+) s";
/// Its step counter.
pub const COUNTED: &str = r"step (?<step>\d+)/";

/// A machine with simulated GPUs.
pub struct Machine {
    pub directory: TempDir,
    pub simulator: Simulator,
    pub found: Vec<Mark>,
}

impl Machine {
    /// One GPU of a type.
    pub fn of(kind: &str) -> Self {
        Self::with(&[(kind, 1)], |_| {})
    }

    /// GPUs of these types, changed; one workload, `gpt`.
    pub fn with(gpus: &[(&str, u32)], change: impl FnOnce(&mut Config)) -> Self {
        let profiles = ["a100-sxm-80gb-perseus-bloom-stage0", "a40-zeus-cifar100-shufflenetv2-b1024-adadelta"];
        let (directory, simulator) = machine(gpus, &[("gpt", &profiles)], 40.0, 5, change);
        let found = simulator.marks().unwrap();
        Self { directory, simulator, found }
    }

    pub fn uuid(&self, gpu: usize) -> String {
        self.simulator.config().gpus[gpu].uuid.clone()
    }

    pub fn inject(&self, faults: &str) {
        let faults: Vec<Fault> = serde_json::from_str(faults).unwrap();
        self.simulator.inject(&faults).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A sweep of a command; the words stand before `--`.
    pub fn sweep_of(&self, words: &[&str], command: &[&str], job: &str) -> Command {
        let mut program = simulated::command(PROGRAM, self.directory.path(), "state-dir");
        program.env(job::VARIABLE, job);
        program.arg("profile").args(["--out".as_ref(), self.path("p.json").as_os_str()]).args(words);
        program.arg("--").args(command).current_dir(self.directory.path());
        program
    }

    /// A sweep of the stand-in.
    pub fn sweep(&self, words: &[&str], job: &str) -> Command {
        let this = std::env::current_exe().unwrap();
        let command = [this.to_str().unwrap(), "job::trains", "--exact", "--nocapture", "--test-threads=1"];
        self.sweep_of(words, &command, job)
    }

    /// Sweeps the stand-in by its printed times and steps of `gpt`; returns the profile.
    #[track_caller]
    pub fn profiled(&self, words: &[&str]) -> Profile {
        let words: Vec<&str> = ["--step-pattern", PRINTED].iter().chain(words).copied().collect();
        let output = self.sweep(&words, "--workload gpt --steps 1000000 --every 1").output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", told(&output));
        self.is_left_as_found();
        self.profile()
    }

    pub fn profile(&self) -> Profile {
        Profile::read(&fs::read(self.path("p.json")).unwrap()).unwrap().profile
    }

    /// The measurements that were written down, whole lines.
    pub fn records(&self) -> Vec<Measured> {
        let text = fs::read_to_string(self.path("p.jsonl")).unwrap_or_default();
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let measured = |line: &str| match serde_json::from_str(line).unwrap() {
            Line::Measured(measured) => Some(measured),
            _ => None,
        };
        lines.filter_map(measured).collect()
    }

    /// Every record agrees with the truth at the clocks that were observed.
    #[track_caller]
    pub fn agrees(&self, records: &[Measured]) {
        assert!(!records.is_empty());
        let kind = self.simulator.config().kind(0).default_mem_mhz;
        for record in records {
            let seen = &record.gpus[0];
            let sm = u32::try_from(seen.sm_mhz.unwrap()).unwrap();
            let mem = seen.mem_mhz.map_or(kind, |mem| u32::try_from(mem).unwrap());
            let truth = self.simulator.truth(&self.uuid(0), "gpt", sm, mem).unwrap();
            let (step, power) = (record.step_s.value, record.power_w.unwrap().value);
            let (step_off, power_off) = (step / truth.step_s - 1.0, power * 1e3 / truth.power_mw - 1.0);
            assert!(step_off.abs() < 0.015, "step {step_off:+.4} at {:?}", record.target);
            assert!(power_off.abs() < 0.015, "power {power_off:+.4} at {:?}", record.target);
        }
    }

    /// Nothing of a sweep is left: settings, processes, journals.
    #[track_caller]
    pub fn is_left_as_found(&self) {
        let watch = Stopwatch::start();
        loop {
            let marks = self.simulator.marks().unwrap();
            let journals = fs::read_dir(self.path("state-dir/journal")).map_or(0, Iterator::count);
            let left = self.processes();
            if marks == self.found && journals == 0 && left.is_empty() {
                return;
            }
            assert!(watch.elapsed() < PATIENCE, "marks {marks:?}, {journals} journals, processes {left:?}");
            pause(Duration::from_millis(5));
        }
    }

    /// Processes that sweeps on this machine started.
    fn processes(&self) -> Vec<u32> {
        let config = self.path("sim.json");
        let is_ours = |pid: &u32| {
            let has_run = fs::read(format!("/proc/{pid}/environ")).is_ok_and(|text| {
                text.split(|&byte| byte == 0).any(|entry| entry.starts_with(RUN_VARIABLE.as_bytes()))
            });
            has_run && procfs::has_variable(*pid, "NVML_SIM_CONFIG", config.to_str().unwrap())
        };
        procfs::all().into_iter().map(|process| process.pid).filter(is_ours).collect()
    }
}

/// Points without any of these flags.
pub fn without<'p>(profile: &'p Profile, flags: &[Flag]) -> Vec<&'p MeasuredPointFile> {
    profile.points.iter().filter(|point| point.flags.iter().all(|flag| !flags.contains(flag))).collect()
}

/// What a program said.
pub fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Waits until something holds.
#[track_caller]
pub fn until(child: &mut Child, what: impl Fn() -> bool) {
    let watch = Stopwatch::start();
    while !what() {
        assert!(watch.elapsed() < PATIENCE, "it does not happen");
        assert!(child.try_wait().unwrap().is_none(), "the sweep has ended");
        pause(Duration::from_millis(5));
    }
}
