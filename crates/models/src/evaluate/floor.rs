//! Noise floor: how far measurements lie off what their neighbors say, which no model can be expected to beat by much.
//!
//! Two estimates: each point against the line between its two neighbors along the clock (this adds the noise of the
//! neighbors and the curvature in between, so it overstates the noise of smooth curves: for white noise by the factor
//! sqrt(3/2)), and the spread of repeated measurements.

use crate::score::Held;

/// Every inner point of a curve and what its two neighbors say of it. `points` are (clock, value), in any order; rows
/// with one and the same clock are left to [`repeats`].
pub fn neighbors(points: &[(f64, f64)]) -> Vec<Held> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let between = |window: &[(f64, f64)]| {
        let [(x0, y0), (x, y), (x1, y1)] = *window else { return None };
        (x0 < x && x < x1).then(|| Held {
            measured: y,
            predicted: y0 + (y1 - y0) * (x - x0) / (x1 - x0),
            interval: None,
        })
    };
    sorted.windows(3).filter_map(between).collect()
}

/// Each of several measurements of one thing against the mean of the others.
pub fn repeats(values: &[f64]) -> Vec<Held> {
    let sum: f64 = values.iter().sum();
    let others = values.len().saturating_sub(1) as f64;
    let held = |&measured: &f64| Held { measured, predicted: (sum - measured) / others, interval: None };
    if others > 0.0 { values.iter().map(held).collect() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_held_against_the_line_between_its_neighbors() {
        // Between (10, 4) and (30, 8) at 15: 5.
        let held = neighbors(&[(30.0, 8.0), (10.0, 4.0), (15.0, 6.0)]);
        assert_eq!(held, [Held { measured: 6.0, predicted: 5.0, interval: None }]);
        assert_eq!(neighbors(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), []);
    }

    #[test]
    fn repeats_are_held_against_the_mean_of_the_others() {
        let predicted: Vec<f64> = repeats(&[1.0, 2.0, 6.0]).iter().map(|held| held.predicted).collect();
        assert_eq!(predicted, [4.0, 3.5, 1.5]);
        assert_eq!(repeats(&[1.0]), []);
    }
}
