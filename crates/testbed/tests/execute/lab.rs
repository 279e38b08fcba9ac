//! A simulated machine, an instance and a plan for it, and runs of the executor.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Output};
use std::time::Duration;

use nvml_sim::config::Config;
use nvml_sim::faults::Fault;
use nvml_sim::job::{JobArguments, run};
use nvml_sim::simulator::Simulator;
use rats_system::clock::{Stopwatch, pause};
use rats_testbed::custody::procfs;
use rats_testbed::trace::{JobState, Line, Record, read};
use serde_json::{Value, json};

use crate::simulated::{self, PROGRAM, machine};

/// The executor's name for a job that this test program itself carries out.
const AS_JOB: &str = "lab::as_a_job";

/// The environment variable with the arguments of such a job.
const ARGUMENTS: &str = "SIM_JOB";

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// A machine with two A100 (node `big`) and two A40 (node `small`).
pub struct Lab {
    pub directory: tempfile::TempDir,
    pub simulator: Simulator,
    speedup: f64,
    jobs: Vec<Value>,
    assignments: Vec<Value>,
    pub inventory: Value,
}

/// A job on one option.
pub struct Job<'a> {
    pub id: &'a str,
    pub gpus: &'a [&'a str],
    pub start: i64,
    pub ticks: i64,
    pub point: Value,
    pub command: String,
    pub after: &'a [&'a str],
}

/// A child that a test may outlive.
pub struct Run {
    pub child: Child,
}

/// Carries a simulated job out when the executor starts this program for it; nothing as a test.
#[test]
fn as_a_job() {
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct Arguments {
        #[command(flatten)]
        job: JobArguments,
    }
    let Ok(arguments) = std::env::var(ARGUMENTS) else { return };
    let arguments = Arguments::parse_from(std::iter::once("job").chain(arguments.split_whitespace()));
    let code = run(&arguments.job, &mut io::stdout()).unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "{error}");
        2
    });
    std::process::exit(code.into());
}

/// The command of a simulated job with these arguments beside the workload.
pub fn simulated(arguments: &str) -> String {
    let program = std::env::current_exe().unwrap();
    format!("{ARGUMENTS}='--workload net {arguments}' exec {} {AS_JOB} --exact --nocapture", program.display())
}

/// A job of 80 s on one GPU: on the A100s at 1200 MHz it takes about 31 s, on the A40s about 56 s.
pub fn job<'a>(id: &'a str, gpus: &'a [&'a str], start: i64) -> Job<'a> {
    let command = simulated("--steps 150 --startup 5");
    Job { id, gpus, start, ticks: 8, point: json!({"sm_mhz": 1200}), command, after: &[] }
}

impl Lab {
    pub fn new(speedup: f64) -> Self {
        Self::with(speedup, |_| {})
    }

    pub fn with(speedup: f64, change: impl FnOnce(&mut Config)) -> Self {
        let names = ["a100-sxm-80gb-perseus-bloom-stage0", "a40-perseus-bloom-stage0"];
        let (directory, simulator) =
            machine(&[("a100-sxm4-80gb", 2), ("a40", 2)], &[("net", &names)], speedup, 1, change);
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let entry = |(position, gpu): (usize, &nvml_sim::config::GpuConfig)| {
            let (node, kind) = if position < 2 { ("big", "a100-sxm-80gb") } else { ("small", "a40") };
            json!({"node": node, "index": position % 2, "uuid": gpu.uuid, "host": host, "pci": gpu.pci, "gpu_type": kind})
        };
        let gpus: Vec<Value> = simulator.config().gpus.iter().enumerate().map(entry).collect();
        let inventory = json!({"format": "rats.inventory/1", "gpus": gpus});
        Self { directory, simulator, speedup, jobs: Vec::new(), assignments: Vec::new(), inventory }
    }

    /// Adds a job and where and when it runs.
    pub fn add(&mut self, job: &Job<'_>) {
        let kind = if job.gpus[0].starts_with("big") { "a100-sxm-80gb" } else { "a40" };
        let option = json!({
            "gpu_type": kind, "gpus": job.gpus.len(), "span": "node", "point": job.point, "ticks": job.ticks,
            "power_w": 200 * job.gpus.len()
        });
        self.jobs.push(json!({
            "id": job.id, "workload": "net", "command": job.command, "after": job.after, "options": [option],
            "physics": {"options": [{"startup_s": 5}]}
        }));
        self.assignments.push(json!({"job": job.id, "option": 0, "start": job.start, "gpus": job.gpus}));
    }

