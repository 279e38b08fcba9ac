//! Writes configurations: figures of the catalogue and of profiles in, one file for the library out.
//!
//! # Model
//! A profile swept by clock is taken as it is; points at which the power limit held the clock down are replaced by the
//! continuation of the others (power linear in the clock, time linear in its inverse), so that the simulated limit does the
//! holding. A profile swept by power limit has no clocks: the time T of each limit places it at the clock
//! f = d fmax / (T/T0 - 1 + d), where T0 is the time at the highest limit and d = 0.7 the share of a step that goes with
//! the clock, which is assumed. A type without a profile takes another's: clocks scaled to its highest, power above idle to
//! its range up to the default limit, time by the inverse of the limits.
//!
//! # Limits
//! Influence of the memory clock (the share of a step that does not go with the SM clock, a fifth of the power above
//! idle) and memory of a process are assumed where the profile does not know them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rats_domain::format::{Flag, GpuFile, read};
use rats_domain::profile::Profile;

use crate::config::{
    Architecture, ClocksConfig, Config, DomainConfig, FORMAT, GpuConfig, LimitsConfig, NvLinkConfig, Privilege,
    ThermalConfig, TruthConfig, TypeConfig, WorkloadConfig,
};
use crate::error::SimError;
use crate::truth::mix;

/// Share of a step that goes with the clock, where a profile cannot tell.
const COMPUTE_SHARE: f64 = 0.7;
/// Share of the power above idle that goes with the memory clock.
const MEMORY_POWER_SHARE: f64 = 0.2;
/// MiB of a process of which the profile says nothing.
const MEMORY_MIB: f64 = 8192.0;
/// Points over which a curve is continued.
const CONTINUED: usize = 6;

/// What to simulate.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Folder with `gpus/` and `profiles/`.
    pub instances: PathBuf,
    /// Types by id of the catalogue, with how many of each.
    pub gpus: Vec<(String, u32)>,
    /// Workloads by name with the ids of their profiles, one a type at most.
    pub workloads: Vec<(String, Vec<String>)>,
    /// Simulated seconds in a real one.
    pub speedup: f64,
    /// Seed of GPUs' own factors and UUIDs.
    pub seed: u64,
    /// A GPU whose steps take this many times as long.
    pub slow: Option<(u32, f64)>,
    /// Who may set something.
    pub settings_need: Privilege,
}

/// The configuration of a request; state, journal and control file lie beside it.
///
/// # Errors
/// A type or profile that does not exist or cannot be used.
pub fn compose(request: &Request) -> Result<Config, SimError> {
    let mut types = BTreeMap::new();
    for (id, _) in &request.gpus {
        types.insert(id.clone(), type_of(&catalogued(&request.instances, id)?)?);
    }
    let mut workloads = BTreeMap::new();
    for (name, profiles) in &request.workloads {
        let profiles: Vec<Profile> =
            profiles.iter().map(|id| profile(&request.instances, id)).collect::<Result<_, _>>()?;
        workloads.insert(name.clone(), workload_of(&request.instances, name, &profiles, &types)?);
    }
    let mut config = Config {
        format: FORMAT.into(),
        driver_version: "550.54.15".into(),
        seed: request.seed,
        speedup: request.speedup,
        state: "state".into(),
        journal: Some("journal.jsonl".into()),
        control: Some("faults.json".into()),
        settings_need: request.settings_need,
        power_spread: 0.05,
        speed_spread: 0.03,
        types,
        workloads,
        gpus: Vec::new(),
        nvlinks: Vec::new(),
        domains: Vec::new(),
        faults: Vec::new(),
    };
    for (kind, count) in &request.gpus {
        place(&mut config, kind, *count);
    }
    if let Some((gpu, slowness)) = request.slow {
        let count = config.gpus.len();
        let unknown = || SimError::Compose(format!("slow GPU {gpu}: there are {count}"));
        config.gpus.get_mut(gpu as usize).ok_or_else(unknown)?.slowness = slowness;
    }
    // All GPUs can reach each other through the host, at what 16 lanes of PCIe 3.0 sustain, shared.
    let all = 0..u32::try_from(config.gpus.len()).unwrap_or(u32::MAX);
    config.domains.push(DomainConfig { gpus: all.collect(), gb_s: 12.0, latency_s: 1e-5, shared: true });
    Ok(config)
}

