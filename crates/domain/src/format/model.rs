//! `rats.model/1`: time and power of one workload on one type of GPU over its operating points, fitted to measurements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::profile::SourceFile;
use super::read::Document;

/// A fitted model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelFile {
    /// Always `rats.model/1`.
    pub format: String,
    /// Name of the model: that of the profile or workload it was fitted to.
    pub id: String,
    /// The type of GPU.
    pub gpu_type: String,
    /// What was run.
    pub workload: String,
    /// Where the measurements come from.
    pub source: SourceFile,
    /// What the core axis of places is.
    pub axis: AxisFile,
    /// Time of one step; in s unless the source does not say in which unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<CurveFile>,
    /// Mean power of one GPU, W.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<CurveFile>,
}

/// What the core axis is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AxisFile {
    /// The locked SM clock, MHz.
    SmMhz,
    /// The power limit, W.
    PowerLimitW,
}

/// One quantity over places.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurveFile {
    /// Name of the functional form.
    pub form: String,
    /// Its formula; clocks and limits are over the highest that was fitted.
    pub formula: String,
    /// Coefficients, in the unit of the quantity, none negative.
    pub coefficients: Vec<NamedFile>,
    /// Shape parameters.
    pub shape: Vec<NamedFile>,
    /// Where the curve holds.
    pub range: RangeFile,
    /// Mean relative error of held-out fifths of the measurements by form, the chosen one first.
    pub validated: Vec<ValidatedFile>,
    /// Intervals.
    pub interval: IntervalFile,
    /// What the form leaves.
    pub correction: CorrectionFile,
}

/// A number with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NamedFile {
    /// The name in the formula.
    pub name: String,
    /// The value.
    pub value: f64,
    /// Standard error, by a jackknife over fifths of the measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
}

/// Where a curve holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RangeFile {
    /// Lowest SM clock or limit that was fitted.
    pub low: f64,
    /// Highest one.
    pub high: f64,
    /// How far beyond them predictions are made, with wider intervals: the largest distance of neighbors.
    pub gap: f64,
}

/// A form and how well it predicts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValidatedFile {
    /// The form.
    pub form: String,
    /// Mean relative error of held-out measurements.
    pub error: f64,
}

/// Intervals: `value exp(+- factor x width)`, the width following from the correction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalFile {
    /// The probability with which they should hold a new measurement.
    pub confidence: f64,
    /// Factor between the fitted clocks.
    pub inner: f64,
    /// Factor beyond them.
    pub outer: f64,
}

/// A smooth correction of the logarithm of the form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CorrectionFile {
    /// Correlation length, in spans of the core axis.
    pub length: f64,
    /// Variance of the noise over that of the process.
    pub noise: f64,
    /// The measurements.
    pub samples: Vec<ResidualFile>,
}

/// What a form leaves at one measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResidualFile {
    /// SM clock (MHz) or power limit (W).
    pub core: f64,
    /// Memory clock, MHz, if it was stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mem_mhz: Option<f64>,
    /// ln(measured / form).
    pub residual: f64,
    /// Factor of the noise, above 1 for outliers.
    pub inflation: f64,
}

impl Document for ModelFile {
    const FORMAT: &'static str = "rats.model/1";
}
