//! One quantity of one workload over its operating points: the form chosen, its correction, and intervals.
//!
//! # Idea
//! Each candidate form is fitted with its correction to all but one fold of the points, and judged by the fold; the form
//! with the least error is fitted to all points. The errors of the folds say how wide an interval has to be, the correction
//! says where it has to be wider.
//!
//! # Model
//! Interval of a new measurement: `value exp(+- q w(place))`. `w = 0.7 d(place) + 0.3 mean d`, d the correction's standard
//! deviation of a measurement (at a sample: said without it). With the scores `s_i = |ln(measured/predicted without its
//! fold)| sqrt(n/(n-k)) / w_i` of n points and k coefficients, q is their conformal quantile, the `ceil(p (m+1))`-th smallest
//! of m; of fewer than 19 scores it is 2.06 times their mean, what the 90 % quantile of normal errors is of their mean.
//! Scores of points beyond the clocks of the folds that predicted them make a q of their own, used beyond the fitted range.
//!
//! # Complexity
//! (folds + 1) x forms fits of a form and of a correction, whose covariances are those of the fold.
//!
//! # Limits
//! The intervals hold on average over places like those that were measured, between fitted clocks. Outside, at most one gap
//! beyond the last clock, they are wider, but few measurements vouch for them. Further out [`Curve::predict`] says nothing.
//!
//! # References
//! R. Barber, E. Candes, A. Ramdas, R. Tibshirani, "Predictive inference with the jackknife+", 2021 (CV+); H.
//! Papadopoulos, "Guaranteed coverage prediction intervals with Gaussian process regression", 2023 (normalized scores).

use crate::score::{Held, Quantity};
use crate::split::folds;
use crate::statistics::{mean, median, robust_deviation};

use super::card::Voltage;
use super::fit::{Fitted, fit};
use super::forms::{COLUMNS, Form, Row, candidates};
use super::residual::{Correction, Covariances, Parts};
use super::scope::{Axis, Place, Sample, Scope};

/// Groups that are held out in turn.
const FOLDS: usize = 5;
/// Seed of the folds.
const SEED: u64 = 1;
/// Probability with which intervals hold a new measurement.
pub const CONFIDENCE: f64 = 0.9;
/// Scores from which on their quantile is taken as it is.
const MANY: usize = 19;
/// 90 % quantile of |x| over its mean for normal x: 1.645 / 0.798.
const NORMAL_QUANTILE: f64 = 2.06;
/// Weight of the mean deviation beside that of the place.
const EVEN: f64 = 0.3;
/// Beyond the fitted range nothing is said where the interval reaches further than this factor from the value.
const MOST_FACTOR: f64 = 1.5;
/// Least relative half width of an interval.
const LEAST_HALF_WIDTH: f64 = 1e-6;

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
    /// Half width of an interval over the deviation of the place, between fitted clocks.
    pub inner: f64,
    /// The same beyond them; at least as wide.
    pub outer: f64,
    /// Mean relative error of held-out folds by form, the chosen form first.
    pub validated: Vec<(String, f64)>,
    /// Standard errors of the coefficients: a jackknife over the folds, each with its own shape.
    pub deviations: Row,
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
    /// Whether the place lies beyond the clocks that were fitted.
    pub extrapolated: bool,
}

/// A form, its first shape parameters fixed or not.
#[derive(Clone)]
struct Candidate {
    form: &'static dyn Form,
    fixed: Vec<f64>,
    name: String,
}

/// A candidate and what its folds say of it.
struct Judged {
    error: f64,
    candidate: Candidate,
    left: Vec<Left>,
    parts: Vec<Row>,
}

/// A sample, predicted without its fold.
#[derive(Clone, Copy)]
struct Left {
    sample: usize,
    inside: bool,
    held: Held,
}