/// Adds GPUs of one type: two on a PCIe switch, four on a NUMA node; SXM types on an `NVSwitch`, others in linked pairs.
fn place(config: &mut Config, kind: &str, count: u32) {
    let base = u32::try_from(config.gpus.len()).unwrap_or(u32::MAX);
    let switched = kind.contains("SXM") || kind == "H100" || kind == "H200";
    let linked = switched || ["A100", "A40", "V100", "RTX3090", "H100"].iter().any(|known| kind.contains(known));
    for at in base..base + count {
        let numa = at / 4;
        config.gpus.push(GpuConfig {
            kind: kind.into(),
            uuid: uuid(config.seed, at),
            pci: format!("00000000:{:02X}:00.0", 7 + 8 * at),
            serial: Some(format!("{:013}", mix(config.seed ^ u64::from(at)) % 10_000_000_000_000)),
            slowness: 1.0,
            warmer_c: 0.0,
            mig: false,
            persistence: true,
            numa,
            bridge: format!("bridge{}", at / 2),
            switch: format!("switch{}", at / 2),
            board: (kind == "K80").then(|| format!("board{}", at / 2)),
        });
    }
    if switched {
        let switch = format!("00000000:{:02X}:00.0", 6 + 8 * (base + count));
        for gpu in base..base + count {
            config.nvlinks.push(NvLinkConfig {
                gpu,
                peer: None,
                switch_pci: Some(switch.clone()),
                count: 12,
                version: 3,
            });
        }
        config.domains.push(DomainConfig {
            gpus: (base..base + count).collect(),
            gb_s: 200.0,
            latency_s: 5e-6,
            shared: false,
        });
    } else if linked {
        for gpu in (base..(base + count).saturating_sub(1)).step_by(2) {
            config.nvlinks.push(NvLinkConfig { gpu, peer: Some(gpu + 1), switch_pci: None, count: 4, version: 3 });
            config.domains.push(DomainConfig { gpus: vec![gpu, gpu + 1], gb_s: 50.0, latency_s: 5e-6, shared: false });
        }
    }
}

/// A UUID that looks like NVIDIA's, from a seed.
fn uuid(seed: u64, gpu: u32) -> String {
    let (high, low) = (mix(mix(seed) ^ u64::from(gpu)), mix(mix(seed ^ 1) ^ u64::from(gpu)));
    let (low4, low12) = (low >> 48, low & 0xffff_ffff_ffff);
    format!("GPU-{:08x}-{:04x}-{:04x}-{low4:04x}-{low12:012x}", high >> 32, high >> 16 & 0xffff, high & 0xffff)
}

fn catalogued(instances: &Path, id: &str) -> Result<GpuFile, SimError> {
    let path = instances.join("gpus").join(format!("{}.json", id.to_lowercase()));
    let bytes = fs::read(&path).map_err(|error| SimError::Config { path: path.clone(), message: error.to_string() })?;
    let wrong = |problems: rats_domain::problem::Problems| SimError::Config {
        path: path.clone(),
        message: problems.to_string(),
    };
    Ok(read::<GpuFile>(&bytes).map_err(wrong)?.document)
}

fn profile(instances: &Path, id: &str) -> Result<Profile, SimError> {
    let folders = ["perseus", "zeus", "ttu", "gavel", "muri"];
    let candidates = folders.iter().map(|folder| instances.join("profiles").join(folder).join(format!("{id}.json")));
    let missing = || SimError::Compose(format!("no profile `{id}` in {}", instances.join("profiles").display()));
    let path = candidates.into_iter().find(|path| path.exists()).ok_or_else(missing)?;
    let wrong = |message: String| SimError::Config { path: path.clone(), message };
    let bytes = fs::read(&path).map_err(|error| wrong(error.to_string()))?;
    Ok(Profile::read(&bytes).map_err(|problems| wrong(problems.to_string()))?.profile)
}

