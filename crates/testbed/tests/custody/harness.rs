//! A simulated machine, the program on it, and a process that holds its GPUs.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use nvml_sim::config::Config;
use nvml_sim::faults::Fault;
use nvml_sim::settings::Mark;
use nvml_sim::simulator::Simulator;
use rats_system::clock::{Stopwatch, pause};
use rats_testbed::custody::{RUN_VARIABLE, procfs};
use tempfile::TempDir;

use crate::holder;
use crate::simulated::{PROGRAM, command, machine};

/// Longer than anything here takes, even on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(60);

/// The directory of journals and locks.
const STATE: &str = "state-dir";

/// A machine with simulated GPUs, a state directory, and what was set before the test.
pub struct Machine {
    directory: TempDir,
    pub simulator: Simulator,
    pub found: Vec<Mark>,
}

/// A process that holds GPUs and does as it is told.
pub struct Holder {
    pub child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Machine {
    /// Four A100 and a limit of 390 W on the first, which somebody set on purpose.
    pub fn new() -> Self {
        let machine = Self::with(|_| {});
        let uuid = machine.uuid(0);
        machine.simulator.update(|state| state.gpus[0].limit_mw = 390_000).unwrap();
        let found = machine.simulator.marks().unwrap();
        assert_eq!(
            found.iter().map(|mark| (mark.uuid.clone(), mark.power_limit_mw)).collect::<Vec<_>>(),
            [(uuid, Some(390_000))]
        );
        Self { found, ..machine }
    }

    /// Four A100, changed.
    pub fn with(change: impl FnOnce(&mut Config)) -> Self {
        let (directory, simulator) = machine(&[("A100-SXM4-80GB", 4)], &[], 20.0, 1, change);
        let found = simulator.marks().unwrap();
        Self { directory, simulator, found }
    }

    pub fn uuid(&self, gpu: usize) -> String {
        self.simulator.config().gpus[gpu].uuid.clone()
    }

    /// The directory of journals and locks.
    pub fn state(&self) -> PathBuf {
        self.directory.path().join(STATE)
    }

    pub fn journals(&self) -> usize {
        fs::read_dir(self.state().join("journal")).map_or(0, Iterator::count)
    }

    pub fn inject(&self, faults: &str) {
        let faults: Vec<Fault> = serde_json::from_str(faults).unwrap();
        self.simulator.inject(&faults).unwrap();
    }

    /// A program that sees the simulated GPUs.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        command(program, self.directory.path(), STATE)
    }

    /// Runs the program.
    pub fn run(&self, words: &str) -> Output {
        self.command(PROGRAM).args(words.split_whitespace()).output().unwrap()
    }

    /// Starts a process that can hold GPUs.
    pub fn holder(&self) -> Holder {
        Holder::start(self.command(std::env::current_exe().unwrap()))
    }

    /// Waits until every GPU is as it was found, nothing of the run is left, and its journal is gone; returns how long
    /// that took.
    #[track_caller]
    pub fn is_left_as_found(&self, run: &str) -> Duration {
        let watch = Stopwatch::start();
        loop {
            let (marks, left) = (self.simulator.marks().unwrap(), processes_of(run));
            let took = watch.elapsed();
            if marks == self.found && left.is_empty() && self.journals() == 0 {
                return took;
            }
            assert!(took < PATIENCE, "marks {marks:?}, processes {left:?}, {} journals", self.journals());
            pause(Duration::from_millis(5));
        }
    }
}

/// Waits for something that is about to happen.
#[track_caller]
pub fn until(what: impl Fn() -> bool) {
    let watch = Stopwatch::start();
    while !what() {
        assert!(watch.elapsed() < PATIENCE, "it does not happen");
        pause(Duration::from_millis(2));
    }
}

/// Processes that carry the mark of a run.
pub fn processes_of(run: &str) -> Vec<u32> {
    let all = procfs::all().into_iter().map(|process| process.pid);
    all.filter(|&pid| procfs::has_variable(pid, RUN_VARIABLE, run)).collect()
}

impl Holder {
    /// Starts one by a command that begins this test program.
    pub fn start(mut command: Command) -> Self {
        command.args(["holder::obeys", "--exact", "--nocapture", "--test-threads=1"]).env(holder::VARIABLE, "1");
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    /// Tells it something and returns its answer.
    #[track_caller]
    pub fn tell(&mut self, order: &str) -> String {
        writeln!(self.input, "{order}").unwrap();
        self.answer().unwrap_or_else(|| panic!("no answer to `{order}`"))
    }

    /// The next thing that it says; none if it is dead.
    pub fn answer(&mut self) -> Option<String> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.output.read_line(&mut line).ok()? == 0 {
                return None;
            }
            // The frame prints lines of its own, and not always a line end before ours.
            if let Some((_, said)) = line.split_once('@') {
                return Some(said.trim_end().to_owned());
            }
        }
    }

    /// Kills it, whatever it does.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
