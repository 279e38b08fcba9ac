//! Where a gang can run at a given time: the GPUs of a domain that keep every rule but the power caps.
//!
//! # Idea
//! Within a domain the rules bound how many GPUs of the gang each part may take: a GPU one if it is free, a node what
//! its resources allow, a domain below what fits through its uplink. Bounds on the sets of a tree are the independent
//! sets of a laminar matroid, so taking GPUs one by one in *any* order of preference, whenever no bound is passed,
//! finds a gang if there is one; in file order it finds the lexicographically first.
//!
//! # Model
//! V2, V3, V6-V9, V12 and V13. The bound of a domain below the asked one stays under the gang size, since a whole gang
//! inside it is found by asking that domain.
//!
//! # Complexity
//! [`Rooms::new`] looks at each node of the option's type, [`Rooms::gang`] at each GPU of the domain and the domains
//! between.
//!
//! # References
//! J. Edmonds, "Matroids and the greedy algorithm", 1971.

use std::cell::RefCell;

use rats_domain::ids::{DomainId, GpuId, NodeId, Table};
use rats_domain::instance::JobOption;
use rats_domain::interval::Interval;
use rats_domain::topology::{DomainKind, Rank};
use rats_domain::units::Ticks;

use crate::timetable::Timetable;

/// What is free for one option during one occupancy.
pub struct Rooms<'t> {
    timetable: &'t Timetable<'t>,
    option: &'t JobOption,
    interval: Interval,
    /// Whether each GPU is free.
    free: Table<GpuId, bool>,
    /// Number of free GPUs of the option's type in each domain.
    counts: Table<DomainId, u32>,
    bounds: RefCell<Bounds>,
}

/// Bounds of domains, worked out when asked for, and what a gang under way has taken.
struct Bounds {
    most: Table<DomainId, Option<u32>>,
    taken: Table<DomainId, u32>,
}

impl<'t> Rooms<'t> {
    /// Looks at what is free; `None` if there are too few GPUs or the store is at its limit.
    pub fn new(timetable: &'t Timetable<'t>, option: &'t JobOption, start: Ticks) -> Option<Self> {
        let instance = timetable.instance();
        let cluster = &instance.cluster;
        let interval = Interval::new(start.max(Ticks::ZERO), start + option.ticks);
        if timetable.spare_of_type(option.gpu_type, interval) < i64::from(option.gpus.0) || !cluster.memory_fits(option)
        {
            return None;
        }
        if timetable.store_until(option, interval).is_some() {
            return None;
        }
        let domains = cluster.topology.domains().len();
        let mut rooms = Self {
            timetable,
            option,
            interval,
            free: Table::filled(false, cluster.gpus.len()),
            counts: Table::filled(0, domains),
            bounds: RefCell::new(Bounds { most: Table::filled(None, domains), taken: Table::filled(0, domains) }),
        };
        // A gang that may not leave its node needs all its GPUs there.
        let least = if option.span <= Rank::NODE { i64::from(option.gpus.0) } else { 1 };
        let of_type = cluster.nodes.iter().filter(|(_, node)| node.gpu_type == option.gpu_type);
        for (id, node) in of_type {
            if i64::from(node.gpus.0) - timetable.busy_of_node(id).highest(interval) >= least {
                rooms.look_at(id);
            }
        }
        Some(rooms)
    }

