//! A form fitted to samples: coefficients that are not negative, robust, in relative error.
//!
//! # Idea
//! For given shape parameters a form is linear, and its best coefficients follow from a few least-squares problems. The
//! shape itself is sought on a grid and refined by pattern search.
//!
//! # Model
//! Minimize the sum of `rho(value/measured - 1)` over coefficients >= 0, rho being Huber's loss: quadratic up to
//! `1.345 s`, linear beyond. s is the robust deviation of the residuals of a first fit. Weights are iterated (IRLS). Gross
//! outliers can lead the first fit into a wrong valley; the shape is then sought a second time with its weights.
//!
//! # Complexity
//! `O(grid x iterations x n x columns^2)`; non-negative least squares by trying all supports of at most 4 columns.
//!
//! # Limits
//! The loss is not convex in the shape; the grid decides which valley is refined.
//!
//! # References
//! P. Huber, "Robust estimation of a location parameter", 1964; R. Hooke, T. Jeeves, "Direct search", 1961; C. Lawson,
//! R. Hanson, "Solving least squares problems", 1974 (non-negative least squares).

use crate::statistics::{median, robust_deviation};

use super::forms::{COLUMNS, Form, Parameter, Row};
use super::scope::{Place, Sample, Scope};

/// Residuals within this many robust deviations count fully (95 % efficiency for normal noise).
const HUBER: f64 = 1.345;
/// Least robust deviation, so that weights stay finite on data without noise.
const LEAST_DEVIATION: f64 = 1e-9;
/// Where a sample weighs less than this, the shape is sought again with the weights of the first fit.
const GROSS: f64 = 0.1;
/// Reweighted fits at each shape while the shape is sought, and at the shape that was found.
const ITERATIONS: (usize, usize) = (3, 20);

/// A form with its parameters.
#[derive(Clone)]
pub struct Fitted {
    /// The form.
    pub form: &'static dyn Form,
    /// Shape parameters.
    pub shape: Vec<f64>,
    /// Coefficients, those beyond the form's columns 0.
    pub coefficients: Row,
}

impl std::fmt::Debug for Fitted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?} {:?}", self.form.id(), self.shape, self.coefficients)
    }
}

impl Fitted {
    /// The value at a place.
    pub fn value(&self, scope: &Scope, at: Place) -> f64 {
        product(&self.form.row(&self.shape, scope, at), &self.coefficients)
    }

    /// How many numbers were fitted.
    pub fn parameters(&self, scope: &Scope) -> usize {
        self.form.coefficients(scope).len() + self.form.parameters(scope).iter().filter(|p| p.steps > 1).count()
    }
}

/// Fits a form; `fixed` replaces the search for the first shape parameters. `None` where no coefficients give a value
/// above 0 at every sample.
pub fn fit(form: &'static dyn Form, scope: &Scope, samples: &[Sample], fixed: &[f64]) -> Option<Fitted> {
    let mut parameters = form.parameters(scope);
    for (parameter, &value) in parameters.iter_mut().zip(fixed) {
        *parameter = Parameter { low: value, high: value, steps: 1, ..*parameter };
    }
    let width = form.coefficients(scope).len();
    let weights = vec![1.0; samples.len()];
    let mut problem = Problem { form, scope, samples, width, deviation: None, weights };
    let mut first = problem.search(&parameters)?;
    let residuals = problem.residuals(&first.shape, &first.coefficients);
    let deviation = robust_deviation(&residuals)?.max(LEAST_DEVIATION);
    problem.deviation = Some(deviation);
    problem.weights = weights_of(&residuals, HUBER * deviation);
    if problem.weights.iter().any(|&weight| weight < GROSS) {
        first = problem.search(&parameters)?;
    }
    let shape = problem.refine(&parameters, first.shape);
    let (_, coefficients) = problem.coefficients(&shape, ITERATIONS.1)?;
    let fitted = Fitted { form, shape, coefficients };
    samples.iter().all(|sample| fitted.value(scope, sample.at) > 0.0).then_some(fitted)
}

