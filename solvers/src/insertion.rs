//! Best insertion: the option, GPUs and start of one job that raise the objective least.
//!
//! # Idea
//! Cost and rules of a placement change only where something about the schedule, prices or caps changes. Starting at
//! such a tick, or so as to end there, is as good as anything near it; in short windows every tick is tried. Of the
//! many sets of GPUs few matter: those that fill nodes already in use, and those that use few nodes.
//!
//! # Model
//! Every placement is judged by the timetable: rules V2-V10, V12 and V13, and the exact change of the objective. Ties
//! go to the earlier end, then to file order. On clusters of at most [`SMALL_CLUSTER`] GPUs all sets of GPUs are tried
//! that differ by more than equal GPUs of one island.
//!
//! # Complexity
//! At most `looks` starts per option, those first that promise most by what the gang alone costs; each looks at the
//! domains of the cluster once and judges a few gangs per level.
//!
//! # Limits
//! Starts and sets are a selection: the best placement may be missed on large instances.

use rats_domain::ids::{DomainId, GpuId, JobId, NodeId, OptionId};
use rats_domain::instance::{Instance, JobOption};
use rats_domain::schedule::Placement;
use rats_domain::topology::{DomainKind, Rank};
use rats_domain::units::Ticks;

use crate::dispatch::Waits;
use crate::places::Rooms;
use crate::timetable::{Effect, Timetable};

/// Clusters up to this many GPUs get all their sets of GPUs tried.
pub const SMALL_CLUSTER: usize = 8;

/// Windows up to this many ticks get all their starts tried.
const SHORT_WINDOW: i64 = 32;

/// Domains of one level that are tried at one start.
const DOMAINS_PER_LEVEL: usize = 3;

/// Starts without any placement that are looked at for each start that counts.
const VAIN_LOOKS: usize = 8;

/// What decides between two placements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The objective.
    Objective,
    /// Half of what the gang alone adds to the objective and half of what it adds with its nodes: as if the nodes it
    /// wakes were shared with jobs still to come.
    Shared,
    /// The total energy, for instances whose energy is bounded.
    Energy,
}

/// How to look for placements.
#[derive(Clone, Debug)]
pub struct Insertion {
    measure: Measure,
    /// Most starts per option that have a placement.
    looks: usize,
    waits: Vec<Ticks>,
    /// What a wake-up less can save at most.
    saving: f64,
    small: bool,
}

/// A placement and what it adds.
#[derive(Clone, Debug)]
pub struct Found {
    /// Where and when.
    pub placement: Placement,
    /// What it adds.
    pub effect: Effect,
    key: (f64, Ticks),
}

impl Insertion {
    /// For one instance, with at most `looks` starts per option.
    pub fn new(timetable: &Timetable<'_>, measure: Measure, looks: usize) -> Self {
        let instance = timetable.instance();
        let mut waits = Waits::with_caps(timetable).into_ticks();
        waits.extend(instance.tariff.iter().flat_map(|tariff| tariff.steps().iter().map(|&(at, _)| at)));
        Self {
            measure,
            looks,
            waits,
            saving: most_saved(instance, measure),
            small: instance.cluster.gpus.len() <= SMALL_CLUSTER,
        }
    }

    /// The best placement found for a job that is not placed.
    pub fn best(&self, timetable: &Timetable<'_>, job: JobId) -> Option<Found> {
        let mut best: Option<Found> = None;
        for (id, option) in timetable.instance().jobs[job].options.iter().filter(|(_, option)| option.placeable) {
            let (mut looks, mut vain) = (0, 0);
            for (estimate, start) in self.starts(timetable, job, id) {
                let given_up = looks >= self.looks || vain >= VAIN_LOOKS * self.looks;
                if given_up || best.as_ref().is_some_and(|best| estimate - self.saving > best.key.0) {
                    break;
                }
                let Some(rooms) = Rooms::new(timetable, option, start) else { continue };
                let mut fits = false;
                let mut consider = |gpus: Vec<GpuId>| {
                    let placement = Placement { option: id, start, gpus };
                    if let Ok(effect) = timetable.judge(job, &placement) {
                        fits = true;
                        let value = self.value(effect);
                        let value =
                            if self.measure == Measure::Shared { f64::midpoint(value, estimate) } else { value };
                        let key = (value, start + option.ticks);
                        if best.as_ref().is_none_or(|best| precedes(key, best.key)) {
                            best = Some(Found { placement, effect, key });
                        }
                    }
                };
                if self.small {
                    inequivalent_sets(timetable, &rooms, option, &mut consider);
                } else {
                    good_sets(timetable, &rooms, option, start, &mut consider);
                }
                *if fits { &mut looks } else { &mut vain } += 1;
            }
        }
        best
    }

