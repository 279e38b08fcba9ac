//! Models to and from files of format `rats.model/1`.

use rats_domain::codes::Code;
use rats_domain::format::{
    AxisFile, CorrectionFile, CurveFile, Document as _, IntervalFile, ModelFile, NamedFile, RangeFile, ResidualFile,
    ValidatedFile, read,
};
use rats_domain::problem::{Problem, Problems, Warning};

use crate::score::Quantity;

use super::curve::{CONFIDENCE, Curve};
use super::fit::Fitted;
use super::forms::{COLUMNS, candidates, named};
use super::model::Model;
use super::residual::Parts;
use super::scope::{Axis, Place, Scope};

impl Model {
    /// As it stands in a file.
    pub fn to_file(&self) -> ModelFile {
        ModelFile {
            format: ModelFile::FORMAT.to_owned(),
            id: self.id.clone(),
            gpu_type: self.gpu.clone(),
            workload: self.workload.clone(),
            source: self.source.clone(),
            axis: match self.axis {
                Axis::Clock => AxisFile::SmMhz,
                Axis::Limit => AxisFile::PowerLimitW,
            },
            time: self.time.as_ref().map(curve_file),
            power: self.power.as_ref().map(curve_file),
        }
    }

    /// Reads a model from the bytes of a file; unknown fields are warnings.
    ///
    /// # Errors
    /// What is no document of this format, or M11 with the place of the first number or name that no fit would write.
    pub fn read(bytes: &[u8]) -> Result<(Self, Vec<Warning>), Problems> {
        let read = read::<ModelFile>(bytes)?;
        Ok((Self::from_file(read.document)?, read.warnings))
    }

    /// The model of a file.
    ///
    /// # Errors
    /// M11, as in [`read`](Self::read).
    pub fn from_file(file: ModelFile) -> Result<Self, Problems> {
        let axis = match file.axis {
            AxisFile::SmMhz => Axis::Clock,
            AxisFile::PowerLimitW => Axis::Limit,
        };
        if file.time.is_none() && file.power.is_none() {
            return Err(Problem::new(Code::M11, "time", "there is neither a time nor a power.").into());
        }
        let curve =
            |quantity: Quantity, file: Option<&CurveFile>| file.map(|file| curve(quantity, axis, file)).transpose();
        let time = curve(Quantity::Time, file.time.as_ref())?;
        let power = curve(Quantity::Power, file.power.as_ref())?;
        Ok(Self { id: file.id, gpu: file.gpu_type, workload: file.workload, source: file.source, axis, time, power })
    }
}

fn curve_file(curve: &Curve) -> CurveFile {
    let Curve { scope, fitted, correction, .. } = curve;
    let coefficient = |(at, name): (usize, &&str)| NamedFile {
        name: (*name).to_owned(),
        value: fitted.coefficients[at],
        deviation: Some(curve.deviations[at]),
    };
    let shape = |(parameter, &value): (super::forms::Parameter, &f64)| NamedFile {
        name: parameter.name.to_owned(),
        value,
        deviation: None,
    };
    let parts = &correction.parts;
    let sample = |((place, &residual), &inflation): ((&Place, &f64), &f64)| ResidualFile {
        core: place.core,
        mem_mhz: (place.mem > 1.0).then_some(place.mem),
        residual,
        inflation,
    };
    CurveFile {
        form: fitted.form.id().to_owned(),
        formula: fitted.form.formula().to_owned(),
        coefficients: fitted.form.coefficients(scope).iter().enumerate().map(coefficient).collect(),
        shape: fitted.form.parameters(scope).into_iter().zip(&fitted.shape).map(shape).collect(),
        range: RangeFile { low: scope.low, high: scope.high, gap: scope.gap },
        validated: curve
            .validated
            .iter()
            .map(|(form, error)| ValidatedFile { form: form.clone(), error: *error })
            .collect(),
        interval: IntervalFile { confidence: CONFIDENCE, inner: curve.inner, outer: curve.outer },
        correction: CorrectionFile {
            length: parts.length,
            noise: parts.noise,
            samples: parts.places.iter().zip(&parts.residuals).zip(&parts.inflation).map(sample).collect(),
        },
    }
}

