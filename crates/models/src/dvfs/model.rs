//! Time and power of one workload over the operating points of its GPU.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::format::{GpuFile, SourceFile};
use rats_domain::problem::{Problem, Problems};
use rayon::prelude::*;

use crate::score::Quantity;

use super::card::Voltage;
use super::curve::{Curve, Prediction};
use super::scope::{Axis, Place, Sample};
use super::series::{Series, identical};
use super::workload::Workload;

/// Mean relative error of held-out measurements above which a fit is refused: a tenth is what a neighboring clock, or
/// guessing the default clock's value for it, is wrong by.
pub const TRUSTED: f64 = 0.10;

/// A fitted model.
#[derive(Clone, Debug)]
pub struct Model {
    /// Name.
    pub id: String,
    /// Type of GPU.
    pub gpu: String,
    /// What ran.
    pub workload: String,
    /// Where the measurements come from.
    pub source: SourceFile,
    /// The axis it was measured along.
    pub axis: Axis,
    /// Time of a step.
    pub time: Option<Curve>,
    /// Power of one GPU, W.
    pub power: Option<Curve>,
}

/// An operating point that a prediction is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Setting {
    /// SM clock, MHz.
    pub sm_mhz: Option<f64>,
    /// Memory clock, MHz; may be left out where one was measured.
    pub mem_mhz: Option<f64>,
    /// Power limit, W.
    pub power_limit_w: Option<f64>,
}

/// What a model says of an operating point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Said {
    /// Time of a step.
    pub time: Option<Prediction>,
    /// Power of one GPU, W.
    pub power: Option<Prediction>,
}

/// Fits a model to each workload; those of one GPU share its voltage curve. `cards` are GPU types by name; of others, clocks
/// and limits are not checked. Results are in the order of the workloads.
pub fn fit_all(workloads: &[Workload], cards: &BTreeMap<String, GpuFile>) -> Vec<Result<Model, Problems>> {
    let copies = identical(workloads);
    let series: Vec<Result<Series, Problems>> = workloads
        .iter()
        .map(|workload| {
            let own: Vec<Problem> = copies.iter().filter(|problem| problem.place == workload.id).cloned().collect();
            if own.is_empty() { Series::new(workload, cards.get(&workload.gpu)) } else { Err(Problems(own)) }
        })
        .collect();
    let voltages = voltages(workloads, &series);
    let fit = |(workload, series): (&Workload, &Result<Series, Problems>)| {
        let series = series.as_ref().map_err(Clone::clone)?;
        Model::fit(workload, series, voltages.get(workload.gpu.as_str()))
    };
    workloads.par_iter().zip(&series).map(fit).collect()
}

/// The voltage curve of every GPU of which enough workloads were measured over clocks.
pub fn voltages<'w>(workloads: &'w [Workload], series: &[Result<Series, Problems>]) -> BTreeMap<&'w str, Voltage> {
    let mut by_gpu: BTreeMap<&str, Vec<Vec<Sample>>> = BTreeMap::new();
    for (workload, series) in workloads.iter().zip(series) {
        if let Ok(series) = series
            && series.axis == Axis::Clock
            && !series.power.is_empty()
        {
            by_gpu.entry(&workload.gpu).or_default().push(series.power.clone());
        }
    }
    by_gpu.into_iter().filter_map(|(gpu, powers)| Some((gpu, Voltage::fit(&powers)?))).collect()
}

impl Model {
    /// Fits time and power to checked rows.
    ///
    /// # Errors
    /// M09 where no form can be fitted, M08 where held-out points are predicted worse than [`TRUSTED`].
    pub fn fit(workload: &Workload, series: &Series, card: Option<&Voltage>) -> Result<Self, Problems> {
        let mut problems = Vec::new();
        let mut curve = |quantity: Quantity| {
            let samples = series.of(quantity);
            if samples.is_empty() {
                return None;
            }
            let place = format!("{}, {}", workload.id, quantity.name());
            let Some(curve) = Curve::fit(quantity, series.axis, samples, card) else {
                problems.push(Problem::new(Code::M09, place, "no form can be fitted."));
                return None;
            };
            let error = curve.error().unwrap_or(f64::INFINITY);
            if error > TRUSTED {
                let message = format!(
                    "held-out measurements are missed by {:.1} %, more than {:.0} %.",
                    100.0 * error,
                    100.0 * TRUSTED
                );
                problems.push(Problem::new(Code::M08, place, message));
                return None;
            }
            Some(curve)
        };
        let (time, power) = (curve(Quantity::Time), curve(Quantity::Power));
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
        Ok(Self {
            id: workload.id.clone(),
            gpu: workload.gpu.clone(),
            workload: workload.name.clone(),
            source: workload.source.clone(),
            axis: series.axis,
            time,
            power,
        })
    }

    /// What the model says of an operating point.
    ///
    /// # Errors
    /// M10 where nothing near was measured, or the setting does not say where.
    pub fn predict(&self, setting: Setting) -> Result<Said, Problem> {
        let at = self.place(setting)?;
        let far = |curve: &Curve| {
            let (low, high, gap) = (curve.scope.low, curve.scope.high, curve.scope.gap);
            let message = format!("{} is not within {low} to {high}, nor one step of {gap} beyond.", at.core);
            Problem::new(Code::M10, &self.id, message)
        };
        let of = |curve: &Option<Curve>| match curve {
            None => Ok(None),
            Some(curve) => curve.predict(at).map(Some).ok_or_else(|| far(curve)),
        };
        Ok(Said { time: of(&self.time)?, power: of(&self.power)? })
    }

    /// The place of a setting on the model's axes.
    fn place(&self, setting: Setting) -> Result<Place, Problem> {
        let problem = |message: String| Problem::new(Code::M10, &self.id, message);
        let (core, other, name) = match self.axis {
            Axis::Clock => (setting.sm_mhz, setting.power_limit_w, "SM clock"),
            Axis::Limit => (setting.power_limit_w, setting.sm_mhz, "power limit"),
        };
        if other.is_some() {
            return Err(problem(format!("it was measured over the {name} alone.")));
        }
        let core = core.ok_or_else(|| problem(format!("it needs a {name}.")))?;
        let memories = self.memories();
        let mem = match (setting.mem_mhz, memories.as_slice()) {
            (None, &[only]) => only,
            (Some(mhz), known) if known.contains(&mhz) => mhz,
            (_, known) if known == [1.0] => return Err(problem("no memory clock was stated in its data.".to_owned())),
            (_, known) => return Err(problem(format!("memory clocks that were measured: {known:?} MHz."))),
        };
        Ok(Place { core, mem })
    }

    /// Memory clocks that were measured, ascending; `[1.0]` where none was stated.
    pub fn memories(&self) -> Vec<f64> {
        let places = self.time.iter().chain(&self.power).flat_map(|curve| &curve.correction.parts.places);
        let mut found: Vec<f64> = places.map(|place| place.mem).collect();
        found.sort_by(f64::total_cmp);
        found.dedup_by(|a, b| a.total_cmp(b).is_eq());
        found
    }
}
