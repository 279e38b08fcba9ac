//! Interchangeable GPUs, and the ways to spread a gang over them.
//!
//! GPUs of one island (or, where islands do not matter, of one node) that are blocked (unavailable or taken by fixed jobs)
//! at the same times differ in no rule but V6.
//! A *cell* is a maximal set of them. A placement is then a *pattern*: how many GPUs of each cell. As long as no cell is
//! overdrawn in any tick, GPUs can be handed out in order of start (interval graphs are perfect), so counting is exact.

use std::collections::BTreeMap;

use rats_domain::ids::{DomainId, GpuId, NodeId, Table};
use rats_domain::instance::{Instance, JobOption};
use rats_domain::interval::{Interval, union};
use rats_domain::topology::Rank;
use rats_domain::units::Ticks;

/// A set of interchangeable GPUs.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The node that they sit in.
    pub node: NodeId,
    /// The GPUs, in file order.
    pub gpus: Vec<GpuId>,
    /// When none of them can be used, from tick 0 on.
    pub blocked: Vec<Interval>,
}

/// How many GPUs of each cell a gang takes; cells ascending, counts positive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern(pub Vec<(usize, u32)>);

/// The cells of an instance; `islands_matter` says of which nodes islands are told apart.
pub fn cells(instance: &Instance, islands_matter: impl Fn(NodeId) -> bool) -> Vec<Cell> {
    let cluster = &instance.cluster;
    let mut blocked: BTreeMap<GpuId, Vec<Interval>> = BTreeMap::new();
    for (id, job) in instance.jobs.iter() {
        if let Some(fixed) = &job.fixed {
            let occupancy = fixed.interval(instance, id);
            fixed.gpus.iter().for_each(|&gpu| blocked.entry(gpu).or_default().push(occupancy));
        }
    }
    let mut cells: BTreeMap<(NodeId, Option<DomainId>, Vec<Interval>), Vec<GpuId>> = BTreeMap::new();
    let told_apart: Table<NodeId, bool> = cluster.nodes.ids().map(islands_matter).collect();
    for (gpu, row) in cluster.gpus.iter() {
        let mut intervals = blocked.remove(&gpu).unwrap_or_default();
        intervals.extend(&row.unavailable);
        let future = Interval::new(Ticks::ZERO, Ticks(i64::MAX));
        let intervals = union(intervals.into_iter().map(|interval| interval.intersection(future)).collect());
        let island = cluster.topology.domain(cluster.topology.of_gpu(gpu)).parent.filter(|_| told_apart[row.node]);
        cells.entry((row.node, island, intervals)).or_default().push(gpu);
    }
    cells.into_iter().map(|((node, _, blocked), gpus)| Cell { node, gpus, blocked }).collect()
}

impl Pattern {
    /// Some GPUs that realize the pattern.
    pub fn example(&self, cells: &[Cell]) -> Vec<GpuId> {
        let take = |&(cell, count): &(usize, u32)| cells[cell].gpus[..count as usize].iter().copied();
        let mut gpus: Vec<_> = self.0.iter().flat_map(take).collect();
        gpus.sort_unstable();
        gpus
    }
}

/// All patterns of an option that satisfy V2 and V3; `None` if there are more than `limit`.
pub fn patterns(instance: &Instance, cells: &[Cell], option: &JobOption, limit: usize) -> Option<Vec<Pattern>> {
    let mut patterns = Vec::new();
    if !option.placeable {
        return Some(patterns);
    }
    // A cell that spans islands has no gangs of several GPUs that keep to one.
    let span = if option.gpus.0 == 1 { option.span.max(Rank::NODE) } else { option.span };
    for domain in instance.cluster.topology.widest_within(span) {
        let inside = cells.iter().enumerate().filter(|(_, cell)| {
            instance.cluster.nodes[cell.node].gpu_type == option.gpu_type && domain.gpus.contains(&cell.gpus[0])
        });
        let sizes: Vec<_> =
            inside.map(|(position, cell)| (position, u32::try_from(cell.gpus.len()).unwrap_or(0))).collect();
        if !extend(&sizes, option.gpus.0, &mut Vec::new(), &mut patterns, limit) {
            return None;
        }
    }
    Some(patterns)
}

fn extend(
    sizes: &[(usize, u32)],
    need: u32,
    taken: &mut Vec<(usize, u32)>,
    patterns: &mut Vec<Pattern>,
    limit: usize,
) -> bool {
    if need == 0 {
        patterns.push(Pattern(taken.clone()));
        return patterns.len() <= limit;
    }
    let Some((&(cell, size), rest)) = sizes.split_first() else { return true };
    if sizes.iter().map(|&(_, size)| u64::from(size)).sum::<u64>() < u64::from(need) {
        return true;
    }
    for count in (0..=size.min(need)).rev() {
        if count > 0 {
            taken.push((cell, count));
        }
        let within = extend(rest, need - count, taken, patterns, limit);
        if count > 0 {
            taken.pop();
        }
        if !within {
            return false;
        }
    }
    true
}
