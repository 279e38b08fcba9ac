//! When what starts: the state machine that carries out a plan.
//!
//! **Idea.** A function from (instance, checked plan, now, events) to actions. It knows no clock, process or GPU:
//! whoever drives it (an executor of real jobs, a simulation) tells it what happened and does what it asks.
//!
//! **Model.** The dispatch rule of `docs/model.md`, section 2: a job starts at the first moment at or after its planned
//! start at which its GPUs are free, its `after` have ended and, with the jobs then running, V7 to V10 hold; in order of
//! (planned start, order in the instance). A job that cannot start holds back no other. A GPU that is lost, or
//! unavailable while the job would run (V12), is not free. Power caps are judged over the ticks that the job is expected
//! to occupy; sleep nodes count as powered while they are busy and when the plan has them powered.
//!
//! If every job takes its planned time, every job starts at its planned start: the plan keeps all rules then.
//!
//! **Complexity.** A call looks at the jobs whose planned start has come and that have not started; each costs a pass
//! over its gang and, under power caps, over the ticks at which power changes.
//!
//! **Limits.** A job that outlives its planned time cannot be kept from running into a lower cap.

mod event;
mod loads;
mod moment;

use std::collections::BTreeSet;

use rats_domain::check::CheckedPlan;
use rats_domain::ids::{GpuId, JobId, Table};
use rats_domain::instance::Instance;
use rats_domain::interval::Interval;
use rats_domain::schedule::Placement;
use rats_domain::units::Ticks;

pub use self::event::{Action, Cause, Ending, Event, Policy, Why};
use self::loads::{Loads, changes};
pub use self::moment::Moment;

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has not started, or is to be started again.
    Waiting {
        /// The attempt that comes next, from 1.
        attempt: u32,
    },
    /// It runs.
    Running {
        /// When it was started.
        since: Moment,
        /// Which attempt this is.
        attempt: u32,
    },
    /// It succeeded.
    Done {
        /// When it was started.
        since: Moment,
        /// When it ended.
        at: Moment,
    },
    /// It failed for good.
    Failed,
    /// It is not started by this plan.
    Skipped(Why),
}

/// Whether new jobs are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Run,
    Held,
    Draining,
}

/// The state of a plan that is being carried out.
#[derive(Clone, Debug)]
pub struct Engine {
    instance: Instance,
    plan: CheckedPlan,
    policy: Policy,
    states: Table<JobId, State>,
    /// All jobs by (planned start, order in the instance); those before `upcoming` are due.
    order: Vec<JobId>,
    upcoming: usize,
    rank: Table<JobId, usize>,
    /// Jobs that are due and wait, by rank.
    due: Vec<JobId>,
    followers: Table<JobId, Vec<JobId>>,
    running: BTreeSet<JobId>,
    holder: Table<GpuId, Option<JobId>>,
    lost: Table<GpuId, bool>,
    drifted: Table<JobId, bool>,
    loads: Loads,
    mode: Mode,
}

impl Engine {
    /// The state before anything was started, except that fixed jobs with a start below 0 run.
    pub fn new(instance: Instance, plan: CheckedPlan, policy: Policy) -> Self {
        let jobs = instance.jobs.len();
        let start = |job: &JobId| plan.schedule().placements[*job].as_ref().map(|placement| placement.start);
        let mut order: Vec<JobId> = instance.jobs.ids().filter(|job| start(job).is_some()).collect();
        order.sort_by_key(|job| (start(job), *job));
        let mut rank = Table::filled(usize::MAX, jobs);
        for (position, &job) in order.iter().enumerate() {
            rank[job] = position;
        }
        let mut followers: Table<JobId, Vec<JobId>> = Table::filled(Vec::new(), jobs);
        for (id, job) in instance.jobs.iter() {
            for &before in &job.after {
                followers[before].push(id);
            }
        }
        let gpus = instance.cluster.gpus.len();
        let mut engine = Self {
            policy,
            states: Table::filled(State::Waiting { attempt: 1 }, jobs),
            order,
            upcoming: 0,
            rank,
            due: Vec::new(),
            followers,
            running: BTreeSet::new(),
            holder: Table::filled(None, gpus),
            lost: Table::filled(false, gpus),
            drifted: Table::filled(false, jobs),
            loads: Loads::default(),
            mode: Mode::Run,
            instance,
            plan,
        };
        for job in engine.instance.jobs.ids() {
            let fixed = engine.instance.jobs[job].fixed.as_ref();
            if let Some(start) = fixed.map(|fixed| fixed.start).filter(|&start| start < Ticks::ZERO) {
                engine.occupy(job, Moment::of(start, engine.instance.tick), 1);
            }
        }
        engine
    }

