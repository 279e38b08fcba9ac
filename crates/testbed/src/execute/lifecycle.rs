//! The life of a job within a run, and the end of the run.

use std::fmt::Write as _;
use std::net::TcpListener;
use std::time::Duration;

use rats_domain::codes::Code;
use rats_domain::ids::GpuId;
use rats_domain::instance::sha256_hex;
use rats_domain::problem::{Problem, Problems};

use super::active::{Active, Running, Stage, Stop, Verdict};
use super::gpus::{self, Message, Refusal, told};
use super::outcome::{JobOutcome, Outcome};
use super::run::{Run, Threads};
use super::work::Gang;
use super::{replan, run_problem};
use crate::custody::undo::Undone;
use crate::engine::{Ending, Event};
use crate::gpu::GpuError;
use crate::process::{Exit, Follower, Launch};
use crate::trace::{JobRecord, JobState, Note, Reading, Record, SetRecord, Writer};

/// How long a process may take to vanish after it was killed, before its GPUs are given up.
const UNKILLABLE: Duration = Duration::from_secs(10);

/// How often logs are read and the guardian is looked after.
const CARE: Duration = Duration::from_millis(500);

impl<'r> Run<'r> {
    pub(super) fn take(&mut self, threads: &Threads<'_, 'r>, message: Message) {
        match message {
            Message::Readings(readings, errors) => self.readings(readings, errors),
            Message::Prepared { job, sets, result } => self.prepared(threads, &job, sets, result),
            // It is followed next.
            Message::Exited => {}
            Message::Counted { job, counters_j } => self.counted(&job, counters_j),
            Message::Restored { job, gpus } => self.restored(&job, gpus),
            Message::Planned(plan) => {
                self.is_planning = false;
                if let Err(problems) = plan.and_then(|plan| self.adopt(&plan)) {
                    self.no_plan(&problems);
                }
            }
        }
    }

    fn readings(&mut self, readings: Vec<Option<Reading>>, errors: Vec<(usize, GpuError)>) {
        self.tell(Record::Sample { gpus: readings });
        for (position, error) in errors {
            let Some(gpu) = self.machines.iter().nth(position).map(|(id, _)| id) else { continue };
            match error {
                GpuError::Lost { .. } | GpuError::Unresponsive { .. } => {
                    self.lose(gpu, &error.problem(self.leg.gpu_name(gpu)));
                }
                GpuError::DriverGone { .. } if self.stopping == 0 => self.drain(error.problem("NVML")),
                _ => {}
            }
        }
    }

    fn lose(&mut self, gpu: GpuId, problem: &Problem) {
        if !self.leg.engine.lost().any(|lost| lost == gpu) {
            self.tell(Record::Lost { gpu: self.leg.gpu_name(gpu), problem: Note::from(problem) });
            self.problems.push(problem.clone());
            self.events.push(Event::Lost(gpu));
        }
    }

    fn prepared(
        &mut self,
        threads: &Threads<'_, 'r>,
        name: &str,
        sets: Vec<SetRecord>,
        result: Result<Vec<Option<f64>>, Refusal>,
    ) {
        for set in sets {
            self.tell(Record::Set(set));
        }
        let stop = self.active.get(name).and_then(|active| active.stop.clone());
        match (result, stop) {
            (Ok(_), Some(Stop::Elsewhere(problem))) => {
                self.put_back(threads, name, Verdict::new(Ending::Stopped, problem));
            }
            (Ok(counters_j), _) => self.launch(threads, name, counters_j),
            (Err(refusal), _) => {
                let ending = match (refusal.is_lost, refusal.is_hopeless) {
                    (true, _) => Ending::Stopped,
                    (false, true) => Ending::Hopeless,
                    (false, false) => Ending::Failed,
                };
                if refusal.is_lost {
                    self.lose(refusal.gpu, &refusal.problem);
                }
                self.put_back(threads, name, Verdict::new(ending, refusal.problem));
            }
        }
    }

