//! Data that is in good order but cannot be what it says: named in warnings, and flagged at the points.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::format::{Flag, MeasuredPointFile, ProfileFile};

use super::{Imported, gpus};

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
        for (code, text) in
            [quantized(profile), noisy(profile), throttled(profile), above_limit(profile)].into_iter().flatten()
        {
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

/// Sweeps of clocks whose times jump.
fn noisy(profile: &mut ProfileFile) -> Option<(Code, String)> {
    if profile.points.iter().any(|point| point.flags.contains(&Flag::TimeUnusable)) {
        return None;
    }
    let sweep = sweep(profile);
    if sweep.len() < LEAST_SWEEP {
        return None;
    }
    let time = |position: usize| sweep[position].2;
    let mut jumps: Vec<_> =
        (1..sweep.len() - 1).map(|i| (time(i) - f64::midpoint(time(i - 1), time(i + 1))).abs() / time(i)).collect();
    jumps.sort_by(f64::total_cmp);
    let median = jumps[jumps.len() / 2];
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
    let sweep = sweep(profile);
    let mut clocks = Vec::new();
    for &(position, clock, time) in &sweep {
        let lower = sweep.iter().filter(|(_, other, _)| *other as f64 <= clock as f64 * 0.96);
        let as_fast = lower.map(|(_, _, time)| *time).min_by(f64::total_cmp).is_some_and(|least| time > least * 0.99);
        if as_fast && profile.points[position].power_w.is_some_and(|power| power >= limit * NEAR_LIMIT) {
            clocks.push(clock);
            mark(&mut profile.points[position], Flag::Throttled);
        }
    }
    let (first, last) = (*clocks.first()?, *clocks.last()?);
    let count = clocks.len();
    Some((Code::S04, format!("{count} clocks from {first} to {last} MHz bring no shorter time at {limit} W.")))
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

/// Position, clock and time of the points of a clock sweep, by clock.
fn sweep(profile: &ProfileFile) -> Vec<(usize, i64, f64)> {
    let points = profile.points.iter().enumerate();
    let mut sweep: Vec<_> =
        points.filter_map(|(position, point)| Some((position, point.sm_mhz?, point.step_s?))).collect();
    sweep.sort_by_key(|(_, clock, _)| *clock);
    sweep
}

fn mark(point: &mut MeasuredPointFile, flag: Flag) {
    if !point.flags.contains(&flag) {
        point.flags.push(flag);
        point.flags.sort_unstable();
    }
}
