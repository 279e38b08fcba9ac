//! Data that is in good order but cannot be what it says: named in warnings, and flagged at the points.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::format::{Flag, MeasuredPointFile, ProfileFile};

use super::{Imported, gpus};

/// Values this many times off the median of their sweep, or its inverse, are in another unit; clocks explain 12 at most.
const OTHER_UNIT: f64 = 200.0;
/// Measurements of which a median can be taken.
const LEAST_MEDIAN: usize = 3;
/// No board draws more, W; as many mW would be above it.
const MOST_BOARD: f64 = 3000.0;
/// No powered board draws less, W; as many kW would be below it.
const LEAST_BOARD: f64 = 3.0;

/// Fewer equal numbers in a row may be chance or a single value.
const LEAST_COLUMN: usize = 5;
/// Points of a sweep that is long enough to judge its smoothness.
const LEAST_SWEEP: usize = 10;
/// Points of a sweep that is long enough to judge its resolution.
const LEAST_RESOLUTION: usize = 20;
/// Median distance of a time from the mean of its neighbors, over the time; good sweeps have 0.001 to 0.012.
const MOST_NOISE: f64 = 0.02;
/// Mean power over the limit that measurement does not explain.
const OVER_LIMIT: f64 = 1.01;
/// Mean power over the board's limit from which on the limit may hold the clock.
const NEAR_LIMIT: f64 = 0.94;

/// Looks at all profiles.
pub(super) fn look(imported: &mut Imported) {
    shared_columns(imported, Flag::TimeUnusable, "time", |point| point.step_s);
    shared_columns(imported, Flag::PowerUnusable, "power", |point| point.power_w);
    shared_scaling(imported);
    let Imported { profiles, findings, .. } = imported;
    for profile in profiles.iter_mut() {
        let times = other_unit(profile, Flag::TimeUnusable, "time", |point| point.step_s);
        let powers = other_unit(profile, Flag::PowerUnusable, "power", |point| point.power_w);
        let rest = [quantized(profile), noisy(profile), throttled(profile), above_limit(profile)];
        for (code, text) in [times, powers, unlisted(profile)].into_iter().chain(rest).flatten() {
            findings.suspect(code, profile.id.clone(), text);
        }
    }
}

/// Columns that several workloads on one type of GPU have in common, number by number.
fn shared_columns(imported: &mut Imported, flag: Flag, what: &str, column: fn(&MeasuredPointFile) -> Option<f64>) {
    let mut groups: BTreeMap<(String, Vec<u64>), Vec<usize>> = BTreeMap::new();
    for (position, profile) in imported.profiles.iter().enumerate() {
        let values: Vec<_> = profile.points.iter().filter_map(column).map(f64::to_bits).collect();
        if values.len() >= LEAST_COLUMN {
            groups.entry((profile.gpu_type.clone(), values)).or_default().push(position);
        }
    }
    for positions in groups.into_values() {
        if !several(&imported.profiles, &positions) {
            continue;
        }
        let names: Vec<_> = positions.iter().map(|&position| imported.profiles[position].id.clone()).collect();
        for &position in &positions {
            imported.profiles[position].points.iter_mut().for_each(|point| mark(point, flag));
        }
        let message = format!("{} workloads have one and the same {what} column: {}.", names.len(), names.join(", "));
        imported.findings.suspect(Code::S01, names[0].clone(), message);
    }
}

/// Scaling measurements that several workloads on one type of GPU have in common.
fn shared_scaling(imported: &mut Imported) {
    let mut groups: BTreeMap<(String, Vec<u64>), Vec<usize>> = BTreeMap::new();
    for (position, profile) in imported.profiles.iter().enumerate() {
        let values: Vec<_> = profile.scaling.iter().map(|entry| entry.step_s.to_bits()).collect();
        if values.len() >= LEAST_COLUMN {
            groups.entry((profile.gpu_type.clone(), values)).or_default().push(position);
        }
    }
    for positions in groups.into_values().filter(|positions| several(&imported.profiles, positions)) {
        let names: Vec<_> = positions.iter().map(|&position| imported.profiles[position].id.clone()).collect();
        let message = format!("{} workloads scale by the very same times: {}.", names.len(), names.join(", "));
        imported.findings.suspect(Code::S01, names[0].clone(), message);
    }
}

