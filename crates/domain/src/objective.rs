//! The objective: weighted terms, and the gap between a value and a bound.

use crate::units::{Millijoules, TickLength, Ticks};

/// Weights of the terms; a weight of 0 leaves a term out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Objective {
    /// Per J.
    pub energy: f64,
    /// Per unit of the tariff.
    pub cost: f64,
    /// Per s.
    pub makespan: f64,
    /// Per weighted s.
    pub completion: f64,
    /// Per weighted s.
    pub tardiness: f64,
}

/// The value of every term for one schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// Total energy.
    pub energy: Millijoules,
    /// Price of the energy, in the tariff's unit; `None` without a tariff.
    pub cost: Option<f64>,
    /// Last end, not below 0.
    pub makespan: Ticks,
    /// Sum of weight x end, in ticks.
    pub completion: f64,
    /// Sum of weight x max(0, end - due), in ticks.
    pub tardiness: f64,
}

impl Objective {
    /// The weighted sum of `terms`.
    pub fn value(&self, terms: &Terms, tick: TickLength) -> f64 {
        let tick_s = tick.0 as f64;
        let weighted = |weight: f64, value: f64| if weight == 0.0 { 0.0 } else { weight * value };
        weighted(self.energy, terms.energy.joules())
            + weighted(self.cost, terms.cost.unwrap_or(0.0))
            + weighted(self.makespan, terms.makespan.seconds(tick))
            + weighted(self.completion, terms.completion * tick_s)
            + weighted(self.tardiness, terms.tardiness * tick_s)
    }

    /// Every term's weight with the term's name in files.
    pub fn named(&self) -> [(&'static str, f64); 5] {
        [
            ("energy", self.energy),
            ("cost", self.cost),
            ("makespan", self.makespan),
            ("completion", self.completion),
            ("tardiness", self.tardiness),
        ]
    }

    /// Whether energy or its price counts.
    pub fn prices_energy(&self) -> bool {
        self.energy > 0.0 || self.cost > 0.0
    }
}

/// Gap of `objective` to `bound`: max(0, objective - bound) / max(|objective|, |bound|), and 0 if both are 0.
pub fn gap(objective: f64, bound: f64) -> f64 {
    let scale = objective.abs().max(bound.abs());
    if scale == 0.0 { 0.0 } else { (objective - bound).max(0.0) / scale }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gap_is_relative_to_the_larger_magnitude() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-15;
        assert!(close(gap(0.0, 0.0), 0.0));
        assert!(close(gap(100.0, 80.0), 0.2));
        assert!(close(gap(-80.0, -100.0), 0.2));
        assert!(close(gap(80.0, 100.0), 0.0));
    }
}
