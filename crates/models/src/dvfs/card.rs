//! The voltage curve that all workloads of a card share.
//!
//! # Idea
//! Voltage over clock belongs to the board; what a workload adds is how much it switches. From the few clocks of one workload
//! knee and slope of the voltage are badly determined, from those of many workloads well.
//!
//! # Model
//! `P_w = p0_w + c_w V(f)^2 f` for every workload w, with `V = 1 + slope max(0, f - knee)` of all. Knee and slope minimize the sum
//! over workloads of the mean absolute relative error, each workload's own coefficients fitted to the shape.
//!
//! # Complexity
//! One robust linear fit for each workload and each shape of the grid.
//!
//! # References
//! J. Guerreiro, A. Ilic, N. Roma, P. Tomas, "GPGPU power modelling for multi-domain voltage-frequency scaling", 2018.

use crate::statistics::mean;

use super::fit::fit;
use super::forms::named;
use super::scope::{Axis, Sample, Scope};

/// Knees and slopes tried.
const STEPS: (u32, u32) = (25, 15);
/// The steepest slope tried, per highest clock.
const STEEPEST: f64 = 4.0;
/// Fewest workloads of which a voltage curve is made.
const FEWEST: usize = 3;

/// Voltage over its least value: 1 up to the knee, then rising.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Voltage {
    /// Clock from which on voltage rises, MHz.
    pub knee_mhz: f64,
    /// Rise over the least voltage, per GHz.
    pub slope_per_ghz: f64,
}

impl Voltage {
    /// The voltage curve behind the power of several workloads, each over clocks; `None` of fewer than three.
    pub fn fit(workloads: &[Vec<Sample>]) -> Option<Self> {
        if workloads.len() < FEWEST {
            return None;
        }
        let samples = workloads.iter().flatten();
        let (low, high) = samples.fold((f64::INFINITY, 0.0_f64), |(low, high), sample| {
            (low.min(sample.at.core), high.max(sample.at.core))
        });
        let mut best: Option<(f64, Self)> = None;
        for knee in 0..STEPS.0 {
            for slope in 0..STEPS.1 {
                let knee_mhz = low + (high - low) * f64::from(knee) / f64::from(STEPS.0);
                let slope_per_ghz = STEEPEST * f64::from(slope) / f64::from(STEPS.1 - 1) * 1000.0 / high;
                let found = Self { knee_mhz, slope_per_ghz };
                let Some(error) = found.error(workloads) else { continue };
                if best.is_none_or(|(least, _)| error < least) {
                    best = Some((error, found));
                }
            }
        }
        best.map(|(_, found)| found)
    }

    /// Knee and slope relative to the highest clock of a scope.
    pub fn shape(&self, scope: &Scope) -> Vec<f64> {
        vec![self.knee_mhz / scope.high, self.slope_per_ghz * scope.high / 1000.0]
    }

    fn error(&self, workloads: &[Vec<Sample>]) -> Option<f64> {
        let form = named("power-knee")?;
        let one = |samples: &Vec<Sample>| {
            let scope = Scope::of(Axis::Clock, samples.iter().map(|sample| sample.at))?;
            let fitted = fit(form, &scope, samples, &self.shape(&scope))?;
            mean(&samples.iter().map(|s| (fitted.value(&scope, s.at) / s.value - 1.0).abs()).collect::<Vec<_>>())
        };
        mean(&workloads.iter().filter_map(one).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dvfs::scope::Place;

    #[test]
    fn knee_and_slope_of_the_card_are_found_from_few_clocks_of_each_workload() {
        // Knee 900 MHz, slope 1.5 per GHz; four workloads, each at six clocks.
        let voltage = |f: f64| 1.0 + 1.5 * (f - 900.0_f64).max(0.0) / 1000.0;
        let workload = |(p0, c): (f64, f64)| {
            let at = |f: f64| Sample { at: Place { core: f, mem: 1.0 }, value: p0 + c * voltage(f).powi(2) * f };
            [500.0, 700.0, 850.0, 1000.0, 1200.0, 1400.0].map(at).to_vec()
        };
        let workloads: Vec<_> = [(30.0, 0.05), (50.0, 0.08), (40.0, 0.1), (60.0, 0.03)].map(workload).to_vec();
        let found = Voltage::fit(&workloads).unwrap();
        assert!((found.knee_mhz - 900.0).abs() < 40.0 && (found.slope_per_ghz - 1.5).abs() < 0.2, "{found:?}");
        assert_eq!(Voltage::fit(&workloads[..2]), None);
    }
}