/// Whether profiles are of more than one workload; one workload measured twice may well repeat itself.
fn several(profiles: &[ProfileFile], positions: &[usize]) -> bool {
    let key = |position: usize| {
        let ProfileFile { workload, batch_per_gpu, .. } = &profiles[position];
        (workload, batch_per_gpu.as_ref().map(|figure| figure.value.to_bits()))
    };
    positions.iter().any(|&position| key(position) != key(positions[0]))
}

/// Times that take few values.
fn quantized(profile: &mut ProfileFile) -> Option<(Code, String)> {
    if profile.points.iter().any(|point| point.flags.contains(&Flag::TimeUnusable)) {
        return None;
    }
    let mut times: Vec<_> = profile.points.iter().filter_map(|point| point.step_s).map(f64::to_bits).collect();
    let all = times.len();
    times.sort_unstable();
    times.dedup();
    if all < LEAST_RESOLUTION || times.len() > all / 4 {
        return None;
    }
    profile.points.iter_mut().for_each(|point| mark(point, Flag::TimeQuantized));
    Some((Code::S02, format!("{all} times take {} distinct values.", times.len())))
}

/// Sweeps of clocks whose times jump: off the line through their neighbors over 1 / clock.
fn noisy(profile: &mut ProfileFile) -> Option<(Code, String)> {
    if profile.points.iter().any(|point| point.flags.contains(&Flag::TimeUnusable)) {
        return None;
    }
    let mut jumps = Vec::new();
    for sweep in sweeps(profile).values().filter(|sweep| sweep.len() >= LEAST_SWEEP) {
        for three in sweep.windows(3) {
            let [(_, low, first), (_, clock, time), (_, high, last)] = three else { continue };
            let [low, period, high] = [low, clock, high].map(|clock| 1.0 / *clock as f64);
            let expected = last + (first - last) * (period - high) / (low - high);
            jumps.push((time - expected).abs() / time);
        }
    }
    jumps.sort_by(f64::total_cmp);
    let median = *jumps.get(jumps.len() / 2)?;
    if median <= MOST_NOISE {
        return None;
    }
    profile.points.iter_mut().for_each(|point| mark(point, Flag::TimeNoisy));
    Some((Code::S03, format!("times lie {:.1} % off their neighbors (median).", median * 100.0)))
}

/// Clocks that the board's power limit did not let the GPU reach: a clock at least 4 % lower is as fast.
fn throttled(profile: &mut ProfileFile) -> Option<(Code, String)> {
    let limit = gpus::board_limit_w(&profile.gpu_type)?;
    if profile.points.iter().any(|point| point.flags.contains(&Flag::TimeUnusable)) {
        return None;
    }
    let mut clocks = Vec::new();
    for sweep in sweeps(profile).values() {
        for &(position, clock, time) in sweep {
            let lower = sweep.iter().filter(|(_, other, _)| *other as f64 <= clock as f64 * 0.96);
            let least = lower.map(|(_, _, time)| *time).min_by(f64::total_cmp);
            let as_fast = least.is_some_and(|least| time > least * 0.99);
            if as_fast && profile.points[position].power_w.is_some_and(|power| power >= limit * NEAR_LIMIT) {
                clocks.push(clock);
                mark(&mut profile.points[position], Flag::Throttled);
            }
        }
    }
    let (first, last) = (*clocks.first()?, *clocks.last()?);
    let count = clocks.len();
    Some((Code::S04, format!("{count} clocks from {first} to {last} MHz bring no shorter time at {limit} W.")))
}

