//! What placing a job would change, without placing it.

use super::load::Loads;
use super::{Grid, OptionFrame, bits, standing};

/// What placing a job adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// To the value that is minimized: the objective and the pressure on energy.
    pub value: f64,
    /// To the energy, mJ.
    pub energy: i64,
    /// The end of the job.
    pub end: usize,
}

impl Grid<'_> {
    /// What placing a job that is not placed adds; `None` if it breaks a rule other than the budget.
    pub fn judge(&mut self, job: usize, option: usize, start: usize, pattern: &[(usize, u32)]) -> Option<Effect> {
        let frame = self.frame;
        let row = &frame.jobs[job].options[option];
        let end = start + row.ticks;
        if start < self.earliest(job) || end > self.latest(job) {
            return None;
        }
        if !self.has_gpus(start, row.ticks, pattern) {
            return None;
        }
        let mut load = std::mem::take(&mut self.load);
        let loads = load.of(frame, row, pattern);
        let fits = loads.rows.iter().all(|&(at, demand)| self.leaves(at, demand, start, end));
        let effect = if fits { self.effect_of(job, row, start, loads) } else { None };
        self.load = load;
        effect
    }

    /// What placing a job adds where cells and capacities are known to have room; `None` if limits on power have not.
    pub fn effect(&mut self, job: usize, option: usize, start: usize, pattern: &[(usize, u32)]) -> Option<Effect> {
        let row = &self.frame.jobs[job].options[option];
        let mut load = std::mem::take(&mut self.load);
        let effect = self.effect_of(job, row, start, load.of(self.frame, row, pattern));
        self.load = load;
        effect
    }

    /// What it adds to a node's own power if it is busy during `[from, to)`, at the prices.
    pub fn waking(&mut self, node: usize, from: usize, to: usize) -> f64 {
        let frame = self.frame;
        if !frame.nodes[node].sleeps || bits::holds(self.busy(node), from, to) {
            return 0.0;
        }
        let (energy, cost) = self.standing_with(node, from, to);
        self.prices.energy * energy as f64 + self.prices.cost * cost
    }

    /// What the job alone adds: its energy beyond idle GPUs and its delay.
    pub fn alone(&self, job: usize, option: &OptionFrame, start: usize) -> f64 {
        let end = start + option.ticks;
        let energy = option.energy as f64 * option.ticks as f64 * self.prices.energy;
        let paid = self
            .frame
            .tariff
            .as_ref()
            .map_or(0.0, |tariff| self.prices.cost * option.energy as f64 * tariff.sum(start, end));
        energy + paid + self.frame.jobs[job].delay(end)
    }

    /// The least that an option adds at any start from `earliest` on, with no node to wake.
    pub fn least(&self, job: usize, option: &OptionFrame, earliest: usize) -> f64 {
        let price = self.frame.tariff.as_ref().map_or(0.0, |tariff| self.prices.cost * tariff.least);
        if price < 0.0 || (option.energy < 0 && self.frame.tariff.is_some()) {
            return f64::NEG_INFINITY;
        }
        let energy = option.energy as f64 * option.ticks as f64;
        energy * (self.prices.energy + price) + self.frame.jobs[job].delay(earliest + option.ticks)
    }

    /// Whether a capacity leaves this much throughout.
    pub(super) fn leaves(&self, row: usize, demand: i64, from: usize, to: usize) -> bool {
        let at = row * self.frame.horizon;
        self.least[row] >= demand || self.rows[at + from..at + to].iter().all(|&left| left >= demand)
    }

    fn effect_of(&mut self, job: usize, option: &OptionFrame, start: usize, loads: &Loads) -> Option<Effect> {
        let end = start + option.ticks;
        let mut energy = option.energy * i64::try_from(option.ticks).unwrap_or(i64::MAX);
        let mut cost = 0.0;
        if let Some(tariff) = &self.frame.tariff {
            cost = option.energy as f64 * tariff.sum(start, end);
        }
        for &(node, _) in &loads.nodes {
            if self.frame.nodes[node].sleeps && !bits::holds(self.busy(node), start, end) {
                let (more_energy, more_cost) = self.standing_with(node, start, end);
                energy += more_energy;
                cost += more_cost;
            }
        }
        if !loads.limits.is_empty() && !self.keeps_limits(loads, start, end) {
            return None;
        }
        let longer = end.max(self.makespan);
        let (more_energy, more_cost) = self.always_on(self.makespan, longer);
        energy += more_energy;
        cost += more_cost;
        let value = self.prices.energy * energy as f64
            + self.prices.cost * cost
            + self.frame.jobs[job].delay(end)
            + self.makespan_value(longer - self.makespan);
        Some(Effect { value, energy, end })
    }

    /// Energy and cost that a node's own power gains.
    fn standing_with(&mut self, node: usize, from: usize, to: usize) -> (i64, f64) {
        let mut busy = std::mem::take(&mut self.scratch.busy);
        busy.clear();
        busy.extend_from_slice(self.busy(node));
        bits::insert(&mut busy, from, to);
        let new = standing::standing(self.frame, &self.prices, &self.frame.nodes[node], &busy);
        self.scratch.busy = busy;
        let old = self.standing[node];
        (new.energy - old.energy, new.cost - old.cost)
    }

    /// Whether power stays within every limit when a job with these loads runs during `[from, to)`.
    ///
    /// Ticks in which a node of the gang ceases to be powered give nothing back here: it errs on the safe side where
    /// another node of the gang begins to be powered in the very same tick outside the occupancy.
    fn keeps_limits(&mut self, loads: &Loads, from: usize, to: usize) -> bool {
        let (frame, words) = (self.frame, self.frame.words);
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.turned.clear();
        scratch.powered.resize(words, 0);
        for &(node, _) in &loads.nodes {
            if frame.nodes[node].sleeps && !bits::holds(self.busy(node), from, to) {
                scratch.busy.clear();
                scratch.busy.extend_from_slice(self.busy(node));
                bits::insert(&mut scratch.busy, from, to);
                standing::powered(frame, &self.prices, &frame.nodes[node], &scratch.busy, &mut scratch.powered);
                let old = &self.powered[node * words..(node + 1) * words];
                scratch.turned.extend(scratch.powered.iter().zip(old).map(|(new, old)| new & !old));
            } else {
                scratch.turned.extend(std::iter::repeat_n(0, words));
            }
        }
        let kept =
            loads.limits.iter().all(|&(limit, power)| self.keeps_limit(limit, power, loads, &scratch.turned, from, to));
        self.scratch = scratch;
        kept
    }

    fn keeps_limit(&self, limit: usize, power: i64, loads: &Loads, turned: &[u64], from: usize, to: usize) -> bool {
        let (frame, words) = (self.frame, self.frame.words);
        let left = &self.limits[limit * frame.horizon..(limit + 1) * frame.horizon];
        let counted: Vec<(usize, i64)> = loads
            .nodes
            .iter()
            .enumerate()
            .filter(|&(_, &(node, _))| frame.limits_of(node).any(|other| other == limit))
            .map(|(at, &(node, _))| (at, frame.nodes[node].idle_power))
            .collect();
        let drawn = |tick: usize| -> i64 {
            let job = if (from..to).contains(&tick) { power } else { 0 };
            let has = |at: usize| turned[at * words + tick / 64] >> (tick % 64) & 1 == 1;
            job + counted.iter().filter(|&&(at, _)| has(at)).map(|&(_, idle)| idle).sum::<i64>()
        };
        if !(from..to).all(|tick| left[tick] >= drawn(tick)) {
            return false;
        }
        counted.iter().all(|&(at, _)| {
            let turned = &turned[at * words..(at + 1) * words];
            let mut next = bits::next(turned, 0);
            while let Some(tick) = next {
                if !(from..to).contains(&tick) && left[tick] < drawn(tick) {
                    return false;
                }
                next = bits::next(turned, tick + 1);
            }
            true
        })
    }
}