struct Problem<'a> {
    form: &'static dyn Form,
    scope: &'a Scope,
    samples: &'a [Sample],
    width: usize,
    /// Of the residuals, once known; before that each fit takes its own.
    deviation: Option<f64>,
    /// Of the samples, that reweighting begins with.
    weights: Vec<f64>,
}

impl Problem<'_> {
    /// The best shape of the grid, refined.
    fn search(&self, parameters: &[Parameter]) -> Option<Fitted> {
        let mut best: Option<(f64, Vec<f64>)> = None;
        for shape in grid(parameters) {
            let Some((loss, _)) = self.coefficients(&shape, ITERATIONS.0) else { continue };
            if best.as_ref().is_none_or(|(least, _)| loss < *least) {
                best = Some((loss, shape));
            }
        }
        let shape = self.refine(parameters, best?.1);
        let (_, coefficients) = self.coefficients(&shape, ITERATIONS.1)?;
        Some(Fitted { form: self.form, shape, coefficients })
    }

    /// Pattern search: steps along each parameter, halved where none helps.
    fn refine(&self, parameters: &[Parameter], mut shape: Vec<f64>) -> Vec<f64> {
        let mut steps: Vec<f64> =
            parameters.iter().map(|p| if p.steps > 1 { (p.high - p.low) / p.steps as f64 } else { 0.0 }).collect();
        if steps.iter().all(|&step| step == 0.0) {
            return shape;
        }
        let loss = |shape: &[f64]| self.coefficients(shape, ITERATIONS.0 + 2).map_or(f64::INFINITY, |found| found.0);
        let mut least = loss(&shape);
        for _ in 0..60 {
            let mut moved = false;
            for (at, parameter) in parameters.iter().enumerate() {
                for signed in [steps[at], -steps[at]] {
                    let mut other = shape.clone();
                    other[at] = (shape[at] + signed).clamp(parameter.low, parameter.high);
                    let found = if signed == 0.0 { f64::INFINITY } else { loss(&other) };
                    if found < least {
                        (least, shape, moved) = (found, other, true);
                    }
                }
            }
            if !moved {
                for step in &mut steps {
                    *step /= 2.0;
                }
                if steps.iter().zip(parameters).all(|(step, p)| *step <= 1e-5 * (p.high - p.low)) {
                    break;
                }
            }
        }
        shape
    }

    /// Best coefficients of a shape, and their loss.
    fn coefficients(&self, shape: &[f64], iterations: usize) -> Option<(f64, Row)> {
        let rows: Vec<Row> = self.rows(shape);
        let mut found = non_negative(&rows, &self.weights, self.width)?;
        let mut residuals: Vec<f64> = rows.iter().map(|row| product(row, &found) - 1.0).collect();
        for _ in 1..iterations {
            let own = || 1.4826 * median(&residuals.iter().map(|r| r.abs()).collect::<Vec<_>>()).unwrap_or(0.0);
            let bound = HUBER * self.deviation.unwrap_or_else(own).max(LEAST_DEVIATION);
            let next = non_negative(&rows, &weights_of(&residuals, bound), self.width)?;
            let change = next.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            let size = found.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            found = next;
            residuals = rows.iter().map(|row| product(row, &found) - 1.0).collect();
            if change <= 1e-12 * size {
                break;
            }
        }
        Some((self.loss(&residuals), found))
    }

    /// Columns over the measured value, so that a perfect fit is 1 everywhere.
    fn rows(&self, shape: &[f64]) -> Vec<Row> {
        let row = |sample: &Sample| self.form.row(shape, self.scope, sample.at).map(|column| column / sample.value);
        self.samples.iter().map(row).collect()
    }

    fn residuals(&self, shape: &[f64], coefficients: &Row) -> Vec<f64> {
        self.rows(shape).iter().map(|row| product(row, coefficients) - 1.0).collect()
    }

    /// Huber's loss where the deviation is known, the sum of absolute residuals before.
    fn loss(&self, residuals: &[f64]) -> f64 {
        let Some(deviation) = self.deviation else { return residuals.iter().map(|r| r.abs()).sum() };
        let bound = HUBER * deviation;
        let one = |r: f64| if r <= bound { 0.5 * r * r } else { bound * (r - 0.5 * bound) };
        residuals.iter().map(|r| one(r.abs())).sum()
    }
}