    /// States what a job has behind it: an earlier run of this plan did it, or attempts were used up.
    ///
    /// A job that runs is taken to have been started at `since`.
    pub fn restore(&mut self, job: JobId, state: State) {
        if matches!(self.states[job], State::Running { .. }) {
            self.vacate(job);
        }
        match state {
            State::Running { since, attempt } => self.occupy(job, since, attempt),
            State::Waiting { attempt } => self.wait_again(job, attempt),
            ended => self.states[job] = ended,
        }
    }

    /// States that a GPU was lost before this plan was made; nothing is done about it.
    pub fn quarantine(&mut self, gpu: GpuId) {
        self.lost[gpu] = true;
    }

    /// Whether work on lost GPUs waits for a new plan instead of being skipped.
    pub fn set_replans(&mut self, replans: bool) {
        self.policy.replans = replans;
    }

    /// The instance.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// The plan.
    pub fn plan(&self) -> &CheckedPlan {
        &self.plan
    }

    /// Where every job stands.
    pub fn states(&self) -> &Table<JobId, State> {
        &self.states
    }

    /// Where and how a job is to run.
    pub fn placement(&self, job: JobId) -> Option<&Placement> {
        self.plan.schedule().placements[job].as_ref()
    }

    /// The GPUs that were lost.
    pub fn lost(&self) -> impl Iterator<Item = GpuId> + '_ {
        self.lost.iter().filter_map(|(gpu, &lost)| lost.then_some(gpu))
    }

    /// Whether nothing runs and nothing will be started any more.
    pub fn is_finished(&self) -> bool {
        let waiting = |state: &State| matches!(state, State::Waiting { .. });
        self.running.is_empty() && (self.mode == Mode::Draining || !self.states.values().any(waiting))
    }

    /// Takes note of what happened up to `now` and says what is to be done.
    pub fn advance(&mut self, now: Moment, events: &[Event]) -> Vec<Action> {
        let mut actions = Vec::new();
        for &event in events {
            self.take(now, event, &mut actions);
        }
        self.overdue(now, &mut actions);
        self.dispatch(now, &mut actions);
        actions
    }

    /// The next moment at which [`Engine::advance`] may have something to say without any event; `None` if there is none.
    pub fn next(&self, now: Moment) -> Option<Moment> {
        let length = self.instance.tick;
        let mut moments: Vec<Moment> = Vec::new();
        if self.mode == Mode::Run {
            let planned = self.order.get(self.upcoming..).and_then(|rest| rest.first());
            let planned = planned.and_then(|&job| self.placement(job)).map(|placement| placement.start);
            moments.extend(planned.map(|start| Moment::of(start, length)));
            if !self.due.is_empty() {
                moments.extend(self.edges().map(|tick| Moment::of(tick, length)).filter(|&edge| edge > now).min());
            }
        }
        moments.extend(self.running.iter().filter_map(|&job| self.drift_at(job)));
        moments.into_iter().filter(|&moment| moment > now).min()
    }

    /// Ticks at which a blocked job may become able to start though nothing ended.
    fn edges(&self) -> impl Iterator<Item = Ticks> {
        let unavailable = self.instance.cluster.gpus.values().flat_map(|gpu| &gpu.unavailable);
        changes(&self.instance, &self.plan.evaluation().powered)
            .into_iter()
            .chain(unavailable.map(|interval| interval.to).collect::<Vec<_>>())
    }

    fn take(&mut self, now: Moment, event: Event, actions: &mut Vec<Action>) {
        match event {
            Event::Ended(job, ending) => self.ended(now, job, ending, actions),
            Event::Lost(gpu) => self.lose(gpu, actions),
            Event::Drain => self.mode = Mode::Draining,
            Event::Abort => {
                self.mode = Mode::Draining;
                actions.extend(self.running.iter().map(|&job| Action::Stop(job)));
            }
            Event::Hold if self.mode == Mode::Run => self.mode = Mode::Held,
            Event::Hold => {}
            Event::NoPlan => {
                self.policy.replans = false;
                if self.mode == Mode::Held {
                    self.mode = Mode::Run;
                }
                for gpu in self.lost().collect::<Vec<_>>() {
                    self.skip_on(gpu, actions);
                }
            }
        }
    }

    fn ended(&mut self, now: Moment, job: JobId, ending: Ending, actions: &mut Vec<Action>) {
        let State::Running { since, attempt } = self.states[job] else { return };
        self.vacate(job);
        match ending {
            Ending::Done => {
                self.states[job] = State::Done { since, at: now };
                let late = (now - since) - Moment::of(self.planned_ticks(job), self.instance.tick);
                if late.0.abs() > self.tolerance(job) && !self.drifted[job] {
                    self.drifted[job] = true;
                    actions.push(Action::Replan(Cause::Drift(job, late)));
                }
            }
            Ending::Failed if attempt <= self.policy.retries => self.wait_again(job, attempt + 1),
            Ending::Failed | Ending::Hopeless => {
                self.states[job] = State::Failed;
                self.skip_followers(job, actions);
            }
            Ending::Stopped => {
                self.wait_again(job, attempt);
                if !self.policy.replans
                    && let Some(gpu) = self.lost_gpu_of(job)
                {
                    self.skip(job, Why::LostGpu(gpu), actions);
                }
            }
        }
    }

    fn lose(&mut self, gpu: GpuId, actions: &mut Vec<Action>) {
        if std::mem::replace(&mut self.lost[gpu], true) {
            return;
        }
        if let Some(job) = self.holder[gpu] {
            actions.push(Action::Stop(job));
        }
        if self.policy.replans {
            actions.push(Action::Replan(Cause::LostGpu(gpu)));
        } else {
            self.skip_on(gpu, actions);
        }
    }

    /// Skips the waiting jobs that would run on this GPU.
    fn skip_on(&mut self, gpu: GpuId, actions: &mut Vec<Action>) {
        let on = |job: &JobId| self.placement(*job).is_some_and(|placement| placement.gpus.contains(&gpu));
        for job in self.order.iter().copied().filter(on).collect::<Vec<_>>() {
            self.skip(job, Why::LostGpu(gpu), actions);
        }
    }

    fn skip(&mut self, job: JobId, why: Why, actions: &mut Vec<Action>) {
        if matches!(self.states[job], State::Waiting { .. }) {
            self.states[job] = State::Skipped(why);
            self.due.retain(|&other| other != job);
            actions.push(Action::Skip(job, why));
            self.skip_followers(job, actions);
        }
    }

    fn skip_followers(&mut self, job: JobId, actions: &mut Vec<Action>) {
        for follower in self.followers[job].clone() {
            self.skip(follower, Why::Predecessor(job), actions);
        }
    }

    /// Reports jobs that have outlived their planned time by more than is tolerated.
    fn overdue(&mut self, now: Moment, actions: &mut Vec<Action>) {
        for job in self.running.clone() {
            if self.drift_at(job).is_some_and(|moment| moment <= now)
                && let State::Running { since, .. } = self.states[job]
            {
                self.drifted[job] = true;
                let late = (now - since) - Moment::of(self.planned_ticks(job), self.instance.tick);
                actions.push(Action::Replan(Cause::Drift(job, late)));
            }
        }
    }

    /// When a running job has outlived its planned time by more than is tolerated, if it was not reported yet.
    fn drift_at(&self, job: JobId) -> Option<Moment> {
        let State::Running { since, .. } = self.states[job] else { return None };
        let planned = Moment::of(self.planned_ticks(job), self.instance.tick).0;
        let moment = since.0.saturating_add(planned).saturating_add(self.tolerance(job)).saturating_add(1);
        (!self.drifted[job]).then_some(Moment(moment))
    }

    /// Deviation of a job's time that is no drift, in ms: a share of its planned time, at least a tick.
    fn tolerance(&self, job: JobId) -> i64 {
        let planned = Moment::of(self.planned_ticks(job), self.instance.tick).0;
        #[expect(clippy::cast_possible_truncation, reason = "saturates; a share of a time that fits")]
        let share = (planned as f64 * self.policy.drift.max(0.0)) as i64;
        share.max(Moment::of(Ticks(1), self.instance.tick).0)
    }

    fn planned_ticks(&self, job: JobId) -> Ticks {
        self.placement(job).map_or(Ticks::ZERO, |placement| self.instance.option(job, placement.option).ticks)
    }

    fn dispatch(&mut self, now: Moment, actions: &mut Vec<Action>) {
        if self.mode != Mode::Run {
            return;
        }
        let tick = now.tick(self.instance.tick);
        while let Some(&job) = self.order.get(self.upcoming)
            && self.placement(job).is_some_and(|placement| placement.start <= tick)
        {
            self.upcoming += 1;
            if matches!(self.states[job], State::Waiting { .. }) {
                self.queue(job);
            }
        }
        for job in self.due.clone() {
            if let State::Waiting { attempt } = self.states[job]
                && self.can_start(job, tick)
            {
                self.occupy(job, now, attempt);
                actions.push(Action::Start { job, attempt });
            }
        }
        if self.is_stuck(now) {
            for job in self.due.clone() {
                self.skip(job, Why::NeverFits, actions);
            }
        }
    }

    fn can_start(&self, job: JobId, tick: Ticks) -> bool {
        let Some(placement) = self.placement(job) else { return false };
        let occupied = Interval::new(tick, tick + self.planned_ticks(job));
        let free = |&gpu: &GpuId| {
            let away = |interval: &Interval| interval.overlaps(occupied);
            self.holder[gpu].is_none()
                && !self.lost[gpu]
                && !self.instance.cluster.gpus[gpu].unavailable.iter().any(away)
        };
        let done = |&before: &JobId| matches!(self.states[before], State::Done { .. });
        placement.gpus.iter().all(free)
            && self.instance.jobs[job].after.iter().all(done)
            && self.loads.fits(&self.instance, job, placement, &self.plan.evaluation().powered, tick)
    }

    /// Whether jobs are due, nothing runs, and no moment to come could change anything.
    fn is_stuck(&self, now: Moment) -> bool {
        let awaits_plan = self.policy.replans && self.lost().next().is_some();
        self.running.is_empty() && !awaits_plan && !self.due.is_empty() && self.next(now).is_none()
    }

    fn occupy(&mut self, job: JobId, since: Moment, attempt: u32) {
        let Some(placement) = self.plan.schedule().placements[job].clone() else { return };
        self.due.retain(|&other| other != job);
        for &gpu in &placement.gpus {
            self.holder[gpu] = Some(job);
        }
        self.running.insert(job);
        self.loads.add(&self.instance, job, &placement, since.tick(self.instance.tick));
        self.states[job] = State::Running { since, attempt };
    }

    fn vacate(&mut self, job: JobId) {
        let Some(placement) = self.plan.schedule().placements[job].clone() else { return };
        for &gpu in &placement.gpus {
            self.holder[gpu] = None;
        }
        self.running.remove(&job);
        self.loads.remove(&self.instance, job, &placement);
    }

    fn wait_again(&mut self, job: JobId, attempt: u32) {
        self.states[job] = State::Waiting { attempt };
        self.queue(job);
    }

    fn queue(&mut self, job: JobId) {
        if self.rank[job] < self.upcoming && !self.due.contains(&job) {
            let position = self.due.partition_point(|&other| self.rank[other] < self.rank[job]);
            self.due.insert(position, job);
        }
    }

    fn lost_gpu_of(&self, job: JobId) -> Option<GpuId> {
        self.placement(job)?.gpus.iter().copied().find(|&gpu| self.lost[gpu])
    }
}

#[cfg(test)]
mod tests;