    fn value(&self, effect: Effect) -> f64 {
        match self.measure {
            Measure::Objective | Measure::Shared => effect.objective,
            Measure::Energy => effect.energy.joules(),
        }
    }

    /// Starts to try with what the gang alone would add, best first.
    fn starts(&self, timetable: &Timetable<'_>, id: JobId, option: OptionId) -> Vec<(f64, Ticks)> {
        let job = &timetable.instance().jobs[id];
        let JobOption { ticks: length, gpu_type, gpus, .. } = job.options[option];
        let from = job.release.max(timetable.earliest_after(id).unwrap_or(Ticks::ZERO));
        let last = timetable.latest_end(id) - length;
        if last < from {
            return Vec::new();
        }
        let mut ticks: Vec<Ticks> = if (last - from).0 <= SHORT_WINDOW {
            (from.0..=last.0).map(Ticks).collect()
        } else {
            let changes = self.waits.iter().copied().chain(job.due).chain(timetable.changes_of_type(gpu_type));
            let both = changes.flat_map(|at| [at, at - length]).filter(|&at| from <= at && at <= last);
            both.chain([from, last]).collect()
        };
        ticks.sort_unstable();
        ticks.dedup();
        let roomy = ticks.into_iter().filter(|&start| {
            let occupancy = rats_domain::interval::Interval::new(start, start + length);
            timetable.crowded_until(gpu_type, gpus, occupancy).is_none()
        });
        let estimate = |start| self.value(timetable.effect_of_gang(id, option, start));
        let mut starts: Vec<(f64, Ticks)> = roomy.map(|start| (estimate(start), start)).collect();
        starts.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        starts
    }
}

/// Whether one key (value, end) is better; values that differ by rounding are equal.
fn precedes(a: (f64, Ticks), b: (f64, Ticks)) -> bool {
    let close = 1e-12 * a.0.abs().max(b.0.abs());
    if (a.0 - b.0).abs() <= close { a.1 < b.1 } else { a.0 < b.0 }
}

/// The most that filling a gap between two powered intervals can save; infinite where more power may pay.
fn most_saved(instance: &Instance, measure: Measure) -> f64 {
    let wake = instance.cluster.nodes.values().map(|node| node.wake).max().unwrap_or_default();
    let prices = instance.tariff.iter().flat_map(|tariff| tariff.steps().iter().map(|&(_, price)| price));
    let weight = &instance.objective;
    match measure {
        Measure::Energy => wake.joules(),
        _ if weight.cost > 0.0 && prices.clone().any(|price| price.0 < 0) => f64::INFINITY,
        _ => {
            let dearest = prices.max().unwrap_or_default();
            let paid = if weight.cost > 0.0 { weight.cost * dearest.of(wake) } else { 0.0 };
            weight.energy * wake.joules() + paid
        }
    }
}

/// All sets of free GPUs that differ by more than GPUs of one island with the same jobs and availability.
fn inequivalent_sets(
    timetable: &Timetable<'_>,
    rooms: &Rooms<'_>,
    option: &JobOption,
    consider: &mut impl FnMut(Vec<GpuId>),
) {
    let cluster = &timetable.instance().cluster;
    let free: Vec<GpuId> = cluster.gpus.ids().filter(|&gpu| rooms.is_free(gpu)).collect();
    let island = |gpu: GpuId| cluster.topology.domain(cluster.topology.of_gpu(gpu)).parent;
    let equal = |a: GpuId, b: GpuId| {
        island(a) == island(b)
            && timetable.gpu_load(a) == timetable.gpu_load(b)
            && cluster.gpus[a].unavailable == cluster.gpus[b].unavailable
    };
    // An equal GPU is used only after all equal ones before it.
    let twins: Vec<Option<usize>> = (0..free.len()).map(|b| (0..b).rev().find(|&a| equal(free[a], free[b]))).collect();
    for mask in 0_u32..1 << free.len() {
        let has = |position: usize| mask >> position & 1 == 1;
        let chosen = (0..free.len()).filter(|&position| has(position));
        if mask.count_ones() == option.gpus.0 && chosen.clone().all(|at| twins[at].is_none_or(has)) {
            consider(chosen.map(|position| free[position]).collect());
        }
    }
}

