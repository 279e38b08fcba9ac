//! What the running jobs ask of shared limits, and whether one more fits beside them (rules V7 to V10).
//!
//! Node resources, uplinks and the store have constant capacities: there it is enough to look at now. Power caps,
//! foreign power and the powered intervals of sleep nodes change over time, so a job fits only if the caps hold in every
//! tick that it is expected to occupy. A running job is expected to end after the ticks of its option; one that has
//! outlived them is taken to run on.

use std::collections::{BTreeMap, BTreeSet};

use rats_domain::demand::{Shared, by_node, capacity, demands};
use rats_domain::format::PowerMode;
use rats_domain::ids::{GpuId, JobId, NodeId, SwitchId, Table};
use rats_domain::instance::{Instance, JobOption};
use rats_domain::interval::Interval;
use rats_domain::schedule::Placement;
use rats_domain::steps::Steps;
use rats_domain::units::{GpuCount, Milliwatts, Ticks};

/// A running job as power caps see it.
#[derive(Clone, Debug)]
struct Draw {
    /// GPUs of the gang by node.
    nodes: BTreeMap<NodeId, GpuCount>,
    /// Size of the gang.
    gang: GpuCount,
    peak: Milliwatts,
    /// First tick after those that it is expected to occupy.
    until: Ticks,
}

/// What the running jobs ask of shared limits.
#[derive(Clone, Debug, Default)]
pub(super) struct Loads {
    used: BTreeMap<Shared, i64>,
    draws: BTreeMap<JobId, Draw>,
}

impl Loads {
    /// Adds a job that starts in tick `from`.
    pub fn add(&mut self, instance: &Instance, job: JobId, placement: &Placement, from: Ticks) {
        let option = instance.option(job, placement.option);
        for (shared, demand) in demands(instance, option, &placement.gpus) {
            *self.used.entry(shared).or_default() += demand;
        }
        self.draws.insert(job, Draw::new(instance, option, &placement.gpus, from));
    }

    /// Removes a job.
    pub fn remove(&mut self, instance: &Instance, job: JobId, placement: &Placement) {
        let option = instance.option(job, placement.option);
        for (shared, demand) in demands(instance, option, &placement.gpus) {
            *self.used.entry(shared).or_default() -= demand;
        }
        self.draws.remove(&job);
    }

    /// Whether the job could start in tick `now` beside the running ones. `powered`: planned powered intervals of nodes.
    pub fn fits(
        &self,
        instance: &Instance,
        job: JobId,
        placement: &Placement,
        powered: &Table<NodeId, Vec<Interval>>,
        now: Ticks,
    ) -> bool {
        let option = instance.option(job, placement.option);
        let within = |(&shared, &demand): (&Shared, &i64)| {
            capacity(instance, shared).is_none_or(|most| self.used.get(&shared).unwrap_or(&0) + demand <= most)
        };
        if !demands(instance, option, &placement.gpus).iter().all(within) {
            return false;
        }
        if !instance.cluster.has_power_caps() {
            return true;
        }
        let new = Draw::new(instance, option, &placement.gpus, now);
        let window = Interval::new(now, new.until);
        let mut ticks = changes(instance, powered);
        ticks.extend(self.draws.values().map(|draw| draw.until));
        ticks.insert(now);
        let mut inside = ticks.into_iter().filter(|&tick| window.from <= tick && tick < window.to);
        inside.all(|tick| self.caps_hold(instance, &new, powered, now, tick))
    }

    /// Whether every cap holds in `tick` if the jobs that run at `now` end as expected and `new` runs beside them.
    fn caps_hold(
        &self,
        instance: &Instance,
        new: &Draw,
        powered: &Table<NodeId, Vec<Interval>>,
        now: Ticks,
        tick: Ticks,
    ) -> bool {
        let cluster = &instance.cluster;
        let mut power = Power::new(instance);
        let going = |draw: &&Draw| draw.until > tick || draw.until <= now;
        for draw in self.draws.values().filter(going).chain([new]) {
            power.add_job(draw);
        }
        for (id, node) in cluster.nodes.iter() {
            let planned = powered[id].iter().any(|interval| interval.from <= tick && tick < interval.to);
            if node.power == PowerMode::AlwaysOn || planned || power.busy[id].0 > 0 {
                let free = GpuCount(node.gpus.0.saturating_sub(power.busy[id].0));
                power.add_standing(id, node.base + cluster.gpu_types[node.gpu_type].idle.times(free));
            }
        }
        power.within(instance, tick)
    }
}

impl Draw {
    fn new(instance: &Instance, option: &JobOption, gpus: &[GpuId], from: Ticks) -> Self {
        let nodes = by_node(instance, gpus);
        Self { nodes, gang: option.gpus, peak: option.peak, until: from + option.ticks }
    }
}

/// Power of nodes and cluster in one tick, by the peak power of the jobs.
struct Power {
    nodes: Table<NodeId, Milliwatts>,
    busy: Table<NodeId, GpuCount>,
    cluster: Milliwatts,
}

impl Power {
    fn new(instance: &Instance) -> Self {
        let count = instance.cluster.nodes.len();
        Self {
            nodes: Table::filled(Milliwatts::ZERO, count),
            busy: Table::filled(GpuCount(0), count),
            cluster: Milliwatts::ZERO,
        }
    }

    fn add_job(&mut self, draw: &Draw) {
        self.cluster += draw.peak;
        for (&node, &count) in &draw.nodes {
            self.nodes[node] += draw.peak.share(count, draw.gang);
            self.busy[node].0 += count.0;
        }
    }

    fn add_standing(&mut self, node: NodeId, power: Milliwatts) {
        self.nodes[node] += power;
        self.cluster += power;
    }

    fn within(&self, instance: &Instance, tick: Ticks) -> bool {
        let cluster = &instance.cluster;
        let holds = |cap: &Option<Steps<Milliwatts>>, power: Milliwatts| {
            cap.as_ref().and_then(|cap| cap.at(tick)).is_none_or(|cap| power <= cap)
        };
        let foreign = cluster.foreign.as_ref().and_then(|foreign| foreign.at(tick)).unwrap_or_default();
        holds(&cluster.power_cap, self.cluster + foreign)
            && cluster.nodes.iter().all(|(id, node)| holds(&node.power_cap, self.nodes[id]))
            && cluster
                .switches
                .iter()
                .all(|(id, switch)| switch.power_cap.is_none() || holds(&switch.power_cap, self.below(instance, id)))
    }

    fn below(&self, instance: &Instance, switch: SwitchId) -> Milliwatts {
        let topology = &instance.cluster.topology;
        let domain = topology.domain(topology.of_switch(switch));
        let nodes: BTreeSet<NodeId> = domain.gpus.iter().map(|&gpu| instance.cluster.gpus[gpu].node).collect();
        nodes.into_iter().map(|node| self.nodes[node]).sum()
    }
}

/// Ticks at which a cap, foreign power or the planned power of a node changes.
pub(super) fn changes(instance: &Instance, powered: &Table<NodeId, Vec<Interval>>) -> BTreeSet<Ticks> {
    let cluster = &instance.cluster;
    let caps = [&cluster.power_cap, &cluster.foreign].into_iter();
    let caps = caps.chain(cluster.nodes.values().map(|node| &node.power_cap));
    let caps = caps.chain(cluster.switches.values().map(|switch| &switch.power_cap));
    let steps = caps.flatten().flat_map(|steps| steps.steps().iter().map(|&(tick, _)| tick));
    let edges = powered.values().flatten().flat_map(|interval| [interval.from, interval.to]);
    steps.chain(edges).collect()
}
