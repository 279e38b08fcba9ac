//! What energy costs: weights of the objective, a tariff by tick, and when waking early pays.

use rats_domain::instance::Instance;
use rats_domain::units::{Millijoules, Ticks};

use super::frame::Frame;

/// A tariff by tick, in its unit per mJ.
#[derive(Debug)]
pub(super) struct Tariff {
    /// Price in each tick.
    pub at: Vec<f64>,
    /// Sum of the prices of all ticks before.
    before: Vec<f64>,
    /// The least price.
    pub least: f64,
}

/// What one mJ and one unit of the tariff add to the value that is minimized.
#[derive(Clone, Debug, Default)]
pub struct Prices {
    /// Per mJ.
    pub(super) energy: f64,
    /// Per unit of the tariff.
    pub(super) cost: f64,
    /// Price of energy in decisions between staying powered and sleeping: not 0 even where neither counts.
    pub(super) choice: f64,
    /// Value of one mJ at the mean price.
    mean: f64,
    /// For each class of nodes and tick, when to wake at best so as to be powered then; empty if always then.
    wakes: Vec<Vec<usize>>,
}

impl Tariff {
    pub fn new(instance: &Instance) -> Option<Self> {
        if instance.objective.cost == 0.0 {
            return None;
        }
        let tariff = instance.tariff.as_ref()?;
        let price = |tick: i64| tariff.at(Ticks(tick)).unwrap_or_default().of(Millijoules(1));
        let at: Vec<f64> = (0..instance.horizon.0).map(price).collect();
        let mut before = vec![0.0];
        before.extend(at.iter().scan(0.0, |sum, price| {
            *sum += price;
            Some(*sum)
        }));
        let least = at.iter().copied().fold(f64::INFINITY, f64::min);
        Some(Self { at, before, least })
    }

    /// Sum of the prices of the ticks `[from, to)` below the horizon.
    pub fn sum(&self, from: usize, to: usize) -> f64 {
        let last = self.at.len();
        self.before[to.min(last)] - self.before[from.min(last)]
    }
}

impl Prices {
    /// The prices of the objective with `pressure` more per mJ.
    pub fn new(frame: &Frame<'_>, pressure: f64) -> Self {
        let objective = &frame.instance.objective;
        let energy = objective.energy / 1e3 + pressure;
        let cost = if frame.tariff.is_some() { objective.cost } else { 0.0 };
        let choice = if energy == 0.0 && cost == 0.0 { 1.0 } else { energy };
        let mean = frame.tariff.as_ref().map_or(0.0, |tariff| tariff.sum(0, frame.horizon) / frame.horizon as f64);
        let mut prices = Self { energy, cost, choice, mean: energy + cost * mean, wakes: Vec::new() };
        if let Some(tariff) = &frame.tariff {
            prices.wakes = wakes(frame, tariff, &prices);
        }
        prices
    }

    /// About what one mJ adds to the value: at the mean price.
    pub fn per_energy(&self) -> f64 {
        self.mean
    }

    /// When to wake so as to be powered at `at`, not before `earliest`.
    pub(super) fn wake_tick(&self, class: usize, at: usize, earliest: usize) -> usize {
        match self.wakes.get(class) {
            Some(best) if best[at] >= earliest => best[at],
            _ => at,
        }
    }
}

/// The best wake-up for each class and tick: then or one tick before the best one of the tick before.
fn wakes(frame: &Frame<'_>, tariff: &Tariff, prices: &Prices) -> Vec<Vec<usize>> {
    let classes = frame.nodes.iter().map(|node| node.class + 1).max().unwrap_or(0);
    let mut wakes = vec![Vec::new(); classes];
    for node in &frame.nodes {
        if !wakes[node.class].is_empty() {
            continue;
        }
        let first = if node.on_at_start { node.ready.max(1) } else { node.ready };
        let idle = node.idle_energy as f64;
        let wake = |tick: usize| node.wake as f64 * (prices.energy + prices.cost * tariff.at[tick]);
        let (mut best, mut value) = (vec![0; frame.horizon], f64::INFINITY);
        for tick in 0..frame.horizon {
            if tick > first {
                value += idle * (prices.energy + prices.cost * tariff.at[tick - 1]);
            }
            if tick <= first || wake(tick) <= value {
                (best[tick], value) = (tick, wake(tick));
            } else {
                best[tick] = best[tick - 1];
            }
        }
        wakes[node.class] = best;
    }
    wakes
}
