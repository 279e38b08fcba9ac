//! One profile of several that were measured on different GPUs of a kind.
//!
//! # Idea
//! Boards of a kind differ by some percent in speed and power. A plan places a job on any of them, so it needs what they
//! do on average, and one board measured alone is off by its own deviation, which no longer measurement removes.
//!
//! # Model
//! ln v = a(board) + b(point), for time and power apart, with the a of all boards adding up to 0. The a follow from the points that
//! all boards have; then b of each point is the mean of ln v - a over the boards that have it. So a point that the model chose
//! on one board only counts as if all had measured it.
//!
//! # Complexity
//! O(boards x points).
//!
//! # Limits
//! That boards differ by one factor at all points is an assumption: leakage, say, adds power at any clock. Flagged points
//! are left out.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::format::{Figure, Flag, MeasuredPointFile, ProfileFile};
use rats_domain::problem::Problem;
use rats_models::statistics::mean;

/// An operating point: SM clock, memory clock, limit in mW.
type Key = (Option<i64>, Option<i64>, Option<i128>);

/// A profile of several GPUs, and how they differ.
#[derive(Clone, Debug)]
pub struct Pooled {
    /// The profile.
    pub file: ProfileFile,
    /// Time of a step on each GPU over the mean, in the order of the profiles.
    pub time: Vec<f64>,
    /// Power of each GPU over the mean.
    pub power: Vec<f64>,
}

/// Pools profiles of one workload on one kind of GPU; at least one.
///
/// # Errors
/// Y18.
pub fn pool(files: &[ProfileFile], id: Option<String>) -> Result<Pooled, Problem> {
    let refuse = |place: &str, message: String| Err(Problem::new(Code::Y18, place, message));
    let Some(first) = files.first() else { return refuse("profiles", "there are none.".to_owned()) };
    for file in files {
        let is_alike = file.gpu_type == first.gpu_type && file.workload == first.workload && file.gang == first.gang;
        if !is_alike {
            return refuse(&file.id, format!("is of another workload, kind of GPU or gang than `{}`.", first.id));
        }
    }
    let boards: Vec<BTreeMap<Key, &MeasuredPointFile>> = files.iter().map(usable).collect();
    let shared: Vec<Key> =
        boards[0].keys().filter(|key| boards.iter().all(|board| board.contains_key(*key))).copied().collect();
    if shared.is_empty() {
        return refuse(&first.id, "shares no point without flags with all others.".to_owned());
    }
    let time = factors(&boards, &shared, |point| point.step_s);
    let power = factors(&boards, &shared, |point| point.power_w);
    let mut keys: Vec<Key> = boards.iter().flat_map(|board| board.keys().copied()).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut file = first.clone();
    file.id = id.unwrap_or_else(|| format!("{}-pooled", first.id));
    file.points = keys.iter().map(|key| point(&boards, *key, &time, &power)).collect();
    file.startup_s = figure(files.iter().filter_map(|file| file.startup_s.as_ref()));
    file.blocked_w = figure(files.iter().filter_map(|file| file.blocked_w.as_ref()));
    let hardware: Vec<&str> = files.iter().filter_map(|file| file.source.hardware.as_deref()).collect();
    file.source.hardware = (!hardware.is_empty()).then(|| hardware.join("; "));
    file.source.title = format!("{}; mean of {} GPUs", first.source.title, files.len());
    Ok(Pooled { file, time, power })
}

fn usable(file: &ProfileFile) -> BTreeMap<Key, &MeasuredPointFile> {
    let is_clean = |point: &&MeasuredPointFile| point.flags.iter().all(|flag| *flag == Flag::PowerIntegrated);
    let points = file.points.iter().filter(is_clean).filter(|point| point.step_s.is_some() && point.power_w.is_some());
    let key = |point: &MeasuredPointFile| {
        (point.sm_mhz, point.mem_mhz, point.power_limit_w.and_then(|watts| watts.scaled(3)))
    };
    points.map(|point| (key(point), point)).collect()
}

/// Each board over the mean of all, at the points that all have.
fn factors(
    boards: &[BTreeMap<Key, &MeasuredPointFile>],
    shared: &[Key],
    value: fn(&MeasuredPointFile) -> Option<f64>,
) -> Vec<f64> {
    let level = |board: &BTreeMap<Key, &MeasuredPointFile>| {
        let logs: Vec<f64> = shared.iter().filter_map(|key| Some(value(board.get(key)?)?.ln())).collect();
        mean(&logs).unwrap_or_default()
    };
    let levels: Vec<f64> = boards.iter().map(level).collect();
    let middle = mean(&levels).unwrap_or_default();
    levels.iter().map(|level| (level - middle).exp()).collect()
}