fn curve(quantity: Quantity, axis: Axis, file: &CurveFile) -> Result<Curve, Problem> {
    let wrong = |field: &str, message: String| Problem::new(Code::M11, format!("{}.{field}", quantity.name()), message);
    let form = named(&file.form)
        .filter(|form| candidates(quantity, axis).iter().any(|candidate| candidate.id() == form.id()))
        .ok_or_else(|| wrong("form", format!("there is no form `{}` for this.", file.form)))?;
    let samples = &file.correction.samples;
    let places: Vec<Place> = samples.iter().map(|s| Place { core: s.core, mem: s.mem_mhz.unwrap_or(1.0) }).collect();
    let positive = |value: f64| value.is_finite() && value > 0.0;
    if let Some(at) = (0..samples.len()).find(|&at| {
        let sample = &samples[at];
        !positive(places[at].core)
            || !positive(places[at].mem)
            || !sample.residual.is_finite()
            || !positive(sample.inflation)
    }) {
        return Err(wrong(&format!("correction.samples[{at}]"), "holds a number out of range.".to_owned()));
    }
    let scope = Scope::of(axis, places.iter().copied())
        .ok_or_else(|| wrong("correction.samples", "there is no sample.".to_owned()))?;
    let (names, parameters) = (form.coefficients(&scope), form.parameters(&scope));
    if file.coefficients.len() != names.len() || file.shape.len() != parameters.len() {
        let message =
            format!("`{}` has {} coefficients and {} shape parameters.", file.form, names.len(), parameters.len());
        return Err(wrong("coefficients", message));
    }
    if let Some(bad) = file.coefficients.iter().find(|c| !c.value.is_finite() || c.value < 0.0) {
        return Err(wrong("coefficients", format!("`{}` is {}.", bad.name, bad.value)));
    }
    // Knee and slope of a card may lie outside the range in which a workload's own are sought.
    if let Some(bad) = file.shape.iter().find(|shape| !(-10.0..=100.0).contains(&shape.value)) {
        return Err(wrong("shape", format!("`{}` is {}.", bad.name, bad.value)));
    }
    let (length, noise) = (file.correction.length, file.correction.noise);
    let widths = (file.interval.inner, file.interval.outer);
    if !(positive(length) && positive(noise) && widths.0 >= 0.0 && widths.1 >= widths.0 && widths.1.is_finite()) {
        return Err(wrong("correction", "length, noise or interval is out of range.".to_owned()));
    }
    let mut coefficients = [0.0; COLUMNS];
    for (coefficient, file) in coefficients.iter_mut().zip(&file.coefficients) {
        *coefficient = file.value;
    }
    let fitted = Fitted { form, shape: file.shape.iter().map(|shape| shape.value).collect(), coefficients };
    if places.iter().any(|&place| !positive(fitted.value(&scope, place))) {
        return Err(wrong("coefficients", "the form is not above 0 everywhere.".to_owned()));
    }
    let residuals = samples.iter().map(|sample| sample.residual).collect();
    let inflation = samples.iter().map(|sample| sample.inflation).collect();
    let parts = Parts { length, noise, places, residuals, inflation };
    let mut curve = Curve::given(quantity, scope, fitted, parts, widths)
        .ok_or_else(|| wrong("correction", "its covariance is singular.".to_owned()))?;
    curve.validated = file.validated.iter().map(|of| (of.form.clone(), of.error)).collect();
    for (deviation, file) in curve.deviations.iter_mut().zip(&file.coefficients) {
        *deviation = file.deviation.unwrap_or(0.0);
    }
    Ok(curve)
}
