//! Operating points between measured ones, on request: what a fitted model says of clocks or power limits that nobody measured.
//!
//! # Idea
//! The DVFS model of a profile (`rats fit`) is asked at every setting between two measured ones. What it says becomes an
//! operating point like a measured one, but every option made of it is marked with its interval.
//!
//! # Model
//! Between neighbors of one memory clock, with distance `d` asked for: from below, every setting at least `d` above the
//! last one and at least `d` below the upper neighbor. SM clocks are those that the GPU type lists, where a list is known,
//! else whole multiples of `d` above the lower neighbor; power limits are always these. Nothing is predicted beyond what
//! was measured, nor in place of a measurement, even of one flagged as unusable. Every profile is fitted by itself, so that
//! the options of a job do not depend on the other jobs.
//!
//! # Limits
//! A profile whose fit is refused (M01-M12), or that the model cannot describe, is left as measured, with a warning.

use std::collections::{BTreeMap, BTreeSet};

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::format::{Flag, GpuFile, JobFile, PointFile};
use rats_domain::problem::{Problem, Warning};
use rats_domain::profile::Profile;
use rats_models::dvfs::curve::Prediction;
use rats_models::dvfs::scope::Axis;
use rats_models::dvfs::{Model, Setting, Workload, fit_all};
use serde::{Deserialize, Serialize};

use super::choice::Choice;
use super::scenario::{FillFile, Scenario};
use super::{Files, Library};
use crate::import::gpus::listed;

/// Most points added to one profile: more than any GPU has clocks.
const MOST_POINTS: usize = 1000;
/// Thousandths of a MHz or W, in which distances are exact.
const DECIMALS: u32 = 3;

/// An operating point that nobody measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predicted {
    /// The point.
    pub point: PointFile,
    /// Time of one step, s, with its 90 % interval.
    pub step_s: Prediction,
    /// Mean power of one GPU during it, W, with its 90 % interval.
    pub power_w: Prediction,
}

/// The predicted points of the profiles of a scenario.
#[derive(Clone, Debug, Default)]
pub struct Fills {
    by_profile: BTreeMap<(String, FillFile), Vec<Predicted>>,
}

impl Fills {
    /// Fits every profile of a job that asks for it; refused fits are warnings, too many points a problem.
    pub fn new(
        scenario: &Scenario,
        library: &Library,
        files: &Files,
        problems: &mut Vec<Problem>,
        warnings: &mut Vec<Warning>,
    ) -> Self {
        let mut models: BTreeMap<&str, Option<Model>> = BTreeMap::new();
        let mut by_profile = BTreeMap::new();
        for (position, job) in scenario.jobs.iter().enumerate() {
            let fill = job.fill.unwrap_or(scenario.fill);
            for (at, id) in job.profiles.iter().enumerate().filter(|_| fill.asks()) {
                let Some(profile) = library.get(id) else { continue };
                let place = format!("jobs[{position}].profiles[{at}]");
                let card = files.gpus.get(&profile.gpu_type).cloned().or_else(|| listed(&profile.gpu_type));
                let model = models.entry(id).or_insert_with(|| fitted(&place, profile, card.as_ref(), warnings));
                let key = (id.clone(), fill);
                let (Some(model), false) = (model, by_profile.contains_key(&key)) else { continue };
                let points = between(profile, model, fill, card.as_ref());
                if points.len() > MOST_POINTS {
                    let message = format!("would add more than {MOST_POINTS} points to `{id}`; ask for fewer.");
                    problems.push(Problem::new(Code::B04, format!("jobs[{position}].fill"), message));
                }
                let said = points.into_iter().filter_map(|point| predicted(model, point)).collect();
                by_profile.insert(key, said);
            }
        }
        Self { by_profile }
    }

    /// What was predicted for a profile, in ascending order at each memory clock; nothing where nothing was asked for.
    pub fn of(&self, profile: &str, fill: FillFile) -> &[Predicted] {
        self.by_profile.get(&(profile.to_owned(), fill)).map_or(&[], Vec::as_slice)
    }
}

