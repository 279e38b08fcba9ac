//! Which ticks a sleep node may be powered in, by bit masks over ticks.

use rats_domain::format::PowerMode;
use rats_domain::ids::NodeId;
use rats_domain::instance::{Instance, Node};
use rats_domain::interval::Interval;
use rats_domain::power::{may_begin, shortest_gap};
use rats_domain::units::Ticks;

/// A set of powered ticks of one node and what its standing power costs beyond its busy ticks' jobs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub powered: u64,
    /// Energy of base, all GPUs idle, and wake-ups, mJ.
    pub energy: i128,
    /// Price of that energy.
    pub cost: f64,
}

/// Whether the default rule need not be optimal, so that powered ticks are enumerated.
pub(super) fn must_enumerate(instance: &Instance) -> bool {
    let cluster = &instance.cluster;
    let mut sleepers = cluster.nodes.values().filter(|node| node.power == PowerMode::Sleep).peekable();
    if sleepers.peek().is_none() {
        return false;
    }
    let delays = sleepers.any(|node| node.wake_ticks > Ticks::ZERO || node.on_at_start);
    delays || (instance.objective.cost > 0.0) || cluster.has_power_caps()
}

/// Whether the powered ticks of different nodes must be chosen together.
pub(super) fn are_coupled(instance: &Instance) -> bool {
    let cluster = &instance.cluster;
    let wide_cap = cluster.power_cap.is_some() || cluster.switches.values().any(|switch| switch.power_cap.is_some());
    must_enumerate(instance) && (wide_cap || (instance.energy_budget.is_some() && instance.objective.cost > 0.0))
}

/// How many combinations of powered ticks there are per leaf, where nodes must be looked at together.
pub(super) fn coupled_choices(instance: &Instance) -> f64 {
    let sleepers = instance.cluster.nodes.values().filter(|node| node.power == PowerMode::Sleep).count();
    if !must_enumerate(instance) {
        return 1.0;
    }
    let per_node = 2f64.powf(instance.horizon.0 as f64);
    if are_coupled(instance) {
        per_node.powi(i32::try_from(sleepers).unwrap_or(i32::MAX))
    } else if instance.horizon.0 <= 16 {
        1.0
    } else {
        per_node
    }
}

/// Every valid set of powered ticks that covers the busy ones.
pub(super) fn choices(instance: &Instance, id: NodeId, busy: u64) -> Vec<Choice> {
    let node = &instance.cluster.nodes[id];
    let horizon = u32::try_from(instance.horizon.0).unwrap_or(64).min(63);
    let idle_ticks: Vec<u32> = (0..horizon).filter(|&tick| busy >> tick & 1 == 0 && may_idle(node, tick)).collect();
    let mut choices = Vec::new();
    for picks in 0..1_u64 << idle_ticks.len() {
        let extra = idle_ticks.iter().enumerate().filter(|&(bit, _)| picks >> bit & 1 == 1);
        let powered = extra.fold(busy, |mask, (_, &tick)| mask | 1 << tick);
        let intervals = intervals(powered);
        if is_valid(node, &intervals) {
            choices.push(price(instance, node, powered, &intervals));
        }
    }
    choices
}

/// Whether the node's own cap lets it stand idle in this tick.
fn may_idle(node: &Node, tick: u32) -> bool {
    let cap = node.power_cap.as_ref().and_then(|cap| cap.at(Ticks(i64::from(tick))));
    cap.is_none_or(|cap| node.idle <= cap)
}

/// The maximal runs of set bits.
pub(super) fn intervals(mask: u64) -> Vec<Interval> {
    let mut intervals: Vec<Interval> = Vec::new();
    for tick in (0..64).filter(|tick| mask >> tick & 1 == 1) {
        match intervals.last_mut() {
            Some(last) if last.to == Ticks(tick) => last.to = Ticks(tick + 1),
            _ => intervals.push(Interval::new(Ticks(tick), Ticks(tick + 1))),
        }
    }
    intervals
}

fn is_valid(node: &Node, intervals: &[Interval]) -> bool {
    intervals.iter().all(|interval| may_begin(node, interval.from))
        && intervals.windows(2).all(|pair| pair[1].from - pair[0].to >= shortest_gap(node))
}

fn price(instance: &Instance, node: &Node, powered: u64, intervals: &[Interval]) -> Choice {
    let mut choice = Choice { powered, energy: 0, cost: 0.0 };
    let mut spend = |at: Ticks, energy: rats_domain::units::Millijoules| {
        choice.energy += energy.0;
        let price = instance.tariff.as_ref().and_then(|tariff| tariff.at(at));
        choice.cost += price.map_or(0.0, |price| price.of(energy));
    };
    for interval in intervals {
        for tick in interval.from.0..interval.to.0 {
            spend(Ticks(tick), node.idle.over(Ticks(1), instance.tick));
        }
        if !(node.on_at_start && interval.from == Ticks::ZERO) {
            spend(interval.from, node.wake);
        }
    }
    choice
}