    fn launch(&mut self, threads: &Threads<'_, 'r>, name: &str, counters_j: Vec<Option<f64>>) {
        match self.spawn(name) {
            Ok(running) => {
                let pid = running.process.id();
                let messages = threads.messages.clone();
                // A run that has ended does not listen any more.
                running.process.when_exited(move || drop(messages.send(Message::Exited)));
                if let Err(problem) = self.custody.job_started(pid) {
                    self.drain(problem.clone());
                    self.stop(name, Stop::Unguarded(problem));
                }
                if let Some(active) = self.active.get_mut(name) {
                    active.stage = Stage::Running(Box::new(running));
                }
                let fill = |record: &mut JobRecord| {
                    record.pid = Some(pid);
                    record.counters_j = counters_j;
                };
                self.state(name, JobState::Running, fill, None);
            }
            Err(problem) => self.put_back(threads, name, Verdict::new(Ending::Hopeless, problem)),
        }
    }

    fn spawn(&self, name: &str) -> Result<Running, Problem> {
        let place = format!("job `{name}`");
        let Some(active) = self.active.get(name) else { return Err(Problem::new(Code::X05, place, "is gone.")) };
        let job = self.leg.engine.instance().job_named(name);
        let uuids: Vec<&str> = active.gang.iter().map(|member| member.gpu.uuid().as_str()).collect();
        let names: Vec<&str> = active.gang.iter().map(|member| member.name.as_str()).collect();
        let gang = Gang {
            uuids: uuids.join(","),
            names: names.join(","),
            size: active.gang.len(),
            point: job.map(|job| self.leg.option(job).point).unwrap_or_default(),
            port: if active.gang.len() > 1 { free_port() } else { 0 },
        };
        let (command, environment) = active.work.ready(name, active.attempt, &gang)?;
        let log = self.request.run_dir.join("logs").join(format!("{}.{}.log", file_name(name), active.attempt));
        let written = std::fs::metadata(&log).map_or(0, |metadata| metadata.len());
        let launch = Launch {
            run: self.custody.run(),
            job: name,
            command: &command,
            environment: &environment,
            directory: active.work.directory.as_deref(),
            log: &log,
            grace: self.request.settings.grace,
        };
        let process = launch
            .start()
            .map_err(|error| Problem::new(Code::X05, place, format!("its command cannot be started: {error}.")))?;
        let follower = Follower::new(log.clone(), active.work.progress.clone(), written);
        Ok(Running { process, follower, since: self.watch.elapsed(), log, steps: None, pace: None, killed: None })
    }

    /// Ends a job; one whose GPUs are being set is not launched.
    pub(super) fn stop(&mut self, name: &str, why: Stop) {
        let now = self.watch.elapsed();
        let Some(active) = self.active.get_mut(name) else { return };
        active.stop.get_or_insert(why);
        if let Stage::Running(running) = &mut active.stage {
            running.process.stop(now);
        }
    }

    /// Follows the processes of all jobs.
    pub(super) fn follow(&mut self, threads: &Threads<'_, 'r>) {
        let (now, speedup) = (self.watch.elapsed(), self.request.settings.speedup);
        let mut overrun = Vec::new();
        let mut ended = Vec::new();
        for (name, active) in &mut self.active {
            let planned_s = active.planned_s;
            let Stage::Running(running) = &mut active.stage else { continue };
            let took_s = now.saturating_sub(running.since).as_secs_f64() * speedup;
            if took_s > planned_s * self.request.settings.overrun && active.stop.is_none() {
                overrun.push(name.clone());
            }
            if let Some(exit) = running.process.poll(now) {
                running.look(now);
                ended.push((name.clone(), Some(exit), took_s));
            } else if is_unkillable(running, now, active.stop.is_some(), self.request.settings.grace) {
                ended.push((name.clone(), None, took_s));
            }
        }
        for name in overrun {
            self.stop(&name, Stop::Overrun);
        }
        for (name, exit, took_s) in ended {
            self.exited(threads, &name, exit, took_s);
        }
    }

