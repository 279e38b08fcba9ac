//! One quantity of one workload over its operating points: the form chosen, its correction, and intervals.
//!
//! # Idea
//! Each candidate form is fitted with its correction to all but one fold of the points, and judged by the fold; the form
//! with the least error is fitted to all points. The errors of the folds, over the deviation stated for them, say how wide an
//! interval has to be.
//!
//! # Model
//! Interval of a new measurement: `value exp(+- q sd(place))`, sd the correction's standard deviation at the place and q the
//! conformal quantile of `|error| / sd` over all held-out points: the `ceil(p (n+1))`-th smallest of n.
//!
//! # Complexity
//! (folds + 1) x forms fits of a form and of a correction.
//!
//! # Limits
//! The intervals hold on average over places like those that were measured: between fitted clocks. Outside the range they are
//! widened by the process' variance, but nothing measured there vouches for them.
//!
//! # References
//! R. Barber, E. Candes, A. Ramdas, R. Tibshirani, "Predictive inference with the jackknife+", 2021 (CV+); H.
//! Papadopoulos, "Guaranteed coverage prediction intervals with Gaussian process regression", 2023 (normalized scores).

use crate::score::{Held, Quantity};
use crate::split::folds;
use crate::statistics::{mean, robust_deviation};

use super::fit::{Fitted, fit};
use super::forms::{Form, candidates};
use super::residual::Correction;
use super::scope::{Axis, Place, Sample, Scope};

/// Groups that are held out in turn.
const FOLDS: usize = 5;
/// Seed of the folds.
const SEED: u64 = 1;
/// Probability with which intervals hold a new measurement.
pub const CONFIDENCE: f64 = 0.9;
/// Least relative standard deviation of a measurement.
const LEAST_DEVIATION: f64 = 1e-6;

/// A fitted curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// What it gives.
    pub quantity: Quantity,
    /// The range it was fitted over.
    pub scope: Scope,
    /// The form.
    pub fitted: Fitted,
    /// What the form leaves.
    pub correction: Correction,
    /// Half width of an interval over the correction's standard deviation.
    pub quantile: f64,
    /// The same beyond the clocks that were fitted.
    pub outer_quantile: f64,
    /// Mean relative error of held-out folds, by form, the chosen one first.
    pub validated: Vec<(&'static str, f64)>,
    /// Every sample, predicted without its fold.
    pub held: Vec<Held>,
}

/// What a curve says of a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// The value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A candidate: a form, its first shape parameters fixed or not.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The form.
    pub form: &'static dyn Form,
    /// Values of its first shape parameters.
    pub fixed: Vec<f64>,
}

impl std::fmt::Debug for dyn Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id())
    }
}

impl Curve {
    /// Fits the best form.
    pub fn fit(quantity: Quantity, axis: Axis, samples: &[Sample], more: &[Candidate]) -> Option<Self> {
        let all = candidates(quantity, axis).into_iter().map(|form| Candidate { form, fixed: Vec::new() });
        let all: Vec<Candidate> = all.chain(more.iter().cloned()).collect();
        Self::of(quantity, axis, samples, &all)
    }

    /// Fits the best of some forms.
    pub fn of(quantity: Quantity, axis: Axis, samples: &[Sample], all: &[Candidate]) -> Option<Self> {
        let keys: Vec<(u64, u64)> = samples.iter().map(|s| (s.at.core.to_bits(), s.at.mem.to_bits())).collect();
        let splits = folds(&keys, FOLDS, SEED);
        let mut judged: Vec<(f64, &Candidate, Vec<Left>)> = Vec::new();
        for candidate in all {
            let mut held = Vec::new();
            for split in &splits {
                let fitted: Vec<Sample> = split.fitted.iter().map(|&at| samples[at]).collect();
                let Some(part) = Self::plain(quantity, axis, &fitted, candidate) else { break };
                held.extend(split.held.iter().map(|&at| part.left(at, samples[at])));
            }
            if held.len() == samples.len()
                && let Some(error) = robust_mean(&held.iter().map(|left| left.held.relative_error()).collect::<Vec<_>>())
            {
                judged.push((error, candidate, held));
            }
        }
        judged.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (_, candidate, held) = judged.first()?;
        let mut curve = Self::plain(quantity, axis, samples, candidate)?;
        let (n,p)=(samples.len() as f64, curve.fitted.coefficients.iter().filter(|c| **c>0.0).count() as f64);
        let dof = if std::env::var("NODOF").is_ok() {1.0} else {(n/(n-p).max(0.3*n)).sqrt()};
        let score = |left: &Left| (left.held.measured / left.held.predicted).ln().abs() / curve.blend(curve.correction.left_out_deviation[left.sample]) * dof;
        let inner: Vec<f64> = held.iter().filter(|left| left.inside).map(score).collect();
        let outer: Vec<f64> = held.iter().filter(|left| !left.inside).map(score).collect();
        curve.quantile = conformal(if inner.len() < 2 { outer.clone() } else { inner })?;
        curve.outer_quantile = conformal(outer).unwrap_or(curve.quantile).max(curve.quantile);
        curve.held = held.iter().map(|left| left.held).collect();
        curve.validated = judged.iter().map(|(error, candidate, _)| (candidate.form.id(), *error)).collect();
        Some(curve)
    }

