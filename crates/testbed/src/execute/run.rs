//! The loop of a run: events to the engine, its actions to processes and GPUs, everything to the trace.

use std::collections::BTreeMap;
use std::mem;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::Scope;
use std::time::Duration;

use rats_domain::codes::Code;
use rats_domain::ids::{GpuId, JobId};
use rats_domain::problem::Problem;
use rats_system::clock::Stopwatch;

use super::active::{Active, Stage, Stop, Verdict};
use super::gpus::{self, Member, Message};
use super::leg::Leg;
use super::preflight::{Machines, host};
use super::replan::Derived;
use super::resume::Past;
use super::sampler::{Jitter, sample};
use super::{Replan, Request, run_problem};
use crate::custody::Custody;
use crate::engine::{Action, Cause, Ending, Event, Moment, Why};
use crate::gpu::Rounds;
use crate::trace::{Begin, FORMAT, JobRecord, JobState, Line, Note, Record, Writer};

/// Plan time between readings of everything: temperature, memory clock and throttle reasons change slowly, and each costs a call.
const WHOLE: Duration = Duration::from_secs(1);

/// How often to look when nothing is due and no message comes (readings are some): whether the user asked to stop, whether a
/// job takes too long.
const IDLE: Duration = Duration::from_millis(250);

/// How often to look while processes are being ended.
const ENDING: Duration = Duration::from_millis(20);

/// How often to look when time is compressed.
const COMPRESSED: Duration = Duration::from_millis(2);

/// A run under way.
pub(super) struct Run<'r> {
    pub(super) request: &'r Request,
    pub(super) machines: &'r Machines,
    pub(super) custody: &'r Custody,
    pub(super) observe: &'r mut dyn FnMut(&Line),
    pub(super) leg: Leg,
    pub(super) trace: Writer,
    pub(super) watch: Stopwatch,
    /// Plan time when the run began, s.
    pub(super) plan_s: f64,
    pub(super) active: BTreeMap<String, Active>,
    /// What every job came to, by name: jobs leave the instance when it is planned anew.
    pub(super) states: BTreeMap<String, (JobState, Option<Problem>)>,
    pub(super) events: Vec<Event>,
    pub(super) problems: Vec<Problem>,
    pub(super) jitter: Jitter,
    pub(super) stopping: u32,
    /// A new plan is wanted, once what is being stopped has ended.
    pub(super) wants_plan: bool,
    pub(super) is_planning: bool,
    /// The instance for which a plan is being made.
    pub(super) derived: Option<Derived>,
    pub(super) cared: Duration,
}

/// What threads of the run use.
pub(super) struct Threads<'s, 'r> {
    pub scope: &'s Scope<'s, 'r>,
    pub messages: Sender<Message>,
    pub replan: Option<&'r Replan<'r>>,
}

impl<'r> Run<'r> {
    pub fn new(
        request: &'r Request,
        machines: &'r Machines,
        custody: &'r Custody,
        leg: Leg,
        trace: Writer,
        watch: Stopwatch,
        observe: &'r mut dyn FnMut(&Line),
    ) -> Self {
        Self {
            request,
            machines,
            custody,
            observe,
            leg,
            trace,
            watch,
            plan_s: 0.0,
            active: BTreeMap::new(),
            states: BTreeMap::new(),
            events: Vec::new(),
            problems: Vec::new(),
            jitter: Jitter::default(),
            stopping: 0,
            wants_plan: false,
            is_planning: false,
            derived: None,
            cared: Duration::ZERO,
        }
    }

    /// Carries the plan out as far as it can be.
    pub fn carry_out(
        &mut self,
        past: &Past,
        mut rounds: Rounds,
        interrupts: &AtomicU32,
        replan: Option<&'r Replan<'r>>,
    ) {
        self.plan_s = past.plan_s(self.request.settings.speedup);
        for job in past.done() {
            self.states.insert(job.to_owned(), (JobState::Done, None));
        }
        self.begin();
        let (messages, inbox) = mpsc::channel();
        let (stop, stopped) = mpsc::channel();
        let settings = &self.request.settings;
        let period = Duration::from_secs_f64(1.0 / settings.hz);
        let whole = WHOLE.div_f64(settings.speedup.max(1.0));
        self.jitter = std::thread::scope(|scope| {
            let to_run = messages.clone();
            let sampler = scope.spawn(move || sample(&mut rounds, (period, whole), &stopped, &to_run));
            self.leg.engine.set_replans(replan.is_some());
            let threads = Threads { scope, messages, replan };
            self.watch_over(&threads, &inbox, interrupts);
            drop(stop);
            sampler.join().unwrap_or_default()
        });
    }

