//! Power caps (V10): the power under each cap over time, and whether a change keeps it.

use rats_domain::format::PowerMode;
use rats_domain::ids::{JobId, NodeId, Table};
use rats_domain::instance::Instance;
use rats_domain::interval::Interval;
use rats_domain::schedule::Placement;
use rats_domain::steps::Steps;
use rats_domain::topology::DomainKind;
use rats_domain::units::{Milliwatts, Ticks};

use super::change::{Change, NodeChange};
use super::load::Load;

/// All power caps of a cluster with the power below them.
#[derive(Clone, Debug)]
pub(super) struct Caps {
    places: Vec<Capped>,
    /// The caps of each node and of the switches above it.
    above: Table<NodeId, Vec<usize>>,
    /// The cluster's cap.
    cluster: Option<usize>,
}

/// One place with a power cap.
#[derive(Clone, Debug)]
struct Capped {
    /// From this tick on, at most this power (mW), foreign power taken off; `None` is unlimited.
    limits: Vec<(Ticks, Option<i64>)>,
    /// Power in mW.
    power: Load,
    /// Power of the idle always-on nodes below, in mW.
    always_on: i64,
}

impl Caps {
    /// The caps of an instance on which nothing runs.
    pub fn new(instance: &Instance) -> Self {
        let cluster = &instance.cluster;
        let topology = &cluster.topology;
        let mut caps = Vec::new();
        let mut add = |cap: &Steps<Milliwatts>, foreign: Option<&Steps<Milliwatts>>| {
            caps.push(Capped { limits: limits(cap, foreign), power: Load::default(), always_on: 0 });
            caps.len() - 1
        };
        let switches: Table<_, Option<usize>> =
            cluster.switches.values().map(|switch| switch.power_cap.as_ref().map(|cap| add(cap, None))).collect();
        let mut above: Table<NodeId, Vec<usize>> = Table::new();
        for (id, node) in cluster.nodes.iter() {
            let own = node.power_cap.as_ref().map(|cap| add(cap, None));
            let of_switches = topology.ancestors(topology.of_node(id)).filter_map(|domain| {
                if let DomainKind::Switch(switch) = topology.domain(domain).kind { switches[switch] } else { None }
            });
            above.push(own.into_iter().chain(of_switches).collect());
        }
        let whole = cluster.power_cap.as_ref().map(|cap| add(cap, cluster.foreign.as_ref()));
        for (id, node) in cluster.nodes.iter().filter(|(_, node)| node.power == PowerMode::AlwaysOn) {
            for &cap in above[id].iter().chain(&whole) {
                caps[cap].always_on += node.idle.0;
            }
        }
        Self { places: caps, above, cluster: whole }
    }

    /// The first tick in which a change breaks a cap.
    pub fn broken_by(
        &self,
        instance: &Instance,
        (job, placement): (JobId, &Placement),
        change: &Change,
        end: Interval,
    ) -> Option<Ticks> {
        let broken = |(position, mut parts): (usize, Vec<(Interval, i64)>)| {
            // Foreign power alone may break the cluster's cap in ticks that the plan did not reach before.
            parts.push((end, 0));
            self.places[position].broken_by(&parts)
        };
        self.parts(instance, (job, placement), change).into_iter().find_map(broken)
    }

    /// Takes a change into account, or back with sign -1.
    pub fn apply(&mut self, instance: &Instance, (job, placement): (JobId, &Placement), change: &Change, sign: i64) {
        for (position, parts) in self.parts(instance, (job, placement), change) {
            for (interval, power) in parts {
                self.places[position].power.add(interval, sign * power);
            }
        }
    }

    /// States a node's powered intervals anew: its idle power moves from one list to the other.
    pub fn move_idle(&mut self, node: NodeId, parts: &[(Interval, i64)], sign: i64) {
        for &cap in self.above[node].iter().chain(&self.cluster) {
            for &(interval, power) in parts {
                self.places[cap].power.add(interval, sign * power);
            }
        }
    }

