//! Threads that set GPUs, read their counters and put them back, so that none of it holds up the run.

use std::sync::mpsc::Sender;
use std::time::Duration;

use rats_domain::codes::Code;
use rats_domain::format::PointFile;
use rats_domain::ids::GpuId;
use rats_domain::problem::{Problem, Problems};
use rats_system::clock::{Stopwatch, pause};

use super::preflight::point;
use crate::custody::undo::Undone;
use crate::custody::{Custody, PointApplied, SetError};
use crate::gpu::{Gpu, GpuError, Sample};
use crate::trace::{Note, Reading, SetRecord, TracePoint};

/// What threads report to the run.
#[derive(Debug)]
pub(super) enum Message {
    /// A round of readings, and the GPUs (by position) that did not answer.
    Readings(Vec<Option<Reading>>, Vec<(usize, GpuError)>),
    /// The GPUs of a job are set, or why not.
    Prepared { job: String, sets: Vec<SetRecord>, result: Result<Vec<Option<f64>>, Refusal> },
    /// The command of a job has exited.
    Exited,
    /// Energy counters of the GPUs of a job that has ended, J.
    Counted { job: String, counters_j: Vec<Option<f64>> },
    /// The GPUs of a job are put back, as far as they can be.
    Restored { job: String, gpus: Vec<(GpuId, Result<Vec<Undone>, GpuError>)> },
    /// A new plan, or why there is none.
    Planned(Result<rats_domain::format::PlanFile, Problems>),
}

/// Why GPUs were not set.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    /// Which GPU.
    pub gpu: GpuId,
    /// Why.
    pub problem: Problem,
    /// Whether the GPU cannot be talked to any more.
    pub is_lost: bool,
    /// Whether another attempt could help.
    pub is_hopeless: bool,
}

/// A GPU of a gang.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub id: GpuId,
    pub name: String,
    pub gpu: Gpu,
}

/// Sets all GPUs of a gang, waits until it has taken effect, and reads their counters.
pub(super) fn prepare(
    custody: &Custody,
    gang: &[Member],
    wanted: PointFile,
    job: &str,
    settle: Duration,
    messages: &Sender<Message>,
) {
    let (mut sets, mut refusal) = (Vec::new(), None);
    for member in gang {
        let watch = Stopwatch::start();
        match custody.set(&member.gpu, point(&wanted)) {
            Ok(applied) => {
                let observed_mhz = settled(&member.gpu, &applied, settle);
                sets.push(SetRecord {
                    gpu: member.name.clone(),
                    job: job.to_owned(),
                    requested: wanted.into(),
                    applied: told_point(&applied),
                    observed_mhz,
                    took_s: watch.elapsed().as_secs_f64(),
                });
            }
            Err(error) => {
                refusal = Some(Refusal::of(member, &error));
                break;
            }
        }
    }
    let result = match refusal {
        Some(refusal) => Err(refusal),
        None => Ok(counters(gang)),
    };
    // The run waits for this; if it is gone there is nobody to tell.
    let _ = messages.send(Message::Prepared { job: job.to_owned(), sets, result });
}

/// Reads the counters of a gang and puts its GPUs back.
pub(super) fn restore(custody: &Custody, gang: &[Member], job: &str, messages: &Sender<Message>) {
    let _ = messages.send(Message::Counted { job: job.to_owned(), counters_j: counters(gang) });
    let gpus = gang.iter().map(|member| (member.id, custody.restore(&member.gpu))).collect();
    let _ = messages.send(Message::Restored { job: job.to_owned(), gpus });
}

fn counters(gang: &[Member]) -> Vec<Option<f64>> {
    let counter = |member: &Member| Some(member.gpu.sample().ok()?.energy?.joules());
    gang.iter().map(counter).collect()
}

/// Waits until the clocks are those that were set; an idle GPU may keep lower ones for as long as it idles.
fn settled(gpu: &Gpu, applied: &PointApplied, patience: Duration) -> Option<(i64, i64)> {
    let watch = Stopwatch::start();
    loop {
        let sample = gpu.sample().ok()?;
        let (sm, mem) = (sample.sm?, sample.mem?);
        let is_set = applied.sm.is_none_or(|set| set.applied == sm) && applied.mem.is_none_or(|set| set.applied == mem);
        if is_set || watch.elapsed() >= patience {
            return Some((sm.0, mem.0));
        }
        pause(Duration::from_millis(2));
    }
}

fn told_point(applied: &PointApplied) -> TracePoint {
    TracePoint {
        sm_mhz: applied.sm.map(|clock| clock.applied.0),
        mem_mhz: applied.mem.map(|clock| clock.applied.0),
        power_limit_w: applied.power_limit.map(|limit| limit.applied.watts()),
    }
}

/// A reading as it stands in a trace.
pub(super) fn reading(sample: &Sample) -> Reading {
    Reading {
        power_w: sample.power_instant.or(sample.power).map(rats_domain::units::Milliwatts::watts),
        sm_mhz: sample.sm.map(|clock| clock.0),
        mem_mhz: sample.mem.map(|clock| clock.0),
        temperature_c: sample.temperature_c,
        energy_j: sample.energy.map(rats_domain::units::Millijoules::joules),
        throttle: sample.throttle.map(|throttle| throttle.0),
    }
}

impl Refusal {
    fn of(member: &Member, error: &SetError) -> Self {
        let (is_lost, is_hopeless, code) = match error {
            SetError::Gpu(error) => {
                use GpuError::{
                    DriverGone, Lost, Mig, NoLibrary, NoPermission, NotSupported, OutOfRange, Unresponsive,
                };
                let lost = matches!(error, Lost { .. } | Unresponsive { .. });
                let gone = matches!(error, DriverGone { .. } | NoLibrary { .. });
                let never = matches!(error, NoPermission { .. } | NotSupported { .. } | OutOfRange { .. } | Mig);
                (lost, gone || never, error.code())
            }
            SetError::Journal(problem) => (false, true, problem.code),
        };
        let problem = Problem::new(Code::X15, &member.name, format!("[{code}] {error}."));
        Self { gpu: member.id, problem, is_lost, is_hopeless }
    }
}

/// What was undone, as it stands in a trace.
pub(super) fn told(result: Result<Vec<Undone>, GpuError>, name: &str) -> (Vec<String>, Option<Note>) {
    match result {
        Ok(undone) => (undone.iter().map(Undone::text).collect(), None),
        Err(error) => (Vec::new(), Some(Note::from(&error.problem(name)))),
    }
}
