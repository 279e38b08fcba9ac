//! The guardian: a process that outlives its run and undoes what the run left.
//!
//! # Idea
//! Before the first change the run starts the guardian, a process in a session of its own that no signal to the run's
//! terminal or process group reaches. It opens NVML and its GPUs at once and then waits on a pipe that only the run
//! holds. However the run ends, the kernel closes the pipe; then the guardian takes the run's journal over, which the
//! kernel has unlocked, ends what is left of the run's jobs and undoes the marks. A run that ends well has removed its
//! journal before, so nothing is left to do.
//!
//! # Limits
//! Memory of a killed run that is stuck in the driver is not let go, nor is its pipe: the kernel ends such a process only
//! when its call returns.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rats_domain::codes::Code;
use rats_domain::problem::Problem;
use rats_system::clock::{Stopwatch, pause};

use super::journal::Journal;
use super::restore::{Reach, deadlines, finish};
use super::{RUN_VARIABLE, StateDir, Terms};
use crate::gpu::Gpus;

/// What the guardian says when it is ready.
const READY: &str = "ready";

/// How long a guardian may take to be ready: without persistence mode, NVML wakes each GPU first.
const START: Duration = Duration::from_secs(60);

/// How long to wait for the journal after the run has ended: the kernel unlocks it as it closes the pipe.
const UNLOCK: Duration = Duration::from_secs(10);

/// A guardian as its run sees it.
#[derive(Debug)]
pub struct Guardian {
    child: Child,
    pipe: Option<ChildStdin>,
}

impl Guardian {
    /// Starts a guardian and waits until it is ready.
    ///
    /// # Errors
    /// N13: it cannot be started or is not ready in time.
    pub fn start(terms: &Terms, library: &Path, journal: &Path) -> Result<Self, Problem> {
        let problem = |message: String| Problem::new(Code::N13, "guardian", message);
        let mut command = Command::new(&terms.program);
        command.arg("guardian").arg("--state-dir").arg(terms.state.path()).arg("--journal").arg(journal);
        command.arg("--nvml-lib").arg(library);
        // A run inside a job of another run: the guardian is no process of the outer run.
        command.env_remove(RUN_VARIABLE).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| problem(format!("it cannot be started: {error}.")))?;
        let (pipe, output) = (child.stdin.take(), child.stdout.take());
        let guardian = Self { child, pipe };
        let (reply, answer) = mpsc::sync_channel(1);
        thread::spawn(move || {
            let mut line = String::new();
            let read = output.map(|output| BufReader::new(output).read_line(&mut line));
            // Nobody waits any more after the deadline.
            let _ = reply.send(read.is_some_and(|read| read.is_ok()) && line.trim_end() == READY);
        });
        if answer.recv_timeout(START) == Ok(true) {
            return Ok(guardian);
        }
        guardian.dismiss();
        Err(problem("it does not say that it is ready.".to_owned()))
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it runs.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Closes the pipe and waits for it to end; a guardian that hangs in the driver is left behind.
    pub fn dismiss(mut self) {
        const PATIENCE: Duration = Duration::from_secs(10);
        self.pipe = None;
        let watch = Stopwatch::start();
        while self.is_alive() && watch.elapsed() < PATIENCE {
            pause(Duration::from_millis(2));
        }
    }
}

/// The guardian's own life; returns when its run has ended and was cleaned up after, with what stays undone.
///
/// # Errors
/// N13: it cannot begin.
pub fn guard(state: &StateDir, journal: &Path, library: Option<&Path>) -> Result<bool, Problem> {
    let problem = |what: &str, error: String| Problem::new(Code::N13, what, format!("{error}."));
    rustix::process::setsid().map_err(|error| problem("session", error.to_string()))?;
    // Whoever ends the run's processes by a friendly signal means the run, which then restores by itself.
    ctrlc::set_handler(|| {}).map_err(|error| problem("signals", error.to_string()))?;
    let (_, uuids, _) = Journal::look(journal).map_err(|error| problem("journal", error.to_string()))?;
    let gpus = Gpus::open_within(library, deadlines()).map_err(|error| error.problem("NVML"))?;
    // Opened now, so that it does not take time later; one that fails is tried again then.
    let held: Vec<_> = uuids.iter().filter_map(|uuid| gpus.gpu(uuid).ok()).collect();
    say(READY).map_err(|error| problem("standard output", error.to_string()))?;
    wait_for_the_end();
    let taken = take_over(journal).map_err(|error| problem("journal", error.to_string()))?;
    let Some(mut taken) = taken else { return Ok(true) };
    let mut reach = if gpus.driver_version().is_ok() { Reach::Open(&gpus) } else { Reach::Library(library) };
    let report = finish(state, &mut taken, &mut reach, &[]);
    drop(held);
    Ok(report.stays.is_empty() && report.running.is_empty())
}

/// Reads until the other end is closed, which happens when the run's last thread has ended.
fn wait_for_the_end() {
    let mut buffer = [0; 64];
    let mut input = io::stdin().lock();
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return,
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return,
            _ => {}
        }
    }
}

/// The run's journal; `None` if it is gone, so that nothing is left to do.
fn take_over(path: &Path) -> io::Result<Option<Journal>> {
    let watch = Stopwatch::start();
    loop {
        let taken = Journal::take_over(path)?;
        if taken.is_some() || !path.exists() || watch.elapsed() >= UNLOCK {
            return Ok(taken);
        }
        pause(Duration::from_millis(1));
    }
}

fn say(line: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}

/// The program that is running, under a name that stays right when its file is replaced.
pub fn this_program() -> PathBuf {
    let link = PathBuf::from("/proc/self/exe");
    if File::open(&link).is_ok() { link } else { std::env::current_exe().unwrap_or(link) }
}
