//! Power in the program: when nodes are on, caps (V10), budget (V11), wake-ups (V13), and what energy costs.

use std::collections::BTreeSet;

use rats_domain::format::PowerMode;
use rats_domain::ids::{JobId, NodeId, OptionId, Table};
use rats_domain::instance::{Instance, Node};
use rats_domain::interval::Interval;
use rats_domain::power::may_begin;
use rats_domain::schedule::Placement;
use rats_domain::steps::Steps;
use rats_domain::topology::DomainKind;
use rats_domain::units::{GpuCount, MicrosPerKwh, Millijoules, Milliwatts, Ticks};

use super::build::{Built, Start};
use super::linear::{ColumnId, Program, Sense};
use super::placings::Placing;
use rats_domain::demand::by_node;

type Terms = Vec<(ColumnId, f64)>;

/// The columns about power, by tick.
#[derive(Clone, Debug, Default)]
pub(super) struct PowerColumns {
    /// Node is powered; only for sleep nodes whose power matters.
    pub on: Table<NodeId, Option<Vec<ColumnId>>>,
    /// Node begins to be powered, at the cost of a wake-up.
    pub wake: Table<NodeId, Option<Vec<ColumnId>>>,
    /// Some job ends after the tick.
    pub active: Option<Vec<ColumnId>>,
}

/// The ticks that the program looks at: up to the last possible end, or the horizon where a negative price could make
/// it pay to stay on; never beyond the first tick in which foreign power alone breaks the cluster's cap.
pub(super) fn ticks(instance: &Instance) -> i64 {
    let fixed_end = |id: JobId| instance.jobs[id].fixed.as_ref().map(|fixed| fixed.end(instance, id));
    let last_end = instance.jobs.ids().map(|id| fixed_end(id).unwrap_or_else(|| instance.latest_end(id))).max();
    let reach = if has_negative_price(instance) { instance.horizon } else { last_end.unwrap_or_default() };
    let reach = reach.min(instance.horizon).max(Ticks::ZERO);
    foreign_limit(instance, reach).unwrap_or(reach).0
}

/// The first tick before `end` in which foreign power alone exceeds the cluster's cap.
fn foreign_limit(instance: &Instance, end: Ticks) -> Option<Ticks> {
    let (cap, foreign) = (instance.cluster.power_cap.as_ref()?, instance.cluster.foreign.as_ref()?);
    let window = Interval::new(Ticks::ZERO, end);
    let pieces = cap.pieces(window).filter_map(|(piece, cap)| cap.map(|cap| (piece, cap)));
    let broken =
        pieces.flat_map(|(piece, cap)| foreign.pieces(piece).filter(move |(_, power)| power.is_some_and(|p| p > cap)));
    broken.map(|(piece, _)| piece.from).min()
}

/// Whether a price that counts is negative.
pub(super) fn has_negative_price(instance: &Instance) -> bool {
    let negative = |tariff: &Steps<MicrosPerKwh>| tariff.steps().iter().any(|&(_, price)| price < MicrosPerKwh::ZERO);
    instance.objective.cost > 0.0 && instance.tariff.as_ref().is_some_and(negative)
}

/// Why a fixed job cannot be powered, if so.
pub(super) fn fixed_beyond_reach(instance: &Instance) -> Option<String> {
    let end = Ticks(ticks(instance));
    let mut fixed = fixed(instance);
    fixed.find(|(_, _, interval)| interval.to > end).map(|(job, _, _)| {
        format!("fixed job `{}` ends after the horizon or when foreign power exceeds the cap", instance.jobs[job].id)
    })
}

fn fixed(instance: &Instance) -> impl Iterator<Item = (JobId, &Placement, Interval)> {
    let from_zero = |interval: Interval| Interval::new(interval.from.max(Ticks::ZERO), interval.to.max(Ticks::ZERO));
    let jobs = instance.jobs.iter().filter_map(|(id, job)| job.fixed.as_ref().map(|fixed| (id, fixed)));
    jobs.map(move |(id, fixed)| (id, fixed, from_zero(fixed.interval(instance, id))))
}

