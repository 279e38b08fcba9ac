//! Least energy: every GPU-tick pays its share of a powered node, or of the makespan of always-on nodes.

use rats_domain::format::PowerMode;
use rats_domain::ids::{GpuTypeId, JobId, Table};
use rats_domain::instance::{Instance, JobOption, Node};
use rats_domain::interval::Interval;
use rats_domain::units::{Millijoules, Milliwatts, Ticks};

use crate::windows::Windows;

/// Parts of the always-on nodes' power that are charged to GPU-ticks, in quarters; the rest to the makespan.
const QUARTERS: [i128; 5] = [0, 1, 2, 3, 4];

/// Cheapest standing energy of one GPU-tick: a fraction of mJ, kept exact.
#[derive(Clone, Copy)]
struct Share {
    numerator: i128,
    denominator: i128,
}

/// The rungs of the ladder, each with its name.
pub(super) fn bounds(instance: &Instance, windows: &Windows<'_>) -> Vec<(&'static str, Millijoules)> {
    let nodes = &instance.cluster.nodes;
    let awake = || nodes.values().filter(|node| node.power == PowerMode::AlwaysOn);
    let standing: Milliwatts = awake().map(|node| node.idle).sum();
    let gpus: i128 = awake().map(|node| i128::from(node.gpus.0)).sum();
    let makespan = standing.over(windows.makespan(), instance.tick);
    let per_tick = standing.over(Ticks(1), instance.tick);
    let rung = |quarters: i128| {
        let of_makespan = Millijoules(makespan.0 * (4 - quarters) / 4);
        let always_on = (gpus > 0).then_some(Share { numerator: per_tick.0 * quarters, denominator: 4 * gpus });
        let shares: Table<GpuTypeId, Option<Share>> =
            instance.cluster.gpu_types.ids().map(|kind| cheapest(instance, kind, always_on)).collect();
        let jobs: Millijoules = instance.jobs.ids().map(|job| least(instance, windows, job, &shares, always_on)).sum();
        of_makespan + jobs + first_wake(instance)
    };
    let name = |quarters| if quarters == 0 { "windows" } else { "energetic" };
    if gpus == 0 {
        return vec![("energetic", rung(0))];
    }
    QUARTERS.into_iter().map(|quarters| (name(quarters), rung(quarters))).collect()
}

/// The cheapest share of a GPU-tick on any node of this type.
fn cheapest(instance: &Instance, kind: GpuTypeId, always_on: Option<Share>) -> Option<Share> {
    let nodes = instance.cluster.nodes.values().filter(|node| node.gpu_type == kind);
    let share = |node: &Node| match node.power {
        PowerMode::AlwaysOn => always_on,
        PowerMode::Sleep => Some(node_share(instance, node)),
    };
    nodes.filter_map(share).min_by(|a, b| (a.numerator * b.denominator).cmp(&(b.numerator * a.denominator)))
}

fn node_share(instance: &Instance, node: &Node) -> Share {
    Share { numerator: node.idle.over(Ticks(1), instance.tick).0, denominator: i128::from(node.gpus.0) }
}

/// Least energy that a job adds.
fn least(
    instance: &Instance,
    windows: &Windows<'_>,
    id: JobId,
    shares: &Table<GpuTypeId, Option<Share>>,
    always_on: Option<Share>,
) -> Millijoules {
    let job = &instance.jobs[id];
    if let Some(fixed) = &job.fixed {
        let option = &job.options[fixed.option];
        let occupancy = fixed.interval(instance, id);
        let ticks = Interval::new(occupancy.from.max(Ticks::ZERO), occupancy.to).len();
        let standing = |node: &Node| match node.power {
            PowerMode::AlwaysOn => always_on.map_or(Millijoules::ZERO, |share| share.of(1, ticks)),
            PowerMode::Sleep => node_share(instance, node).of(1, ticks),
        };
        let nodes = fixed.gpus.iter().map(|&gpu| &instance.cluster.nodes[instance.cluster.gpus[gpu].node]);
        return beyond_idle(instance, option).over(ticks, instance.tick) + nodes.map(standing).sum();
    }
    let of_option = |option: &JobOption| {
        let standing = shares[option.gpu_type].map_or(Millijoules::ZERO, |share| share.of(option.gpus.0, option.ticks));
        beyond_idle(instance, option).over(option.ticks, instance.tick) + standing
    };
    windows.options(id).map(of_option).min().unwrap_or_default()
}

impl Share {
    /// Energy of `gpus` for `ticks`, rounded down.
    fn of(self, gpus: u32, ticks: Ticks) -> Millijoules {
        Millijoules(self.numerator * i128::from(gpus) * i128::from(ticks.0) / self.denominator)
    }
}

/// Power of a gang beyond that of its GPUs at idle.
pub(crate) fn beyond_idle(instance: &Instance, option: &JobOption) -> Milliwatts {
    option.power - instance.cluster.gpu_types[option.gpu_type].idle.times(option.gpus)
}

/// Some node must wake, if none is on and any job is still to run.
fn first_wake(instance: &Instance) -> Millijoules {
    let nodes = &instance.cluster.nodes;
    let is_on = |node: &Node| node.power == PowerMode::AlwaysOn || node.on_at_start;
    let idle_start = !nodes.values().any(is_on) && instance.jobs.values().any(|job| job.fixed.is_none());
    let least = nodes.values().map(|node| node.wake).min().filter(|_| idle_start);
    least.unwrap_or_default()
}
