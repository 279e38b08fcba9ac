//! The value of the relaxation for given multipliers, and where it could rise.

use super::model::{Relaxation, RelaxedJob, RelaxedOption};
use super::nodes::NodePlan;

/// What rounding may have added to a value, relative to the sum of the magnitudes of its parts.
const ROUNDING: f64 = 1e-11;

/// Multipliers, all at least 0: rows by tick, then pairs by tick, then the energy budget.
pub(super) type Multipliers = Vec<f64>;

/// What a job does at least cost: position of the option, and start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    pub option: usize,
    pub start: usize,
}

/// The relaxation at one point.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// A lower bound, rounding subtracted; infinite if some job cannot be placed at all.
    pub value: f64,
    /// Sum of the magnitudes of its parts.
    pub magnitude: f64,
    /// Use less supply, by multiplier.
    pub slope: Vec<f64>,
    /// What each job does.
    pub choices: Vec<Choice>,
}

/// Prices that follow from multipliers.
pub(super) struct Prices {
    /// Objective per W held from tick 0 to a tick.
    power: Vec<f64>,
    /// The same for one tick.
    pub tick: Vec<f64>,
    pub wake: Vec<f64>,
    /// Price of one unit of a row held from tick 0 to a tick.
    rows: Vec<Vec<f64>>,
    /// Price of starting or ending, by pair and tick: what is left of its multipliers from there on.
    pairs: Vec<Vec<f64>>,
}

/// The cheapest choice of one job by the tick by which it must have ended.
#[derive(Clone, Debug, Default)]
pub(super) struct ByEnd {
    pub cost: Vec<f64>,
    pub choice: Vec<Choice>,
}

impl RelaxedJob {
    /// Costs of an option from its first start to its last end: by start, the prices of all that it uses.
    pub(super) fn option_costs(&self, option: &RelaxedOption, prices: &Prices, work: &mut Vec<f64>) {
        let range = option.first..=option.last + option.ticks;
        work.clear();
        work.extend(prices.power[range.clone()].iter().map(|price| option.beyond * price));
        for &(row, amount) in &option.amounts {
            for (sum, price) in work.iter_mut().zip(&prices.rows[row][range.clone()]) {
                *sum += amount * price;
            }
        }
        let starts = option.last - option.first + 1;
        for start in 0..starts {
            let end = option.first + start + option.ticks;
            work[start] = work[start + option.ticks] - work[start] + self.delay[end];
        }
        work.truncate(starts);
        for &pair in &self.after {
            work.iter_mut().zip(&prices.pairs[pair][option.first..]).for_each(|(cost, price)| *cost += price);
        }
        for &pair in &self.before {
            let ends = &prices.pairs[pair][option.first + option.ticks..];
            work.iter_mut().zip(ends).for_each(|(cost, price)| *cost -= price);
        }
    }

    /// The cheapest choice of a job and its cost.
    fn cheapest(&self, prices: &Prices, work: &mut Vec<f64>) -> (f64, Choice) {
        let mut best = (f64::INFINITY, Choice::default());
        for (position, option) in self.options.iter().enumerate() {
            self.option_costs(option, prices, work);
            for (start, &cost) in work.iter().enumerate() {
                if cost < best.0 {
                    best = (cost, Choice { option: position, start: option.first + start });
                }
            }
        }
        best
    }
}

impl Relaxation {
    pub(super) fn prices(&self, multipliers: &[f64]) -> Prices {
        let budget = if self.budget.is_some() { multipliers[multipliers.len() - 1] } else { 0.0 };
        let tick: Vec<f64> = self.price.iter().map(|price| price + budget * self.tick_s).collect();
        let slices: Vec<&[f64]> = multipliers.chunks_exact(self.horizon.max(1)).collect();
        let rows = self.rows.len();
        Prices {
            power: sums(&tick),
            tick,
            wake: self.wake_price.iter().map(|price| price + budget).collect(),
            rows: slices[..rows].iter().map(|row| sums(row)).collect(),
            pairs: slices[rows..rows + self.pairs.len()].iter().map(|pair| remainders(pair)).collect(),
        }
    }

