//! The lines of a trace.

use std::collections::BTreeMap;

use rats_domain::decimal::Decimal;
use rats_domain::format::PointFile;
use serde::{Deserialize, Serialize};

/// The value of `format` in the first line of every run.
pub const FORMAT: &str = "rats.trace/1";

/// Its name in the folder of a run.
pub const TRACE_FILE: &str = "trace.jsonl";

/// One line: when, and what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Seconds since the run began, by a clock that never jumps.
    pub t: f64,
    /// Seconds since 1970-01-01 in UTC, by the machine's clock.
    pub wall: f64,
    /// What happened.
    #[serde(flatten)]
    pub record: Record,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Record {
    /// A run begins, or goes on with what an earlier one left.
    Begin(Begin),
    /// A plan is carried out from here on: the first, or a new one.
    Plan(Planned),
    /// A job changed its state.
    Job(JobRecord),
    /// A GPU was brought to an operating point.
    Set(SetRecord),
    /// A GPU was brought back to how it was found.
    Restored {
        /// Name of the GPU in the plan.
        gpu: String,
        /// What was undone, in words.
        #[serde(default)]
        undone: Vec<String>,
        /// What could not be undone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<Note>,
    },
    /// Readings of all GPUs, in the order of `begin.gpus`; `null` for one that did not answer.
    Sample {
        /// One reading a GPU.
        gpus: Vec<Option<Reading>>,
    },
    /// How far a job has come.
    Progress {
        /// The job.
        job: String,
        /// Steps done.
        done: u64,
        /// Steps to be done, where the job says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        all: Option<u64>,
    },
    /// A GPU must not be used any more.
    Lost {
        /// Name of the GPU in the plan.
        gpu: String,
        /// Why.
        problem: Note,
    },
    /// The plan no longer fits.
    Drift {
        /// The job that took longer (or shorter, below 0) than planned.
        job: String,
        /// By how many seconds of plan time.
        late_s: f64,
    },
    /// A new plan is asked for, or none came.
    Replan {
        /// What came of it.
        problem: Option<Note>,
    },
    /// From here on nothing new is started (`drain`), or what runs is ended (`abort`).
    Stopping {
        /// `drain` or `abort`.
        how: String,
        /// Why.
        why: String,
    },
    /// Something worth knowing that stops nothing.
    Note(Note),
    /// The run ends.
    End(End),
}

/// The beginning of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Begin {
    /// [`FORMAT`].
    pub format: String,
    /// Version of the program.
    pub version: String,
    /// Id of the run, also in the environment of its jobs.
    pub run: String,
    /// Process id of the executor.
    pub pid: u32,
    /// The machine.
    pub host: String,
    /// Seconds of plan time at `t` = 0.
    pub plan_s: f64,
    /// Seconds of plan time in one second; above 1 on the simulator only.
    pub speedup: f64,
    /// Readings a second.
    pub hz: f64,
    /// The GPUs, in the order of the readings: name in the plan and UUID.
    pub gpus: Vec<(String, String)>,
}

/// The plan that is carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// Name of the instance.
    pub instance: String,
    /// Hash of its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_sha256: Option<String>,
    /// Length of a tick, s.
    pub tick_s: i64,
    /// Seconds of plan time at which the plan's tick 0 lies.
    pub origin_s: f64,
    /// Every job.
    pub jobs: Vec<PlannedJob>,
    /// Predicted energy of the plan, J: all of it, and that of running gangs.
    pub energy_j: f64,
    /// Part of `energy_j` that the running gangs take.
    pub run_j: f64,
}

/// What a plan says of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedJob {
    /// Its name.
    pub job: String,
    /// Index of its option.
    pub option: usize,
    /// The operating point.
    pub point: TracePoint,
    /// Planned start, ticks of the plan.
    pub start: i64,
    /// Planned occupancy, ticks.
    pub ticks: i64,
    /// Its GPUs, in tree order.
    pub gpus: Vec<String>,
    /// Predicted mean power of the gang, W.
    pub power_w: f64,
    /// Predicted power while it really runs, W.
    pub peak_w: f64,
    /// Power of its GPUs when they run nothing, W.
    pub idle_w: f64,
    /// Kind of its GPUs.
    pub gpu_type: String,
    /// What it trains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Tick by which it must have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<i64>,
    /// Tick by which it should have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<i64>,
    /// Whether it uses an uplink or the store.
    #[serde(default)]
    pub shares: bool,
    /// Steps, time of a step and of the start-up, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Predicted time of one step, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_s: Option<f64>,
    /// Predicted time before the first step, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup_s: Option<f64>,
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Its GPUs are being set.
    Setting,
    /// Its process runs.
    Running,
    /// It succeeded.
    Done,
    /// An attempt failed.
    Failed,
    /// An attempt was stopped because of something else; it counts as not made.
    Stopped,
    /// No further attempt will be made.
    GivenUp,
    /// It will not be started by this plan.
    Skipped,
}

