//! `P = p0 + c f^e`: power law; saturated, the clock that is reached stays at `top`, where the board is at its power limit.
//!
//! Physics: with voltage proportional to the clock, `V^2 f` is `f^3`; boards with a steep voltage curve near their top show
//! exponents of 5, those measured at little voltage scaling less than 2.
//!
//! Source: T. Mudge, "Power: a first-class architectural design constraint", 2001 (the cube law); the free exponent is
//! empirical.

use super::knee_power::with_memory;
use super::{Form, Parameter, Place, Row, Scope};

pub(super) struct PowerLaw {
    /// With a clock above which the power limit holds.
    pub saturates: bool,
}

impl Form for PowerLaw {
    fn id(&self) -> &'static str {
        if self.saturates { "power-law-saturated" } else { "power-law" }
    }

    fn formula(&self) -> &'static str {
        if self.saturates {
            "P = p0 + g fm + (c + d fm) min(fc, top)^e"
        } else {
            "P = p0 + g fm + (c + d fm) fc^e"
        }
    }

    fn coefficients(&self, scope: &Scope) -> &'static [&'static str] {
        if scope.memories { &["p0", "c", "g", "d"] } else { &["p0", "c"] }
    }

    fn parameters(&self, scope: &Scope) -> Vec<Parameter> {
        let mut parameters = vec![Parameter { name: "e", low: 0.25, high: 8.0, steps: 32 }];
        if self.saturates {
            parameters.push(Parameter { name: "top", low: scope.bottom(), high: 1.0, steps: 12 });
        }
        parameters
    }

    fn row(&self, shape: &[f64], scope: &Scope, at: Place) -> Row {
        let clock = scope.core(at).min(if self.saturates { shape[1] } else { f64::INFINITY });
        with_memory(clock.powf(shape[0]), scope, at)
    }
}