fn energy_matters(instance: &Instance) -> bool {
    instance.objective.prices_energy() || instance.energy_budget.is_some() || instance.cluster.has_power_caps()
}

/// Adds the columns.
pub(super) fn columns(instance: &Instance, program: &mut Program, placings: &[Placing]) -> PowerColumns {
    let ticks = ticks(instance);
    let mut used: BTreeSet<NodeId> =
        placings.iter().flat_map(|placing| &placing.nodes).map(|&(node, _)| node).collect();
    used.extend(fixed(instance).flat_map(|(_, fixed, _)| by_node(instance, &fixed.gpus).into_keys()));
    let mut power = PowerColumns::default();
    for (id, node) in instance.cluster.nodes.iter() {
        let matters = energy_matters(instance) || node.wake_ticks > Ticks::ZERO;
        let sleeps = node.power == PowerMode::Sleep && matters && (used.contains(&id) || has_negative_price(instance));
        let on = sleeps.then(|| (0..ticks).map(|t| on_column(program, node, id, t)).collect());
        let wake = sleeps.then(|| (0..ticks).map(|t| wake_column(program, node, id, t)).collect());
        power.on.push(on);
        power.wake.push(wake);
    }
    let always_on = instance.cluster.nodes.values().any(|node| node.power == PowerMode::AlwaysOn);
    if (always_on && energy_matters(instance)) || instance.objective.makespan > 0.0 {
        power.active = Some((0..ticks).map(|t| program.column(format!("active_t{t}"), 1.0, false)).collect());
    }
    for (_, fixed, interval) in fixed(instance) {
        for tick in index_range(interval) {
            for node in by_node(instance, &fixed.gpus).into_keys() {
                if let Some(on) = &power.on[node] {
                    program.columns[on[tick].0].lower = 1.0;
                }
            }
        }
        if let Some(active) = &power.active {
            active[..index_range(interval).end].iter().for_each(|column| program.columns[column.0].lower = 1.0);
        }
    }
    power
}

fn on_column(program: &mut Program, node: &Node, id: NodeId, tick: i64) -> ColumnId {
    let reachable = node.on_at_start || may_begin(node, Ticks(tick));
    program.column(format!("on_n{id}_t{tick}"), if reachable { 1.0 } else { 0.0 }, true)
}

fn wake_column(program: &mut Program, node: &Node, id: NodeId, tick: i64) -> ColumnId {
    let paid = may_begin(node, Ticks(tick)) && !(node.on_at_start && tick == 0);
    program.column(format!("wake_n{id}_t{tick}"), if paid { 1.0 } else { 0.0 }, false)
}

fn index_range(interval: Interval) -> std::ops::Range<usize> {
    let index = |tick: Ticks| usize::try_from(tick.0).unwrap_or(0);
    index(interval.from)..index(interval.to)
}

/// Adds the rows.
pub(super) fn rows(instance: &Instance, built: &mut Built) {
    powered_while_busy(instance, built);
    wakes(instance, built);
    activity(instance, built);
    for place in places(instance) {
        cap(instance, built, &place);
    }
    budget(instance, built);
}

