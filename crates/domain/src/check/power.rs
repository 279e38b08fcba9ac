//! Rules about power: V10 caps, V11 energy budget, V13 powered intervals.

use std::collections::BTreeMap;

use super::{Violation, during};
use crate::codes::Code;
use crate::evaluate::{Evaluation, Excess, Occupancy, Profile, standing_power};
use crate::format::PowerMode;
use crate::ids::{NodeId, SwitchId};
use crate::instance::{Instance, Node};
use crate::interval::{Interval, difference};
use crate::power::{may_begin, shortest_gap};
use crate::steps::Steps;
use crate::topology::DomainKind;
use crate::units::{GpuCount, Milliwatts, Ticks};

/// The power that caps look at, for every place that has one.
#[derive(Default)]
struct Capped {
    cluster: Option<Profile>,
    switches: BTreeMap<SwitchId, Profile>,
    nodes: BTreeMap<NodeId, Profile>,
}

/// V10: power stays within every cap.
pub(super) fn caps(occupancy: &Occupancy<'_>, violations: &mut Vec<Violation>) {
    let cluster = &occupancy.instance.cluster;
    let capped = Capped::new(occupancy);
    let mut judge = |name: &str, cap: Option<&Steps<Milliwatts>>, profile: &Profile| {
        let Some(cap) = cap else { return };
        for Excess { interval, load, limit } in profile.above_cap(cap, occupancy.end) {
            let (load, limit) = (Milliwatts(load), Milliwatts(limit));
            let message = format!("`{name}` draws {load} of {limit} {}", during(interval));
            violations.push(Violation::at_place(Code::V10, name, interval, message));
        }
    };
    for (&node, profile) in &capped.nodes {
        judge(&cluster.nodes[node].id, cluster.nodes[node].power_cap.as_ref(), profile);
    }
    for (&switch, profile) in &capped.switches {
        judge(&cluster.switches[switch].id, cluster.switches[switch].power_cap.as_ref(), profile);
    }
    if let Some(profile) = &capped.cluster {
        judge("cluster", cluster.power_cap.as_ref(), profile);
    }
}

impl Capped {
    fn new(occupancy: &Occupancy<'_>) -> Self {
        let cluster = &occupancy.instance.cluster;
        let mut capped = Self::default();
        for (id, _) in cluster.nodes.iter().filter(|(_, node)| node.power_cap.is_some()) {
            capped.nodes.insert(id, Profile::default());
        }
        for (id, _) in cluster.switches.iter().filter(|(_, switch)| switch.power_cap.is_some()) {
            capped.switches.insert(id, Profile::default());
        }
        capped.cluster = cluster.power_cap.is_some().then(Profile::default);
        capped.add_nodes(occupancy);
        capped.add_jobs(occupancy);
        capped.add_foreign(occupancy);
        capped
    }

    /// Base and idle power of all nodes.
    fn add_nodes(&mut self, occupancy: &Occupancy<'_>) {
        for (id, node_use) in occupancy.nodes.iter() {
            for &(interval, free) in &node_use.free_gpus {
                let power = standing_power(occupancy.instance, id, free).0;
                self.add_to_node(occupancy.instance, id, interval, power);
                if let Some(cluster) = &mut self.cluster {
                    cluster.add(interval, power);
                }
            }
        }
    }

    /// Peak power of the jobs: a node's share rounded up, the cluster unrounded.
    fn add_jobs(&mut self, occupancy: &Occupancy<'_>) {
        let gpus = &occupancy.instance.cluster.gpus;
        for running in &occupancy.running {
            if let Some(cluster) = &mut self.cluster {
                cluster.add(running.interval, running.option.peak.0);
            }
            if self.nodes.is_empty() && self.switches.is_empty() {
                continue;
            }
            for part in running.placement.gpus.chunk_by(|&a, &b| gpus[a].node == gpus[b].node) {
                let count = GpuCount(u32::try_from(part.len()).unwrap_or(u32::MAX));
                let share = running.option.peak.share(count, running.option.gpus);
                self.add_to_node(occupancy.instance, gpus[part[0]].node, running.interval, share.0);
            }
        }
    }