/// A few gangs per level: in the domains that fit best, filling used nodes first or using few nodes.
fn good_sets(
    timetable: &Timetable<'_>,
    rooms: &Rooms<'_>,
    option: &JobOption,
    start: Ticks,
    consider: &mut impl FnMut(Vec<GpuId>),
) {
    let topology = &timetable.instance().cluster.topology;
    let mut level: Vec<((bool, u32, u32), DomainId)> = Vec::new();
    let mut rank = Rank::GPU;
    let mut domains = rooms.domains().peekable();
    while let Some(domain) = domains.next() {
        rank = topology.domain(domain).rank.max(rank);
        level.push((fit(timetable, rooms, start, domain), domain));
        if domains.peek().is_none_or(|&next| topology.domain(next).rank > rank) {
            let best = DOMAINS_PER_LEVEL.min(level.len());
            if best < level.len() {
                level.select_nth_unstable(best);
            }
            level.truncate(best);
            level.sort_unstable();
            for &(_, domain) in &level {
                gangs(timetable, rooms, start, domain, consider);
            }
            // A gang in a narrow domain uses no more nodes and no more uplinks than one spread wider.
            if rank >= Rank::NODE && option.gpus.0 == 1 {
                return;
            }
            level.clear();
        }
    }
}

/// How well a domain fits: nodes in use first, then those with the fewest free GPUs.
fn fit(timetable: &Timetable<'_>, rooms: &Rooms<'_>, start: Ticks, domain: DomainId) -> (bool, u32, u32) {
    let topology = &timetable.instance().cluster.topology;
    let node = topology.ancestors(domain).find_map(|at| match topology.domain(at).kind {
        DomainKind::Node(node) => Some((node, at)),
        _ => None,
    });
    match node {
        Some((node, at)) => (!timetable.is_powered(node, start), rooms.free_count(at), rooms.free_count(domain)),
        None => (false, rooms.free_count(domain), 0),
    }
}

fn gangs(
    timetable: &Timetable<'_>,
    rooms: &Rooms<'_>,
    start: Ticks,
    domain: DomainId,
    consider: &mut impl FnMut(Vec<GpuId>),
) {
    let cluster = &timetable.instance().cluster;
    let topology = &cluster.topology;
    let Some(first) = rooms.first_gang(domain) else { return };
    if topology.domain(domain).rank <= Rank::ISLAND {
        return consider(first);
    }
    let node_of = |gpu: GpuId| cluster.gpus[gpu].node;
    let island = |gpu: GpuId| topology.domain(topology.of_gpu(gpu)).parent.map(|island| rooms.free_count(island));
    let free = |node: NodeId| rooms.free_count(topology.of_node(node));
    let mut gpus: Vec<GpuId> = rooms.free_gpus(domain).collect();
    gpus.sort_by_cached_key(|&gpu| {
        (!timetable.is_powered(node_of(gpu), start), free(node_of(gpu)), node_of(gpu), island(gpu), gpu)
    });
    let fullest = rooms.gang(domain, gpus.iter().copied());
    gpus.sort_by_cached_key(|&gpu| {
        (std::cmp::Reverse(free(node_of(gpu))), !timetable.is_powered(node_of(gpu), start), node_of(gpu), gpu)
    });
    let fewest = rooms.gang(domain, gpus.iter().copied());
    let mut found: Vec<Vec<GpuId>> = std::iter::once(first).chain(fullest).chain(fewest).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().for_each(consider);
}
