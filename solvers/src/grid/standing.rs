//! When a node that can sleep is powered, and what that costs beside its jobs.
//!
//! Through each gap between busy ticks, and from tick 0 on a node that is on at the start, it takes the cheaper of
//! staying powered and of sleeping and waking, as far as rule V13 allows. Under a tariff it may wake early, where that
//! costs less. With prices below zero staying powered longer than any job asks may pay: that is not looked at.

use rats_domain::interval::Interval;
use rats_domain::units::Ticks;

use super::bits;
use super::frame::{Frame, NodeFrame};
use super::prices::Prices;

/// What a node's own power costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Standing {
    /// In mJ.
    pub energy: i64,
    /// In the tariff's unit.
    pub cost: f64,
}

/// Calls `emit` with each powered interval of a sleep node and whether it begins for free.
pub(super) fn walk(
    frame: &Frame<'_>,
    prices: &Prices,
    node: &NodeFrame,
    busy: &[u64],
    mut emit: impl FnMut(usize, usize, bool),
) {
    let Some(mut at) = bits::next(busy, 0) else { return };
    let (mut from, mut free) = if node.on_at_start && bridges(frame, prices, node, 0, at, node.ready.max(1)) {
        (0, true)
    } else {
        (prices.wake_tick(node.class, at, node.ready), false)
    };
    loop {
        let end = bits::next_gap(busy, at);
        let Some(next) = bits::next(busy, end) else { return emit(from, end, free) };
        if !bridges(frame, prices, node, end, next, end + node.shortest_gap) {
            emit(from, end, free);
            (from, free) = (prices.wake_tick(node.class, next, end + node.shortest_gap), false);
        }
        at = next;
    }
}

/// Whether a node stays powered through `[end, next)`; else it wakes at `earliest` or later.
fn bridges(frame: &Frame<'_>, prices: &Prices, node: &NodeFrame, end: usize, next: usize, earliest: usize) -> bool {
    if next < earliest {
        return true;
    }
    let wake = prices.wake_tick(node.class, next, earliest);
    let stay = powering(frame, prices, node, end, wake);
    let again = match &frame.tariff {
        Some(tariff) => node.wake as f64 * (prices.choice + prices.cost * tariff.at[wake]),
        None => node.wake as f64 * prices.choice,
    };
    stay <= again
}

/// Value of the node's own power during `[from, to)`.
fn powering(frame: &Frame<'_>, prices: &Prices, node: &NodeFrame, from: usize, to: usize) -> f64 {
    let ticks = (to - from) as f64 * prices.choice;
    let paid = frame.tariff.as_ref().map_or(0.0, |tariff| prices.cost * tariff.sum(from, to));
    node.idle_energy as f64 * (ticks + paid)
}

/// What a sleep node's own power costs when these are its busy ticks; nothing for an always-on node.
pub(super) fn standing(frame: &Frame<'_>, prices: &Prices, node: &NodeFrame, busy: &[u64]) -> Standing {
    let mut sum = Standing::default();
    if !node.sleeps {
        return sum;
    }
    let (mut ticks, mut wakes) = (0, 0);
    walk(frame, prices, node, busy, |from, to, free| {
        ticks += to - from;
        wakes += i64::from(!free);
        if let Some(tariff) = &frame.tariff {
            sum.cost += node.idle_energy as f64 * tariff.sum(from, to);
            if !free {
                sum.cost += node.wake as f64 * tariff.at[from];
            }
        }
    });
    sum.energy = node.idle_energy * i64::try_from(ticks).unwrap_or(i64::MAX) + node.wake * wakes;
    sum
}

/// The powered ticks as bits.
pub(super) fn powered(frame: &Frame<'_>, prices: &Prices, node: &NodeFrame, busy: &[u64], powered: &mut [u64]) {
    powered.fill(0);
    if node.sleeps {
        walk(frame, prices, node, busy, |from, to, _| bits::insert(powered, from, to));
    }
}

/// The powered intervals.
pub(super) fn intervals(frame: &Frame<'_>, prices: &Prices, node: &NodeFrame, busy: &[u64]) -> Vec<Interval> {
    let tick = |at: usize| Ticks(i64::try_from(at).unwrap_or(i64::MAX));
    let mut intervals = Vec::new();
    walk(frame, prices, node, busy, |from, to, _| intervals.push(Interval::new(tick(from), tick(to))));
    intervals
}
