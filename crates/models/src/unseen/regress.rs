//! From a few features of a kernel to its whole curve, learned from kernels whose curves are known.
//!
//! # Idea
//! Three views: a smooth one (kernel ridge regression, the mean of a Gaussian process) for features that determine the curve;
//! a cautious one (the weighted median of the known curves) for features that leave several curves possible; and one that
//! looks at the measured values alone ([`super::shared`]), the best where they are noisy and kernels few. Which of them, and
//! with which parameters, is decided by predicting every known kernel from the others; what does nearly as well as the best
//! is averaged.
//!
//! # Model
//! Features are standardized; a curve is the logarithm of the value over that at the first measured point.
//!
//! ```text
//! smooth:   c + k(x)' (K + s I)^-1 (Y - c),   k = 1 + 0.3 x.x' + (1 + r) exp(-r),   r = sqrt(3) |x - x'| / length
//! cautious: median of Y weighted by exp(-|x - x_i| / reach - Y_i), the value that makes the expected *relative* error least
//! blend:    mean of all whose leave-one-out error is within 5 % of the least
//! ```
//!
//! The interval at a point runs from the k-th least to the k-th greatest leave-one-out residual of the blend, k = floor(0.05
//! (n+1)): it holds a new kernel like the known ones with probability 1 - 2k/(n+1), whatever the distribution.
//!
//! # Complexity
//! O(n^3) for each of 15 smooth ones, O(n^2 p) for each of 4 cautious ones, O(n p m) for each of 9 that share; n kernels,
//! p operating points, m of them measured.
//!
//! # Limits
//! All kernels get intervals of the same width at a point. Under 19 known kernels there are none.
//!
//! # References
//! C. Rasmussen, C. Williams, "Gaussian processes for machine learning", 2006 (5.4.2 for leave-one-out in closed form);
//! V. Vovk, A. Gammerman, G. Shafer, "Algorithmic learning in a random world", 2005 (conformal intervals).

use crate::dvfs::cholesky::Cholesky;
use crate::statistics::mean;

use super::shared::Shared;

/// Lengths and noises of the smooth predictors that are tried.
const LENGTHS: [f64; 3] = [1.0, 2.0, 4.0];
const NOISES: [f64; 5] = [1e-3, 1e-2, 0.1, 0.3, 1.0];
/// Reaches of the cautious ones.
const REACHES: [f64; 4] = [0.1, 0.2, 0.4, 0.8];
/// Shrinkages and noises of those that share.
const SHRINKAGES: [f64; 3] = [0.0, 0.2, 0.5];
const MEASURED_NOISES: [f64; 3] = [0.005, 0.02, 0.05];
/// Weight of the linear part of the smooth kernel.
const LINEAR: f64 = 0.3;
/// Predictors within this factor of the least error are averaged.
const NEARLY: f64 = 1.05;
/// Share of new kernels on either side of the interval.
const TAIL: f64 = 0.05;

/// A curve and the interval at each of its points, in logarithms.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// The curve.
    pub value: Vec<f64>,
    /// Where 90 % of kernels should lie; `None` with too few known kernels.
    pub interval: Option<Vec<(f64, f64)>>,
}

/// One predictor's curve for the new kernel, and its curves for the known ones, each as if it were new.
struct Candidate {
    error: f64,
    value: Vec<f64>,
    left_out: Vec<Vec<f64>>,
}

/// Known kernels and what was measured of the new one.
pub struct Lesson<'a> {
    /// Features of the known kernels.
    pub known: Vec<Vec<f64>>,
    /// Their curves over the value at the first measured point.
    pub curves: Vec<Vec<f64>>,
    /// The logarithm of that value, if its height says something about the curve; otherwise 0.
    pub levels: Vec<f64>,
    /// Features of the new kernel.
    pub features: Vec<f64>,
    /// The new kernel's level.
    pub level: f64,
    /// Its measured points, the first first.
    pub seen: Vec<usize>,
    /// Values there, over the first.
    pub observed: Vec<f64>,
    /// How much neighboring points share.
    pub near: &'a [Vec<f64>],
}

/// Predicts the curve of the new kernel. `None` where nothing is known.
pub fn predict(lesson: &Lesson) -> Option<Predicted> {
    let curves = &lesson.curves;
    let candidates = candidates(lesson)?;
    let least = candidates.iter().map(|candidate| candidate.error).fold(f64::INFINITY, f64::min);
    let good: Vec<&Candidate> = candidates.iter().filter(|candidate| candidate.error <= least * NEARLY).collect();
    let value = average(good.iter().map(|candidate| candidate.value.as_slice()))?;
    let residuals: Vec<Vec<f64>> = (0..curves.len())
        .map(|at| {
            let blend = average(good.iter().map(|candidate| candidate.left_out[at].as_slice()))?;
            Some(curves[at].iter().zip(blend).map(|(truth, said)| truth - said).collect())
        })
        .collect::<Option<_>>()?;
    let interval = interval(&value, &residuals);
    Some(Predicted { value, interval })
}