    /// The cheapest choice of a job that ends by each tick.
    pub(super) fn by_end(&self, job: &RelaxedJob, prices: &Prices, work: &mut Vec<f64>) -> ByEnd {
        let mut best =
            ByEnd { cost: vec![f64::INFINITY; self.horizon + 1], choice: vec![Choice::default(); self.horizon + 1] };
        for (position, option) in job.options.iter().enumerate() {
            job.option_costs(option, prices, work);
            for (start, &cost) in work.iter().enumerate() {
                let end = option.first + start + option.ticks;
                if cost < best.cost[end] {
                    best.cost[end] = cost;
                    best.choice[end] = Choice { option: position, start: option.first + start };
                }
            }
        }
        for end in 1..=self.horizon {
            if best.cost[end - 1] <= best.cost[end] {
                best.cost[end] = best.cost[end - 1];
                best.choice[end] = best.choice[end - 1];
            }
        }
        best
    }

    /// The relaxation for these multipliers.
    pub(super) fn sample(&self, multipliers: &[f64]) -> Sample {
        let prices = self.prices(multipliers);
        let mut tally = Tally::new(self);
        let mut work = Vec::new();
        let mut choices = Vec::with_capacity(self.jobs.len());
        let mut makespan = self.horizon;
        if self.coupled {
            let jobs: Vec<ByEnd> = self.jobs.iter().map(|job| self.by_end(job, &prices, &mut work)).collect();
            let totals = self.totals(&jobs, multipliers, &prices);
            let Some((at, &total)) = totals.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)) else {
                return Sample { value: f64::INFINITY, ..Sample::default() };
            };
            if total == f64::INFINITY {
                return Sample { value: f64::INFINITY, ..Sample::default() };
            }
            makespan = self.least_makespan + at;
            tally.add(self.makespan_price * makespan as f64);
            for (job, by_end) in self.jobs.iter().zip(&jobs) {
                let end = makespan - job.tail;
                tally.add(by_end.cost[end]);
                choices.push(by_end.choice[end]);
            }
        } else {
            for job in &self.jobs {
                let (cost, choice) = job.cheapest(&prices, &mut work);
                tally.add(cost);
                choices.push(choice);
            }
        }
        self.count_jobs(&choices, &mut tally);
        self.count_nodes(multipliers, &prices, makespan, &mut tally);
        self.count_constants(multipliers, &mut tally);
        Sample {
            value: tally.value - ROUNDING * tally.magnitude,
            magnitude: tally.magnitude,
            slope: tally.into_slope(self),
            choices,
        }
    }

    /// Total of everything that depends on the makespan, for each makespan from the least on.
    pub(super) fn totals(&self, jobs: &[ByEnd], multipliers: &[f64], prices: &Prices) -> Vec<f64> {
        let mut totals: Vec<f64> =
            (self.least_makespan..=self.horizon).map(|makespan| self.makespan_price * makespan as f64).collect();
        for class in self.classes.iter().filter(|class| !class.sleeps()) {
            let costs = sums(&self.powered_costs(class, multipliers, prices));
            totals.iter_mut().zip(&costs[self.least_makespan..]).for_each(|(total, cost)| *total += class.count * cost);
        }
        for (job, by_end) in self.jobs.iter().zip(jobs) {
            for (at, total) in totals.iter_mut().enumerate() {
                let end = (self.least_makespan + at).checked_sub(job.tail);
                *total += end.map_or(f64::INFINITY, |end| by_end.cost[end]);
            }
        }
        totals
    }

    /// Cost of one powered node of a class by tick, less the price of what it supplies.
    fn powered_costs(&self, class: &super::nodes::NodeClass, multipliers: &[f64], prices: &Prices) -> Vec<f64> {
        let mut costs: Vec<f64> = prices.tick.iter().map(|price| class.idle * price).collect();
        for (row, supply) in &class.supplies {
            let row = &multipliers[row * self.horizon..(row + 1) * self.horizon];
            costs.iter_mut().zip(row.iter().zip(supply)).for_each(|(cost, (price, supply))| *cost -= price * supply);
        }
        costs
    }

    fn count_jobs(&self, choices: &[Choice], tally: &mut Tally) {
        for (job, choice) in self.jobs.iter().zip(choices) {
            let Some(option) = job.options.get(choice.option) else { continue };
            let (start, end) = (choice.start, choice.start + option.ticks);
            for &(row, amount) in &option.amounts {
                tally.steps[row][start] += amount;
                tally.steps[row][end] -= amount;
            }
            tally.energy += option.beyond * option.ticks as f64 * self.tick_s;
            let rows = self.rows.len();
            for &pair in &job.after {
                tally.steps[rows + pair][start] += 1.0;
            }
            for &pair in &job.before {
                tally.steps[rows + pair][end] -= 1.0;
            }
        }
    }

    fn count_nodes(&self, multipliers: &[f64], prices: &Prices, makespan: usize, tally: &mut Tally) {
        for class in &self.classes {
            let costs = self.powered_costs(class, multipliers, prices);
            let plan = if class.sleeps() {
                class.cheapest(&costs, &prices.wake)
            } else {
                let cost = costs[..makespan].iter().sum();
                NodePlan { cost, powered: vec![(0, makespan)], wakes: 0 }
            };
            tally.add(class.count * plan.cost);
            tally.energy += class.count * class.wake * plan.wakes as f64;
            for &(from, to) in &plan.powered {
                tally.energy += class.count * class.idle * (to - from) as f64 * self.tick_s;
                for (row, supply) in &class.supplies {
                    let supplied = &mut tally.supplied[*row][from..to];
                    supplied.iter_mut().zip(&supply[from..to]).for_each(|(sum, supply)| *sum += class.count * supply);
                }
            }
        }
    }

    fn count_constants(&self, multipliers: &[f64], tally: &mut Tally) {
        for (at, row) in self.rows.iter().enumerate() {
            let prices = &multipliers[at * self.horizon..(at + 1) * self.horizon];
            let sum: f64 = prices.iter().zip(&row.constant).map(|(price, constant)| price * constant).sum();
            tally.add(-sum);
            tally.supplied[at].iter_mut().zip(&row.constant).for_each(|(sum, constant)| *sum += constant);
        }
        if let Some(budget) = self.budget {
            tally.add(-multipliers[multipliers.len() - 1] * budget);
        }
    }
}

