//! Which GPUs of a host form an island.
//!
//! # Idea
//! GPUs of an island reach one another directly over NVLink (or over one NVLink switch), or hang below one PCIe
//! switch. NVLink comes first: groups of GPUs that are all joined pairwise are taken greedily, the largest first, of
//! equal ones that with the most capacity inside. GPUs without NVLink are grouped by their PCIe switch.
//!
//! # Limits
//! Greedy: the partition into pairwise joined groups need not be the one of fewest groups. It is for every
//! machine in `docs/topology.md`.

use std::collections::BTreeMap;

use rats_domain::units::KilobytesPerSecond;

/// When NVLink makes an island.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Joining {
    /// Every two GPUs of the island are joined directly.
    #[default]
    Direct,
    /// A path of NVLinks joins them.
    Connected,
}

/// Capacity between two GPUs that are joined directly, by the lower and the higher position.
pub type Joined = BTreeMap<(usize, usize), KilobytesPerSecond>;

/// The islands of a host, each sorted, in order of their first GPU; `switches` names the PCIe switch of each GPU.
pub fn islands(joined: &Joined, switches: &[Option<usize>], joining: Joining) -> Vec<Vec<usize>> {
    let gpus = switches.len();
    let mut left: Vec<usize> = (0..gpus).collect();
    let mut islands = Vec::new();
    while let Some(island) = largest(joined, &left, joining).filter(|island| island.len() > 1) {
        left.retain(|gpu| !island.contains(gpu));
        islands.push(island);
    }
    let mut by_switch: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for gpu in left {
        match switches[gpu] {
            Some(switch) => by_switch.entry(switch).or_default().push(gpu),
            None => islands.push(vec![gpu]),
        }
    }
    islands.extend(by_switch.into_values());
    islands.sort();
    islands
}

/// The best group that grows from any one GPU.
fn largest(joined: &Joined, left: &[usize], joining: Joining) -> Option<Vec<usize>> {
    let mut best: Option<(Vec<usize>, KilobytesPerSecond)> = None;
    for &seed in left {
        let group = grow(joined, left, seed, joining);
        let better = |(other, capacity): &(Vec<usize>, _)| (group.0.len(), group.1) > (other.len(), *capacity);
        if best.as_ref().is_none_or(better) {
            best = Some(group);
        }
    }
    best.map(|(mut group, _)| {
        group.sort_unstable();
        group
    })
}

/// Adds to a GPU, one at a time, the GPU with the most capacity to those already in.
fn grow(joined: &Joined, left: &[usize], seed: usize, joining: Joining) -> (Vec<usize>, KilobytesPerSecond) {
    let mut group = vec![seed];
    let mut inside = KilobytesPerSecond::ZERO;
    loop {
        let mut best: Option<(KilobytesPerSecond, usize)> = None;
        for &gpu in left.iter().filter(|gpu| !group.contains(gpu)) {
            let links = group.iter().filter_map(|&other| joined.get(&(gpu.min(other), gpu.max(other))));
            let (count, capacity) = (links.clone().count(), links.copied().sum());
            let fits = if joining == Joining::Direct { count == group.len() } else { count > 0 };
            if fits && best.is_none_or(|(most, _)| capacity > most) {
                best = Some((capacity, gpu));
            }
        }
        let Some((capacity, gpu)) = best else { return (group, inside) };
        group.push(gpu);
        inside += capacity;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(links: &[(usize, usize, i64)]) -> Joined {
        links.iter().map(|&(a, b, count)| ((a, b), KilobytesPerSecond(count * 25_000_000))).collect()
    }

    #[test]
    fn joined_pairs_become_islands_and_the_rest_go_by_pcie_switch() {
        // 0=1 by NVLink; 2, 3 below PCIe switch 7; 4 alone.
        let islands = islands(&joined(&[(0, 1, 2)]), &[Some(7), None, Some(7), Some(7), None], Joining::Direct);
        assert_eq!(islands, [vec![0, 1], vec![2, 3], vec![4]]);
    }

    #[test]
    fn a_chain_is_one_island_only_if_paths_count() {
        let chain = joined(&[(0, 1, 1), (1, 2, 2), (2, 3, 1)]);
        let switches = [None; 4];
        // The strongest pair first: 1-2 has two links; what is left is not joined.
        assert_eq!(islands(&chain, &switches, Joining::Direct), [vec![0], vec![1, 2], vec![3]]);
        assert_eq!(islands(&chain, &switches, Joining::Connected), [vec![0, 1, 2, 3]]);
    }
}