    fn exited(&mut self, threads: &Threads<'_, 'r>, name: &str, exit: Option<Exit>, took_s: f64) {
        let Some(active) = self.active.get(name) else { return };
        let Stage::Running(running) = &active.stage else { return };
        let pid = running.process.id();
        let verdict = if let Some(exit) = exit {
            active.judge(exit, &running.log, running.steps, took_s)
        } else {
            let message = format!("cannot be ended: process {pid} does not react to SIGKILL.");
            Verdict::new(Ending::Hopeless, Problem::new(Code::X08, format!("job `{name}`"), message))
        };
        let gpus: Vec<GpuId> = active.gang.iter().map(|member| member.id).collect();
        match exit {
            Some(exit) => {
                if exit.left_behind > 0 && active.stop.is_none() {
                    let message = format!("left {} processes behind.", exit.left_behind);
                    self.note(Problem::new(Code::X09, format!("job `{name}`"), message));
                }
                if let Err(problem) = self.custody.job_ended(pid) {
                    self.note(problem);
                }
            }
            None => {
                for gpu in gpus {
                    let message = format!("`{name}` cannot be ended on it.");
                    self.lose(gpu, &Problem::new(Code::X08, self.leg.gpu_name(gpu), message));
                }
            }
        }
        self.put_back(threads, name, verdict);
    }

    /// Has the counters of a job's GPUs read and the GPUs put back.
    pub(super) fn put_back(&mut self, threads: &Threads<'_, 'r>, name: &str, verdict: Verdict) {
        let Some(active) = self.active.get_mut(name) else { return };
        active.stage = Stage::Restoring(verdict);
        let (gang, name) = (active.gang.clone(), name.to_owned());
        let (custody, messages) = (self.custody, threads.messages.clone());
        threads.scope.spawn(move || gpus::restore(custody, &gang, &name, &messages));
    }

    fn counted(&mut self, name: &str, counters_j: Vec<Option<f64>>) {
        let Some(Active { stage: Stage::Restoring(verdict), .. }) = self.active.get(name) else { return };
        let verdict = verdict.clone();
        let state = match verdict.ending {
            Ending::Done => JobState::Done,
            Ending::Stopped => JobState::Stopped,
            Ending::Failed | Ending::Hopeless => JobState::Failed,
        };
        let fill = |record: &mut JobRecord| {
            record.counters_j = counters_j;
            record.steps = verdict.steps;
        };
        self.state(name, state, fill, verdict.problem);
    }

    fn restored(&mut self, name: &str, gpus: Vec<(GpuId, Result<Vec<Undone>, GpuError>)>) {
        for (gpu, result) in gpus {
            let is_lost = matches!(result, Err(GpuError::Lost { .. } | GpuError::Unresponsive { .. }));
            let gpu_name = self.leg.gpu_name(gpu);
            let (undone, problem) = told(result, &gpu_name);
            if let (true, Some(problem)) = (is_lost, &problem) {
                let message = format!("its settings cannot be undone: {}", problem.message);
                self.lose(gpu, &Problem::new(Code::N07, &gpu_name, message));
            }
            if !undone.is_empty() || problem.is_some() {
                self.tell(Record::Restored { gpu: gpu_name, undone, problem });
            }
        }
        let Some(Active { stage: Stage::Restoring(verdict), attempt, .. }) = self.active.remove(name) else { return };
        let gives_up = verdict.ending == Ending::Hopeless
            || (verdict.ending == Ending::Failed && attempt > self.request.settings.retries);
        if gives_up {
            self.state(name, JobState::GivenUp, |record| record.attempt = Some(attempt), verdict.problem);
        }
        if let Some(job) = self.leg.engine.instance().job_named(name) {
            self.events.push(Event::Ended(job, verdict.ending));
        }
    }

    /// Reads logs and looks after the guardian, now and then.
    pub(super) fn care(&mut self) {
        let now = self.watch.elapsed();
        if now < self.cared + CARE.div_f64(self.request.settings.speedup.clamp(1.0, 10.0)) {
            return;
        }
        self.cared = now;
        let mut progress = Vec::new();
        for (name, active) in &mut self.active {
            if let Stage::Running(running) = &mut active.stage {
                progress.extend(running.look(now).map(|steps| (name.clone(), steps)));
            }
        }
        for (job, steps) in progress {
            self.tell(Record::Progress { job, done: steps.done, all: steps.all });
        }
        match self.custody.ensure_guardian() {
            Ok(true) => self.note(Problem::new(Code::N13, "guardian", "it had ended; another was started.")),
            Err(problem) if self.stopping == 0 => self.drain(problem),
            Ok(false) | Err(_) => {}
        }
    }

