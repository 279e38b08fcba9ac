//! The functional forms of time and power, one a file.
//!
//! Every form is a sum of columns with coefficients that are not negative, `value = sum c_k b_k(place; shape)`, where the
//! columns depend on at most three shape parameters that do not enter linearly. Clocks and limits are taken relative to the
//! highest that was fitted.

mod knee_power;
mod limited_power;
mod limited_time;
mod linear_time;
mod power_law;
mod roofline;

use crate::score::Quantity;

use super::scope::{Axis, Place, Scope};

/// Most columns of a form.
pub const COLUMNS: usize = 4;

/// The columns of a form at one place; those beyond its width are 0.
pub type Row = [f64; COLUMNS];

/// A parameter that does not enter linearly, and the range in which it is sought.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its name, as in model files.
    pub name: &'static str,
    /// Least value.
    pub low: f64,
    /// Greatest value.
    pub high: f64,
    /// Values tried before the best is refined; 1 fixes it at `low`.
    pub steps: usize,
}

/// A functional form.
pub trait Form: Sync {
    /// Its name, as in model files.
    fn id(&self) -> &'static str;
    /// Its formula, for people.
    fn formula(&self) -> &'static str;
    /// Names of the coefficients; as many as it has columns in this scope.
    fn coefficients(&self, scope: &Scope) -> &'static [&'static str];
    /// Its shape parameters.
    fn parameters(&self, scope: &Scope) -> Vec<Parameter>;
    /// Whether its first two shape parameters are knee and slope of the voltage, which workloads of a card share.
    fn has_voltage(&self) -> bool {
        false
    }
    /// The columns at a place.
    fn row(&self, shape: &[f64], scope: &Scope, at: Place) -> Row;
}

/// All forms.
pub static FORMS: [&dyn Form; 9] = [
    &linear_time::LinearTime,
    &roofline::Roofline { smooth: false },
    &roofline::Roofline { smooth: true },
    &knee_power::KneePower { saturates: false },
    &knee_power::KneePower { saturates: true },
    &power_law::PowerLaw { saturates: false },
    &power_law::PowerLaw { saturates: true },
    &limited_time::LimitedTime,
    &limited_power::LimitedPower,
];

/// The form of a name.
pub fn named(id: &str) -> Option<&'static dyn Form> {
    FORMS.into_iter().find(|form| form.id() == id)
}

/// The forms that could hold for a quantity along an axis.
pub fn candidates(quantity: Quantity, axis: Axis) -> Vec<&'static dyn Form> {
    let ids: &[&str] = match (quantity, axis) {
        (Quantity::Time, Axis::Clock) => &["time-linear", "time-roofline", "time-smooth-roofline"],
        (Quantity::Power, Axis::Clock) => {
            &["power-knee", "power-knee-saturated", "power-law", "power-law-saturated"]
        }
        (Quantity::Time, Axis::Limit) => &["time-limited"],
        (Quantity::Power, Axis::Limit) => &["power-limited"],
        _ => &[],
    };
    ids.iter().filter_map(|id| named(id)).collect()
}
