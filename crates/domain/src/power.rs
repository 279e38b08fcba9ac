//! When sleep nodes are powered: the default rule, stated intervals, and wake-ups.

use crate::format::PowerMode;
use crate::instance::Node;
use crate::interval::{Interval, union};
use crate::units::{TickLength, Ticks};

/// The powered intervals of a sleep node by the default rule.
///
/// `busy` holds the node's busy ticks (sorted, disjoint, not below tick 0). The node is powered in them and through a
/// gap between them - on an `on_at_start` node also from tick 0 to the first - if the gap is shorter than
/// max(1, `wake_ticks`) or costs no more energy than a wake-up.
pub fn default_intervals(node: &Node, busy: &[Interval], tick: TickLength) -> Vec<Interval> {
    let mut powered: Vec<Interval> = Vec::with_capacity(busy.len());
    for &interval in busy {
        let previous_end = powered.last().map(|last| last.to);
        let gap_from = previous_end.or(node.on_at_start.then_some(Ticks::ZERO));
        let bridged = gap_from.filter(|&from| bridges(node, interval.from - from, tick));
        match (bridged, powered.last_mut()) {
            (Some(_), Some(last)) => last.to = interval.to,
            (Some(from), None) => powered.push(Interval::new(from, interval.to)),
            (None, _) => powered.push(interval),
        }
    }
    powered
}

/// Whether the default rule keeps a node powered through a gap of this length.
pub fn bridges(node: &Node, gap: Ticks, tick: TickLength) -> bool {
    gap < shortest_gap(node) || node.idle.over(gap, tick) <= node.wake
}

/// The least distance of two powered intervals: max(1, `wake_ticks`).
pub fn shortest_gap(node: &Node) -> Ticks {
    node.wake_ticks.max(Ticks(1))
}

/// Stated intervals as evaluation sees them: clipped to [0, horizon), sorted, merged.
pub fn normalized(stated: &[Interval], horizon: Ticks) -> Vec<Interval> {
    let whole = Interval::new(Ticks::ZERO, horizon);
    union(stated.iter().map(|interval| interval.intersection(whole)).collect())
}

/// The ticks at which a node wakes, at a cost of `wake_j` each; an always-on node never does.
pub fn wakes<'i>(node: &Node, powered: &'i [Interval]) -> impl Iterator<Item = Ticks> + use<'i> {
    let sleeps = node.power == PowerMode::Sleep;
    let on_at_start = node.on_at_start;
    let costs = move |&from: &Ticks| sleeps && (from != Ticks::ZERO || !on_at_start);
    powered.iter().map(|interval| interval.from).filter(costs)
}

/// Whether a powered interval may begin at this tick (rule V13).
pub fn may_begin(node: &Node, at: Ticks) -> bool {
    at >= node.wake_ticks || (node.on_at_start && at == Ticks::ZERO)
}