    /// Asks for a new plan, once what is being stopped has ended.
    pub(super) fn seek_plan(&mut self, threads: &Threads<'_, 'r>) {
        let ending =
            self.active.values().any(|active| active.stop.is_some() || matches!(active.stage, Stage::Restoring(_)));
        let Some(replan) = threads.replan.filter(|_| self.wants_plan && !self.is_planning && !ending) else { return };
        if !self.events.is_empty() {
            return;
        }
        self.wants_plan = false;
        if self.stopping > 0 || !self.leg.has_waiting() {
            return;
        }
        let derived = replan::derive(&self.leg, self.now(), &self.expected());
        match derived {
            Ok(derived) => {
                self.tell(Record::Replan { problem: None });
                self.is_planning = true;
                self.events.push(Event::Hold);
                let instance = derived.file.clone();
                self.derived = Some(derived);
                let messages = threads.messages.clone();
                threads.scope.spawn(move || {
                    let plan = replan(&instance);
                    // The run waits for it.
                    let _ = messages.send(Message::Planned(plan));
                });
            }
            Err(problems) => self.no_plan(&problems),
        }
    }

    /// How long each running job is expected to take in all, s, where it says how far it is.
    fn expected(&self) -> std::collections::BTreeMap<String, f64> {
        let speedup = self.request.settings.speedup;
        self.active.iter().filter_map(|(name, active)| Some((name.clone(), active.expected_s(speedup)?))).collect()
    }

    fn adopt(&mut self, plan: &rats_domain::format::PlanFile) -> Result<(), Problems> {
        let Some(derived) = self.derived.take() else { return Ok(()) };
        if self.stopping > 0 {
            return Ok(());
        }
        let leg = derived.adopt(&self.leg, plan, self.request)?;
        self.leg = leg;
        let planned = self.leg.record();
        self.tell(Record::Plan(planned));
        Ok(())
    }

    fn no_plan(&mut self, problems: &Problems) {
        let reasons: Vec<String> = problems.0.iter().map(ToString::to_string).collect();
        let problem = run_problem(Code::X16, format!("{}.", reasons.join("; ").trim_end_matches('.')));
        self.tell(Record::Replan { problem: Some(Note::from(&problem)) });
        self.problems.push(problem);
        self.events.push(Event::NoPlan);
    }

    /// What came of it, before the GPUs are let go.
    pub(super) fn close(self) -> (Outcome, Writer) {
        let elapsed = self.watch.elapsed().as_secs_f64().max(1e-9);
        let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let core_share = (cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9) / elapsed;
        let jobs = self.request.instance.jobs.values().map(|job| {
            let state = self.states.get(&job.id).cloned();
            let (state, problem) = state.map_or((None, None), |(state, problem)| (Some(state), problem));
            JobOutcome { job: job.id.clone(), state, problem }
        });
        let outcome = Outcome {
            jobs: jobs.collect(),
            problems: self.problems,
            sampling: self.jitter.summary(core_share),
            marks_left: Vec::new(),
        };
        (outcome, self.trace)
    }
}

/// Whether a process was killed long ago and is still there; kills it when its grace is over.
fn is_unkillable(running: &mut Running, now: Duration, is_stopped: bool, grace: Duration) -> bool {
    if !is_stopped {
        return false;
    }
    let killed = *running.killed.get_or_insert(now + grace);
    now > killed + UNKILLABLE
}

/// A name as a file name: what is not a letter, digit, dot, dash or underscore becomes `%` and its code.
fn file_name(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"._-".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02x}");
        }
    }
    if text.len() > 150 {
        text.truncate(150);
        text.push_str(&sha256_hex(name.as_bytes())[..12]);
    }
    text
}

/// A port that nobody listens on now; 29500 if there is none to be had.
fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .map_or(29_500, |address| address.port())
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn names_of_jobs_become_names_of_files() {
        assert_eq!(file_name("resnet 50.a"), "resnet%2050.a");
        let long = "x".repeat(300);
        assert_eq!(file_name(&long).len(), 162);
        assert_ne!(file_name(&long), file_name(&format!("{long}y")));
    }
}
