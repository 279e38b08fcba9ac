//! `P = p0 + u min(L, top)`: power under a power limit L.
//!
//! Physics: a workload that would draw more than the limit draws the limit, less what pauses between kernels save (`u` below
//! 1, `p0` above 0); one that never reaches it, above `top`, draws what it would draw without one.
//!
//! Source: J. You, J.-W. Chung, M. Chowdhury, "Zeus: understanding and optimizing GPU energy consumption of DNN
//! training", 2023.

use super::{Form, Parameter, Place, Row, Scope};

pub(super) struct LimitedPower;

impl Form for LimitedPower {
    fn id(&self) -> &'static str {
        "power-limited"
    }

    fn formula(&self) -> &'static str {
        "P = p0 + u min(L, top)"
    }

    fn coefficients(&self, _: &Scope) -> &'static [&'static str] {
        &["p0", "u"]
    }

    fn parameters(&self, scope: &Scope) -> Vec<Parameter> {
        vec![Parameter { name: "top", low: scope.bottom(), high: 1.0, steps: 24 }]
    }

    fn row(&self, shape: &[f64], scope: &Scope, at: Place) -> Row {
        [1.0, scope.core(at).min(shape[0]), 0.0, 0.0]
    }
}