fn type_of(file: &GpuFile) -> Result<TypeConfig, SimError> {
    let narrow = |value: i64| {
        u32::try_from(value).map_err(|_| SimError::Compose(format!("{}: {value} is out of range", file.id)))
    };
    let milli = |watts: rats_domain::decimal::Decimal| watts.to_f64() * 1000.0;
    let limit = |watts: rats_domain::decimal::Decimal| {
        let value = watts.scaled(3).and_then(|value| u32::try_from(value).ok());
        value.ok_or_else(|| SimError::Compose(format!("{}: a power limit is out of range", file.id)))
    };
    let mut clocks = Vec::new();
    for entry in &file.clocks {
        let mut sm_mhz: Vec<u32> = file
            .pairs()
            .filter(|&(mem, _)| mem == entry.mem_mhz)
            .map(|(_, sm)| narrow(sm))
            .collect::<Result<_, _>>()?;
        sm_mhz.sort_unstable();
        sm_mhz.dedup();
        clocks.push(ClocksConfig { mem_mhz: narrow(entry.mem_mhz)?, sm_mhz });
    }
    let architecture = architecture(&file.name);
    let ga100 = file.name.contains("A100") || file.name.contains("A30");
    Ok(TypeConfig {
        name: file.name.clone(),
        architecture,
        memory_mib: u64::from(narrow(file.memory_mib.value)?),
        clocks,
        default_sm_mhz: narrow(file.default_sm_mhz.value)?,
        default_mem_mhz: narrow(file.default_mem_mhz.value)?,
        power_limit_mw: LimitsConfig {
            min: limit(file.power_limit_w.min.value)?,
            default: limit(file.power_limit_w.default.value)?,
            max: limit(file.power_limit_w.max.value)?,
        },
        idle_mw: milli(file.idle_w.value),
        blocked_mw: milli(file.blocked_w.value),
        averaged_power: architecture >= Architecture::Ampere && !ga100,
        thermal: ThermalConfig::default(),
    })
}

/// The generation by the name of the product.
fn architecture(name: &str) -> Architecture {
    let known = [
        ("GB", Architecture::Blackwell),
        ("B200", Architecture::Blackwell),
        ("H100", Architecture::Hopper),
        ("H200", Architecture::Hopper),
        ("Ada", Architecture::Ada),
        ("L40", Architecture::Ada),
        ("A100", Architecture::Ampere),
        ("A40", Architecture::Ampere),
        ("A10", Architecture::Ampere),
        ("RTX 30", Architecture::Ampere),
        ("T4", Architecture::Turing),
        ("RTX 6000", Architecture::Turing),
        ("V100", Architecture::Volta),
        ("P100", Architecture::Pascal),
        ("P2000", Architecture::Pascal),
        ("K80", Architecture::Kepler),
    ];
    // `80GB` in a name is no generation.
    let name = name.replace("80GB", "").replace("40GB", "").replace("16GB", "").replace("32GB", "");
    known.iter().find(|(word, _)| name.contains(word)).map_or(Architecture::Ampere, |&(_, architecture)| architecture)
}

/// Catalogue ids of the types that profiles name otherwise; the board of the same kind with less memory stands in for one
/// that the catalogue lacks.
pub(crate) fn catalogue_id(gpu_type: &str) -> String {
    match gpu_type {
        "a100-sxm-80gb" => "A100-SXM4-80GB".into(),
        "a100-pcie-80gb" => "A100-PCIE-40GB".into(),
        other => other.to_uppercase(),
    }
}

fn workload_of(
    instances: &Path,
    name: &str,
    profiles: &[Profile],
    types: &BTreeMap<String, TypeConfig>,
) -> Result<WorkloadConfig, SimError> {
    let first = profiles.first().ok_or_else(|| SimError::Compose(format!("workload `{name}`: no profile")))?;
    let mut own = BTreeMap::new();
    for profile in profiles {
        let id = catalogue_id(&profile.gpu_type);
        let kind = type_of(&catalogued(instances, &id)?)?;
        let truth = truth_of(profile, &kind)?;
        own.insert(id, (kind, truth));
    }
    let source = own.get(&catalogue_id(&first.gpu_type)).cloned();
    let mut described = BTreeMap::new();
    for (id, kind) in types {
        let truth = match (own.get(id), &source) {
            (Some((_, truth)), _) => truth.clone(),
            (None, Some((from, truth))) => transferred(truth, from, kind),
            (None, None) => continue,
        };
        described.insert(id.clone(), truth);
    }
    let figure = |figure: &Option<rats_domain::format::Figure>, absent: f64| {
        figure.as_ref().map_or(absent, |figure| figure.value)
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "profiles hold memory > 0")]
    let memory_mib = figure(&first.memory_mib, MEMORY_MIB).round() as u64;
    Ok(WorkloadConfig {
        gradient_bytes: figure(&first.gradient_bytes, 0.0),
        overlap: figure(&first.overlap, 0.0),
        memory_mib,
        types: described,
    })
}