/// A job runs on a sleep node only while it is powered; the plan is active in every tick after which a job ends.
fn powered_while_busy(instance: &Instance, built: &mut Built) {
    for job in instance.jobs.ids() {
        let starts = &built.starts[built.by_job[job].clone()];
        let mut new: Vec<(String, Terms)> = Vec::new();
        for (node, on) in built.power.on.iter() {
            let Some(on) = on else { continue };
            let touching =
                starts.iter().filter(|start| built.placings[start.placing].nodes.iter().any(|&(n, _)| n == node));
            for (tick, mut terms) in (0..).zip(running(touching, on.len())).filter(|(_, terms)| !terms.is_empty()) {
                terms.push((on[tick], -1.0));
                new.push((format!("powered_n{node}_j{job}_t{tick}"), terms));
            }
        }
        for (tick, &active) in (0..).zip(built.power.active.iter().flatten()) {
            let mut terms: Terms =
                starts.iter().filter(|start| tick < start.ticks.to.0).map(|start| (start.column, 1.0)).collect();
            if !terms.is_empty() {
                terms.push((active, -1.0));
                new.push((format!("active_j{job}_t{tick}"), terms));
            }
        }
        for (name, terms) in new {
            built.program.row(name, terms, Sense::AtMost, 0.0);
        }
    }
}

/// For each tick, the starts that run in it.
fn running<'s>(starts: impl Iterator<Item = &'s Start>, ticks: usize) -> Vec<Terms> {
    let mut by_tick = vec![Terms::new(); ticks];
    for start in starts {
        by_tick[index_range(start.ticks)].iter_mut().for_each(|terms| terms.push((start.column, 1.0)));
    }
    by_tick
}

/// V13, and that waking is paid for.
fn wakes(instance: &Instance, built: &mut Built) {
    let exact = has_negative_price(instance);
    for (id, node) in instance.cluster.nodes.iter() {
        let (Some(on), Some(wake)) = (&built.power.on[id], &built.power.wake[id]) else { continue };
        let apart = usize::try_from(node.wake_ticks.0).unwrap_or(usize::MAX);
        for tick in 0..on.len() {
            let before = tick.checked_sub(1).map(|before| on[before]);
            let was_on = before.map(|before| (before, -1.0));
            if before.is_some() || !node.on_at_start {
                let terms = [(on[tick], 1.0), (wake[tick], -1.0)].into_iter().chain(was_on).collect();
                built.program.row(format!("wake_n{id}_t{tick}"), terms, Sense::AtMost, 0.0);
            }
            let too_close = tick.saturating_sub(apart)..tick.saturating_sub(1);
            for (earlier, &column) in on.iter().enumerate().take(too_close.end).skip(too_close.start) {
                let terms = vec![(wake[tick], 1.0), (column, 1.0)];
                built.program.row(format!("apart_n{id}_t{tick}_t{earlier}"), terms, Sense::AtMost, 1.0);
            }
            if exact {
                let terms = vec![(wake[tick], 1.0), (on[tick], -1.0)];
                built.program.row(format!("wake_on_n{id}_t{tick}"), terms, Sense::AtMost, 0.0);
                let terms = [(wake[tick], 1.0)].into_iter().chain(before.map(|before| (before, 1.0))).collect();
                built.program.row(format!("wake_off_n{id}_t{tick}"), terms, Sense::AtMost, 1.0);
            }
        }
    }
}

/// `active` falls only once, and where prices are negative not later than the last end.
fn activity(instance: &Instance, built: &mut Built) {
    let Some(active) = built.power.active.clone() else { return };
    for (tick, pair) in active.windows(2).enumerate() {
        let terms = vec![(pair[1], 1.0), (pair[0], -1.0)];
        built.program.row(format!("active_t{tick}"), terms, Sense::AtMost, 0.0);
    }
    if has_negative_price(instance) {
        let fixed_end = fixed(instance).map(|(_, _, interval)| interval.to.0).max().unwrap_or(0);
        for (tick, &column) in (0..).zip(&active).filter(|&(tick, _)| tick >= fixed_end) {
            let later = built.starts.iter().filter(|start| start.ticks.to.0 > tick);
            let terms = later.map(|start| (start.column, -1.0)).chain([(column, 1.0)]).collect();
            built.program.row(format!("over_t{tick}"), terms, Sense::AtMost, 0.0);
        }
    }
}