fn fitted(place: &str, profile: &Profile, card: Option<&GpuFile>, warnings: &mut Vec<Warning>) -> Option<Model> {
    let cards = card.map(|card| (profile.gpu_type.clone(), card.clone())).into_iter().collect();
    let mut workload = Workload::of_profile(profile);
    for (row, point) in workload.rows.iter_mut().zip(&profile.points) {
        row.time = row.time.filter(|_| !point.flags.contains(&Flag::TimeRelative));
    }
    match fit_all(&[workload], &cards).pop()? {
        Ok(model) => Some(model),
        Err(refused) => {
            warnings.extend(refused.0.into_iter().map(|Problem { code, place: at, message }| {
                let message = format!("{message} `{}` is left as measured. {}", profile.id, code.remedy());
                Warning::new(code, format!("{place}: {at}"), message)
            }));
            None
        }
    }
}

/// The settings to ask for, at most one more than [`MOST_POINTS`].
fn between(profile: &Profile, model: &Model, fill: FillFile, card: Option<&GpuFile>) -> Vec<PointFile> {
    let Some(distance) = (match model.axis {
        Axis::Clock => fill.mhz,
        Axis::Limit => fill.w,
    }) else {
        return Vec::new();
    };
    let distance = i128::from(distance) * 10_i128.pow(DECIMALS);
    let mut found = Vec::new();
    let memories: BTreeSet<Option<i64>> = profile.points.iter().map(|point| point.mem_mhz).collect();
    for mem_mhz in memories {
        let of_memory = || profile.operating_points().map(|at| at.point).filter(|point| point.mem_mhz == mem_mhz);
        let Some(like) = of_memory().next() else { continue };
        let usable: BTreeSet<i128> = of_memory().filter_map(|point| place(&point, model.axis)).collect();
        let (Some(&low), Some(&high)) = (usable.first(), usable.last()) else { continue };
        let same = profile.points.iter().filter(|point| point.mem_mhz == mem_mhz);
        let measured: BTreeSet<i128> =
            same.filter_map(|point| place(&point.point(), model.axis)).filter(|at| (low..=high).contains(at)).collect();
        let measured: Vec<i128> = measured.into_iter().collect();
        let clocks = card.filter(|_| model.axis == Axis::Clock).map(|card| clocks(card, mem_mhz));
        for neighbors in measured.windows(2) {
            let inside = gap((neighbors[0], neighbors[1]), distance, clocks.as_deref());
            found.extend(inside.into_iter().filter_map(|at| moved(like, model.axis, at)));
        }
    }
    found.truncate(MOST_POINTS + 1);
    found
}

/// The settings between two neighbors, no two of them and no neighbor nearer than a distance; all in thousandths.
fn gap((low, high): (i128, i128), distance: i128, listed: Option<&[i128]>) -> Vec<i128> {
    let mut last = low;
    let mut far_enough = |at: i128| {
        let fits = at - last >= distance && high - at >= distance;
        last = if fits { at } else { last };
        fits.then_some(at)
    };
    match listed {
        Some(clocks) => clocks.iter().filter_map(|&at| far_enough(at)).collect(),
        None => (1..=MOST_POINTS as i128 + 1).map_while(|k| far_enough(low + k * distance)).collect(),
    }
}

/// The SM clocks that a GPU type lists at a memory clock, the default one where none is stated; ascending.
fn clocks(card: &GpuFile, mem_mhz: Option<i64>) -> Vec<i128> {
    let mem_mhz = mem_mhz.unwrap_or(card.default_mem_mhz.value);
    let of_memory = card.pairs().filter(|&(mem, _)| mem == mem_mhz);
    let found: BTreeSet<i128> = of_memory.map(|(_, sm)| i128::from(sm) * 10_i128.pow(DECIMALS)).collect();
    found.into_iter().collect()
}

