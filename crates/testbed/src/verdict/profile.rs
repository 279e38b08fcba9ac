//! What a run has measured, as profiles to be fed back.
//!
//! One profile for each workload, kind of GPU and gang size; one point for each operating point as it was applied. The
//! time of a step is that of the job's own steps where it printed them, else its whole run is one step. Power is the mean
//! of one GPU over the same time: from first to last step, or over the whole run.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::format::{
    ColumnOrigin, Figure, Flag, GangFile, Kind, MeasuredPointFile, OriginFile, PointFile, ProfileFile, SourceFile,
    WorkloadFile,
};
use rats_domain::problem::Problem;
use rats_models::statistics::mean;

use super::measure::{EnergySource, Facts, JobMeasured};
use super::slow::slow;
use crate::trace::Trace;

/// Share of readings from which on a point counts as throttled.
const THROTTLED: f64 = 0.05;

/// The jobs of a trace, named `source`, that profiles can be made of: those that succeeded on GPUs that are not slow.
///
/// # Errors
/// D14: there is none.
pub fn usable(trace: &Trace, source: &str) -> Result<Vec<JobMeasured>, Problem> {
    let mut jobs = Facts::of(trace).jobs;
    let slow = slow(&jobs);
    jobs.retain(|job| {
        let is_slow = slow.iter().any(|slow| slow.of.contains(&job.job));
        job.source != EnergySource::None && job.measured.run_s > 0.0 && !is_slow
    });
    if jobs.is_empty() {
        return Err(Problem::new(Code::D14, source, "no job of the trace succeeded on a GPU that is not slow."));
    }
    Ok(jobs)
}

/// The profiles that jobs of one or several runs give; `source` names the runs.
pub fn profiles(jobs: &[JobMeasured], source: &str) -> Vec<ProfileFile> {
    let mut groups: BTreeMap<(String, String, usize), Vec<&JobMeasured>> = BTreeMap::new();
    for job in jobs {
        let workload = job.workload.clone().unwrap_or_else(|| job.job.clone());
        groups.entry((workload, job.gpu_type.clone(), job.gpus.len())).or_default().push(job);
    }
    groups.into_iter().map(|((workload, kind, gang), jobs)| profile(&workload, &kind, gang, &jobs, source)).collect()
}

fn profile(workload: &str, kind: &str, gang: usize, jobs: &[&JobMeasured], source: &str) -> ProfileFile {
    let by_steps = jobs.iter().all(|job| job.measured.step_s.is_some());
    let mut points: Vec<(PointFile, Vec<&JobMeasured>)> = Vec::new();
    for job in jobs {
        let own = PointFile::from(job.point);
        match points.iter_mut().find(|(point, _)| *point == own) {
            Some((_, jobs)) => jobs.push(job),
            None => points.push((own, vec![job])),
        }
    }
    points
        .sort_by_key(|(point, _)| (point.mem_mhz, point.sm_mhz, point.power_limit_w.and_then(|limit| limit.scaled(3))));
    let startups: Vec<f64> = jobs.iter().filter_map(|job| job.measured.startup_s).collect();
    let startup = mean(&startups).map(|startup_s| Figure::measured(startup_s, "before the first step"));
    let size = i64::try_from(gang).unwrap_or(i64::MAX);
    let suffix = if gang == 1 { String::new() } else { format!("-x{gang}") };
    let step = if by_steps { "one training step" } else { "one run of the job" };
    let id = format!("{kind}-{workload}{suffix}-trace").to_lowercase().replace(['/', ' '], "-");
    let what = WorkloadFile { model: workload.to_owned(), step: step.to_owned(), ..WorkloadFile::default() };
    let source =
        SourceFile { title: "Trace of a run".to_owned(), path: Some(source.to_owned()), ..SourceFile::default() };
    let origin = OriginFile {
        step_s: ColumnOrigin::new(Kind::Measured, "while a plan was carried out"),
        power_w: Some(ColumnOrigin::new(
            Kind::Measured,
            "mean of one GPU while it stepped; over the run where no step was printed",
        )),
        counters: None,
    };
    ProfileFile {
        gang: (gang > 1).then_some(GangFile { gpus: size, dp: size, pp: 1, tp: 1 }),
        startup_s: startup.filter(|_| by_steps),
        points: points.iter().map(|(point, jobs)| measured_point(point, jobs, by_steps)).collect(),
        ..ProfileFile::new(id, kind.to_owned(), what, source, origin)
    }
}

fn measured_point(point: &PointFile, jobs: &[&JobMeasured], by_steps: bool) -> MeasuredPointFile {
    let time = |job: &&JobMeasured| job.measured.step_s.filter(|_| by_steps).unwrap_or(job.measured.run_s);
    let times: Vec<f64> = jobs.iter().map(time).collect();
    let power = |job: &&JobMeasured| {
        job.stepping_w.filter(|_| by_steps).unwrap_or(job.measured.power_w) / job.gpus.len() as f64
    };
    let powers: Vec<f64> = jobs.iter().map(power).collect();
    let is_throttled = jobs.iter().any(|job| job.throttled_share > THROTTLED);
    MeasuredPointFile {
        sm_mhz: point.sm_mhz,
        mem_mhz: point.mem_mhz,
        power_limit_w: point.power_limit_w,
        step_s: mean(&times),
        power_w: mean(&powers),
        step_s_spread: spread(&times),
        power_w_spread: spread(&powers),
        samples: i64::try_from(jobs.len()).ok(),
        // A power limit that holds the clock down is what it is for.
        flags: if is_throttled && point.power_limit_w.is_none() { vec![Flag::Throttled] } else { Vec::new() },
        ..MeasuredPointFile::default()
    }
}

/// Standard deviation over mean; `None` of fewer than two.
fn spread(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt() / mean)
}