/// A place with a power cap.
struct Place<'a> {
    name: String,
    cap: &'a Steps<Milliwatts>,
    nodes: BTreeSet<NodeId>,
    /// Whether it is the cluster: unrounded shares, foreign power.
    whole: bool,
}

fn places(instance: &Instance) -> Vec<Place<'_>> {
    let cluster = &instance.cluster;
    let topology = &cluster.topology;
    let below = |kind: DomainKind| {
        cluster.nodes.ids().filter(move |&node| {
            topology.ancestors(topology.of_node(node)).any(|domain| topology.domain(domain).kind == kind)
        })
    };
    let mut places = Vec::new();
    for (id, node) in cluster.nodes.iter() {
        let place = |cap| Place { name: format!("n{id}"), cap, nodes: BTreeSet::from([id]), whole: false };
        places.extend(node.power_cap.as_ref().map(place));
    }
    for (id, switch) in cluster.switches.iter() {
        let nodes = || below(DomainKind::Switch(id)).collect();
        places.extend(switch.power_cap.as_ref().map(|cap| Place {
            name: format!("s{id}"),
            cap,
            nodes: nodes(),
            whole: false,
        }));
    }
    let whole = |cap| Place { name: "cluster".to_owned(), cap, nodes: cluster.nodes.ids().collect(), whole: true };
    places.extend(cluster.power_cap.as_ref().map(whole));
    places
}

/// Peak power that a gang adds to a place beyond its idle GPUs there, mW.
fn peak_within(
    instance: &Instance,
    job: JobId,
    option: OptionId,
    nodes: &[(NodeId, GpuCount)],
    place: &Place<'_>,
) -> i64 {
    let option = instance.option(job, option);
    let idle = instance.cluster.gpu_types[option.gpu_type].idle;
    if place.whole {
        return (option.peak - idle.times(option.gpus)).0;
    }
    let inside = nodes.iter().filter(|(node, _)| place.nodes.contains(node));
    inside.map(|&(_, count)| (option.peak.share(count, option.gpus) - idle.times(count)).0).sum()
}

/// V10 for one place.
fn cap(instance: &Instance, built: &mut Built, place: &Place<'_>) {
    let end = usize::try_from(ticks(instance)).unwrap_or(0);
    let mut by_tick: Vec<Terms> = vec![Terms::new(); end];
    for start in &built.starts {
        let placing = &built.placings[start.placing];
        let peak = peak_within(instance, placing.job, placing.option, &placing.nodes, place);
        let touches = place.whole || placing.nodes.iter().any(|(node, _)| place.nodes.contains(node));
        for tick in index_range(start.ticks).filter(|_| touches) {
            by_tick[tick].push((start.column, peak as f64 / 1e3));
        }
    }
    let mut taken = vec![0_i64; end];
    for (job, fixed, interval) in fixed(instance) {
        let nodes: Vec<_> = by_node(instance, &fixed.gpus).into_iter().collect();
        let touches = place.whole || nodes.iter().any(|(node, _)| place.nodes.contains(node));
        let peak = peak_within(instance, job, fixed.option, &nodes, place);
        taken[index_range(interval)].iter_mut().filter(|_| touches).for_each(|taken| *taken += peak);
    }
    for (tick, mut terms) in by_tick.into_iter().enumerate() {
        let at = Ticks(i64::try_from(tick).unwrap_or(i64::MAX));
        let Some(cap) = place.cap.at(at) else { continue };
        for &node in &place.nodes {
            let idle = instance.cluster.nodes[node].idle.watts();
            terms.extend(powered_column(instance, &built.power, node, tick).map(|column| (column, idle)));
        }
        let foreign = instance.cluster.foreign.as_ref().filter(|_| place.whole).and_then(|foreign| foreign.at(at));
        let limit = cap.0 - foreign.unwrap_or_default().0 - taken[tick];
        built.program.row(format!("cap_{}_t{tick}", place.name), terms, Sense::AtMost, limit as f64 / 1e3);
    }
}