    fn add_foreign(&mut self, occupancy: &Occupancy<'_>) {
        let window = Interval::new(Ticks::ZERO, occupancy.end);
        if let (Some(cluster), Some(foreign)) = (&mut self.cluster, &occupancy.instance.cluster.foreign) {
            for (interval, power) in foreign.pieces(window) {
                cluster.add(interval, power.unwrap_or_default().0);
            }
        }
    }

    fn add_to_node(&mut self, instance: &Instance, node: NodeId, interval: Interval, power: i64) {
        if let Some(profile) = self.nodes.get_mut(&node) {
            profile.add(interval, power);
        }
        if self.switches.is_empty() {
            return;
        }
        let topology = &instance.cluster.topology;
        for above in topology.ancestors(topology.of_node(node)) {
            if let DomainKind::Switch(switch) = topology.domain(above).kind
                && let Some(profile) = self.switches.get_mut(&switch)
            {
                profile.add(interval, power);
            }
        }
    }
}

/// V11: the total energy stays within the budget.
pub(super) fn budget(occupancy: &Occupancy<'_>, evaluation: &Evaluation, violations: &mut Vec<Violation>) {
    let energy = evaluation.terms.energy;
    if let Some(budget) = occupancy.instance.energy_budget.filter(|&budget| energy > budget) {
        let message = format!("the plan needs {energy} of {budget}");
        violations.push(Violation { code: Code::V11, job: None, place: None, tick: None, end: None, message });
    }
}

/// V13: powered intervals of sleep nodes.
pub(super) fn intervals(occupancy: &Occupancy<'_>, violations: &mut Vec<Violation>) {
    let instance = occupancy.instance;
    for (id, node) in instance.cluster.nodes.iter().filter(|(_, node)| node.power == PowerMode::Sleep) {
        let node_use = &occupancy.nodes[id];
        let mut faults: BTreeMap<Ticks, (Ticks, String)> = BTreeMap::new();
        let mut fault = |interval: Interval, message: String| {
            faults.entry(interval.from).or_insert((interval.to, message));
        };
        if let Some(stated) = occupancy.schedule.power.get(&id) {
            stated_faults(instance, node, stated, &mut fault);
            for interval in difference(&node_use.busy, &node_use.powered) {
                fault(interval, format!("runs jobs but is not powered {}", during(interval)));
            }
        }
        for &interval in &node_use.powered {
            if !may_begin(node, interval.from) {
                let ready = node.wake_ticks;
                fault(interval, format!("is powered from tick {}, cannot wake before {ready}", interval.from));
            }
        }
        for (from, (to, message)) in faults {
            let message = format!("node `{}` {message}", node.id);
            violations.push(Violation::at_place(Code::V13, &node.id, Interval::new(from, to), message));
        }
    }
}

fn stated_faults(instance: &Instance, node: &Node, stated: &[Interval], fault: &mut impl FnMut(Interval, String)) {
    for &interval in stated {
        if interval.is_empty() || interval.from < Ticks::ZERO || interval.to > instance.horizon {
            let Interval { from, to } = interval;
            let horizon = instance.horizon;
            let what =
                if interval.is_empty() { "is empty".to_owned() } else { format!("reaches beyond [0, {horizon})") };
            fault(interval, format!("states [{from}, {to}), which {what}"));
        }
    }
    let mut sorted: Vec<_> = stated.iter().copied().filter(|interval| !interval.is_empty()).collect();
    sorted.sort_unstable();
    for pair in sorted.windows(2) {
        let gap = pair[1].from - pair[0].to;
        if gap < Ticks::ZERO {
            fault(pair[1], format!("states intervals that overlap at tick {}", pair[1].from));
        } else if gap < shortest_gap(node) {
            let least = shortest_gap(node);
            fault(pair[1], format!("is off for {gap} ticks before tick {}, must be for {least}", pair[1].from));
        }
    }
}