/// Huber's weights: 1 up to the bound, falling beyond.
fn weights_of(residuals: &[f64], bound: f64) -> Vec<f64> {
    residuals.iter().map(|residual| bound / residual.abs().max(bound)).collect()
}

/// All combinations of the values of parameters, evenly spaced over their ranges.
fn grid(parameters: &[Parameter]) -> Vec<Vec<f64>> {
    let mut shapes = vec![Vec::new()];
    for parameter in parameters {
        let spacing = (parameter.high - parameter.low) / parameter.steps.saturating_sub(1).max(1) as f64;
        let values: Vec<f64> = (0..parameter.steps.max(1)).map(|k| parameter.low + spacing * k as f64).collect();
        let extended = |shape: &Vec<f64>| {
            let shape = shape.clone();
            values.iter().map(move |&value| shape.iter().copied().chain([value]).collect()).collect::<Vec<Vec<f64>>>()
        };
        shapes = shapes.iter().flat_map(extended).collect();
    }
    shapes
}

/// Sum of coefficient x column.
fn product(row: &Row, coefficients: &Row) -> f64 {
    row.iter().zip(coefficients).map(|(column, coefficient)| column * coefficient).sum()
}

/// Coefficients >= 0 that minimize the weighted squares of `row c - 1`: the unconstrained solution if it is not negative,
/// else the best of all supports of which that holds. The optimum is among them, since its own support solves its normal
/// equations.
fn non_negative(rows: &[Row], weights: &[f64], width: usize) -> Option<Row> {
    let (mut gram, mut right) = ([[0.0; COLUMNS]; COLUMNS], [0.0; COLUMNS]);
    for (row, &weight) in rows.iter().zip(weights) {
        for i in 0..width {
            right[i] += weight * row[i];
            for j in 0..=i {
                gram[i][j] += weight * row[i] * row[j];
            }
        }
    }
    let allowed =
        |support| solve(&gram, &right, support).filter(|found| found.iter().all(|&coefficient| coefficient >= 0.0));
    let all = (1_usize << width) - 1;
    if let Some(found) = allowed(all) {
        return Some(found);
    }
    let mut best: Option<(f64, Row)> = None;
    for support in 1..all {
        let Some(found) = allowed(support) else { continue };
        // |Ac - 1|^2 = |1|^2 - c A'1 where the normal equations hold.
        let gain = product(&found, &right);
        if best.as_ref().is_none_or(|(most, _)| gain > *most) {
            best = Some((gain, found));
        }
    }
    best.map(|(_, found)| found)
}

/// The normal equations of the columns in `support` by Cholesky's method; `None` where columns depend on one another.
fn solve(gram: &[[f64; COLUMNS]; COLUMNS], right: &Row, support: usize) -> Option<Row> {
    let (mut chosen, mut count) = ([0; COLUMNS], 0);
    for column in (0..COLUMNS).filter(|column| support >> column & 1 == 1) {
        chosen[count] = column;
        count += 1;
    }
    let columns = &chosen[..count];
    let (mut lower, mut y) = ([[0.0; COLUMNS]; COLUMNS], [0.0; COLUMNS]);
    for (i, &at) in columns.iter().enumerate() {
        for (j, &of) in columns.iter().enumerate().take(i + 1) {
            let known: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let rest = gram[at.max(of)][at.min(of)] - known;
            if i == j {
                if rest <= 1e-11 * gram[at][at] {
                    return None;
                }
                lower[i][i] = rest.sqrt();
            } else {
                lower[i][j] = rest / lower[j][j];
            }
        }
        let known: f64 = (0..i).map(|k| lower[i][k] * y[k]).sum();
        y[i] = (right[at] - known) / lower[i][i];
    }
    let (mut x, mut found) = ([0.0; COLUMNS], [0.0; COLUMNS]);
    for i in (0..columns.len()).rev() {
        let known: f64 = (i + 1..columns.len()).map(|k| lower[k][i] * x[k]).sum();
        x[i] = (y[i] - known) / lower[i][i];
        found[columns[i]] = x[i];
    }
    Some(found)
}