    /// Whether there is no cap at all.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The ticks after 0 at which a limit changes.
    pub fn changes(&self) -> impl Iterator<Item = Ticks> + '_ {
        self.places.iter().flat_map(|capped| capped.limits.iter().map(|&(at, _)| at)).filter(|&at| at > Ticks::ZERO)
    }

    /// What a change adds under each cap that it touches.
    fn parts(
        &self,
        instance: &Instance,
        (job, placement): (JobId, &Placement),
        change: &Change,
    ) -> Vec<(usize, Vec<(Interval, i64)>)> {
        if self.places.is_empty() {
            return Vec::new();
        }
        let option = instance.option(job, placement.option);
        let mut parts: Vec<(usize, Vec<(Interval, i64)>)> = Vec::new();
        for node in &change.nodes {
            let share = option.peak.share(node.gpus, option.gpus).0;
            for &cap in &self.above[node.node] {
                let of_cap = part_of(&mut parts, cap);
                of_cap.push((change.interval, share));
                of_cap.extend(standing(instance, node));
            }
            if let Some(cap) = self.cluster {
                part_of(&mut parts, cap).extend(standing(instance, node));
            }
        }
        if let Some(cap) = self.cluster {
            part_of(&mut parts, cap).push((change.interval, option.peak.0));
        }
        if !change.longer.is_empty() {
            for (cap, capped) in self.places.iter().enumerate().filter(|(_, capped)| capped.always_on > 0) {
                part_of(&mut parts, cap).push((change.longer, capped.always_on));
            }
        }
        parts
    }
}

impl Capped {
    /// The first tick among `parts` in which their sum and the power exceed the limit.
    fn broken_by(&self, parts: &[(Interval, i64)]) -> Option<Ticks> {
        let mut bounds: Vec<Ticks> = parts.iter().flat_map(|(interval, _)| [interval.from, interval.to]).collect();
        bounds.sort_unstable();
        bounds.dedup();
        for pair in bounds.windows(2) {
            let piece = Interval::new(pair[0], pair[1]);
            let mut inside = parts.iter().filter(|(interval, _)| interval.overlaps(piece)).peekable();
            if inside.peek().is_none() {
                continue;
            }
            let added: i64 = inside.map(|&(_, power)| power).sum();
            for (segment, power) in self.power.segments(piece) {
                if let Some(at) = self.exceeded(segment, power + added) {
                    return Some(at);
                }
            }
        }
        None
    }

    /// The first tick of `interval` in which `power` exceeds the limit.
    fn exceeded(&self, interval: Interval, power: i64) -> Option<Ticks> {
        let first = self.limits.partition_point(|&(at, _)| at <= interval.from).saturating_sub(1);
        let inside = self.limits[first..].iter().take_while(|&&(at, _)| at < interval.to);
        inside
            .filter(|(_, limit)| limit.is_some_and(|limit| power > limit))
            .map(|&(at, _)| at.max(interval.from))
            .next()
    }
}

/// Changes of a node's own power: idle while newly powered, less idle of the GPUs that get busy.
fn standing<'c>(instance: &Instance, change: &'c NodeChange) -> impl Iterator<Item = (Interval, i64)> + use<'c> {
    let node = &instance.cluster.nodes[change.node];
    let (whole, one) = (node.idle.0, instance.cluster.gpu_types[node.gpu_type].idle.0);
    let grown = change.grown.iter().map(move |&interval| (interval, whole));
    grown.chain(change.busied.iter().map(move |&(interval, count)| (interval, -one * count)))
}

fn part_of(parts: &mut Vec<(usize, Vec<(Interval, i64)>)>, cap: usize) -> &mut Vec<(Interval, i64)> {
    let position = parts.iter().position(|&(of, _)| of == cap).unwrap_or_else(|| {
        parts.push((cap, Vec::new()));
        parts.len() - 1
    });
    &mut parts[position].1
}

/// Cap less foreign power, from the first tick at which there is a cap.
fn limits(cap: &Steps<Milliwatts>, foreign: Option<&Steps<Milliwatts>>) -> Vec<(Ticks, Option<i64>)> {
    let foreign_steps = foreign.map_or(&[][..], Steps::steps);
    let mut ticks: Vec<Ticks> = cap.steps().iter().chain(foreign_steps).map(|&(at, _)| at).collect();
    ticks.sort_unstable();
    ticks.dedup();
    let limit = |at: Ticks| {
        let foreign = foreign.and_then(|foreign| foreign.at(at)).unwrap_or_default();
        cap.at(at).map(|cap| (cap - foreign).0)
    };
    ticks.into_iter().map(|at| (at, limit(at))).collect()
}