    /// Two jobs one after the other on each of the four GPUs.
    pub fn add_eight(&mut self) {
        for (number, gpu) in ["big/0", "big/1", "small/0", "small/1"].into_iter().cycle().take(8).enumerate() {
            let start = if number < 4 { 0 } else { 8 };
            self.add(&job(&format!("j{number}"), &[gpu], start));
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn instance(&self) -> Value {
        json!({
            "format": "rats.instance/1", "name": "lab", "tick_s": 10, "horizon": 1000,
            "cluster": {
                "gpu_types": [{"id": "a100-sxm-80gb", "idle_w": 67}, {"id": "a40", "idle_w": 30}],
                "levels": ["room"], "switches": [{"id": "room", "level": "room"}],
                "nodes": [
                    {"id": "big", "parent": "room", "gpu_type": "a100-sxm-80gb", "gpus": 2, "base_w": 100},
                    {"id": "small", "parent": "room", "gpu_type": "a40", "gpus": 2, "base_w": 100}
                ]
            },
            "objective": [{"term": "energy", "weight": 1}], "jobs": self.jobs
        })
    }

    pub fn write(&self) {
        let plan = json!({"format": "rats.plan/1", "assignments": self.assignments});
        let files =
            [("instance.json", self.instance()), ("plan.json", plan), ("inventory.json", self.inventory.clone())];
        for (name, content) in files {
            fs::write(self.path(name), content.to_string()).unwrap();
        }
    }

    /// A command of the binary in this machine's environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = simulated::command(PROGRAM, self.directory.path(), "custody");
        command.args(arguments).current_dir(self.directory.path()).env_remove("RATS_RUN_ID");
        command
    }

    fn executor(&self, more: &[&str]) -> Command {
        self.write();
        let arguments = ["execute", "instance.json", "plan.json", "--inventory", "inventory.json", "--grace", "0.3"];
        let run_dir = if more.contains(&"--run-dir") { &[][..] } else { &["--run-dir", "run"] };
        self.command(&[&arguments[..], run_dir, more].concat())
    }

    /// Carries the plan out to its end.
    pub fn execute(&self, more: &[&str]) -> Output {
        self.executor(more).output().unwrap()
    }

    /// Begins to carry the plan out; what it says goes nowhere, so that no pipe keeps a test waiting.
    pub fn begin(&self, more: &[&str]) -> Run {
        let log = fs::File::options().create(true).append(true).open(self.path("executor.log")).unwrap();
        let mut command = self.executor(more);
        Run { child: command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap() }
    }

    /// As [`Lab::begin`]; the signal that a file has become too large is ignored, so that the write fails.
    pub fn begin_with_limited_files(&self, more: &[&str]) -> Run {
        let log = fs::File::options().create(true).append(true).open(self.path("executor.log")).unwrap();
        let executor = self.executor(more);
        let mut shell = simulated::command("sh", self.directory.path(), "custody");
        shell.args(["-c", r#"trap "" XFSZ; exec "$0" "$@""#]).arg(executor.get_program()).args(executor.get_args());
        shell.current_dir(self.directory.path()).env_remove("RATS_RUN_ID");
        Run { child: shell.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap() }
    }

    /// What the executor said after [`Lab::begin`].
    pub fn said(&self) -> String {
        fs::read_to_string(self.path("executor.log")).unwrap_or_default()
    }

    pub fn lines(&self) -> Vec<Line> {
        let path = self.path("run/trace.jsonl");
        if path.exists() { read(&path).unwrap().lines } else { Vec::new() }
    }

    /// States of a job in the order of the trace.
    pub fn states(&self, job: &str) -> Vec<JobState> {
        let states = self.lines().into_iter().filter_map(|line| match line.record {
            Record::Job(record) if record.job == job => Some(record.state),
            _ => None,
        });
        states.collect()
    }

    /// Waits until a job is in this state.
    pub fn wait_for(&self, job: &str, state: JobState) {
        self.wait(&format!("{job} to be {state:?}"), || self.states(job).contains(&state));
    }

    /// Waits until something holds.
    pub fn wait(&self, what: &str, holds: impl Fn() -> bool) {
        let watch = Stopwatch::start();
        while !holds() {
            assert!(watch.elapsed() < PATIENCE, "waited for {what} in vain:\n{}", self.said());
            pause(Duration::from_millis(3));
        }
    }

    pub fn inject(&self, faults: Value) {
        let faults: Vec<Fault> = serde_json::from_value(faults).unwrap();
        self.simulator.inject(&faults).unwrap();
    }

    /// Processes that this machine's environment was given to: executors, guardians, jobs and all they started.
    pub fn processes(&self) -> Vec<u32> {
        let config = self.path("sim.json").display().to_string();
        let all = procfs::all().into_iter().map(|process| process.pid);
        all.filter(|&pid| procfs::has_variable(pid, "NVML_SIM_CONFIG", &config)).collect()
    }

    /// Waits until no process is left; how long it took.
    pub fn settle(&self) -> Duration {
        let watch = Stopwatch::start();
        self.wait("all processes to end", || self.processes().is_empty());
        watch.elapsed()
    }

    /// Asserts that every GPU is as it was found and that no process is left.
    pub fn assert_clean(&self) {
        self.settle();
        let marks = self.simulator.marks().unwrap();
        assert!(marks.is_empty(), "{marks:?}\n{}", self.said());
    }

    pub fn speedup(&self) -> f64 {
        self.speedup
    }
}

impl Run {
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        kill(self.id(), signal);
    }

    /// Waits for it to end; its exit code.
    pub fn wait(mut self) -> Option<i32> {
        let watch = Stopwatch::start();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(watch.elapsed() < PATIENCE, "the executor does not end");
            pause(Duration::from_millis(3));
        }
    }
}

pub fn kill(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    // It may have ended.
    let _ = rustix::process::kill_process(pid, signal);
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The guardian of an executor.
pub fn guardian(executor: u32) -> Option<u32> {
    let is_guardian = |pid: &u32| procfs::command(*pid).is_some_and(|command| command.contains(" guardian "));
    let children = procfs::all().into_iter().filter(|process| process.parent == executor);
    children.map(|process| process.pid).find(is_guardian)
}
