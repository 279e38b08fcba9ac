//! Whether an option could run alone on the empty cluster, and if not, which rule forbids it.
//!
//! Within one domain the numbers of GPUs that part of a gang may take form an interval [0, m] (fewer GPUs need fewer
//! resources and read less), apart from the whole gang, whose ring does not leave the domain. One pass over the tree
//! from narrow to wide therefore decides whether a gang fits (V2, V3, V7, V8, V9).

use super::{Cluster, JobOption};
use crate::codes::Code;
use crate::ids::{DomainId, NodeId, Table};
use crate::topology::{DomainKind, Rank};
use crate::units::{GpuCount, KilobytesPerSecond};

/// Answers placeability questions for one cluster.
#[derive(Clone, Copy, Debug)]
pub struct Placeability<'c> {
    cluster: &'c Cluster,
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
    /// Whether the whole gang fits inside.
    whole: bool,
}

impl<'c> Placeability<'c> {
    /// For this cluster.
    pub fn new(cluster: &'c Cluster) -> Self {
        Self { cluster }
    }

    /// The first of the rules V2, V3, V7, V8, V9 without which the option would still have a placement; `None` if it
    /// has one.
    pub fn obstacle(&self, option: &JobOption) -> Option<Code> {
        let all = Judged { span: true, resources: true, uplinks: true };
        let store_suffices = self.cluster.storage.is_none_or(|storage| option.read <= storage);
        if store_suffices && self.fits(option, all) {
            return None;
        }
        let relaxed = [
            (Code::V2, Judged { span: false, resources: false, uplinks: false }),
            (Code::V3, Judged { span: true, resources: false, uplinks: false }),
            (Code::V7, Judged { span: true, resources: true, uplinks: false }),
            (Code::V8, all),
        ];
        let broken = relaxed.into_iter().find(|&(_, judged)| !self.fits(option, judged));
        Some(broken.map_or(Code::V9, |(code, _)| code))
    }

    fn fits(&self, option: &JobOption, judged: Judged) -> bool {
        if !self.cluster.memory_fits(option) {
            return false;
        }
        let topology = &self.cluster.topology;
        let span = if judged.span { option.span } else { Rank(u16::MAX) };
        let mut rooms: Table<DomainId, Room> = Table::filled(Room::default(), topology.domains().len());
        let mut sums: Table<DomainId, u32> = Table::filled(0, topology.domains().len());
        for &id in topology.by_width().iter().filter(|&&id| topology.domain(id).rank > Rank::GPU) {
            let domain = topology.domain(id);
            if domain.rank > span && domain.rank > Rank::NODE {
                return false;
            }
            let room = match domain.kind {
                DomainKind::Island(node, _) => {
                    let right_type = self.cluster.nodes[node].gpu_type == option.gpu_type;
                    let size = if right_type { u32::try_from(domain.gpus.len()).unwrap_or(u32::MAX) } else { 0 };
                    Room { part: size, whole: size >= option.gpus.0 }
                }
                DomainKind::Node(node) => {
                    let most = if judged.resources { self.most_by_resources(option, node) } else { u32::MAX };
                    let whole = (rooms[id].whole || sums[id] >= option.gpus.0) && most >= option.gpus.0;
                    Room { part: sums[id].min(most), whole }
                }
                DomainKind::Switch(_) | DomainKind::Gpu(_) => {
                    Room { part: sums[id], whole: rooms[id].whole || sums[id] >= option.gpus.0 }
                }
            };
            let room = if judged.uplinks { self.through_uplink(option, id, room) } else { room };
            if room.whole && domain.rank <= span && self.reads_reach(option, id, judged) {
                return true;
            }
            if let Some(parent) = domain.parent {
                let part = room.part.min(option.gpus.0 - 1);
                sums[parent] = sums[parent].saturating_add(part);
                rooms[parent].whole |= room.whole;
            }
        }
        false
    }

    fn most_by_resources(&self, option: &JobOption, node: NodeId) -> u32 {
        let resources = &self.cluster.nodes[node].resources;
        let limits = option.per_gpu.iter().filter(|(_, need)| need.0 > 0).filter_map(|&(resource, need)| {
            resources[resource].map(|capacity| u32::try_from(capacity.0 / need.0).unwrap_or(u32::MAX))
        });
        limits.min().unwrap_or(u32::MAX)
    }

    /// What of `room` the domain's uplink lets through.
    fn through_uplink(&self, option: &JobOption, id: DomainId, room: Room) -> Room {
        let Some(uplink) = self.cluster.topology.domain(id).uplink else { return room };
        Room { part: room.part.min(most_through(option, uplink)), whole: room.whole && option.read <= uplink }
    }

    /// Whether every uplink above the domain carries the gang's reads.
    fn reads_reach(&self, option: &JobOption, id: DomainId, judged: Judged) -> bool {
        let topology = &self.cluster.topology;
        !judged.uplinks
            || topology.ancestors(id).all(|at| topology.domain(at).uplink.is_none_or(|uplink| option.read <= uplink))
    }
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