fn candidates(lesson: &Lesson) -> Option<Vec<Candidate>> {
    let (rows, at) = standardized(&lesson.known, &lesson.features)?;
    let curves = &lesson.curves;
    let distances: Vec<Vec<f64>> = rows.iter().map(|a| rows.iter().map(|b| distance(a, b)).collect()).collect();
    let to: Vec<f64> = rows.iter().map(|row| distance(row, &at)).collect();
    let smooth = LENGTHS.iter().flat_map(|&length| {
        let views = Similarities::new(&rows, &at, length);
        let of = |&noise: &f64| smooth_candidate(&views, curves, noise);
        NOISES.iter().filter_map(of).collect::<Vec<Curves>>()
    });
    let ranks = ranks(curves);
    let cautious = REACHES.iter().map(|&reach| cautious_candidate(&distances, &to, &ranks, reach));
    let absolute: Vec<Vec<f64>> = curves
        .iter()
        .zip(&lesson.levels)
        .map(|(curve, level)| curve.iter().map(|value| value + level).collect())
        .collect();
    let shared = Shared::of(&absolute, lesson.near);
    let sharing = SHRINKAGES.iter().flat_map(|&shrinkage| MEASURED_NOISES.iter().map(move |&noise| (shrinkage, noise)));
    let sharing =
        sharing.filter_map(|(shrinkage, noise)| sharing_candidate(lesson, shared.as_ref()?, shrinkage, noise));
    let all = smooth.chain(cautious).chain(sharing);
    let all = all.map(|(value, left_out)| Candidate { error: error(curves, &left_out), value, left_out });
    Some(all.filter(|candidate| candidate.error.is_finite()).collect())
}

type Curves = (Vec<f64>, Vec<Vec<f64>>);

/// The smooth kernel among the known features (lower triangle, by rows) and between them and the new ones.
struct Similarities {
    among: Vec<Vec<f64>>,
    near: Vec<f64>,
}

impl Similarities {
    fn new(rows: &[Vec<f64>], at: &[f64], length: f64) -> Self {
        let similarity = |a: &[f64], b: &[f64]| {
            let r = 3f64.sqrt() * distance(a, b) / length;
            1.0 + LINEAR * a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() + (1.0 + r) * (-r).exp()
        };
        let row = |i: usize| rows[..=i].iter().map(|other| similarity(&rows[i], other)).collect();
        Self { among: (0..rows.len()).map(row).collect(), near: rows.iter().map(|row| similarity(row, at)).collect() }
    }
}

fn smooth_candidate(views: &Similarities, curves: &[Vec<f64>], noise: f64) -> Option<Curves> {
    let n = views.among.len();
    let factor = Cholesky::new(n, |i, j| views.among[i][j] + if i == j { noise } else { 0.0 })?;
    let diagonal = factor.inverse_diagonal();
    let points = curves.first()?.len();
    let (mut value, mut left_out) = (Vec::with_capacity(points), vec![Vec::with_capacity(points); n]);
    for point in 0..points {
        let column: Vec<f64> = curves.iter().map(|curve| curve[point]).collect();
        let center = mean(&column)?;
        let weights = factor.solve(&column.iter().map(|value| value - center).collect::<Vec<_>>());
        value.push(center + views.near.iter().zip(&weights).map(|(k, w)| k * w).sum::<f64>());
        for (row, curve) in left_out.iter_mut().enumerate() {
            curve.push(column[row] - weights[row] / diagonal[row]);
        }
    }
    Some((value, left_out))
}

fn cautious_candidate(distances: &[Vec<f64>], to: &[f64], ranks: &[Vec<Ranked>], reach: f64) -> Curves {
    let median = |distances: &[f64], skip: Option<usize>| -> Vec<f64> {
        let far = distances.iter().enumerate().filter(|(row, _)| Some(*row) != skip);
        let nearest = far.map(|(_, distance)| *distance).fold(f64::INFINITY, f64::min);
        let weights: Vec<f64> = distances
            .iter()
            .enumerate()
            .map(|(row, distance)| if Some(row) == skip { 0.0 } else { ((nearest - distance) / reach).exp() })
            .collect();
        ranks.iter().map(|order| relative_median(order, &weights)).collect()
    };
    let left_out = distances.iter().enumerate().map(|(row, to)| median(to, Some(row))).collect();
    (median(to, None), left_out)
}

