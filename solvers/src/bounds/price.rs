//! Least cost of energy under a tariff.
//!
//! Where the price is not negative, a job pays for its power beyond idle and the cheapest share of a powered node.
//! Where it is negative, every node is taken to be powered, and to wake as often as there are ticks.

use rats_domain::ids::JobId;
use rats_domain::instance::{Instance, JobOption, Node};
use rats_domain::interval::Interval;
use rats_domain::steps::Steps;
use rats_domain::units::{MicrosPerKwh, Millijoules, Milliwatts, Ticks};

use super::energy::beyond_idle;
use crate::windows::Windows;

/// Least cost of any plan, in the tariff's unit.
pub(super) fn bound(instance: &Instance, windows: &Windows<'_>) -> f64 {
    let Some(tariff) = &instance.tariff else { return 0.0 };
    let jobs: f64 = instance.jobs.ids().map(|job| least(instance, windows, tariff, job)).sum();
    jobs + bonus(instance, tariff)
}

/// What negative prices could pay for powered nodes.
fn bonus(instance: &Instance, tariff: &Steps<MicrosPerKwh>) -> f64 {
    let end = instance.horizon.max(Ticks(1));
    let negative = tariff
        .pieces(Interval::new(Ticks::ZERO, end))
        .filter_map(|(piece, price)| price.filter(|&price| price < MicrosPerKwh::ZERO).map(|price| (piece, price)));
    let of_piece = |(piece, price): (Interval, MicrosPerKwh)| -> f64 {
        let standing = |node: &Node| {
            let wakes = Millijoules(node.wake.0 * i128::from(piece.len().0));
            price.of(node.idle.over(piece.len(), instance.tick) + wakes)
        };
        instance.cluster.nodes.values().map(standing).sum()
    };
    negative.map(of_piece).sum()
}

fn least(instance: &Instance, windows: &Windows<'_>, tariff: &Steps<MicrosPerKwh>, id: JobId) -> f64 {
    let job = &instance.jobs[id];
    if let Some(fixed) = &job.fixed {
        let occupancy = fixed.interval(instance, id);
        let from_zero = Interval::new(occupancy.from.max(Ticks::ZERO), occupancy.to);
        return run_cost(instance, tariff, &job.options[fixed.option], from_zero);
    }
    let first = windows.earliest_start[id];
    let of_option = |option: &JobOption| {
        let last = instance.latest_end(id) - option.ticks;
        let steps = tariff.steps().iter().flat_map(|&(at, _)| [at, at - option.ticks]);
        // Between these the cost is linear in the start.
        let starts = steps.filter(|&at| first < at && at < last).chain([first, last]);
        let cost = |start| run_cost(instance, tariff, option, Interval::new(start, start + option.ticks));
        starts.map(cost).fold(f64::INFINITY, f64::min)
    };
    let least = windows.options(id).map(of_option).fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}

fn run_cost(instance: &Instance, tariff: &Steps<MicrosPerKwh>, option: &JobOption, occupancy: Interval) -> f64 {
    let run = beyond_idle(instance, option);
    let nodes = instance.cluster.nodes.values().filter(|node| node.gpu_type == option.gpu_type);
    let shares = nodes.map(|node| node.idle.0 as f64 / f64::from(node.gpus.0));
    let share = shares.fold(f64::INFINITY, f64::min) * f64::from(option.gpus.0);
    let cost = |(piece, price): (Interval, Option<MicrosPerKwh>)| {
        let price = price.unwrap_or_default();
        let standing = if price > MicrosPerKwh::ZERO { share } else { 0.0 };
        // Linear in power: the cost of 1 mW, times the power.
        let per_milliwatt = price.of(Milliwatts(1).over(piece.len(), instance.tick));
        per_milliwatt * (run.0 as f64 + standing)
    };
    tariff.pieces(occupancy).map(cost).sum()
}
