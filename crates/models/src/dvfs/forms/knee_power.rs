//! `P = p0 + g fm + c V(f)^2 f`: CMOS power, with a voltage that is flat below a knee and rises linearly above it.
//!
//! Physics: switching draws `C V^2 f`; boards run at their least voltage up to some clock (the knee) and need more beyond it.
//! V is relative to the least one: `V(f) = 1 + slope max(0, f - knee)`. What memory and leakage draw does not depend on the
//! core clock; memory traffic per core cycle (`d`) does, where several memory clocks were measured. Saturated: above the clock
//! `top` the board is at its power limit, and the clock that is reached stays there.
//!
//! Knee and slope belong to the board, not to the workload: see [`card`](crate::dvfs::card).
//!
//! Source: J. Guerreiro, A. Ilic, N. Roma, P. Tomas, "GPGPU power modelling for multi-domain voltage-frequency
//! scaling", 2018 (flat, then linear voltage); X. Mei, Q. Wang, X. Chu et al., "Energy-aware task scheduling with deadline
//! constraint in DVFS-enabled heterogeneous clusters", 2022 (p0 + gamma fm + c V^2 fc).

use super::{Form, Parameter, Place, Row, Scope};

pub(super) struct KneePower {
    /// With a clock above which the power limit holds.
    pub saturates: bool,
}

/// V(f)^2 f, V relative to the least voltage.
pub(crate) fn dynamic(clock: f64, knee: f64, slope: f64) -> f64 {
    let voltage = 1.0 + slope * (clock - knee).max(0.0);
    voltage * voltage * clock
}

impl Form for KneePower {
    fn id(&self) -> &'static str {
        if self.saturates { "power-knee-saturated" } else { "power-knee" }
    }

    fn formula(&self) -> &'static str {
        if self.saturates {
            "P = p0 + g fm + (c + d fm) V(f)^2 f, f = min(fc, top), V = 1 + slope max(0, f - knee)"
        } else {
            "P = p0 + g fm + (c + d fm) V(f)^2 f, f = fc, V = 1 + slope max(0, f - knee)"
        }
    }

    fn coefficients(&self, scope: &Scope) -> &'static [&'static str] {
        if scope.memories { &["p0", "c", "g", "d"] } else { &["p0", "c"] }
    }

    fn parameters(&self, scope: &Scope) -> Vec<Parameter> {
        let mut parameters = vec![
            Parameter { name: "knee", low: scope.bottom(), high: 1.0, steps: 12 },
            Parameter { name: "slope", low: 0.0, high: 4.0, steps: 9 },
        ];
        if self.saturates {
            parameters.push(Parameter { name: "top", low: scope.bottom(), high: 1.0, steps: 9 });
        }
        parameters
    }

    fn has_voltage(&self) -> bool {
        true
    }

    fn row(&self, shape: &[f64], scope: &Scope, at: Place) -> Row {
        let clock = scope.core(at).min(if self.saturates { shape[2] } else { f64::INFINITY });
        with_memory(dynamic(clock, shape[0], shape[1]), scope, at)
    }
}

/// The columns 1, the dynamic power, and both times the memory clock where there are several.
pub(super) fn with_memory(dynamic: f64, scope: &Scope, at: Place) -> Row {
    if scope.memories {
        let mem = scope.mem(at);
        [1.0, dynamic, mem, mem * dynamic]
    } else {
        [1.0, dynamic, 0.0, 0.0]
    }
}