    fn plain(quantity: Quantity, axis: Axis, samples: &[Sample], candidate: &Candidate) -> Option<Self> {
        let scope = Scope::of(axis, samples.iter().map(|sample| sample.at))?;
        let fitted = fit(candidate.form, &scope, samples, &candidate.fixed)?;
        let places: Vec<Place> = samples.iter().map(|sample| sample.at).collect();
        let left = |sample: &Sample| (sample.value / fitted.value(&scope, sample.at)).ln();
        let residuals: Vec<f64> = samples.iter().map(left).collect();
        let correction = Correction::fit(&scope, &places, &residuals)?;
        Some(Self { quantity, scope, fitted, correction, quantile: 1.0, outer_quantile: 1.0, validated: Vec::new(), held: Vec::new() })
    }

    /// The value at a place, wherever it is, and the standard deviation of its logarithm.
    pub fn value(&self, at: Place) -> (f64, f64) {
        let (mean, deviation) = self.correction.at(&self.scope, at);
        (self.fitted.value(&self.scope, at) * mean.exp(), deviation)
    }

    /// The value and its interval.
    pub fn predict(&self, at: Place) -> Prediction {
        let (value, deviation) = self.value(at);
        let quantile = if self.inside(at) { self.quantile } else { self.outer_quantile };
        let factor = (quantile * self.blend(deviation)).max(LEAST_DEVIATION).exp();
        Prediction { value, low: value / factor, high: value * factor }
    }

    fn blend(&self, sd: f64) -> f64 {
        let b: f64 = std::env::var("BLEND").ok().and_then(|x| x.parse().ok()).unwrap_or(0.3);
        let typical = mean(&self.correction.left_out_deviation).unwrap_or(1.0);
        (1.0-b) * sd + b * typical
    }

    fn left(&self, sample: usize, of: Sample) -> Left {
        let held = Held { measured: of.value, predicted: self.value(of.at).0, interval: None };
        Left { sample, inside: self.inside(of.at), held }
    }

    /// Whether a place lies between core clocks that were fitted at its memory clock.
    pub fn inside(&self, at: Place) -> bool {
        let same = || self.correction.places.iter().filter(|place| place.mem.total_cmp(&at.mem).is_eq());
        same().any(|place| place.core <= at.core) && same().any(|place| place.core >= at.core)
    }
}

/// A sample, predicted without its fold.
#[derive(Clone, Copy, Debug)]
struct Left {
    sample: usize,
    inside: bool,
    held: Held,
}

/// Mean of errors, outliers cut off at six robust deviations beyond the median.
fn robust_mean(errors: &[f64]) -> Option<f64> {
    let most = crate::statistics::median(errors)? + 6.0 * robust_deviation(errors)?.max(1e-12);
    mean(&errors.iter().map(|error| error.min(most)).collect::<Vec<_>>())
}

/// The `ceil(p (n+1))`-th smallest of n scores, the largest where that is beyond them.
fn conformal(mut scores: Vec<f64>) -> Option<f64> {
    scores.sort_by(f64::total_cmp);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and n + 1")]
    let rank = (CONFIDENCE * (scores.len() + 1) as f64).ceil() as usize;
    let m = scores.len();
    let factor = if std::env::var("NOF").is_ok() {1.0} else {[2.44, 2.44,1.70,1.43,1.285,1.19,1.12,1.07,1.03].get(m).copied().unwrap_or(1.0)};
    scores.get(rank.min(scores.len()).checked_sub(1)?).map(|q| q*factor)
}