fn point(boards: &[BTreeMap<Key, &MeasuredPointFile>], key: Key, time: &[f64], power: &[f64]) -> MeasuredPointFile {
    let of: Vec<(usize, &MeasuredPointFile)> =
        boards.iter().enumerate().filter_map(|(board, points)| Some((board, *points.get(&key)?))).collect();
    let mut pooled = of.first().map(|(_, point)| (*point).clone()).unwrap_or_default();
    let values = |value: fn(&MeasuredPointFile) -> Option<f64>| -> Vec<(usize, f64)> {
        of.iter().filter_map(|(board, point)| Some((*board, value(point)?))).collect()
    };
    let (times, powers) = (values(|point| point.step_s), values(|point| point.power_w));
    pooled.step_s = typical(&times, time);
    pooled.power_w = typical(&powers, power);
    if of.len() > 1 {
        pooled.step_s_spread = spread(&times);
        pooled.power_w_spread = spread(&powers);
    }
    pooled.samples = of.iter().map(|(_, point)| point.samples).sum();
    pooled.flags = of.iter().flat_map(|(_, point)| point.flags.iter().copied()).collect();
    pooled.flags.sort_unstable();
    pooled.flags.dedup();
    pooled
}

/// What a board of factor 1 shows.
fn typical(values: &[(usize, f64)], factors: &[f64]) -> Option<f64> {
    let logs: Vec<f64> = values.iter().map(|&(board, value)| (value / factors[board]).ln()).collect();
    mean(&logs).map(f64::exp)
}

/// Standard deviation over mean, from board to board.
fn spread(values: &[(usize, f64)]) -> Option<f64> {
    let values: Vec<f64> = values.iter().map(|&(_, value)| value).collect();
    let middle = mean(&values)?;
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt() / middle)
}

fn figure<'f>(figures: impl Iterator<Item = &'f Figure>) -> Option<Figure> {
    let figures: Vec<&Figure> = figures.collect();
    let values: Vec<f64> = figures.iter().map(|figure| figure.value).collect();
    Some(Figure { value: mean(&values)?, ..(*figures.first()?).clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A profile with points (MHz, s, W).
    fn profile(id: &str, points: &[(i64, f64, f64)]) -> ProfileFile {
        let points: Vec<_> = points
            .iter()
            .map(|(mhz, step_s, power_w)| serde_json::json!({"sm_mhz": mhz, "step_s": step_s, "power_w": power_w}))
            .collect();
        serde_json::from_value(serde_json::json!({
            "format": "rats.profile/1", "id": id, "gpu_type": "a40", "workload": {"model": "net", "step": "one"},
            "source": {"title": "t", "hardware": id}, "points": points,
            "origin": {"step_s": {"kind": "measured"}, "power_w": {"kind": "measured"}}
        }))
        .unwrap()
    }

    #[test]
    fn a_point_that_one_gpu_has_counts_as_if_all_had_it() {
        // At 1000 MHz 1 s and 1.21 s: the mean of the logarithms is that of 1.1 s, the boards are off by 1/1.1 and 1.1. So
        // the 2 s of the first board at 500 MHz are 2.2 s of a typical one. Power is the same on both.
        let boards = [profile("x", &[(1000, 1.0, 200.0), (500, 2.0, 100.0)]), profile("y", &[(1000, 1.21, 200.0)])];
        let pooled = pool(&boards, Some("both".to_owned())).unwrap();
        assert!((pooled.time[0] * 1.1 - 1.0).abs() < 1e-12 && (pooled.time[1] / 1.1 - 1.0).abs() < 1e-12);
        assert_eq!(pooled.power, [1.0, 1.0]);
        let points: Vec<_> =
            pooled.file.points.iter().map(|p| (p.sm_mhz.unwrap(), p.step_s.unwrap(), p.power_w.unwrap())).collect();
        assert_eq!((points[0].0, points[1].0), (500, 1000));
        assert!((points[0].1 - 2.2).abs() < 1e-12 && (points[1].1 - 1.1).abs() < 1e-12);
        assert!((points[0].2 - 100.0).abs() < 1e-9 && (points[1].2 - 200.0).abs() < 1e-9);
        assert_eq!(pooled.file.source.hardware.as_deref(), Some("x; y"));
        rats_domain::profile::Profile::new(pooled.file).unwrap();
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        let one = profile("x", &[(1000, 1.0, 200.0)]);
        let apart = profile("y", &[(900, 1.0, 200.0)]);
        let other = ProfileFile { gpu_type: "v100".to_owned(), ..one.clone() };
        for files in [vec![], vec![one.clone(), apart], vec![one, other]] {
            assert_eq!(pool(&files, None).unwrap_err().code, Code::Y18);
        }
    }
}
