//! Nodes of one kind, and when it pays to power one.

use rats_domain::format::PowerMode;
use rats_domain::ids::NodeId;
use rats_domain::instance::Instance;
use rats_domain::power::shortest_gap;

use super::rows::Row;

/// Nodes that differ in nothing that the relaxed model sees.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NodeClass {
    /// How many there are.
    pub count: f64,
    /// Power of one that runs nothing, W.
    pub idle: f64,
    /// Energy of a wake-up, J.
    pub wake: f64,
    pub wake_ticks: usize,
    /// Least distance of two powered intervals.
    pub gap: usize,
    pub on_at_start: bool,
    pub power: PowerMode,
    /// What one supplies to a row by tick while it is powered.
    pub supplies: Vec<(usize, Vec<f64>)>,
    /// Ticks in which a fixed job needs it.
    pub forced: Vec<bool>,
}

/// The least cost of one node and when it is powered for it.
#[derive(Clone, Debug, Default)]
pub(super) struct NodePlan {
    pub cost: f64,
    /// Powered intervals, latest first.
    pub powered: Vec<(usize, usize)>,
    /// Starts of the intervals that cost a wake-up.
    pub wakes: usize,
}

/// All nodes by class.
pub(super) fn node_classes(instance: &Instance, horizon: usize, rows: &[Row]) -> Vec<NodeClass> {
    let mut classes: Vec<NodeClass> = Vec::new();
    for id in instance.cluster.nodes.ids() {
        let class = class_of(instance, id, horizon, rows);
        let same = |known: &&mut NodeClass| NodeClass { count: 1.0, ..(*known).clone() } == class;
        match classes.iter_mut().find(same) {
            Some(known) => known.count += 1.0,
            None => classes.push(class),
        }
    }
    classes
}

fn class_of(instance: &Instance, id: NodeId, horizon: usize, rows: &[Row]) -> NodeClass {
    let node = &instance.cluster.nodes[id];
    let mut forced = vec![false; horizon];
    for (job, fixed) in instance.jobs.iter().filter_map(|(id, job)| Some((id, job.fixed.as_ref()?))) {
        if fixed.gpus.iter().any(|&gpu| instance.cluster.gpus[gpu].node == id) {
            let ticks = fixed.interval(instance, job);
            let clamp = |tick: i64| usize::try_from(tick.max(0)).unwrap_or(horizon).min(horizon);
            forced[clamp(ticks.from.0)..clamp(ticks.to.0)].fill(true);
        }
    }
    let supply = |(at, row): (usize, &Row)| Some((at, row.supply_of(instance, id, horizon)?));
    NodeClass {
        count: 1.0,
        idle: node.idle.watts(),
        wake: node.wake.joules(),
        wake_ticks: usize::try_from(node.wake_ticks.0).unwrap_or(usize::MAX),
        gap: usize::try_from(shortest_gap(node).0).unwrap_or(usize::MAX),
        on_at_start: node.on_at_start,
        power: node.power,
        supplies: rows.iter().enumerate().filter_map(supply).collect(),
        forced,
    }
}

impl NodeClass {
    /// Whether it can sleep.
    pub fn sleeps(&self) -> bool {
        self.power == PowerMode::Sleep
    }

    /// The cheapest powered intervals, given the cost of each powered tick and the price of a wake-up by tick.
    ///
    /// Dynamic programming over ticks: the cheapest way to be powered in tick t begins at t or goes on from t - 1; a
    /// later interval begins at least `gap` ticks after the end of the one before.
    pub fn cheapest(&self, cost: &[f64], wake_price: &[f64]) -> NodePlan {
        let ticks = cost.len();
        let none = usize::MAX;
        // Cheapest cost with the node powered in the last tick looked at, and where that interval begins.
        let mut on = f64::INFINITY;
        let mut began = none;
        // By tick: cost of an interval that ends there, and its begin.
        let mut ended = vec![(f64::INFINITY, none); ticks + 1];
        // By begin: the end of the interval before it.
        let mut before = vec![none; ticks + 1];
        let mut asleep = 0.0;
        // The cheapest end that lies far enough back.
        let (mut ready, mut ready_end) = (f64::INFINITY, none);
        let mut next = 0;
        let mut best = (f64::INFINITY, none);
        for tick in 0..ticks {
            while next + self.gap <= tick && next <= tick {
                if ended[next].0 < ready {
                    (ready, ready_end) = (ended[next].0, next);
                }
                next += 1;
            }
            let wakes = tick > 0 || !self.on_at_start;
            let wake = if wakes { self.wake * wake_price[tick] } else { 0.0 };
            let may_begin = tick >= self.wake_ticks || !wakes;
            let (from, end) = if asleep <= ready { (asleep, none) } else { (ready, ready_end) };
            if may_begin && from + wake < on {
                (on, began) = (from + wake, tick);
                before[tick] = end;
            }
            on += cost[tick];
            ended[tick + 1] = (on, began);
            if self.forced[tick] {
                // Nothing that was off in this tick counts any more.
                (asleep, ready, best) = (f64::INFINITY, f64::INFINITY, (f64::INFINITY, none));
                next = tick + 1;
            }
            if on < best.0 {
                best = (on, tick + 1);
            }
        }
        if asleep <= best.0 {
            return NodePlan { cost: asleep, ..NodePlan::default() };
        }
        let mut plan = NodePlan { cost: best.0, ..NodePlan::default() };
        let mut end = best.1;
        while end != none {
            let begin = ended[end].1;
            if begin == none {
                break;
            }
            plan.powered.push((begin, end));
            plan.wakes += usize::from(begin > 0 || !self.on_at_start);
            end = before[begin];
        }
        plan
    }
}
