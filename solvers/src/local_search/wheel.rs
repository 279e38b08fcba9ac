//! A choice among ways that follows their success.

use rats_domain::random::Random;

/// Weights of a choice, by success.
pub(super) struct Wheel {
    weights: Vec<f64>,
}

impl Wheel {
    /// All ways alike.
    pub fn new(count: usize) -> Self {
        Self { weights: vec![1.0; count] }
    }

    /// One of the ways, by weight.
    pub fn draw(&self, random: &mut Random) -> usize {
        let total: f64 = self.weights.iter().sum();
        let mut at = total * random.below(1 << 20) as f64 / f64::from(1 << 20);
        for (position, weight) in self.weights.iter().enumerate() {
            at -= weight;
            if at < 0.0 {
                return position;
            }
        }
        0
    }

    /// Remembers how a way did.
    pub fn reward(&mut self, position: usize, score: f64) {
        self.weights[position] = (0.98 * self.weights[position] + 0.02 * score).max(0.1);
    }
}
