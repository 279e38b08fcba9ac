//! `T = t0 + max(a/fc, b/fm)`: whichever of cores and memory is busier sets the pace; smooth, where they overlap in part.
//!
//! Physics: with enough warps in flight, memory transfers hide behind computation or the other way round. With one memory
//! clock the second term is a constant: time falls until the core clock reaches the knee and stands still above it. The same
//! shape results where a power limit keeps the clock that is actually reached below the one that was asked for (an A40 at
//! 300 W). The smooth form replaces the maximum by the p-norm `((a/fc)^p + (b/fm)^p)^(1/p)`, p from 2 to 32.
//!
//! With memory clocks the ratio b/a is the shape parameter `ratio` (its logarithm is what is sought); with one memory clock it
//! is the relative clock `knee` = a/b at which both are equal.
//!
//! Source: S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore
//! architectures", 2009; R. Nath, D. Tullsen, "The CRISP performance model for dynamic voltage and frequency scaling in a
//! GPGPU", 2015 (overlap of both).

use super::{Form, Parameter, Place, Row, Scope};

pub(super) struct Roofline {
    /// The p-norm instead of the maximum.
    pub smooth: bool,
}

impl Form for Roofline {
    fn id(&self) -> &'static str {
        if self.smooth { "time-smooth-roofline" } else { "time-roofline" }
    }

    fn formula(&self) -> &'static str {
        if self.smooth { "T = t0 + ((a/fc)^p + (b/fm)^p)^(1/p)" } else { "T = t0 + max(a/fc, b/fm)" }
    }

    fn coefficients(&self, _: &Scope) -> &'static [&'static str] {
        &["t0", "a"]
    }

    fn parameters(&self, scope: &Scope) -> Vec<Parameter> {
        let mut parameters = vec![if scope.memories {
            Parameter { name: "log_ratio", low: -4.0, high: 3.0, steps: 29 }
        } else {
            Parameter { name: "knee", low: scope.bottom(), high: 1.0, steps: 16 }
        }];
        if self.smooth {
            parameters.push(Parameter { name: "log2_p", low: 1.0, high: 5.0, steps: 5 });
        }
        parameters
    }

    fn row(&self, shape: &[f64], scope: &Scope, at: Place) -> Row {
        let core = 1.0 / scope.core(at);
        let memory = if scope.memories { shape[0].exp() / scope.mem(at) } else { 1.0 / shape[0] };
        let time = if self.smooth {
            let p = shape[1].exp2();
            let (small, large) = (core.min(memory), core.max(memory));
            large * (1.0 + (small / large).powf(p)).powf(1.0 / p)
        } else {
            core.max(memory)
        };
        [1.0, time, 0.0, 0.0]
    }
}
