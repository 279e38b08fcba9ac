//! The machines of a generated instance.

use std::collections::BTreeMap;

use rats_domain::decimal::Decimal;
use rats_domain::format::{ClusterFile, NodeFile, PowerMode, StepsFile, SwitchFile};
use rats_domain::random::Random;

use super::features::{Cap, Features, Nodes};
use crate::build::hardware;

/// Node uplinks, kB/s: 5 (half of 10 is used by others), 10, 25 and 100 Gb/s Ethernet under contention, 0.0917 GB/s per Gb/s (Wang, Shi, Wang, Chu, 2020).
const NARROW: [i64; 2] = [458_500, 917_000];
const WIDE: [i64; 2] = [2_292_500, 9_170_000];
/// GPU types and the base power of a node with them, W; assumed.
const TYPES: [(&str, i64); 4] = [("v100", 260), ("a40", 240), ("rtx6000", 200), ("a100-sxm-80gb", 380)];
/// Seconds of full idle power that a wake-up costs; assumed.
const WAKE_S: i64 = 180;
/// What stands for a cap that is not known yet, W.
const NO_CAP_YET: i64 = 900_000_000;

/// Of these many nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub nodes: usize,
    pub gpus_per_node: u32,
    /// Nodes of a rack; 0: no racks.
    pub rack: usize,
}

/// Draws a cluster. Caps stand for those that the witness will fix, so that options are pruned with them in mind.
pub(super) fn draw(random: &mut Random, features: &Features, size: Size) -> ClusterFile {
    let mut kinds = TYPES;
    random.shuffle(&mut kinds);
    let kinds = &kinds[..features.types.min(kinds.len()).min(size.nodes)];
    let uplink = random.pick(if features.narrow { &NARROW } else { &WIDE });
    let racks = if size.rack > 0 { size.nodes.div_ceil(size.rack) } else { 0 };
    let mut nodes: Vec<NodeFile> = (0..size.nodes)
        .map(|position| {
            // Equal shares in runs: a rack holds mostly one type.
            let (kind, base_w) = kinds[position * kinds.len() / size.nodes];
            let parent = if racks > 1 { format!("rack{}", position / size.rack) } else { "core".to_owned() };
            NodeFile { parent: Some(parent), ..node(random, features, size, (position, kind, base_w)) }
        })
        .collect();
    if size.nodes == 1 {
        nodes[0].parent = None;
    } else {
        for node in &mut nodes {
            node.uplink_gb_s = Some(Decimal::from_scaled(i128::from(uplink), 6));
        }
    }
    let gpus = i128::from(size.gpus_per_node) * size.nodes as i128;
    // 8 MB/s a GPU: a fifth of what ResNet-50 reads on a V100.
    let storage = if features.storage { (8_000 * gpus).max(100_000) } else { 200_000 * gpus };
    ClusterFile {
        gpu_types: kinds.iter().filter_map(|(id, _)| hardware::known(id)).map(hardware::Known::gpu_type).collect(),
        levels: levels(size.nodes, racks),
        switches: switches(features, size, racks, uplink),
        nodes,
        storage_gb_s: Some(Decimal::from_scaled(storage, 6)),
        power_cap_w: (features.cap != Cap::None).then(no_cap_yet),
        foreign_w: None,
    }
}

fn no_cap_yet() -> StepsFile {
    StepsFile::Constant(Decimal::from(NO_CAP_YET))
}

fn levels(nodes: usize, racks: usize) -> Vec<String> {
    let names: &[&str] = match (nodes, racks) {
        (1, _) => &[],
        (_, 0 | 1) => &["cluster"],
        _ => &["rack", "cluster"],
    };
    names.iter().map(|&name| name.to_owned()).collect()
}

fn switches(features: &Features, size: Size, racks: usize, uplink: i64) -> Vec<SwitchFile> {
    let switch = |id: String, level: &str| SwitchFile {
        id,
        level: level.to_owned(),
        parent: None,
        uplink_gb_s: None,
        power_cap_w: None,
    };
    let mut found = Vec::new();
    if size.nodes > 1 {
        found.push(SwitchFile {
            power_cap_w: (features.switch_cap && racks < 2).then(no_cap_yet),
            ..switch("core".to_owned(), "cluster")
        });
    }
    if racks > 1 {
        // Oversubscribed 2 : 1 where uplinks are to bind.
        let share = if features.narrow { 2 } else { 1 };
        let rate = i128::from(uplink) * size.rack as i128 / share;
        found.extend((0..racks).map(|rack| SwitchFile {
            parent: Some("core".to_owned()),
            uplink_gb_s: Some(Decimal::from_scaled(rate, 6)),
            power_cap_w: features.switch_cap.then(no_cap_yet),
            ..switch(format!("rack{rack}"), "rack")
        }));
    }
    found
}

fn node(
    random: &mut Random,
    features: &Features,
    size: Size,
    (position, kind, base_w): (usize, &str, i64),
) -> NodeFile {
    let gpus = i64::from(size.gpus_per_node);
    let sleeps = match features.nodes {
        Nodes::Sleep => true,
        Nodes::AlwaysOn => false,
        Nodes::Mixed => position % 2 == 0,
    };
    let idle_w = hardware::known(kind).map_or(0, |known| known.idle_w);
    let half = gpus / 2;
    let islands = (features.islands && half > 0).then(|| vec![(0..half).collect(), (half..gpus).collect()]);
    let cores = if features.cores {
        BTreeMap::from([("cpu_cores".to_owned(), Decimal::from(8 * gpus))])
    } else {
        BTreeMap::new()
    };
    NodeFile {
        id: format!("n{position}"),
        parent: None,
        uplink_gb_s: None,
        gpu_type: kind.to_owned(),
        gpus,
        island_uplink_gb_s: islands.as_ref().map(|_| Decimal::from(8)),
        islands,
        base_w: Decimal::from(base_w),
        power: if sleeps { PowerMode::Sleep } else { PowerMode::AlwaysOn },
        wake_j: Decimal::from(if sleeps { WAKE_S * (base_w + gpus * idle_w) } else { 0 }),
        wake_ticks: if sleeps { random.within(0, 1) } else { 0 },
        on_at_start: sleeps && random.chance(60),
        resources: cores,
        unavailable: Vec::new(),
        power_cap_w: (features.node_cap && random.chance(40)).then(no_cap_yet),
    }
}