impl Curve {
    /// Fits the best form; with the card's voltage curve, forms that use it compete too. `None` where no form fits.
    pub fn fit(quantity: Quantity, axis: Axis, samples: &[Sample], card: Option<&Voltage>) -> Option<Self> {
        let scope = Scope::of(axis, samples.iter().map(|sample| sample.at))?;
        let keys: Vec<(u64, u64)> = samples.iter().map(|s| (s.at.core.to_bits(), s.at.mem.to_bits())).collect();
        let splits = folds(&keys, FOLDS, SEED);
        let mut running: Vec<(Candidate, Vec<Left>, Vec<Row>)> =
            all(quantity, &scope, card).into_iter().map(|candidate| (candidate, Vec::new(), Vec::new())).collect();
        for split in &splits {
            let fitted: Vec<Sample> = split.fitted.iter().map(|&at| samples[at]).collect();
            let covariances = covariances(&scope, &fitted);
            running.retain_mut(|(candidate, left, parts)| {
                let Some(part) = Self::plain(quantity, &scope, &fitted, candidate, &covariances) else { return false };
                left.extend(split.held.iter().map(|&at| part.left(at, samples[at])));
                parts.push(part.fitted.coefficients);
                true
            });
        }
        let judge = |(candidate, left, parts): (Candidate, Vec<Left>, Vec<Row>)| {
            Some(Judged { error: robust_mean(&left)?, candidate, left, parts })
        };
        let mut judged: Vec<Judged> = running.into_iter().filter_map(judge).collect();
        judged.sort_by(|a, b| a.error.total_cmp(&b.error));
        let Judged { candidate, left, parts, .. } = judged.first()?;
        let mut curve = Self::plain(quantity, &scope, samples, candidate, &covariances(&scope, samples))?;
        curve.calibrate(left);
        curve.validated = judged.iter().map(|of| (of.candidate.name.clone(), of.error)).collect();
        curve.deviations = jackknife(parts);
        Some(curve)
    }

    fn plain(
        quantity: Quantity,
        scope: &Scope,
        samples: &[Sample],
        candidate: &Candidate,
        covariances: &Covariances,
    ) -> Option<Self> {
        let fitted = fit(candidate.form, scope, samples, &candidate.fixed)?;
        let left = |sample: &Sample| (sample.value / fitted.value(scope, sample.at)).ln();
        let residuals: Vec<f64> = samples.iter().map(left).collect();
        let correction = Correction::fit(covariances, &residuals)?;
        let deviations = [0.0; COLUMNS];
        Some(Self {
            quantity,
            scope: *scope,
            fitted,
            correction,
            inner: 0.0,
            outer: 0.0,
            validated: Vec::new(),
            deviations,
        })
    }

    /// A curve of stated parts, as from a file; `None` where the correction's covariance is singular.
    pub fn given(quantity: Quantity, scope: Scope, fitted: Fitted, parts: Parts, widths: (f64, f64)) -> Option<Self> {
        let correction = Correction::given(&scope, parts)?;
        let (inner, outer) = widths;
        let deviations = [0.0; COLUMNS];
        Some(Self { quantity, scope, fitted, correction, inner, outer, validated: Vec::new(), deviations })
    }

    /// Mean relative error of held-out folds.
    pub fn error(&self) -> Option<f64> {
        self.validated.first().map(|(_, error)| *error)
    }

    /// The value at a place, wherever it is.
    pub fn value(&self, at: Place) -> f64 {
        self.fitted.value(&self.scope, at) * self.correction.at(&self.scope, at).0.exp()
    }

    /// The value and its interval; `None` more than one gap between neighboring clocks beyond the range, where the interval
    /// there is wider than a factor of 1.5, at a memory clock that was not measured, or at a clock that is no number.
    pub fn predict(&self, at: Place) -> Option<Prediction> {
        let Scope { low, high, gap, .. } = self.scope;
        let reachable = at.core >= low - gap && at.core <= high + gap && at.core > 0.0;
        let known = self.correction.parts.places.iter().any(|place| place.mem.total_cmp(&at.mem).is_eq());
        if !reachable || !known {
            return None;
        }
        let (correction, deviation) = self.correction.at(&self.scope, at);
        let value = self.fitted.value(&self.scope, at) * correction.exp();
        let extrapolated = !self.inside(at);
        let quantile = if extrapolated { self.outer } else { self.inner };
        let factor = (quantile * self.width(deviation)).max(LEAST_HALF_WIDTH).exp();
        if extrapolated && (factor > MOST_FACTOR || !value.is_finite()) {
            return None;
        }
        Some(Prediction { value, low: value / factor, high: value * factor, extrapolated })
    }

