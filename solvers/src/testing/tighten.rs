//! Deadlines, due times, caps and budget around a schedule, so that they bind and can be met.

use rats_domain::decimal::Decimal;
use rats_domain::evaluate::evaluate;
use rats_domain::format::{InstanceFile, StepFile, StepsFile};
use rats_domain::ids::{Id, NodeId, Table};
use rats_domain::instance::Instance;
use rats_domain::interval::Interval;
use rats_domain::schedule::Schedule;
use rats_domain::topology::DomainKind;
use rats_domain::units::{GpuCount, Ticks};

use super::draw::milli;
use rats_domain::random::Random;

/// Power in mW by tick.
type Series = Vec<i64>;

/// Draws limits around `schedule` into `file`.
pub(super) fn around(random: &mut Random, instance: &Instance, schedule: &Schedule, file: &mut InstanceFile) {
    for (job, placement) in schedule.placed() {
        let end = placement.end(instance, job).0;
        let in_file = &mut file.jobs[job.position()];
        if random.chance(35) {
            in_file.deadline = Some((end + random.pick(&[-1, 0, 0, 1, 1, 2, 2, 3, 3])).max(0));
        }
        if random.chance(45) {
            in_file.due = Some((end + random.pick(&[-2, -1, 0, 0, 1])).max(0));
        }
    }
    if random.chance(25) {
        let energy = evaluate(instance, schedule).terms.energy.0;
        let percent = i128::from(random.within(85, 130));
        let budget = random.pick(&[energy, energy, energy - 1, energy + 1, energy * percent / 100]);
        file.energy_budget_j = Some(Decimal::from_scaled(budget.max(0), 3));
    }
    caps(random, instance, &node_power(instance, schedule), file);
}

fn caps(random: &mut Random, instance: &Instance, power: &Table<NodeId, Series>, file: &mut InstanceFile) {
    let topology = &instance.cluster.topology;
    let sum = |nodes: &[NodeId]| -> Series {
        let ticks = power.values().map(Vec::len).max().unwrap_or(0);
        (0..ticks).map(|tick| nodes.iter().map(|&node| power[node][tick]).sum()).collect()
    };
    for (node, series) in power.iter() {
        if random.chance(15) {
            file.cluster.nodes[node.position()].power_cap_w = Some(cap(random, series));
        }
    }
    for switch in instance.cluster.switches.ids() {
        if random.chance(20) {
            let inside = |node: &NodeId| {
                let mut above = topology.ancestors(topology.of_node(*node));
                above.any(|domain| topology.domain(domain).kind == DomainKind::Switch(switch))
            };
            let below: Vec<_> = instance.cluster.nodes.ids().filter(inside).collect();
            file.cluster.switches[switch.position()].power_cap_w = Some(cap(random, &sum(&below)));
        }
    }
    if random.chance(30) {
        let all: Vec<_> = instance.cluster.nodes.ids().collect();
        let mut total = sum(&all);
        if random.chance(50) {
            let (from, power) = (random.within(0, 3), random.within(1, 100) * 1000);
            let later = power / 2;
            let steps = vec![StepFile(from, milli(power)), StepFile(from + 2, milli(later))];
            file.cluster.foreign_w = Some(StepsFile::Steps(steps));
            for (tick, value) in (0..).zip(&mut total) {
                *value += if tick < from { 0 } else { [power, later][usize::from(tick >= from + 2)] };
            }
        }
        file.cluster.power_cap_w = Some(cap(random, &total));
    }
}

/// A cap near the peak of `series`, constant or in steps.
fn cap(random: &mut Random, series: &[i64]) -> StepsFile {
    let highest = series.iter().copied().max().unwrap_or(0);
    let percent = random.pick(&[100, 100, 100, 105, 120, 95, 150]);
    let limit = (highest * percent / 100 + random.pick(&[0, 0, 0, 1, -1])).max(0);
    if random.chance(60) {
        return StepsFile::Constant(milli(limit));
    }
    let mut steps = Vec::new();
    let mut tick = random.pick(&[0, 0, 1, 2]);
    for _ in 0..random.within(1, 3) {
        steps.push(StepFile(tick, milli(random.pick(&[limit, limit, highest * 11 / 10, 1_000_000]))));
        tick += random.within(1, 4);
    }
    StepsFile::Steps(steps)
}

/// Power of each node in each tick up to the horizon, with the sustained power of the jobs.
fn node_power(instance: &Instance, schedule: &Schedule) -> Table<NodeId, Series> {
    let cluster = &instance.cluster;
    let powered = evaluate(instance, schedule).powered;
    let of_node = |node: NodeId, tick: i64| -> i64 {
        let now = Interval::new(Ticks(tick), Ticks(tick + 1));
        let on = powered[node].iter().any(|interval| interval.overlaps(now));
        let (mut free, mut running) = (cluster.nodes[node].gpus, 0);
        for (job, placement) in schedule.placed().filter(|(job, at)| at.interval(instance, *job).overlaps(now)) {
            let here = placement.gpus.iter().filter(|&&gpu| cluster.gpus[gpu].node == node).count();
            let option = instance.option(job, placement.option);
            let here = GpuCount(u32::try_from(here).unwrap_or(0));
            running += option.peak.share(here, option.gpus).0;
            free.0 = free.0.saturating_sub(here.0);
        }
        let idle = cluster.gpu_types[cluster.nodes[node].gpu_type].idle.times(free);
        running + if on { (cluster.nodes[node].base + idle).0 } else { 0 }
    };
    cluster.nodes.ids().map(|node| (0..instance.horizon.0).map(|tick| of_node(node, tick)).collect()).collect()
}