    pub(super) fn begin(&mut self) {
        let settings = &self.request.settings;
        let gpus = self
            .machines
            .iter()
            .map(|(id, gpu)| (self.request.instance.cluster.gpu_name(id), gpu.uuid().as_str().to_owned()));
        let begin = Begin {
            format: FORMAT.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            run: self.custody.run().to_owned(),
            pid: std::process::id(),
            host: host(),
            plan_s: self.plan_s,
            speedup: settings.speedup,
            hz: settings.hz,
            gpus: gpus.collect(),
        };
        self.tell(Record::Begin(begin));
        let planned = self.leg.record();
        self.tell(Record::Plan(planned));
    }

    fn watch_over(&mut self, threads: &Threads<'_, 'r>, inbox: &Receiver<Message>, interrupts: &AtomicU32) {
        loop {
            self.heed(interrupts);
            self.follow(threads);
            self.care();
            self.seek_plan(threads);
            let events = mem::take(&mut self.events);
            let now = self.now();
            for action in self.leg.engine.advance(now, &events) {
                self.perform(threads, action);
            }
            if self.events.is_empty() && self.active.is_empty() && self.leg.engine.is_finished() && !self.is_planning {
                return;
            }
            if let Ok(message) = inbox.recv_timeout(self.patience()) {
                self.take(threads, message);
                while let Ok(message) = inbox.try_recv() {
                    self.take(threads, message);
                }
            }
        }
    }

    /// How long to wait for a message: until something is due by the plan, at most until somebody may have asked to stop.
    fn patience(&self) -> Duration {
        let speedup = self.request.settings.speedup;
        let now = self.now();
        let due = self.leg.engine.next(now).map_or(i64::MAX, |next| (next - now).0);
        let due = Duration::from_millis(due.try_into().unwrap_or(0)).div_f64(speedup.max(f64::MIN_POSITIVE));
        let is_ending =
            |active: &Active| matches!(&active.stage, Stage::Running(running) if running.process.is_ending());
        let is_any_ending = || self.active.values().any(is_ending);
        due.min(if speedup > 1.0 {
            COMPRESSED
        } else if is_any_ending() {
            ENDING
        } else {
            IDLE
        })
    }

    /// Plan time since the leg's tick 0.
    pub(super) fn now(&self) -> Moment {
        let plan_s = self.plan_s + self.watch.elapsed().as_secs_f64() * self.request.settings.speedup;
        self.leg.moment(plan_s)
    }

    /// Writes a line; a disk that is full stops launching.
    pub(super) fn tell(&mut self, record: Record) {
        let (line, problem) = self.trace.write(record);
        (self.observe)(&line);
        if let Some(problem) = problem.filter(|_| self.stopping == 0) {
            self.drain(problem);
        }
    }

    pub(super) fn note(&mut self, problem: Problem) {
        self.tell(Record::Note(Note::from(&problem)));
        self.problems.push(problem);
    }

    /// Nothing more is started.
    pub(super) fn drain(&mut self, problem: Problem) {
        self.stopping = self.stopping.max(1);
        self.events.push(Event::Drain);
        let why = problem.to_string();
        self.problems.push(problem);
        // This line may fail as the one that led here; then it is kept and tried again.
        let (line, _) = self.trace.write(Record::Stopping { how: "drain".to_owned(), why });
        (self.observe)(&line);
    }