    /// Whether a place lies between core clocks that were fitted at its memory clock.
    fn inside(&self, at: Place) -> bool {
        let same = || self.correction.parts.places.iter().filter(|place| place.mem.total_cmp(&at.mem).is_eq());
        same().any(|place| place.core <= at.core) && same().any(|place| place.core >= at.core)
    }

    fn width(&self, deviation: f64) -> f64 {
        let typical = mean(&self.correction.left_out_deviation).unwrap_or(deviation);
        (1.0 - EVEN) * deviation + EVEN * typical
    }

    fn left(&self, sample: usize, of: Sample) -> Left {
        let held = Held { measured: of.value, predicted: self.value(of.at), interval: None };
        Left { sample, inside: self.inside(of.at), held }
    }

    fn calibrate(&mut self, left: &[Left]) {
        let coefficients = self.fitted.coefficients.iter().filter(|coefficient| **coefficient > 0.0).count();
        let freedom = left.len().saturating_sub(coefficients).max(1) as f64 / left.len().max(1) as f64;
        let score = |left: &Left| {
            let distance = (left.held.measured / left.held.predicted).ln().abs();
            distance / (freedom.sqrt() * self.width(self.correction.left_out_deviation[left.sample]))
        };
        let of = |inside: bool| left.iter().filter(|l| l.inside == inside).map(score).collect::<Vec<f64>>();
        let (inner, outer) = (quantile(of(true)), quantile(of(false)));
        self.inner = inner.or(outer).unwrap_or(f64::INFINITY);
        self.outer = outer.map_or(self.inner, |outer| outer.max(self.inner));
    }
}

fn covariances(scope: &Scope, samples: &[Sample]) -> Covariances {
    Covariances::new(scope, samples.iter().map(|sample| sample.at).collect())
}

fn all(quantity: Quantity, scope: &Scope, card: Option<&Voltage>) -> Vec<Candidate> {
    let forms = candidates(quantity, scope.axis);
    let own = |form: &&'static dyn Form| Candidate { form: *form, fixed: Vec::new(), name: form.id().to_owned() };
    let mut found: Vec<Candidate> = forms.iter().map(own).collect();
    if let Some(card) = card {
        let shared = forms.iter().filter(|form| form.has_voltage());
        found.extend(shared.map(|form| Candidate {
            form: *form,
            fixed: card.shape(scope),
            name: format!("{} of the card", form.id()),
        }));
    }
    found
}

/// Standard errors from coefficients that were each fitted without one of k folds: sqrt((k-1)/k sum (c - mean)^2).
fn jackknife(parts: &[Row]) -> Row {
    let k = parts.len().max(1) as f64;
    std::array::from_fn(|column| {
        let middle = parts.iter().map(|row| row[column]).sum::<f64>() / k;
        let squares: f64 = parts.iter().map(|row| (row[column] - middle).powi(2)).sum();
        ((k - 1.0) / k * squares).sqrt()
    })
}

/// Mean of relative errors, outliers cut off at six robust deviations beyond the median.
fn robust_mean(left: &[Left]) -> Option<f64> {
    let errors: Vec<f64> = left.iter().map(|left| left.held.relative_error()).collect();
    let most = median(&errors)? + 6.0 * robust_deviation(&errors)?.max(1e-12);
    mean(&errors.iter().map(|error| error.min(most)).collect::<Vec<_>>())
}

/// See the module's model; `None` of fewer than two scores.
fn quantile(mut scores: Vec<f64>) -> Option<f64> {
    if scores.len() < MANY {
        return mean(&scores).filter(|_| scores.len() > 1).map(|mean| NORMAL_QUANTILE * mean);
    }
    scores.sort_by(f64::total_cmp);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and n + 1")]
    let rank = (CONFIDENCE * (scores.len() + 1) as f64).ceil() as usize;
    scores.get(rank.min(scores.len()).checked_sub(1)?).copied()
}
