//! A command under observation on GPUs that are held.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rats_domain::codes::Code;
use rats_domain::problem::Problem;

use super::output::Output;
use super::pace::Pace;
use super::readings::Reading;
use super::record::Start;
use super::target::Target;
use super::{Request, Settings};
use crate::custody::{Custody, PointApplied, SetError, leftover, procfs};
use crate::gpu::Gpu;
use crate::process::{Exit, Launch, Process};

/// The name of the job in the environment of the command.
const JOB: &str = "profile";
/// Time between two rounds of readings, s.
const PERIOD_S: f64 = 0.02;
/// How long readings of power may look back, s: those of a GPU that computes are no sign of one that waits.
const AVERAGED_S: f64 = 1.0;

/// Why a measurement ends before its time.
#[derive(Clone, Debug)]
pub enum Halt {
    /// Somebody pressed Ctrl-C.
    Interrupted,
    /// The command ended.
    Ended(Exit),
    /// Nothing can be measured any more.
    Problem(Problem),
}

impl From<Problem> for Halt {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// The command, its GPUs and what is seen of them.
pub struct Bench<'a> {
    request: &'a Request,
    /// The GPUs, all set alike.
    pub gpus: &'a [Gpu],
    custody: &'a Custody,
    stop: &'a AtomicU32,
    /// Time of the GPUs.
    pub pace: Pace,
    running: Option<Running>,
    /// Readings by GPU, since [`Bench::forget`].
    pub readings: Vec<Vec<Reading>>,
}

/// A start of the command.
struct Running {
    process: Process,
    output: Option<Output>,
    launched_s: f64,
    /// When it first held a GPU.
    held_s: Option<f64>,
    /// Powers before its first step: when, W.
    early: Vec<(f64, f64)>,
    is_told: bool,
}

impl<'a> Bench<'a> {
    /// A bench without a running command.
    pub fn new(request: &'a Request, gpus: &'a [Gpu], custody: &'a Custody, stop: &'a AtomicU32) -> Self {
        let pace = Pace::start(request.settings.speedup);
        Self { request, gpus, custody, stop, pace, running: None, readings: vec![Vec::new(); gpus.len()] }
    }