    /// The domains that may hold the gang, narrow to wide, in file order within a level.
    pub fn domains(&self) -> impl Iterator<Item = DomainId> + '_ {
        let topology = &self.timetable.instance().cluster.topology;
        let gang = self.option.gpus.0;
        let all = topology.by_width();
        let narrowest = if gang > 1 { all.partition_point(|&id| topology.domain(id).rank == Rank::GPU) } else { 0 };
        let fitting = all[narrowest..].iter().copied().take_while(|&id| topology.domain(id).rank <= self.option.span);
        fitting.filter(move |&id| self.counts[id] >= gang)
    }

    /// The free GPUs of a domain, in file order.
    pub fn free_gpus(&self, domain: DomainId) -> impl Iterator<Item = GpuId> + '_ {
        let gpus = &self.timetable.instance().cluster.topology.domain(domain).gpus;
        gpus.iter().copied().filter(|&gpu| self.free[gpu])
    }

    /// Whether a GPU of the option's type is free.
    pub fn is_free(&self, gpu: GpuId) -> bool {
        self.free[gpu]
    }

    /// The number of GPUs of the option's type that are free in a domain.
    pub fn free_count(&self, domain: DomainId) -> u32 {
        self.counts[domain]
    }

    /// The first gang in file order within a domain.
    pub fn first_gang(&self, domain: DomainId) -> Option<Vec<GpuId>> {
        self.gang(domain, self.free_gpus(domain))
    }

    /// The gang within a domain that takes free GPUs of it in the given order; `None` if there is no gang.
    pub fn gang(&self, domain: DomainId, order: impl Iterator<Item = GpuId>) -> Option<Vec<GpuId>> {
        let gang = self.option.gpus.0;
        if self.counts[domain] < gang || !self.holds_whole_gang(domain) {
            return None;
        }
        let mut chosen: Vec<GpuId> = Vec::with_capacity(gang as usize);
        for gpu in order {
            if self.take(gpu, domain) {
                chosen.push(gpu);
                if chosen.len() == gang as usize {
                    break;
                }
            }
        }
        self.give_back(&chosen, domain);
        if chosen.len() < gang as usize {
            return None;
        }
        chosen.sort_unstable();
        Some(chosen)
    }

    fn look_at(&mut self, id: NodeId) {
        let cluster = &self.timetable.instance().cluster;
        let topology = &cluster.topology;
        let mut count = 0;
        for gpu in cluster.gpus_of(id).filter(|&gpu| self.timetable.is_free(gpu, self.interval)) {
            self.free[gpu] = true;
            count += 1;
            let below =
                topology.ancestors(topology.of_gpu(gpu)).take_while(|&at| topology.domain(at).rank < Rank::NODE);
            for domain in below {
                self.counts[domain] += 1;
            }
        }
        if count > 0 {
            for domain in topology.ancestors(topology.of_node(id)) {
                self.counts[domain] += count;
            }
        }
    }

    /// Whether the uplinks and the node around a whole gang have room for it.
    fn holds_whole_gang(&self, domain: DomainId) -> bool {
        let topology = &self.timetable.instance().cluster.topology;
        let within_node = topology.ancestors(domain).all(|at| match topology.domain(at).kind {
            DomainKind::Node(node) => self.timetable.node_room(node, self.option, self.interval) >= self.option.gpus.0,
            _ => true,
        });
        within_node && self.timetable.reads_fit(domain, self.option, self.interval)
    }

    /// Takes a GPU if no domain below `top` passes its bound.
    fn take(&self, gpu: GpuId, top: DomainId) -> bool {
        let topology = &self.timetable.instance().cluster.topology;
        let mut bounds = self.bounds.borrow_mut();
        let below = || topology.ancestors(topology.of_gpu(gpu)).take_while(|&at| at != top);
        for at in below() {
            let most = bounds.most[at].unwrap_or_else(|| self.most(at));
            bounds.most[at] = Some(most);
            if bounds.taken[at] >= most {
                return false;
            }
        }
        below().for_each(|at| bounds.taken[at] += 1);
        true
    }

    fn give_back(&self, gpus: &[GpuId], top: DomainId) {
        let topology = &self.timetable.instance().cluster.topology;
        let mut bounds = self.bounds.borrow_mut();
        for &gpu in gpus {
            for at in topology.ancestors(topology.of_gpu(gpu)).take_while(|&at| at != top) {
                bounds.taken[at] -= 1;
            }
        }
    }

    /// The most GPUs of a part of the gang that a domain takes.
    fn most(&self, domain: DomainId) -> u32 {
        let by_uplink = self.timetable.uplink_room(domain, self.option, self.interval);
        match self.timetable.instance().cluster.topology.domain(domain).kind {
            DomainKind::Node(node) => by_uplink.min(self.timetable.node_room(node, self.option, self.interval)),
            _ => by_uplink,
        }
    }
}

#[cfg(test)]
mod tests {
    use rats_domain::check::check_schedule;
    use rats_domain::codes::Code;

    use super::*;
    use crate::testing::{Size, first_gang, greedy_schedule, random_instance};
    use rats_domain::random::Random;

    #[test]
    fn first_gang_equals_enumeration_of_all_sets() {
        let (mut found, mut none, mut wide) = (0, 0, 0);
        for seed in 0..400 {
            let instance = random_instance(seed, Size::Tiny);
            let mut random = Random::new(seed);
            let mut timetable = Timetable::of(&instance, greedy_schedule(&mut random, &instance));
            let open: Vec<_> = instance.jobs.ids().filter(|&job| instance.jobs[job].fixed.is_none()).collect();
            if open.is_empty()
                || !check_schedule(&instance, timetable.schedule())
                    .unwrap()
                    .violations
                    .iter()
                    .all(|v| v.code == Code::V1)
            {
                continue;
            }
            let job = random.pick(&open);
            timetable.remove(job);
            for (id, option) in instance.jobs[job].options.iter() {
                if !instance.cluster.memory_fits(option) {
                    continue;
                }
                for start in 0..8 {
                    let start = Ticks(start);
                    let rooms = Rooms::new(&timetable, option, start);
                    let first =
                        rooms.as_ref().and_then(|rooms| rooms.domains().find_map(|domain| rooms.first_gang(domain)));
                    assert_eq!(
                        first,
                        first_gang(&instance, timetable.schedule(), (job, id), start),
                        "seed {seed} start {start}"
                    );
                    wide += usize::from(first.as_ref().is_some_and(|gpus| gpus.len() > 1));
                    *if first.is_some() { &mut found } else { &mut none } += 1;
                }
            }
        }
        assert!(found > 500 && none > 500 && wide > 100, "{found} {none} {wide}");
    }
}
