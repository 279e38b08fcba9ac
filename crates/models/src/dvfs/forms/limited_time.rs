//! `T = t0 + a ((1 - q) / (min(L, top) - q))^(1/3)`: time under a power limit L.
//!
//! Physics: under a limit the board lowers its clock until its power `q + (1 - q) f^3` (relative to the highest limit) is
//! L, so that `f = ((L - q)/(1 - q))^(1/3)`, and time is `t0 + a/f`. A free exponent predicts limits that were left out worse:
//! few limits do not tell it from q. A workload that draws less than the limit is not held
//! back: above `top` nothing changes.
//!
//! Source: the clock law of [`power_law`](super::power_law), inverted; J. You, J.-W. Chung, M. Chowdhury, "Zeus:
//! understanding and optimizing GPU energy consumption of DNN training", 2023 (time and power against the limit).

use super::{Form, Parameter, Place, Row, Scope};

pub(super) struct LimitedTime;

impl Form for LimitedTime {
    fn id(&self) -> &'static str {
        "time-limited"
    }

    fn formula(&self) -> &'static str {
        "T = t0 + a/f, f = ((min(L, top) - q)/(1 - q))^(1/3)"
    }

    fn coefficients(&self, _: &Scope) -> &'static [&'static str] {
        &["t0", "a"]
    }

    fn parameters(&self, scope: &Scope) -> Vec<Parameter> {
        // The clock must not stop at any limit that predictions are made for.
        let least = (scope.low - scope.gap).max(0.0) / scope.high;
        vec![
            Parameter { name: "q", low: 0.0, high: 0.9 * least, steps: 10 },
            Parameter { name: "top", low: scope.bottom(), high: 1.0, steps: 12 },
        ]
    }

    fn row(&self, shape: &[f64], scope: &Scope, at: Place) -> Row {
        let (q, top) = (shape[0], shape[1]);
        let free = (scope.core(at).min(top) - q).max(1e-6);
        [1.0, ((1.0 - q) / free).cbrt(), 0.0, 0.0]
    }
}
