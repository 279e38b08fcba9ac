//! What each job of a trace took, beside what its plan said.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::gpu::Throttle;
use crate::trace::{Begin, JobState, PlannedJob, Reading, Record, Trace, TracePoint};

/// A job that succeeded: as planned and as measured. Times are plan time.
#[derive(Clone, Debug, Serialize)]
pub struct JobMeasured {
    /// Its name.
    pub job: String,
    /// Its GPUs.
    pub gpus: Vec<String>,
    /// Kind of its GPUs.
    pub gpu_type: String,
    /// What it trains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// The operating point as it was applied; as planned where nothing was set.
    pub point: TracePoint,
    /// As planned.
    pub planned: Figures,
    /// As measured.
    pub measured: Figures,
    /// Mean power of the gang from its first to its last step, W, start-up and end left out; where it said when they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stepping_w: Option<f64>,
    /// How the energy was measured.
    pub source: EnergySource,
    /// Difference of the energy counter from integrated power, as a share; where both are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter_check: Option<f64>,
    /// Mean SM clock over that applied; where a clock was locked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_share: Option<f64>,
    /// Share of the readings in which heat, the power limit or the power supply held a clock down.
    pub throttled_share: f64,
    /// Share of its time in which another job ran that shares the store or an uplink, as it does; 0 if it shares none.
    pub shared_share: f64,
    /// Seconds by which it ended before its deadline; below 0 if it missed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before_deadline_s: Option<f64>,
    /// Seconds by which it ended before its due time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before_due_s: Option<f64>,
    /// Steps done, where the job said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
}

/// Figures of one job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Its start, s.
    pub start_s: f64,
    /// From start to end, s.
    pub run_s: f64,
    /// Energy of its GPUs from start to end, J.
    pub energy_j: f64,
    /// Mean power of the gang, W.
    pub power_w: f64,
    /// Time of one step, s, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_s: Option<f64>,
    /// Time before the first step, s, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_s: Option<f64>,
}

/// How energy was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EnergySource {
    /// By the energy counters of the GPUs.
    Counter,
    /// By integrating readings of power.
    Power,
    /// Not at all: there are no readings of it.
    None,
}

/// An attempt as it is read off the trace.
#[derive(Clone, Debug)]
struct Attempt {
    planned: PlannedJob,
    origin_s: f64,
    tick_s: f64,
    from: (f64, f64),
    to: (f64, f64),
    counters_j: Vec<(Option<f64>, Option<f64>)>,
    /// Plan time and steps.
    progress: Vec<(f64, u64)>,
    steps: Option<u64>,
    applied: BTreeMap<String, TracePoint>,
}

/// Readings in plan time.
#[derive(Clone, Debug, Default)]
pub(super) struct Readings {
    /// Plan time, and a reading for each GPU that answered.
    pub rounds: Vec<(f64, BTreeMap<String, Reading>)>,
}

/// What a trace holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub jobs: Vec<JobMeasured>,
    pub readings: Readings,
    /// Names of GPUs and UUIDs.
    pub gpus: BTreeMap<String, String>,
    /// Predicted energy of the first plan, J: all, and that of running gangs.
    pub plan_j: Option<(f64, f64)>,
    /// Jobs of all plans that did not succeed.
    pub unfinished: BTreeMap<String, JobState>,
    /// Attempts that failed.
    pub failures: usize,
}

/// The pass over a trace.
#[derive(Default)]
struct Pass {
    facts: Facts,
    clock: (f64, f64),
    names: Vec<String>,
    plans: BTreeMap<String, (PlannedJob, f64, f64)>,
    open: BTreeMap<String, Attempt>,
    applied: BTreeMap<String, BTreeMap<String, TracePoint>>,
    done: Vec<Attempt>,
}