/// Sums while a sample is taken.
struct Tally {
    value: f64,
    magnitude: f64,
    energy: f64,
    /// Changes of use by row or pair and tick.
    steps: Vec<Vec<f64>>,
    supplied: Vec<Vec<f64>>,
}

impl Tally {
    fn new(model: &Relaxation) -> Self {
        Self {
            value: 0.0,
            magnitude: 0.0,
            energy: 0.0,
            steps: vec![vec![0.0; model.horizon + 1]; model.rows.len() + model.pairs.len()],
            supplied: vec![vec![0.0; model.horizon]; model.rows.len()],
        }
    }

    fn add(&mut self, part: f64) {
        self.value += part;
        self.magnitude += part.abs();
    }

    fn into_slope(self, model: &Relaxation) -> Vec<f64> {
        let mut slope = Vec::with_capacity(model.dimension());
        for (at, steps) in self.steps.iter().enumerate() {
            let mut used = 0.0;
            for (tick, step) in steps[..model.horizon].iter().enumerate() {
                used += step;
                let is_active = model.rows.get(at).is_none_or(|row| row.active[tick]);
                let supplied = self.supplied.get(at).map_or(0.0, |row| row[tick]);
                slope.push(if is_active { used - supplied } else { 0.0 });
            }
        }
        slope.extend(model.budget.map(|budget| self.energy - budget));
        slope
    }
}

/// Sums of all values before each position.
fn sums(values: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let mut sums = Vec::with_capacity(values.len() + 1);
    sums.push(0.0);
    for value in values {
        sum += value;
        sums.push(sum);
    }
    sums
}

/// Sums of all values from each position on.
fn remainders(values: &[f64]) -> Vec<f64> {
    let mut remainders = vec![0.0; values.len() + 1];
    for (at, value) in values.iter().enumerate().rev() {
        remainders[at] = remainders[at + 1] + value;
    }
    remainders
}
