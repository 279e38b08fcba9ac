//! A run in a process of its own, so that memory, crashes and overrun limits are its own.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use crate::control::peak_memory_of;
use rats_system::clock::Stopwatch;

/// How often memory and interruptions are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Shares of the time limit, and seconds on top of it, after which a run is ended.
const GRACE: (f64, f64) = (0.25, 15.0);

/// A command and the seconds it is allowed.
#[derive(Clone, Debug)]
pub struct Job {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Seconds it was told to take at most.
    pub time_limit_s: f64,
}

/// What became of a process.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How.
    pub how: How,
    /// Seconds from start to end.
    pub wall_s: f64,
    /// Highest resident memory that was seen, MiB.
    pub peak_memory_mib: u64,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: String,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// By itself.
    Exited(ExitStatus),
    /// It overran its time by more than the grace.
    Killed,
    /// The user asked twice.
    Abandoned,
}

impl Job {
    /// Runs it; `interrupts` counts how often the user asked to end.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn run(&self, interrupts: &AtomicUsize) -> std::io::Result<Ended> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for this program, which lets the current run finish.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let watch = Stopwatch::start();
        let mut child = command.spawn()?;
        let stdout = collect(child.stdout.take());
        let stderr = collect(child.stderr.take());
        let limit = Duration::from_secs_f64(self.time_limit_s * (1.0 + GRACE.0) + GRACE.1);
        let (how, peak_memory_mib) = wait(&mut child, &stdout, &watch, limit, interrupts)?;
        let wall_s = watch.elapsed().as_secs_f64();
        let text = stderr.recv_timeout(LOOK).unwrap_or_default();
        Ok(Ended {
            how: how.0,
            wall_s,
            peak_memory_mib,
            stdout: how.1,
            stderr: String::from_utf8_lossy(&text).into_owned(),
        })
    }
}

/// Waits until the child ends or has to be ended; also gives its standard output.
fn wait(
    child: &mut Child,
    stdout: &Receiver<Vec<u8>>,
    watch: &Stopwatch,
    limit: Duration,
    interrupts: &AtomicUsize,
) -> std::io::Result<((How, Vec<u8>), u64)> {
    let id = child.id().to_string();
    let mut peak = 0;
    let mut output = None;
    loop {
        peak = peak.max(peak_memory_of(&id));
        match stdout.recv_timeout(LOOK) {
            Ok(text) => output = Some(text),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        if let Some(status) = child.try_wait()? {
            let rest = output.unwrap_or_else(|| stdout.recv_timeout(LOOK).unwrap_or_default());
            return Ok(((How::Exited(status), rest), peak));
        }
        let how = match (interrupts.load(Ordering::Relaxed), watch.elapsed() > limit) {
            (2.., _) => How::Abandoned,
            (_, true) => How::Killed,
            _ => continue,
        };
        kill(child)?;
        return Ok(((how, Vec::new()), peak));
    }
}

/// Ends the child and what it started.
fn kill(child: &mut Child) -> std::io::Result<()> {
    #[cfg(unix)]
    let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).stderr(Stdio::null()).status();
    child.kill()?;
    child.wait().map(drop)
}

/// Reads a pipe to its end in a thread.
fn collect(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut text);
        }
        let _ = sender.send(text);
    });
    receiver
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, time_limit_s: f64) -> Job {
        let arguments = ["-c", script].map(str::to_owned).to_vec();
        Job { program: "/bin/sh".into(), arguments, time_limit_s }
    }

    #[test]
    fn output_and_exit_code_come_back() {
        let ended = shell("echo out; echo err >&2; exit 3", 1.0).run(&AtomicUsize::new(0)).unwrap();
        let How::Exited(status) = ended.how else { panic!("{:?}", ended.how) };
        assert_eq!(
            (status.code(), ended.stdout.as_slice(), ended.stderr.as_str()),
            (Some(3), b"out\n".as_slice(), "err\n")
        );
    }

    #[test]
    fn a_second_interrupt_ends_the_child_and_its_children() {
        let ended = shell("sleep 600 & sleep 600", 600.0).run(&AtomicUsize::new(2)).unwrap();
        assert_eq!(ended.how, How::Abandoned);
    }

    #[test]
    fn a_run_far_beyond_its_limit_is_ended() {
        // A limit so far below zero that the grace is used up at once.
        let limit = -(GRACE.1 - 0.1) / (1.0 + GRACE.0);
        let ended = shell("sleep 600", limit).run(&AtomicUsize::new(0)).unwrap();
        assert_eq!(ended.how, How::Killed);
    }
}