/// The truth of a profile on its own type.
fn truth_of(profile: &Profile, kind: &TypeConfig) -> Result<TruthConfig, SimError> {
    let usable: Vec<_> =
        profile.operating_points().filter(|at| !at.measured.flags.contains(&Flag::AboveLimit)).collect();
    let free = usable.iter().filter(|at| !at.measured.flags.contains(&Flag::Throttled));
    let swept: Vec<_> = free
        .filter(|at| at.measured.mem_mhz.is_none_or(|mem| mem == i64::from(kind.default_mem_mhz)))
        .filter_map(|at| Some((u32::try_from(at.measured.sm_mhz?).ok()?, at.step_s, at.power_w * 1000.0)))
        .collect();
    let limited: Vec<_> = usable
        .iter()
        .filter(|at| at.measured.power_limit_w.is_some())
        .map(|at| (at.step_s, at.power_w * 1000.0))
        .collect();
    let top = kind.clocks.iter().filter_map(|clocks| clocks.sm_mhz.last()).max().copied().unwrap_or(1);
    let (mut points, note) = if swept.len() > 1 {
        (continued(swept, top), "clocks measured")
    } else if limited.len() > 1 {
        (
            by_limit(&limited, top),
            "clocks derived from the times at power limits, 0.7 of a step assumed to go with the clock",
        )
    } else {
        return Err(SimError::Compose(format!("profile `{}` has fewer than two usable points", profile.id)));
    };
    points.sort_by_key(|point| point.0);
    points.dedup_by_key(|point| point.0);
    let compute_share = compute_share(&points);
    Ok(TruthConfig {
        source: format!("{}: {note}; influence of the memory clock assumed", profile.id),
        compute_share,
        memory_share: 1.0 - compute_share,
        memory_power_share: MEMORY_POWER_SHARE,
        points,
    })
}

/// Continues points up to a clock: time linear in 1/f, power linear in f, through the last points.
fn continued(mut points: Vec<(u32, f64, f64)>, top: u32) -> Vec<(u32, f64, f64)> {
    points.sort_by_key(|point| point.0);
    let (Some(&last), Some(&early)) =
        (points.last(), points.get(points.len().saturating_sub(CONTINUED)).or(points.first()))
    else {
        return points;
    };
    if last.0 < top && early.0 < last.0 {
        let (f0, f1, f) = (f64::from(early.0), f64::from(last.0), f64::from(top));
        let time = last.1 + (last.1 - early.1) * (1.0 / f1 - 1.0 / f) / (1.0 / f0 - 1.0 / f1);
        let power = last.2 + (last.2 - early.2) * (f - f1) / (f1 - f0);
        points.push((top, time.max(last.1 / 2.0), power.max(last.2)));
    }
    points
}

/// Places times and powers at power limits on a clock axis.
fn by_limit(points: &[(f64, f64)], top: u32) -> Vec<(u32, f64, f64)> {
    let least = points.iter().map(|point| point.0).fold(f64::INFINITY, f64::min);
    let clock = |time: f64| COMPUTE_SHARE * f64::from(top) / (time / least - 1.0 + COMPUTE_SHARE);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in 1..=top")]
    let place = |&(time, power): &(f64, f64)| (clock(time).round().max(1.0) as u32, time, power);
    points.iter().map(place).collect()
}

/// Share of the lowest point's time that goes with the clock, from it and the middle point.
fn compute_share(points: &[(u32, f64, f64)]) -> f64 {
    let (low, middle) = (points[0], points[points.len() / 2]);
    if low.0 == middle.0 {
        return COMPUTE_SHARE;
    }
    let per_period = (low.1 - middle.1) / (1.0 / f64::from(low.0) - 1.0 / f64::from(middle.0));
    (per_period / f64::from(low.0) / low.1).clamp(0.0, 1.0)
}

/// A truth of one type taken to another.
fn transferred(truth: &TruthConfig, from: &TypeConfig, to: &TypeConfig) -> TruthConfig {
    let top =
        |kind: &TypeConfig| kind.clocks.iter().filter_map(|clocks| clocks.sm_mhz.last()).max().copied().unwrap_or(1);
    let clock = f64::from(top(to)) / f64::from(top(from));
    let limit = |kind: &TypeConfig| f64::from(kind.power_limit_mw.default);
    let power = (limit(to) - to.idle_mw) / (limit(from) - from.idle_mw);
    let time = limit(from) / limit(to);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clocks are small and positive")]
    let scale = |&(f, step, drawn): &(u32, f64, f64)| {
        (
            (f64::from(f) * clock).round().max(1.0) as u32,
            step * time,
            to.idle_mw + (drawn - from.idle_mw).max(1.0) * power,
        )
    };
    let mut points: Vec<_> = truth.points.iter().map(scale).collect();
    points.dedup_by_key(|point| point.0);
    let source = format!("{}; taken over from {}: clocks, power and time scaled, assumed", truth.source, from.name);
    TruthConfig { source, points, ..truth.clone() }
}

#[cfg(test)]
#[path = "compose_tests.rs"]
mod tests;
