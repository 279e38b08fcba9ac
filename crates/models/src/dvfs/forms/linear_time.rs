//! `T = t0 + a/fc + b/fm`: parts of the run that take a fixed number of core cycles, of memory cycles, and neither.
//!
//! Physics: work in the SMs and the caches takes time inversely proportional to the core clock fc, transfers from DRAM to
//! the memory clock fm, launches and the host none of both; the parts do not overlap. Where one memory clock was measured,
//! b cannot be told from t0 and is part of it.
//!
//! Source: Q. Wang, X. Chu, "GPGPU performance estimation with core and memory frequency scaling", 2020 (additive
//! core and memory parts); X. Mei, Q. Wang, X. Chu, "A survey and measurement study of GPU DVFS on energy
//! conservation", 2017.

use super::{Form, Parameter, Place, Row, Scope};

pub(super) struct LinearTime;

impl Form for LinearTime {
    fn id(&self) -> &'static str {
        "time-linear"
    }

    fn formula(&self) -> &'static str {
        "T = t0 + a/fc + b/fm"
    }

    fn coefficients(&self, scope: &Scope) -> &'static [&'static str] {
        if scope.memories { &["t0", "a", "b"] } else { &["t0", "a"] }
    }

    fn parameters(&self, _: &Scope) -> Vec<Parameter> {
        Vec::new()
    }

    fn row(&self, _: &[f64], scope: &Scope, at: Place) -> Row {
        let memory = if scope.memories { 1.0 / scope.mem(at) } else { 0.0 };
        [1.0, 1.0 / scope.core(at), memory, 0.0]
    }
}