/// A change of a job's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// The job.
    pub job: String,
    /// Its state from now on.
    pub state: JobState,
    /// The attempt, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Energy counters of its GPUs now, J, in the order of its gang; `null` without a counter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters_j: Vec<Option<f64>>,
    /// Steps done, as far as the job said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Why, where something went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Note>,
}

/// An operating point; what is absent is as it was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TracePoint {
    /// Locked SM clock, MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_mhz: Option<i64>,
    /// Locked memory clock, MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mem_mhz: Option<i64>,
    /// Power limit, W.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_limit_w: Option<f64>,
}

impl From<PointFile> for TracePoint {
    fn from(point: PointFile) -> Self {
        let power_limit_w = point.power_limit_w.map(Decimal::to_f64);
        Self { sm_mhz: point.sm_mhz, mem_mhz: point.mem_mhz, power_limit_w }
    }
}

impl From<TracePoint> for PointFile {
    fn from(point: TracePoint) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "watts of a GPU as mW")]
        let exact = |watts: f64| Decimal::from_scaled((watts * 1e3).round() as i128, 3);
        Self { sm_mhz: point.sm_mhz, mem_mhz: point.mem_mhz, power_limit_w: point.power_limit_w.map(exact) }
    }
}

/// An operating point that was set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetRecord {
    /// Name of the GPU in the plan.
    pub gpu: String,
    /// For which job.
    pub job: String,
    /// What was asked for.
    pub requested: TracePoint,
    /// What the driver took: the nearest supported clocks, the limit as read back.
    pub applied: TracePoint,
    /// SM and memory clock as read afterwards, MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_mhz: Option<(i64, i64)>,
    /// Seconds that it took.
    pub took_s: f64,
}

/// One reading of a GPU: `[W, SM MHz, memory MHz, degrees C, J, throttle reasons]`; `null` where it lacks one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "ReadingRow", into = "ReadingRow")]
pub struct Reading {
    /// Power, W.
    pub power_w: Option<f64>,
    /// SM clock, MHz.
    pub sm_mhz: Option<i64>,
    /// Memory clock, MHz.
    pub mem_mhz: Option<i64>,
    /// Temperature, degrees Celsius.
    pub temperature_c: Option<i64>,
    /// Energy counter, J.
    pub energy_j: Option<f64>,
    /// Why the clock is lower than it could be: NVML's bits.
    pub throttle: Option<u64>,
}

type ReadingRow = (Option<f64>, Option<i64>, Option<i64>, Option<i64>, Option<f64>, Option<u64>);

impl From<ReadingRow> for Reading {
    fn from((power_w, sm_mhz, mem_mhz, temperature_c, energy_j, throttle): ReadingRow) -> Self {
        Self { power_w, sm_mhz, mem_mhz, temperature_c, energy_j, throttle }
    }
}

impl From<Reading> for ReadingRow {
    fn from(reading: Reading) -> Self {
        let Reading { power_w, sm_mhz, mem_mhz, temperature_c, energy_j, throttle } = reading;
        (power_w, sm_mhz, mem_mhz, temperature_c, energy_j, throttle)
    }
}

/// A problem as it stands in a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Its stable code.
    pub code: String,
    /// Where.
    pub place: String,
    /// What, and how to mend it.
    pub message: String,
}

/// The end of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// Number of jobs by state.
    pub jobs: BTreeMap<String, usize>,
    /// How the readings went.
    pub sampling: Sampling,
    /// GPUs whose settings could not be undone.
    pub marks_left: Vec<Note>,
}

/// How the readings of a run went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// Number of rounds.
    pub rounds: u64,
    /// Processor time of the executor as a share of one core: of readings and everything else.
    pub core_share: f64,
    /// Deviation of a round from its due time, ms: median, 99 %, most.
    pub jitter_ms: (f64, f64, f64),
}

impl From<&rats_domain::problem::Problem> for Note {
    fn from(problem: &rats_domain::problem::Problem) -> Self {
        let message = format!("{} {}", problem.message, problem.code.remedy());
        Self { code: problem.code.id().to_owned(), place: problem.place.clone(), message }
    }
}
