//! Profiles against the hidden truth: how far a measurement is off what it was meant to find.
//!
//! # Model
//! A point asks for clocks and a power limit. The GPU runs at the highest supported clock within them; its truth there is
//! compared. A profile of several GPUs is compared with the mean of their truths.

use std::path::PathBuf;

use clap::Args;
use rats_domain::profile::{OperatingPoint, Profile};

use crate::compose::catalogue_id;
use crate::error::SimError;
use crate::simulator::Simulator;
use crate::truth::Physics;

/// Which profiles to compare, and with what.
#[derive(Args, Clone, Debug)]
pub struct TruthArguments {
    /// Profiles that were measured on simulated GPUs.
    #[arg(required = true, value_name = "PROFILE")]
    pub profiles: Vec<PathBuf>,
    /// Workload, as the configuration names it [default: the model that a profile names].
    #[arg(long)]
    pub workload: Option<String>,
    /// Largest relative error of a step's time or power.
    #[arg(long, default_value_t = 0.015)]
    pub within: f64,
}

/// How far one profile is off.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Its id.
    pub id: String,
    /// GPUs it was measured on.
    pub gpus: usize,
    /// By point: SM clock, MHz, and relative errors of time and power.
    pub errors: Vec<(Option<i64>, f64, f64)>,
}

impl Comparison {
    /// Largest errors of time and power, without sign.
    pub fn worst(&self) -> (f64, f64) {
        let largest = |errors: &mut dyn Iterator<Item = f64>| errors.map(f64::abs).fold(0.0, f64::max);
        (largest(&mut self.errors.iter().map(|error| error.1)), largest(&mut self.errors.iter().map(|error| error.2)))
    }
}

/// Compares a profile with the truth of the GPUs that it names as its hardware; of all of its type, if it names none.
///
/// # Errors
/// It has no such GPU, or its workload is unknown.
pub fn compare(simulator: &Simulator, profile: &Profile, workload: Option<&str>) -> Result<Comparison, SimError> {
    let name = workload.unwrap_or(&profile.workload.model);
    let config = simulator.config();
    let kind = catalogue_id(&profile.gpu_type);
    let hardware = profile.source.hardware.as_deref().unwrap_or_default();
    let of_kind = |gpu: &usize| config.gpus[*gpu].kind.eq_ignore_ascii_case(&kind);
    let named: Vec<usize> = (0..config.gpus.len()).filter(|&gpu| hardware.contains(&config.gpus[gpu].uuid)).collect();
    let gpus = if named.is_empty() { (0..config.gpus.len()).filter(of_kind).collect() } else { named };
    let unknown = || SimError::UnknownWorkload { workload: name.to_owned(), kind: profile.gpu_type.clone() };
    let (number, _) = config.workload(name).ok_or_else(unknown)?;
    if gpus.is_empty() {
        return Err(SimError::UnknownGpu(profile.gpu_type.clone()));
    }
    let errors = profile.operating_points().map(|point| {
        let truths: Option<Vec<Physics>> = gpus.iter().map(|&gpu| truth(simulator, gpu, number, &point)).collect();
        let truths = truths.ok_or_else(unknown)?;
        let mean = |value: fn(&Physics) -> f64| truths.iter().map(value).sum::<f64>() / truths.len() as f64;
        let time = point.step_s / mean(|at| at.step_s) - 1.0;
        Ok((point.measured.sm_mhz, time, point.power_w * 1e3 / mean(|at| at.power_mw) - 1.0))
    });
    Ok(Comparison { id: profile.id.clone(), gpus: gpus.len(), errors: errors.collect::<Result<_, SimError>>()? })
}

fn truth(simulator: &Simulator, gpu: usize, workload: usize, point: &OperatingPoint<'_>) -> Option<Physics> {
    let (kind, truth) = (simulator.config().kind(gpu), simulator.world().truth(gpu));
    let asked = point.measured;
    let mem = asked.mem_mhz.and_then(|mem| u32::try_from(mem).ok()).unwrap_or(kind.default_mem_mhz);
    let most = asked.sm_mhz.and_then(|sm| u32::try_from(sm).ok()).unwrap_or(u32::MAX);
    let clocks: Vec<u32> = kind.sm_clocks(mem)?.iter().copied().filter(|&clock| clock <= most).collect();
    let limit_mw = asked.power_limit_w.map_or(f64::from(kind.power_limit_mw.default), |watts| watts.to_f64() * 1e3);
    let sm = if clocks.is_empty() { return None } else { truth.highest_within(workload, &clocks, mem, limit_mw) };
    truth.at(workload, sm, mem)
}

/// Reads and compares; the table, and whether all is within what the arguments ask for.
///
/// # Errors
/// A profile cannot be read, or as [`compare`].
pub fn run(arguments: &TruthArguments) -> Result<(String, bool), SimError> {
    let simulator = Simulator::from_environment()?;
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let (mut text, mut holds) = (String::new(), true);
    let row = |cells: [&str; 5]| {
        format!("{:<32}  {:>4}  {:>6}  {:>10}  {:>10}\n", cells[0], cells[1], cells[2], cells[3], cells[4])
    };
    text.push_str(&row(["PROFILE", "GPUS", "POINTS", "TIME OFF", "POWER OFF"]));
    for path in &arguments.profiles {
        let wrong = |message: String| SimError::Config { path: path.clone(), message };
        let bytes = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
        let profile = Profile::read(&bytes).map_err(|problems| wrong(problems.to_string()))?.profile;
        let found = compare(&simulator, &profile, arguments.workload.as_deref())?;
        let (time, power) = found.worst();
        holds &= !found.errors.is_empty() && time <= arguments.within && power <= arguments.within;
        let [gpus, points] = [found.gpus, found.errors.len()].map(|count| count.to_string());
        text.push_str(&row([&found.id, &gpus, &points, &percent(time), &percent(power)]));
    }
    let verdict = if holds { "all within" } else { "not all within" };
    Ok((format!("{text}{verdict} {}\n", percent(arguments.within)), holds))
}