fn sharing_candidate(lesson: &Lesson, shared: &Shared, shrinkage: f64, noise: f64) -> Option<Curves> {
    let seen = &lesson.seen;
    let over = |curve: Vec<f64>, level: f64| curve.into_iter().map(|value| value - level).collect::<Vec<f64>>();
    let observed: Vec<f64> = lesson.observed.iter().map(|value| value + lesson.level).collect();
    let sharing = shared.seen(seen, shrinkage, noise);
    let value = over(sharing.given(&observed)?, lesson.level);
    let of = |(row, level): (usize, &f64)| Some(over(sharing.left_out(row)?, *level));
    let left_out = lesson.levels.iter().enumerate().map(of).collect::<Option<_>>()?;
    Some((value, left_out))
}

/// A known kernel's logarithm y at a point, and exp(-y).
#[derive(Clone, Copy)]
struct Ranked {
    row: usize,
    y: f64,
    inverse: f64,
}

/// The logarithm m that makes the weighted mean of |exp(m - y) - 1| least: the median of y weighted by w exp(-y), since
/// |M - Y| / Y = |M - Y| weighted by 1/Y. `order` is by ascending y.
fn relative_median(order: &[Ranked], weights: &[f64]) -> f64 {
    let weight = |ranked: &Ranked| weights[ranked.row] * ranked.inverse;
    let half = order.iter().map(weight).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    for ranked in order {
        sum += weight(ranked);
        if sum >= half {
            return ranked.y;
        }
    }
    f64::NAN
}

/// Known kernels by ascending value, one list a point.
fn ranks(curves: &[Vec<f64>]) -> Vec<Vec<Ranked>> {
    let at = |point: usize| {
        let ranked = |(row, curve): (usize, &Vec<f64>)| Ranked { row, y: curve[point], inverse: (-curve[point]).exp() };
        let mut order: Vec<Ranked> = curves.iter().enumerate().map(ranked).collect();
        order.sort_by(|a, b| a.y.total_cmp(&b.y));
        order
    };
    (0..curves.first().map_or(0, Vec::len)).map(at).collect()
}

/// Mean relative error of curves in logarithms.
fn error(curves: &[Vec<f64>], said: &[Vec<f64>]) -> f64 {
    let of = |(curve, said): (&Vec<f64>, &Vec<f64>)| -> Vec<f64> {
        curve.iter().zip(said).map(|(truth, said)| ((said - truth).exp() - 1.0).abs()).collect()
    };
    mean(&curves.iter().zip(said).flat_map(of).collect::<Vec<_>>()).unwrap_or(f64::INFINITY)
}

fn interval(value: &[f64], residuals: &[Vec<f64>]) -> Option<Vec<(f64, f64)>> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a count")]
    let outside = (TAIL * (residuals.len() + 1) as f64 + 1e-9) as usize;
    let low = outside.checked_sub(1)?;
    let at = |(point, value): (usize, &f64)| {
        let mut column: Vec<f64> = residuals.iter().map(|curve| curve[point]).collect();
        column.sort_by(f64::total_cmp);
        (value + column[low], value + column[column.len() - outside])
    };
    Some(value.iter().enumerate().map(at).collect())
}

fn average<'a>(curves: impl Iterator<Item = &'a [f64]>) -> Option<Vec<f64>> {
    let curves: Vec<&[f64]> = curves.collect();
    let points = curves.first()?.len();
    Some((0..points).map(|at| curves.iter().map(|curve| curve[at]).sum::<f64>() / curves.len() as f64).collect())
}