/// Where a point lies on an axis, in thousandths; `None` where it does not say.
fn place(point: &PointFile, axis: Axis) -> Option<i128> {
    match axis {
        Axis::Clock => Decimal::from(point.sm_mhz?).scaled(DECIMALS),
        Axis::Limit => point.power_limit_w?.scaled(DECIMALS),
    }
}

/// A point elsewhere on an axis.
fn moved(point: PointFile, axis: Axis, at: i128) -> Option<PointFile> {
    Some(match axis {
        Axis::Clock => PointFile { sm_mhz: Some(i64::try_from(at / 10_i128.pow(DECIMALS)).ok()?), ..point },
        Axis::Limit => PointFile { power_limit_w: Some(Decimal::from_scaled(at, DECIMALS)), ..point },
    })
}

/// What a model says of a point; `None` where it would have to guess time or power.
fn predicted(model: &Model, point: PointFile) -> Option<Predicted> {
    let mem_mhz = point.mem_mhz.map(|mhz| mhz as f64);
    let setting = match model.axis {
        Axis::Clock => Setting { sm_mhz: point.sm_mhz.map(|mhz| mhz as f64), mem_mhz, power_limit_w: None },
        Axis::Limit => Setting { sm_mhz: None, mem_mhz, power_limit_w: point.power_limit_w.map(Decimal::to_f64) },
    };
    let said = model.predict(setting).ok()?;
    let known = |prediction: Option<Prediction>| prediction.filter(|prediction| !prediction.extrapolated);
    Some(Predicted { point, step_s: known(said.time)?, power_w: known(said.power)? })
}

/// Options of a job that stand on one predicted point, as `physics.predicted` of the job lists them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Their positions.
    pub options: Vec<usize>,
    /// Type of GPU.
    pub gpu_type: String,
    /// The point.
    pub point: PointFile,
    /// Time of one step, s: predicted, lower and upper end of the 90 % interval.
    pub step_s: [f64; 3],
    /// Power of one GPU, W: the same.
    pub power_w: [f64; 3],
}

impl Mark {
    /// That of an option of a job; `None` where the option stands on a measured point, or nothing is said.
    pub fn of(job: &JobFile, option: usize) -> Option<Self> {
        let marks = job.physics.as_ref()?.get("predicted")?;
        let marks: Vec<Self> = serde_json::from_value(marks.clone()).ok()?;
        marks.into_iter().find(|mark| mark.options.contains(&option))
    }
}

/// The marks of a job's options, in order of their first.
pub fn marks(choices: &[Choice]) -> Vec<Mark> {
    let three = |prediction: Prediction| [prediction.value, prediction.low, prediction.high];
    let mut found: Vec<Mark> = Vec::new();
    for (option, choice) in choices.iter().enumerate() {
        let Some(Predicted { point, step_s, power_w }) = choice.predicted else { continue };
        let mark = Mark {
            options: Vec::new(),
            gpu_type: choice.gpu_type.clone(),
            point,
            step_s: three(step_s),
            power_w: three(power_w),
        };
        match found.iter_mut().find(|known| Mark { options: Vec::new(), ..(*known).clone() } == mark) {
            Some(known) => known.options.push(option),
            None => found.push(Mark { options: vec![option], ..mark }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_between_neighbors_keep_their_distance() {
        let between =
            |low: i128, high: i128, distance: i128, listed: Option<&[i128]>| gap((low, high), distance, listed);
        assert_eq!(between(1000, 1060, 15, None), [1015, 1030, 1045]);
        // 1050 would be 9 below 1059.
        assert_eq!(between(1000, 1059, 15, None), [1015, 1030]);
        assert_eq!(between(1000, 1029, 15, None), [0; 0]);
        let listed = [985, 1000, 1007, 1015, 1022, 1030, 1037, 1045, 1052, 1060, 1067];
        assert_eq!(between(1000, 1060, 15, Some(&listed)), [1015, 1030, 1045]);
        assert_eq!(between(1000, 1060, 7, Some(&listed)), [1007, 1015, 1022, 1030, 1037, 1045, 1052]);
        assert_eq!(between(1000, 1060, 15, Some(&[])), [0; 0]);
    }
}
