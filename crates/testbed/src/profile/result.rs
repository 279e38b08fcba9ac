//! The profile of what was measured.

use std::collections::BTreeMap;

use rats_domain::format::{ColumnOrigin, Figure, Flag, Kind, MeasuredPointFile, OriginFile, ProfileFile, SourceFile};
use rats_domain::problem::Problems;
use rats_domain::profile::Profile;
use rats_models::statistics::{mean, median};
use rats_system::clock;

use super::Request;
use super::record::{Head, Instrument, Measured, Start};
use super::sweep::{pooled, tainted, trusted};
use super::target::Target;

/// Everything that was measured.
#[derive(Clone, Copy, Debug)]
pub struct All<'a> {
    /// Of what.
    pub head: &'a Head,
    /// The points.
    pub records: &'a [Measured],
    /// Starts of the command.
    pub starts: &'a [Start],
    /// Power of the idle GPUs, W.
    pub idle_w: Option<&'a [Option<f64>]>,
}

/// The profile: trusted measurements of each point as one, the last one with its flags where none can be trusted.
///
/// # Errors
/// The measurements make no valid profile.
pub fn profile(request: &Request, all: &All<'_>) -> Result<ProfileFile, Problems> {
    let mut file = ProfileFile::new(
        request.id.clone(),
        all.head.gpu_type.clone(),
        request.workload.clone(),
        source(all),
        origin(request, all.records),
    );
    file.gang = request.gang;
    file.batch_per_gpu = request.batch_per_gpu.map(|value| Figure::measured(value, "stated with `--batch-per-gpu`"));
    let startups: Vec<f64> = all.starts.iter().map(|start| start.startup_s).collect();
    let starts = format!("from launch to first step, {} starts of the command", startups.len());
    file.startup_s = mean(&startups).map(|value| Figure::measured(round(value), starts));
    let blocked: Vec<f64> = all.starts.iter().filter_map(|start| start.blocked_w).collect();
    let note = "median power while the command held the GPU before its first step";
    file.blocked_w = median(&blocked).map(|value| Figure::measured(round(value), note));
    file.points = points(all.records, request.settings.drift);
    Profile::new(file.clone())?;
    Ok(file)
}

fn points(records: &[Measured], drift: f64) -> Vec<MeasuredPointFile> {
    let trusted = trusted(records, drift);
    let mut points: BTreeMap<Target, MeasuredPointFile> =
        trusted.iter().map(|(&target, of)| (target, point(target, of, Vec::new()))).collect();
    for (target, taints) in tainted(records, drift) {
        let flags = taints.iter().map(|taint| taint.flag()).collect();
        let last = records.iter().rfind(|record| record.target == target);
        points.extend(last.map(|last| (target, point(target, &[last], flags))));
    }
    points.into_values().collect()
}

fn point(target: Target, of: &[&Measured], mut flags: Vec<Flag>) -> MeasuredPointFile {
    let (step_s, power_w) = pooled(of);
    if power_w.is_some() && of.iter().any(|record| record.instrument == Instrument::Integrated) {
        flags.push(Flag::PowerIntegrated);
    }
    flags.sort_unstable();
    flags.dedup();
    let set = target.file();
    MeasuredPointFile {
        sm_mhz: set.sm_mhz,
        mem_mhz: set.mem_mhz,
        power_limit_w: set.power_limit_w,
        step_s: step_s.map(|step| round(step.value)),
        power_w: power_w.map(|power| round(power.value)),
        step_s_spread: step_s.map(|step| round(step.spread)),
        power_w_spread: power_w.map(|power| round(power.spread)),
        samples: step_s.and_then(|step| i64::try_from(step.samples).ok()),
        counters: BTreeMap::new(),
        flags,
    }
}

/// Six significant digits: more than any instrument here has.
fn round(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

fn source(all: &All<'_>) -> SourceFile {
    let head = all.head;
    let driver = head.driver.as_deref().unwrap_or("unknown");
    let idle: Vec<String> = all.idle_w.into_iter().flatten().flatten().map(|watts| format!("{watts:.1} W")).collect();
    let idle = if idle.is_empty() { String::new() } else { format!(", idle at {}", idle.join(", ")) };
    SourceFile {
        title: format!("Measured on {} with rats profile, {}", head.host, clock::today()),
        hardware: Some(format!("{}, {}, driver {driver}{idle}", head.gpu_name, head.gpus.join(", "))),
        ..SourceFile::default()
    }
}

fn origin(request: &Request, records: &[Measured]) -> OriginFile {
    let time = match &request.settings.pattern {
        Some(pattern) if pattern.counts() => "steps counted in the output against the clock",
        Some(_) => "as the command prints it",
        None => "whole runs of the command against the clock",
    };
    let integrated = records.iter().any(|record| record.instrument == Instrument::Integrated);
    let power = if integrated { "power readings, integrated: no energy counter" } else { "energy counter over time" };
    OriginFile {
        step_s: ColumnOrigin::new(Kind::Measured, time),
        power_w: Some(ColumnOrigin::new(Kind::Measured, power)),
        counters: None,
    }
}