impl Facts {
    /// Reads them off a trace.
    pub fn of(trace: &Trace) -> Self {
        let mut pass = Pass::default();
        for line in &trace.lines {
            pass.take(line.t, &line.record);
        }
        let sharing: Vec<(f64, f64, bool)> =
            pass.done.iter().map(|attempt| (attempt.from.0, attempt.to.0, attempt.planned.shares)).collect();
        let readings = std::mem::take(&mut pass.facts.readings);
        let jobs = pass.done.iter().enumerate().map(|(position, attempt)| {
            let others = sharing.iter().enumerate().filter(|(other, _)| *other != position).map(|(_, job)| *job);
            attempt.measured(&readings, others)
        });
        pass.facts.jobs = jobs.collect();
        pass.facts.readings = readings;
        pass.facts
    }
}

impl Pass {
    fn take(&mut self, t: f64, record: &Record) {
        let now = self.clock.0 + t * self.clock.1;
        match record {
            Record::Begin(begin) => self.begin(begin),
            Record::Plan(plan) => {
                self.facts.plan_j.get_or_insert((plan.energy_j, plan.run_j));
                for job in &plan.jobs {
                    let entry = (job.clone(), plan.origin_s, plan.tick_s as f64);
                    // A running job of a new plan keeps what it was started under.
                    if !self.open.contains_key(&job.job) {
                        self.plans.insert(job.job.clone(), entry);
                    }
                }
            }
            Record::Set(set) => {
                self.applied.entry(set.job.clone()).or_default().insert(set.gpu.clone(), set.applied);
            }
            Record::Sample { gpus } => {
                let named = self.names.iter().zip(gpus).filter_map(|(name, reading)| Some((name.clone(), (*reading)?)));
                self.facts.readings.rounds.push((now, named.collect()));
            }
            Record::Progress { job, done, .. } => {
                if let Some(attempt) = self.open.get_mut(job) {
                    attempt.progress.push((now, *done));
                }
            }
            Record::Job(job) => {
                self.facts.unfinished.insert(job.job.clone(), job.state);
                match job.state {
                    JobState::Setting => drop(self.applied.remove(&job.job)),
                    JobState::Running => self.start(now, t, &job.job, &job.counters_j),
                    JobState::Done => self.end(now, t, &job.job, &job.counters_j, job.steps),
                    JobState::Failed => self.fail(&job.job),
                    JobState::Stopped | JobState::GivenUp | JobState::Skipped => drop(self.open.remove(&job.job)),
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, begin: &Begin) {
        self.clock = (begin.plan_s, begin.speedup);
        self.names = begin.gpus.iter().map(|(name, _)| name.clone()).collect();
        self.facts.gpus.extend(begin.gpus.iter().cloned());
        // What ran when an earlier run died was not finished.
        self.open.clear();
    }

    fn start(&mut self, now: f64, t: f64, name: &str, counters: &[Option<f64>]) {
        let Some((planned, origin_s, tick_s)) = self.plans.get(name).cloned() else { return };
        let attempt = Attempt {
            planned,
            origin_s,
            tick_s,
            from: (now, t),
            to: (now, t),
            counters_j: counters.iter().map(|&counter| (counter, None)).collect(),
            progress: Vec::new(),
            steps: None,
            applied: self.applied.remove(name).unwrap_or_default(),
        };
        self.open.insert(name.to_owned(), attempt);
    }

    fn end(&mut self, now: f64, t: f64, name: &str, counters: &[Option<f64>], steps: Option<u64>) {
        self.facts.unfinished.remove(name);
        let Some(mut attempt) = self.open.remove(name) else { return };
        attempt.to = (now, t);
        attempt.steps = steps;
        for (pair, &counter) in attempt.counters_j.iter_mut().zip(counters) {
            pair.1 = counter;
        }
        self.done.push(attempt);
    }

    fn fail(&mut self, name: &str) {
        self.facts.failures += 1;
        self.open.remove(name);
    }
}

impl Attempt {
    fn measured(&self, readings: &Readings, others: impl Iterator<Item = (f64, f64, bool)>) -> JobMeasured {
        let planned = self.planned();
        let run_s = self.to.0 - self.from.0;
        let counted: Option<f64> =
            self.counters_j.iter().map(|&(before, after)| Some(after? - before?)).sum::<Option<f64>>();
        let counted = counted.filter(|&energy| energy > 0.0 && !self.counters_j.is_empty());
        let integrated = readings.energy(&self.planned.gpus, self.from.0, self.to.0);
        let (energy_j, source) = match (counted, integrated) {
            (Some(energy), _) => (energy, EnergySource::Counter),
            (None, Some(energy)) => (energy, EnergySource::Power),
            (None, None) => (0.0, EnergySource::None),
        };
        let (step_s, startup_s) = self.steps_measured(run_s);
        let stepping = self.stepping().filter(|_| startup_s.is_some());
        let stepping_w = stepping.and_then(|(from, to)| readings.power(&self.planned.gpus, from.0, to.0));
        let power_w = if run_s > 0.0 { energy_j / run_s } else { 0.0 };
        let point = self.applied.values().next().copied().unwrap_or(self.planned.point);
        let (clock_share, throttled_share) = readings.clocks(&self.planned.gpus, self.from.0, self.to.0, &point);
        let deadline = |tick: Option<i64>| tick.map(|tick| self.origin_s + tick as f64 * self.tick_s - self.to.0);
        JobMeasured {
            job: self.planned.job.clone(),
            gpus: self.planned.gpus.clone(),
            gpu_type: self.planned.gpu_type.clone(),
            workload: self.planned.workload.clone(),
            point,
            planned,
            measured: Figures { start_s: self.from.0, run_s, energy_j, power_w, step_s, startup_s },
            stepping_w,
            source,
            counter_check: counted.zip(integrated).map(|(counted, integrated)| counted / integrated - 1.0),
            clock_share,
            throttled_share,
            shared_share: if self.planned.shares { self.shared(others) } else { 0.0 },
            before_deadline_s: deadline(self.planned.deadline),
            before_due_s: deadline(self.planned.due),
            steps: self.steps,
        }
    }

    /// What the plan says of the time in which it really runs: the idle rest of the last tick is taken off.
    fn planned(&self) -> Figures {
        let job = &self.planned;
        let occupied = job.ticks as f64 * self.tick_s;
        let run = job.steps.zip(job.step_s).map(|(steps, step_s)| job.startup_s.unwrap_or(0.0) + steps as f64 * step_s);
        let run_s = run.filter(|&run| run > 0.0 && run <= occupied).unwrap_or(occupied);
        let energy_j = job.power_w * occupied - job.idle_w * (occupied - run_s);
        Figures {
            start_s: self.origin_s + job.start as f64 * self.tick_s,
            run_s,
            energy_j,
            power_w: energy_j / run_s,
            step_s: job.step_s,
            startup_s: job.startup_s,
        }
    }

    /// Plan time and number of steps at the first and at the last that it said.
    fn stepping(&self) -> Option<((f64, u64), (f64, u64))> {
        let (&first, &last) = (self.progress.first()?, self.progress.last()?);
        // Whoever is done has done all steps just before the end.
        let end = self.steps.filter(|&steps| steps > last.1).map(|steps| (self.to.0, steps));
        Some((first, end.unwrap_or(last)))
    }

    /// Time of a step and of the start-up, from what the job said of its steps.
    fn steps_measured(&self, run_s: f64) -> (Option<f64>, Option<f64>) {
        let Some(((first, before), (last, after))) = self.stepping() else {
            let all = self.steps.or(self.planned.steps).filter(|&steps| steps > 0);
            return (all.map(|steps| run_s / steps as f64), None);
        };
        if after <= before {
            return (None, None);
        }
        let step_s = (last - first) / (after - before) as f64;
        (Some(step_s), Some((first - self.from.0 - before as f64 * step_s).max(0.0)))
    }

    fn shared(&self, others: impl Iterator<Item = (f64, f64, bool)>) -> f64 {
        let (from, to) = (self.from.0, self.to.0);
        let mut pieces: Vec<(f64, f64)> = others
            .filter(|&(start, end, shares)| shares && start < to && from < end)
            .map(|(start, end, _)| (start.max(from), end.min(to)))
            .collect();
        pieces.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut covered, mut reached) = (0.0, from);
        for (start, end) in pieces {
            covered += (end - start.max(reached)).max(0.0);
            reached = reached.max(end);
        }
        if to > from { covered / (to - from) } else { 0.0 }
    }
}

impl Readings {
    /// Energy of GPUs between two times, J, by the trapezoidal rule on their power; `None` with fewer than two readings.
    pub fn energy(&self, gpus: &[String], from: f64, to: f64) -> Option<f64> {
        gpus.iter().map(|gpu| self.energy_of(gpu, from, to)).sum()
    }

    /// Mean power of GPUs together between two times, W: by their counters at the outermost readings in between, else by
    /// integrated power; `None` where readings cover less than half of the time.
    pub fn power(&self, gpus: &[String], from: f64, to: f64) -> Option<f64> {
        let of = |gpu: &String| {
            let within = self.rounds.iter().filter(|&&(at, _)| from <= at && at <= to);
            let counters: Vec<(f64, f64)> =
                within.filter_map(|(at, round)| Some((*at, round.get(gpu)?.energy_j?))).collect();
            let counted = counters.first().zip(counters.last()).and_then(|(first, last)| {
                let time = last.0 - first.0;
                (time > 0.5 * (to - from) && last.1 > first.1).then(|| (last.1 - first.1) / time)
            });
            counted.or_else(|| Some(self.energy_of(gpu, from, to)? / (to - from)))
        };
        gpus.iter().map(of).sum()
    }

    fn energy_of(&self, gpu: &str, from: f64, to: f64) -> Option<f64> {
        let powers = self.rounds.iter().filter_map(|(at, gpus)| Some((*at, gpus.get(gpu)?.power_w?)));
        let inside: Vec<(f64, f64)> = powers.filter(|&(at, _)| from <= at && at <= to).collect();
        let (&(first_at, first), &(last_at, last)) = (inside.first()?, inside.last()?);
        if inside.len() < 2 {
            return None;
        }
        let between: f64 = inside.windows(2).map(|pair| (pair[1].0 - pair[0].0) * (pair[0].1 + pair[1].1) / 2.0).sum();
        Some(between + (first_at - from) * first + (to - last_at) * last)
    }

    /// Mean SM clock over that of the point, and share of the readings with throttle reasons in which something held a clock down.
    fn clocks(&self, gpus: &[String], from: f64, to: f64, point: &TracePoint) -> (Option<f64>, f64) {
        let gpus: BTreeSet<&String> = gpus.iter().collect();
        let within = self.rounds.iter().filter(|&&(at, _)| from <= at && at <= to);
        let readings: Vec<Reading> = within
            .flat_map(|(_, round)| round.iter().filter(|(gpu, _)| gpus.contains(gpu)).map(|(_, reading)| *reading))
            .collect();
        if readings.is_empty() {
            return (None, 0.0);
        }
        let reasons: Vec<u64> = readings.iter().filter_map(|reading| reading.throttle).collect();
        let tainted = reasons.iter().filter(|&&bits| Throttle(bits).is_taint()).count();
        let clocks: Vec<f64> = readings.iter().filter_map(|reading| reading.sm_mhz).map(|mhz| mhz as f64).collect();
        let mean = clocks.iter().sum::<f64>() / clocks.len().max(1) as f64;
        let share = point.sm_mhz.filter(|_| !clocks.is_empty()).map(|mhz| mean / mhz as f64);
        (share, tainted as f64 / reasons.len().max(1) as f64)
    }
}
