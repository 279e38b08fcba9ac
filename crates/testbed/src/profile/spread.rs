//! Mean, spread and confidence of repeated measurements.

use serde::{Deserialize, Serialize};

/// 97.5 % quantiles of Student's t by degrees of freedom, from 1 on (Student, "The probable error of a mean", 1908).
const T: [f64; 12] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179];

/// A quantity measured several times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The value.
    pub value: f64,
    /// Standard deviation of the measurements over the value.
    pub spread: f64,
    /// Half width of the 95 % confidence interval of the value, relative; absent for one measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Number of measurements.
    pub samples: usize,
}

impl Spread {
    /// A value and the measurements behind it; `None` if it is not above 0.
    pub fn new(value: f64, measurements: &[f64]) -> Option<Self> {
        let count = measurements.len();
        let mean = measurements.iter().sum::<f64>() / count.max(1) as f64;
        let squares: f64 = measurements.iter().map(|measured| (measured - mean).powi(2)).sum();
        let deviation = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
        let quantile = count.checked_sub(2).map(|at| T.get(at).copied().unwrap_or(1.96));
        let confidence = quantile.map(|quantile| quantile * deviation / (count as f64).sqrt() / value);
        (value > 0.0 && value.is_finite()).then(|| Self {
            value,
            spread: deviation / value,
            confidence,
            samples: count,
        })
    }

    /// Several measurements of the same thing as one: means weighted by their number, spreads pooled, what lies between
    /// them included.
    pub fn pooled(parts: &[Self]) -> Option<Self> {
        let samples: usize = parts.iter().map(|part| part.samples).sum();
        if parts.len() < 2 {
            return parts.first().copied();
        }
        let weight = |part: &Self| part.samples as f64 / samples.max(1) as f64;
        let value: f64 = parts.iter().map(|part| weight(part) * part.value).sum();
        let variance = |part: &Self| (part.spread * part.value).powi(2) + (part.value - value).powi(2);
        let deviation = parts.iter().map(|part| weight(part) * variance(part)).sum::<f64>().sqrt();
        let quantile = samples.checked_sub(2).map(|at| T.get(at).copied().unwrap_or(1.96));
        let confidence = quantile.map(|quantile| quantile * deviation / (samples as f64).sqrt() / value);
        Some(Self { value, spread: deviation / value, confidence, samples })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_windows_give_deviation_and_confidence() {
        // 9, 10, 11: deviation 1; t of 2 degrees of freedom 4.303 x 1 / sqrt 3 = 2.484, a quarter of 10.
        let spread = Spread::new(10.0, &[9.0, 10.0, 11.0]).unwrap();
        assert!((spread.spread - 0.1).abs() < 1e-12);
        assert!((spread.confidence.unwrap() - 0.2484).abs() < 1e-4);
        assert_eq!(Spread::new(10.0, &[10.0]).unwrap().confidence, None);
        assert_eq!(Spread::new(0.0, &[0.0]), None);
    }

    #[test]
    fn pooling_counts_what_lies_between_the_parts() {
        let part = |value| Spread { value, spread: 0.0, confidence: None, samples: 2 };
        // Values 9 and 11 without inner spread: mean 10, deviation 1.
        let pooled = Spread::pooled(&[part(9.0), part(11.0)]).unwrap();
        assert!((pooled.value - 10.0).abs() < 1e-12 && (pooled.spread - 0.1).abs() < 1e-12);
        assert_eq!((pooled.samples, Spread::pooled(&[])), (4, None));
    }
}