/// Every feature with mean 0 and standard deviation 1 over the known kernels; one that is the same for all becomes 0.
fn standardized(known: &[Vec<f64>], features: &[f64]) -> Option<(Vec<Vec<f64>>, Vec<f64>)> {
    let scales: Vec<(f64, f64)> = (0..features.len())
        .map(|feature| {
            let column: Vec<f64> = known.iter().map(|row| row[feature]).collect();
            let center = mean(&column)?;
            let spread = mean(&column.iter().map(|value| (value - center).powi(2)).collect::<Vec<_>>())?.sqrt();
            Some((center, if spread > 1e-9 { 1.0 / spread } else { 0.0 }))
        })
        .collect::<Option<_>>()?;
    let scale = |row: &[f64]| row.iter().zip(&scales).map(|(value, (center, by))| (value - center) * by).collect();
    (!known.is_empty()).then(|| (known.iter().map(|row| scale(row)).collect(), scale(features)))
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel with feature 1.55 of which nothing but the level was measured.
    fn lesson(known: &[Vec<f64>], curves: &[Vec<f64>]) -> Lesson<'static> {
        Lesson {
            known: known.to_vec(),
            curves: curves.to_vec(),
            levels: vec![0.0; known.len()],
            features: vec![1.55],
            level: 0.0,
            seen: Vec::new(),
            observed: Vec::new(),
            near: &[],
        }
    }

    #[test]
    fn the_relative_median_makes_the_relative_error_least() {
        // Values 1 and 4, equal weights: |M/1 - 1| + |M/4 - 1| rises with M between them, so M = 1. With weight 5 on 4 the
        // weights over the value are 1 and 1.25: M = 4.
        let ranks = ranks(&[vec![0.0], vec![4f64.ln()]]);
        assert_eq!(relative_median(&ranks[0], &[1.0, 1.0]).to_bits(), 0f64.to_bits());
        assert_eq!(relative_median(&ranks[0], &[1.0, 5.0]).to_bits(), 4f64.ln().to_bits());
    }

    #[test]
    fn leaving_a_kernel_out_in_closed_form_is_fitting_without_it() {
        let rows: Vec<Vec<f64>> = (0..12).map(|i| vec![f64::from(i) / 4.0 - 1.4, f64::from(i * i % 5) / 3.0]).collect();
        // Around 0, so that the center of the curves is 0 with and without any one of them.
        let curves: Vec<Vec<f64>> = rows.iter().map(|x| vec![0.3 * x[0] - 0.2 * x[1], 0.0]).collect();
        let center: f64 = curves.iter().map(|curve| curve[0]).sum::<f64>() / 12.0;
        let (_, left_out) = smooth_candidate(&Similarities::new(&rows, &rows[0], 2.0), &curves, 1e-2).unwrap();
        let (others, of_others) = (rows[1..].to_vec(), curves[1..].to_vec());
        let (refitted, _) = smooth_candidate(&Similarities::new(&others, &rows[0], 2.0), &of_others, 1e-2).unwrap();
        // The two differ by what the center moved, damped by the constant in the kernel.
        let moved = (center - of_others.iter().map(|curve| curve[0]).sum::<f64>() / 11.0).abs();
        assert!((left_out[0][0] - refitted[0]).abs() < 0.1 * moved + 1e-9, "{} {}", left_out[0][0], refitted[0]);
        assert!(left_out[0][1].abs() < 1e-12);
    }

    #[test]
    fn intervals_are_order_statistics_of_the_residuals() {
        // 39 residuals -19 to 19: k = 0.05 x 40 = 2, so from the second least to the second greatest.
        let residuals: Vec<Vec<f64>> = (-19..=19).map(|r| vec![f64::from(r)]).collect();
        assert_eq!(interval(&[100.0], &residuals), Some(vec![(82.0, 118.0)]));
        // 18 known kernels cannot bound a 5 % tail; 19 can.
        assert_eq!(interval(&[100.0], &residuals[..18]), None);
        assert_eq!(interval(&[100.0], &residuals[..19]), Some(vec![(81.0, 99.0)]));
    }

    #[test]
    fn a_curve_that_a_feature_determines_is_found_and_one_that_it_does_not_is_not_split_in_the_middle() {
        let known: Vec<Vec<f64>> = (0..30).map(|i| vec![f64::from(i) / 10.0]).collect();
        let line: Vec<Vec<f64>> = known.iter().map(|x| vec![0.2 * x[0], -0.1 * x[0]]).collect();
        let found = predict(&lesson(&known, &line)).unwrap();
        assert!((found.value[0] - 0.31).abs() < 2e-3 && (found.value[1] + 0.155).abs() < 2e-3, "{found:?}");
        // Two kinds, two thirds without and one third with a factor of 4, whatever the feature: the error is least for 0.
        let kinds: Vec<Vec<f64>> = (0..30).map(|i| vec![if i % 3 == 0 { 4f64.ln() } else { 0.0 }]).collect();
        let found = predict(&lesson(&known, &kinds)).unwrap();
        assert!(found.value[0].abs() < 1e-12, "{found:?}");
        let interval = found.interval.unwrap()[0];
        assert!(interval.0 <= 0.0 && interval.1 >= 4f64.ln() - 1e-12, "{interval:?}");
    }

    #[test]
    fn nothing_known_says_nothing() {
        assert_eq!(predict(&lesson(&[], &[])), None);
    }
}