/// The column that says whether a node is powered in a tick; none where power does not matter.
pub(super) fn powered_column(instance: &Instance, power: &PowerColumns, node: NodeId, tick: usize) -> Option<ColumnId> {
    match instance.cluster.nodes[node].power {
        PowerMode::Sleep => power.on[node].as_ref().map(|on| on[tick]),
        PowerMode::AlwaysOn => power.active.as_ref().map(|active| active[tick]),
    }
}

/// The column without which no GPU of the node is of use in a tick: its power or, where that does not matter, that the
/// plan is not over.
pub(super) fn gate_column(instance: &Instance, power: &PowerColumns, node: NodeId, tick: usize) -> Option<ColumnId> {
    let active = || power.active.as_ref().map(|active| active[tick]);
    powered_column(instance, power, node, tick).or_else(active)
}

/// V11, in J.
fn budget(instance: &Instance, built: &mut Built) {
    let Some(budget) = instance.energy_budget else { return };
    let mut terms = Terms::new();
    let mut constant = Millijoules::ZERO;
    spend(instance, built, |column, _, energy| match column {
        Some(column) => terms.push((column, energy.joules())),
        None => constant += energy,
    });
    built.program.row("budget".to_owned(), terms, Sense::AtMost, (budget - constant).joules());
}

/// Energy and its price, and the makespan.
pub(super) fn costs(instance: &Instance, built: &mut Built) {
    let objective = &instance.objective;
    let mut costs = Terms::new();
    if objective.prices_energy() {
        let price = |at| instance.tariff.as_ref().and_then(|tariff| tariff.at(at)).unwrap_or_default();
        let mut constant = 0.0;
        spend(instance, built, |column, at, energy| {
            let cost = objective.energy * energy.joules() + objective.cost * price(at).of(energy);
            match column {
                Some(column) => costs.push((column, cost)),
                None => constant += cost,
            }
        });
        built.program.constant += constant;
    }
    if let Some(active) = &built.power.active {
        let tick_cost = objective.makespan * Ticks(1).seconds(instance.tick);
        costs.extend(active.iter().map(|&column| (column, tick_cost)));
    }
    for (column, cost) in costs {
        built.program.add_cost(column, cost);
    }
}

/// Calls `take` with every column (or none: fixed jobs) that spends energy, the tick and the energy.
///
/// A running gang is charged beyond its idle GPUs, since a powered node is charged with all its GPUs idle.
fn spend(instance: &Instance, built: &Built, mut take: impl FnMut(Option<ColumnId>, Ticks, Millijoules)) {
    let mut run = |column, job: JobId, option, interval: Interval| {
        let option = instance.option(job, option);
        let power = option.power - instance.cluster.gpu_types[option.gpu_type].idle.times(option.gpus);
        let pieces: Vec<_> = match &instance.tariff {
            Some(tariff) => tariff.pieces(interval).map(|(piece, _)| piece).collect(),
            None => vec![interval],
        };
        for piece in pieces {
            take(column, piece.from, power.over(piece.len(), instance.tick));
        }
    };
    for start in &built.starts {
        let placing = &built.placings[start.placing];
        run(Some(start.column), placing.job, placing.option, start.ticks);
    }
    for (job, fixed, interval) in fixed(instance) {
        run(None, job, fixed.option, interval);
    }
    for (id, node) in instance.cluster.nodes.iter() {
        for tick in 0..usize::try_from(ticks(instance)).unwrap_or(0) {
            let at = Ticks(i64::try_from(tick).unwrap_or(i64::MAX));
            if let Some(column) = powered_column(instance, &built.power, id, tick) {
                take(Some(column), at, node.idle.over(Ticks(1), instance.tick));
            }
            if let Some(wake) = &built.power.wake[id] {
                take(Some(wake[tick]), at, node.wake);
            }
        }
    }
}
