//! What a sweep tells while it goes on.

use rats_domain::problem::Warning;
use serde_json::{Value, json};

use super::record::{Measured, Role};
use super::target::Target;

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// It begins: so many points of the grid, so many measured already.
    Begun {
        /// Points of the grid.
        points: usize,
        /// Measurements read from the file.
        past: usize,
    },
    /// Powers of the idle GPUs, W.
    Idle(&'a [Option<f64>]),
    /// A point is set.
    Setting {
        /// Which.
        target: Target,
        /// Why.
        role: Role,
        /// Relative half width of the model's interval there.
        half_width: Option<f64>,
    },
    /// The command is started again: it had ended.
    Restarted,
    /// A point was measured.
    Measured(&'a Measured),
    /// Something suspicious.
    Warned(&'a Warning),
}

impl Event<'_> {
    /// One line of the event stream.
    pub fn json(&self) -> Value {
        match self {
            Self::Begun { points, past } => json!({ "event": "begun", "points": points, "past": past }),
            Self::Idle(power_w) => json!({ "event": "idle", "power_w": power_w }),
            Self::Setting { target, role, half_width } => {
                json!({ "event": "setting", "target": target, "role": role, "half_width": half_width })
            }
            Self::Restarted => json!({ "event": "restarted" }),
            Self::Measured(measured) => json!({ "event": "measured", "measured": measured }),
            Self::Warned(warning) => json!({
                "event": "warning", "code": warning.code.id(), "place": warning.place, "message": warning.message,
            }),
        }
    }
}
