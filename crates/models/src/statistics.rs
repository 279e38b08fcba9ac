//! The few statistics that models and their scores need. None of them panics; of nothing they are `None`.

/// Mean.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The value below which a share `p` (0 to 1) of the values lies, interpolated between order statistics (Hyndman and Fan's
/// type 7, 1996).
pub fn quantile(values: &[f64], p: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let position = p.clamp(0.0, 1.0) * last as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the last index")]
    let low = position as usize;
    let high = (low + 1).min(last);
    Some(sorted[low] + (position - low as f64) * (sorted[high] - sorted[low]))
}

/// Median.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The largest.
pub fn largest(values: &[f64]) -> Option<f64> {
    values.iter().copied().max_by(f64::total_cmp)
}

/// 1.4826 x the median distance from the median: the standard deviation, were the values normal, whatever a minority of
/// outliers says.
pub fn robust_deviation(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    Some(1.4826 * median(&distances)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate_between_order_statistics() {
        // Positions 0, 1, 2, 3 hold 1, 2, 4, 10; p = 0.5 is position 1.5, p = 0.95 is 2.85: 4 + 0.85 x 6.
        let values = [10.0, 1.0, 4.0, 2.0];
        assert_eq!(median(&values), Some(3.0));
        assert!((quantile(&values, 0.95).unwrap() - 9.1).abs() < 1e-12);
        assert_eq!((quantile(&values, 0.0), quantile(&values, 1.0)), (Some(1.0), Some(10.0)));
        assert_eq!((mean(&values), largest(&values)), (Some(4.25), Some(10.0)));
        assert_eq!((mean(&[]), quantile(&[], 0.5), largest(&[]), robust_deviation(&[])), (None, None, None, None));
    }

    #[test]
    fn one_outlier_does_not_move_the_robust_deviation() {
        // Distances from the median 3: 2, 1, 0, 1, 997; their median is 1.
        assert!((robust_deviation(&[1.0, 2.0, 3.0, 4.0, 1000.0]).unwrap() - 1.4826).abs() < 1e-12);
    }
}
