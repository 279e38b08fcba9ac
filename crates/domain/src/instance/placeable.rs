//! Whether an option could run alone on the empty cluster, and if not, which rule forbids it.
//!
//! Idea: within one domain the numbers of GPUs that part of a gang may take form an interval [0, m] (fewer GPUs need
//! fewer resources and read less), apart from the whole gang, whose ring does not leave the domain. One pass over the
//! tree from narrow to wide therefore decides whether a gang fits (V2, V3, V7, V8, V9). Domains that are alike, with
//! alike domains below, are passed once.
//!
//! Complexity: an option costs time in the number of different domains, not of all domains.

use std::collections::BTreeMap;

use super::{Cluster, JobOption};
use crate::codes::Code;
use crate::ids::{DomainId, GpuTypeId, Id, NodeId, Table};
use crate::topology::{DomainKind, Rank};
use crate::units::{GpuCount, KilobytesPerSecond, Thousandths};

/// Answers placeability questions for one cluster.
#[derive(Clone, Debug)]
pub struct Placeability<'c> {
    cluster: &'c Cluster,
    /// Every different domain wider than a GPU, children before parents; the last is the root.
    shapes: Vec<Shape>,
}

/// What domains that are alike have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    rank: Rank,
    uplink: Option<KilobytesPerSecond>,
    content: Content,
    /// Shapes of the domains directly below and how many of each.
    below: Vec<(usize, u32)>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Content {
    Island(GpuTypeId, u32),
    /// Its resources, by id.
    Node(Vec<Option<Thousandths>>),
    Switch,
}

/// Which rules to judge by, beside V2.
#[derive(Clone, Copy)]
struct Judged {
    span: bool,
    resources: bool,
    uplinks: bool,
}

/// How many GPUs of a gang a domain can take.
#[derive(Clone, Copy, Default)]
struct Room {
    /// Most GPUs of a part of the gang (below its size).
    part: u32,
    /// Whether the whole gang fits inside, in a domain not wider than its span.
    whole: bool,
}

impl<'c> Placeability<'c> {
    /// For this cluster.
    pub fn new(cluster: &'c Cluster) -> Self {
        Self { cluster, shapes: shapes(cluster) }
    }

    /// The first of the rules V2, V3, V7, V8, V9 that, judged together with those before it, leaves the option no
    /// placement; `None` if it has one.
    pub fn obstacle(&self, option: &JobOption) -> Option<Code> {
        let all = Judged { span: true, resources: true, uplinks: true };
        if self.fits(option, all) {
            let store_suffices = self.cluster.storage.is_none_or(|storage| option.read <= storage);
            return if store_suffices { None } else { Some(Code::V9) };
        }
        let relaxed = [
            (Code::V2, Judged { span: false, resources: false, uplinks: false }),
            (Code::V3, Judged { span: true, resources: false, uplinks: false }),
            (Code::V7, Judged { span: true, resources: true, uplinks: false }),
        ];
        let broken = relaxed.into_iter().find(|&(_, judged)| !self.fits(option, judged));
        Some(broken.map_or(Code::V8, |(code, _)| code))
    }

    fn fits(&self, option: &JobOption, judged: Judged) -> bool {
        if !self.cluster.memory_fits(option) {
            return false;
        }
        let mut rooms: Vec<Room> = Vec::with_capacity(self.shapes.len());
        for shape in &self.shapes {
            let room = room(option, judged, shape, &rooms);
            rooms.push(room);
        }
        rooms.last().is_some_and(|root| root.whole)
    }
}

/// The different domains of a cluster, children before parents.
fn shapes(cluster: &Cluster) -> Vec<Shape> {
    let topology = &cluster.topology;
    let mut below: Table<DomainId, BTreeMap<usize, u32>> = Table::filled(BTreeMap::new(), topology.domains().len());
    let mut known: BTreeMap<Shape, usize> = BTreeMap::new();
    for &id in topology.by_width() {
        let domain = topology.domain(id);
        let content = match domain.kind {
            DomainKind::Gpu(_) => continue,
            DomainKind::Island(node, _) => Content::Island(cluster.nodes[node].gpu_type, count(domain.gpus.len())),
            DomainKind::Node(node) => Content::Node(resources(cluster, node)),
            DomainKind::Switch(_) => Content::Switch,
        };
        let below_this = std::mem::take(&mut below[id]).into_iter().collect();
        let shape = Shape { rank: domain.rank, uplink: domain.uplink, content, below: below_this };
        let next = known.len();
        let position = *known.entry(shape).or_insert(next);
        if let Some(parent) = domain.parent {
            *below[parent].entry(position).or_default() += 1;
        }
    }
    let mut shapes: Vec<_> = known.into_iter().map(|(shape, position)| (position, shape)).collect();
    shapes.sort_unstable_by_key(|&(position, _)| position);
    shapes.into_iter().map(|(_, shape)| shape).collect()
}

fn resources(cluster: &Cluster, node: NodeId) -> Vec<Option<Thousandths>> {
    cluster.nodes[node].resources.values().copied().collect()
}

/// What a domain of this shape can take, given what those below can.
fn room(option: &JobOption, judged: Judged, shape: &Shape, rooms: &[Room]) -> Room {
    let GpuCount(gang) = option.gpus;
    let below = shape.below.iter().map(|&(position, times)| (rooms[position], times));
    let sum = below.clone().fold(0_u32, |sum, (room, times)| sum.saturating_add(room.part.saturating_mul(times)));
    let whole_below = below.into_iter().any(|(room, _)| room.whole);
    let within_span = !judged.span || shape.rank <= option.span;
    let (most, whole) = match &shape.content {
        Content::Island(kind, size) => {
            let most = if *kind == option.gpu_type { *size } else { 0 };
            (most, most >= gang)
        }
        Content::Node(resources) => {
            let most = if judged.resources { most_by_resources(option, resources) } else { u32::MAX };
            (sum.min(most), most >= gang && (whole_below || (within_span && sum >= gang)))
        }
        Content::Switch => (sum, whole_below || (within_span && sum >= gang)),
    };
    let part = most.min(gang - 1);
    match shape.uplink.filter(|_| judged.uplinks) {
        Some(uplink) => Room { part: part.min(most_through(option, uplink)), whole: whole && option.read <= uplink },
        None => Room { part, whole },
    }
}

fn most_by_resources(option: &JobOption, resources: &[Option<Thousandths>]) -> u32 {
    let limits = option.per_gpu.iter().filter(|(_, need)| need.0 > 0).filter_map(|&(resource, need)| {
        let capacity = resources.get(resource.position()).copied().flatten()?;
        Some(u32::try_from(capacity.0 / need.0).unwrap_or(u32::MAX))
    });
    limits.min().unwrap_or(u32::MAX)
}

/// The most GPUs of a proper part of the gang whose ring and reads fit through `uplink`.
fn most_through(option: &JobOption, uplink: KilobytesPerSecond) -> u32 {
    let spare = uplink - option.ring;
    if spare.0 < 0 {
        return 0;
    }
    let GpuCount(gang) = option.gpus;
    if option.read.0 == 0 {
        return gang - 1;
    }
    // ceil(read k / g) <= spare  <=>  k <= spare g / read, since spare is an integer.
    let most = i128::from(spare.0) * i128::from(gang) / i128::from(option.read.0);
    u32::try_from(most).unwrap_or(u32::MAX).min(gang - 1)
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