    /// What the user wants.
    pub fn settings(&self) -> &'a Settings {
        &self.request.settings
    }

    /// Brings all GPUs to a point.
    ///
    /// # Errors
    /// A GPU refuses or does not answer; the guardian or the journal is gone.
    pub fn set(&self, target: Target) -> Result<Vec<PointApplied>, Halt> {
        self.custody.ensure_guardian()?;
        let set = |gpu: &Gpu| {
            self.custody.set(gpu, target.point()).map_err(|error| match error {
                SetError::Gpu(error) => error.problem(gpu.uuid().as_str()),
                SetError::Journal(problem) => problem,
            })
        };
        Ok(self.gpus.iter().map(set).collect::<Result<_, _>>()?)
    }

    /// Whether the command runs.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Starts the command.
    ///
    /// # Errors
    /// Y01: it cannot be started; N12: its start cannot be written down.
    pub fn start(&mut self) -> Result<(), Halt> {
        let uuids: Vec<&str> = self.gpus.iter().map(|gpu| gpu.uuid().as_str()).collect();
        let environment = [
            ("CUDA_VISIBLE_DEVICES".to_owned(), uuids.join(",")),
            ("CUDA_DEVICE_ORDER".to_owned(), "PCI_BUS_ID".to_owned()),
            // Otherwise lines arrive in blocks, which tells nothing about when steps end.
            ("PYTHONUNBUFFERED".to_owned(), "1".to_owned()),
        ];
        let log = &self.request.log;
        let offset = std::fs::metadata(log).map_or(0, |metadata| metadata.len());
        let command = command_line(&self.request.command);
        let launch = Launch {
            run: self.custody.run(),
            job: JOB,
            command: &command,
            environment: &environment,
            directory: None,
            log,
            grace: self.request.settings.grace,
        };
        let cannot = |error: std::io::Error| Problem::new(Code::Y01, self.place(), format!("{error}."));
        let launched_s = self.pace.now_s();
        let process = launch.start().map_err(cannot)?;
        let pattern = self.request.settings.pattern.clone();
        let output = pattern.map(|pattern| Output::new(log.clone(), pattern, offset));
        let leader = process.id();
        self.running = Some(Running { process, output, launched_s, held_s: None, early: Vec::new(), is_told: false });
        self.custody.job_started(leader)?;
        Ok(())
    }

    /// One round: readings of all GPUs, new output, and whether the command still runs.
    ///
    /// # Errors
    /// Ctrl-C, an end of the command, or a GPU that does not answer.
    pub fn look(&mut self) -> Result<(), Halt> {
        if self.stop.load(Ordering::Relaxed) > 0 {
            return Err(Halt::Interrupted);
        }
        for (gpu, readings) in self.gpus.iter().zip(&mut self.readings) {
            let from_s = self.pace.now_s();
            let sample = gpu.sample().map_err(|error| error.problem(gpu.uuid().as_str()))?;
            readings.push(Reading { from_s, to_s: self.pace.now_s(), sample });
        }
        self.look_at_the_start();
        if let Some(running) = &mut self.running {
            let exit = running.process.poll(self.pace.wall());
            if let Some(output) = &mut running.output {
                output.look(|| self.pace.now_s());
            }
            if let Some(exit) = exit {
                return Err(Halt::Ended(exit));
            }
        }
        self.pace.pause(PERIOD_S);
        Ok(())
    }

    /// Powers between the moment when the command holds a GPU and its first step.
    fn look_at_the_start(&mut self) {
        let (Some(running), Some(gpu)) = (&mut self.running, self.gpus.first()) else { return };
        if running.output.as_ref().is_none_or(|output| output.first.is_some()) {
            return;
        }
        let Some(last) = self.readings.first().and_then(|readings| readings.last()) else { return };
        if running.held_s.is_none() && gpu.processes().is_ok_and(|pids| !pids.is_empty()) {
            running.held_s = Some(last.to_s);
        }
        if running.held_s.is_some() {
            running.early.extend(last.watts().map(|watts| (last.to_s, watts)));
        }
    }

    /// What the start of the command showed, once: given the time of a step.
    pub fn start_shown(&mut self, step_s: f64) -> Option<Start> {
        let running = self.running.as_mut().filter(|running| !running.is_told)?;
        let first = running.output.as_ref()?.first?;
        running.is_told = true;
        let began_s = first.at_s - first.step.unwrap_or(1.0) * first.time_s.unwrap_or(step_s);
        let startup_s = (began_s - running.launched_s).max(0.0);
        let from_s = running.held_s.unwrap_or(f64::INFINITY) + AVERAGED_S;
        let inside = running.early.iter().filter(|(at, _)| (from_s..began_s - 2.0 * PERIOD_S).contains(at));
        let mut watts: Vec<f64> = inside.map(|&(_, watts)| watts).collect();
        watts.sort_by(f64::total_cmp);
        let blocked_w = (watts.len() >= 5).then(|| watts[watts.len() / 2]);
        Some(Start { startup_s, blocked_w })
    }

    /// The output, if it is followed.
    pub fn output(&mut self) -> Option<&mut Output> {
        self.running.as_mut()?.output.as_mut()
    }

    /// Forgets readings and lines so far.
    pub fn forget(&mut self) {
        self.readings.iter_mut().for_each(Vec::clear);
        if let Some(output) = self.output() {
            output.forget();
        }
    }

    /// Whether a process that is not of this sweep uses a GPU. Processes of another PID namespace cannot be told apart and
    /// do not count.
    ///
    /// # Errors
    /// A GPU does not answer.
    pub fn is_shared(&self) -> Result<bool, Halt> {
        let group = self.running.as_ref().map(|running| running.process.id());
        let group = group.and_then(|leader| Some((leader, procfs::start(leader)?)));
        let ours = leftover::processes(self.custody.run(), group.as_slice());
        for gpu in self.gpus {
            let users = gpu.processes().map_err(|error| error.problem(gpu.uuid().as_str()))?;
            let is_stranger =
                |pid: &u32| !ours.contains(pid) && procfs::process(*pid).is_some_and(|found| !found.is_dead);
            if users.iter().any(is_stranger) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Ends the command and all that came of it, if it runs.
    pub fn end(&mut self) {
        let Some(mut running) = self.running.take() else { return };
        let leader = running.process.id();
        let again = self.stop.load(Ordering::Relaxed) > 1;
        if again {
            running.process.kill();
        } else {
            running.process.stop(self.pace.wall());
        }
        let patience = self.pace.wall() + self.request.settings.grace + Duration::from_secs(10);
        while running.process.poll(self.pace.wall()).is_none() && self.pace.wall() < patience {
            if !again && self.stop.load(Ordering::Relaxed) > 1 {
                running.process.kill();
            }
            rats_system::clock::pause(Duration::from_millis(2));
        }
        // A mark too many does no harm.
        let _ = self.custody.job_ended(leader);
    }

    /// Writes down that the command ended by itself.
    pub fn ended(&mut self) {
        if let Some(running) = self.running.take() {
            let _ = self.custody.job_ended(running.process.id());
        }
    }

    /// Where a problem of the command is.
    pub fn place(&self) -> String {
        format!("`{}`", self.request.command.join(" "))
    }

    /// The log of the command.
    pub fn log(&self) -> &Path {
        &self.request.log
    }
}

/// A line for a POSIX shell that becomes this command.
fn command_line(command: &[String]) -> String {
    let quoted: Vec<String> = command.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    format!("exec {}", quoted.join(" "))
}