/// Values that are about 1000 times off the others of their sweep, or that no board draws.
fn other_unit(
    profile: &mut ProfileFile,
    flag: Flag,
    what: &str,
    column: fn(&MeasuredPointFile) -> Option<f64>,
) -> Option<(Code, String)> {
    let mut values: Vec<_> = profile.points.iter().filter_map(column).collect();
    values.sort_by(f64::total_cmp);
    let median = *values.get(values.len() / 2)?;
    let is_power = flag == Flag::PowerUnusable;
    let mut found = Vec::new();
    for point in &mut profile.points {
        let Some(value) = column(point) else { continue };
        let off = values.len() >= LEAST_MEDIAN && !(1.0 / OTHER_UNIT..=OTHER_UNIT).contains(&(value / median));
        if off || is_power && !(LEAST_BOARD..=MOST_BOARD).contains(&value) {
            found.push(format!("{value} at {}", name(point)));
            mark(point, flag);
        }
    }
    let text = format!("{what} {}, where the median is {median}: not used.", found.join(", "));
    (!found.is_empty()).then_some((Code::S09, text))
}

/// Clocks that the drivers of the GPU type do not list.
fn unlisted(profile: &mut ProfileFile) -> Option<(Code, String)> {
    let listed = gpus::listed_clocks(&profile.gpu_type)?;
    let mut found = Vec::new();
    for point in &mut profile.points {
        let fits = |(mem, sm): &(i64, i64)| {
            point.sm_mhz.is_none_or(|clock| clock == *sm) && point.mem_mhz.is_none_or(|clock| clock == *mem)
        };
        if !listed.iter().any(fits) {
            found.push(name(point));
            mark(point, Flag::ClockUnlisted);
        }
    }
    let text = format!("drivers list no such clock for {}: {}.", profile.gpu_type, found.join(", "));
    (!found.is_empty()).then_some((Code::S10, text))
}

/// An operating point as people name it.
fn name(point: &MeasuredPointFile) -> String {
    let clock = |clock: Option<i64>, what: &str| clock.map(|clock| format!("{clock} MHz{what}"));
    let limit = point.power_limit_w.map(|limit| format!("{limit} W"));
    let parts = [clock(point.sm_mhz, ""), clock(point.mem_mhz, " memory"), limit];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "the default".to_owned() } else { parts.join(" / ") }
}

/// Powers above the limit in force.
fn above_limit(profile: &mut ProfileFile) -> Option<(Code, String)> {
    let board = gpus::board_limit_w(&profile.gpu_type);
    let mut worst: Option<(f64, f64)> = None;
    let mut count = 0;
    for point in &mut profile.points {
        let Some((power, limit)) = point.power_w.zip(point.power_limit_w.map(Decimal::to_f64).or(board)) else {
            continue;
        };
        if power > limit * OVER_LIMIT {
            count += 1;
            mark(point, Flag::AboveLimit);
            if worst.is_none_or(|(other, at)| power / limit > other / at) {
                worst = Some((power, limit));
            }
        }
    }
    let (power, limit) = worst?;
    Some((Code::S05, format!("power is above the limit at {count} points, most at {limit} W: {power:.1} W.")))
}

/// What stays the same in a sweep of SM clocks: memory clock and power limit.
type Fixed = (Option<i64>, Option<String>);

/// Position, SM clock and time of the points of clock sweeps, by SM clock; one sweep a memory clock and power limit.
fn sweeps(profile: &ProfileFile) -> BTreeMap<Fixed, Vec<(usize, i64, f64)>> {
    let mut sweeps: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (position, point) in profile.points.iter().enumerate() {
        if let Some((clock, time)) = point.sm_mhz.zip(point.step_s) {
            let key = (point.mem_mhz, point.power_limit_w.map(|limit| limit.to_string()));
            sweeps.entry(key).or_default().push((position, clock, time));
        }
    }
    for sweep in sweeps.values_mut() {
        sweep.sort_by_key(|(_, clock, _)| *clock);
    }
    sweeps
}

fn mark(point: &mut MeasuredPointFile, flag: Flag) {
    if !point.flags.contains(&flag) {
        point.flags.push(flag);
        point.flags.sort_unstable();
    }
}
