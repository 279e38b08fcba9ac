//! Raising the value: the volume algorithm, a subgradient method that also averages what the jobs do.
//!
//! F. Barahona, R. Anbil, "The volume algorithm: producing primal solutions with a subgradient method", 2000.

use super::value::{Choice, Multipliers, Sample};
use crate::relaxation::Relaxation;

/// Where an ascent stands.
#[derive(Clone, Debug)]
pub struct Ascent<'m> {
    pub(crate) model: &'m Relaxation,
    /// The best bound so far.
    pub(super) best: f64,
    /// The multipliers that gave it.
    pub(super) best_at: Multipliers,
    /// What the jobs do at least cost there.
    pub(super) choices: Vec<Choice>,
    /// Average slope, along which the next point lies.
    direction: Vec<f64>,
    /// Part of the way to the target that a step takes.
    pace: f64,
    /// Least magnitude of the distance to the target.
    magnitude: f64,
    /// Largest weight of a new slope in the average.
    weight: f64,
    /// Steps in a row that did not raise the bound.
    idle: usize,
    steps: usize,
    /// The bound when the weight was last looked at.
    level: f64,
}

/// The first and the last weight of a new slope.
const WEIGHT: (f64, f64) = (0.2, 1e-4);
/// Steps in a row without a rise after which the pace is lowered.
const PATIENCE: usize = 12;
/// The first and the last pace.
const PACE: (f64, f64) = (0.2, 2e-5);
/// How often the weight is looked at.
const PERIOD: usize = 80;
/// How far above the bound the target lies, relative to the magnitude of the objective.
const REACH: f64 = 0.05;

impl<'m> Ascent<'m> {
    /// Starts where every powered tick of a node pays for the GPUs that it supplies.
    ///
    /// `value` is the objective of a known plan, or a guess of its magnitude.
    pub fn new(model: &'m Relaxation, value: Option<f64>) -> Self {
        let best_at = model.shares();
        let Sample { value: best, magnitude, slope, choices } = model.sample(&best_at);
        let magnitude = value.map_or(magnitude, |value| value.abs().max(best.abs())).max(1e-9);
        let direction = if slope.is_empty() { vec![0.0; best_at.len()] } else { slope };
        Self {
            model,
            best,
            best_at,
            choices,
            direction,
            pace: PACE.0,
            magnitude,
            weight: WEIGHT.0,
            idle: 0,
            steps: 0,
            level: best,
        }
    }

    /// The best bound so far.
    pub fn bound(&self) -> f64 {
        self.best
    }

    /// Whether further steps are unlikely to raise the bound.
    pub fn is_converged(&self) -> bool {
        self.pace < PACE.1 || self.best == f64::INFINITY
    }

    /// Takes steps until it has converged, `enough` says so, or this many were taken.
    pub fn climb(&mut self, steps: usize, enough: impl Fn(f64) -> bool) {
        for _ in 0..steps {
            if self.is_converged() || enough(self.best) {
                break;
            }
            self.step();
        }
    }

    /// Takes one step.
    pub fn step(&mut self) {
        let ascending = |(direction, at): (&f64, &f64)| if *at <= 0.0 && *direction < 0.0 { 0.0 } else { *direction };
        let length: f64 = self.direction.iter().zip(&self.best_at).map(ascending).map(|part| part * part).sum();
        if length <= 0.0 {
            self.pace = 0.0;
            return;
        }
        let step = self.pace * REACH * self.magnitude / length;
        let at: Multipliers =
            self.best_at.iter().zip(&self.direction).map(|(at, direction)| (at + step * direction).max(0.0)).collect();
        let sample = self.model.sample(&at);
        let agreement: f64 = self.direction.iter().zip(&sample.slope).map(|(a, b)| a * b).sum();
        self.average(&sample);
        if sample.value > self.best {
            (self.best, self.best_at, self.choices) = (sample.value, at, sample.choices);
            self.idle = 0;
            if agreement > 0.0 {
                self.pace = (self.pace * 1.1).min(2.0);
            }
        } else {
            self.idle += 1;
            if self.idle >= PATIENCE {
                self.idle = 0;
                self.pace *= 0.66;
            }
        }
        self.steps += 1;
        if self.steps.is_multiple_of(PERIOD) {
            if self.best - self.level < 1e-3 * self.magnitude {
                self.weight = (self.weight / 2.0).max(WEIGHT.1);
            }
            self.level = self.best;
        }
    }

    /// Mixes a new slope into the direction, with the weight that makes it shortest.
    fn average(&mut self, sample: &Sample) {
        let (mut cross, mut spread) = (0.0, 0.0);
        for (direction, slope) in self.direction.iter().zip(&sample.slope) {
            let change = slope - direction;
            cross -= direction * change;
            spread += change * change;
        }
        let best = if spread > 0.0 { cross / spread } else { 0.0 };
        let weight = best.clamp(self.weight / 10.0, self.weight);
        for (direction, slope) in self.direction.iter_mut().zip(&sample.slope) {
            *direction += weight * (slope - *direction);
        }
    }
}

impl Relaxation {
    /// Multipliers by which every powered tick of a sleep node is paid by the GPUs that it supplies.
    fn shares(&self) -> Multipliers {
        let mut at = vec![0.0; self.dimension()];
        for (position, _) in self.rows.iter().enumerate().filter(|(_, row)| row.is_gpus()) {
            let share = |tick: usize| {
                let shares = self.classes.iter().filter(|class| class.sleeps()).filter_map(|class| {
                    let (_, supply) = class.supplies.iter().find(|(row, _)| *row == position)?;
                    (supply[tick] > 0.0).then(|| class.idle * self.price[tick] / supply[tick])
                });
                shares.fold(f64::INFINITY, f64::min)
            };
            for tick in 0..self.horizon {
                let share = share(tick);
                at[position * self.horizon + tick] = if share.is_finite() { share.max(0.0) } else { 0.0 };
            }
        }
        at
    }
}