    fn heed(&mut self, interrupts: &AtomicU32) {
        let asked = interrupts.load(Ordering::Acquire);
        if asked >= 1 && self.stopping == 0 {
            self.drain(run_problem(Code::X18, "was interrupted; what runs may end."));
        }
        if asked >= 2 && self.stopping < 2 {
            self.stopping = 2;
            self.events.push(Event::Abort);
            let why = "the user asked twice".to_owned();
            self.tell(Record::Stopping { how: "abort".to_owned(), why });
        }
    }

    fn perform(&mut self, threads: &Threads<'_, 'r>, action: Action) {
        match action {
            Action::Start { job, attempt } => self.start(threads, job, attempt),
            Action::Stop(job) => {
                let place = format!("job `{}`", self.leg.name(job));
                let lost = self.leg.lost_gpu_of(job);
                let problem = match lost {
                    Some(gpu) => Problem::new(Code::X13, place, format!("was ended: {gpu} was lost under it.")),
                    None => Problem::new(Code::X18, place, "was ended."),
                };
                self.stop(&self.leg.name(job), Stop::Elsewhere(problem));
            }
            Action::Skip(job, why) => self.skip(job, why),
            Action::Replan(cause) => {
                if let Cause::Drift(job, late) = cause {
                    let job = self.leg.name(job);
                    self.tell(Record::Drift { job, late_s: late.seconds() });
                }
                self.wants_plan |= threads.replan.is_some() && self.stopping == 0 && self.leg.has_waiting();
            }
        }
    }

    fn skip(&mut self, job: JobId, why: Why) {
        let name = self.leg.name(job);
        let place = format!("job `{name}`");
        let problem = match why {
            Why::Predecessor(before) => {
                let before = self.leg.name(before);
                Problem::new(Code::X12, place, format!("was not started: `{before}` did not succeed."))
            }
            Why::LostGpu(gpu) => {
                let gpu = self.leg.gpu_name(gpu);
                Problem::new(Code::X13, place, format!("was not started: {gpu} is lost."))
            }
            Why::NeverFits => Problem::new(Code::X14, place, "was not started: a cap or resource forbids it for ever."),
        };
        self.state(&name, JobState::Skipped, |_| {}, Some(problem));
    }

    /// Writes down and remembers a job's state.
    pub(super) fn state(
        &mut self,
        name: &str,
        state: JobState,
        fill: impl FnOnce(&mut JobRecord),
        problem: Option<Problem>,
    ) {
        let mut record = JobRecord {
            job: name.to_owned(),
            state,
            attempt: self.active.get(name).map(|active| active.attempt),
            pid: None,
            counters_j: Vec::new(),
            steps: None,
            problem: problem.as_ref().map(Note::from),
        };
        fill(&mut record);
        self.states.insert(name.to_owned(), (state, problem));
        self.tell(Record::Job(record));
    }

    fn start(&mut self, threads: &Threads<'_, 'r>, job: JobId, attempt: u32) {
        let name = self.leg.name(job);
        let Some((placement, work)) = self.leg.engine.placement(job).cloned().zip(self.leg.work(job)) else { return };
        let member = |&id: &GpuId| {
            let gpu = self.machines.get(id)?.clone();
            Some(Member { id, name: self.leg.gpu_name(id), gpu })
        };
        let gang: Vec<Member> = placement.gpus.iter().filter_map(member).collect();
        let planned_s = self.leg.planned_s(job);
        let point = self.leg.option(job).point;
        let active = Active {
            name: name.clone(),
            gang: gang.clone(),
            attempt,
            work,
            planned_s,
            stage: Stage::Setting,
            stop: None,
        };
        self.active.insert(name.clone(), active);
        self.state(&name, JobState::Setting, |_| {}, None);
        if let Err(problem) = self.custody.ensure_guardian().map(drop) {
            self.drain(problem);
        }
        if self.stopping > 0 {
            let problem = Problem::new(Code::X18, format!("job `{name}`"), "was not started.");
            self.put_back(threads, &name, Verdict::new(Ending::Stopped, problem));
            return;
        }
        let settle = Duration::from_millis(300).div_f64(self.request.settings.speedup.max(1.0));
        let (custody, messages) = (self.custody, threads.messages.clone());
        threads.scope.spawn(move || gpus::prepare(custody, &gang, point, &name, settle, &messages));
    }
}
