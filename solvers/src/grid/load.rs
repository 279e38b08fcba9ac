//! What a gang takes of capacities and of limits on power while it runs.

use super::frame::{Frame, OptionFrame, share};

/// What a gang takes.
#[derive(Clone, Debug, Default)]
pub(super) struct Loads {
    /// Nodes and GPUs on each.
    pub nodes: Vec<(usize, u32)>,
    /// Capacities and how much of each.
    pub rows: Vec<(usize, i64)>,
    /// Limits on power and how much of each, beyond what the nodes draw without it.
    pub limits: Vec<(usize, i64)>,
}

/// Works out loads, without allocating once warm.
#[derive(Clone, Debug, Default)]
pub(super) struct Load {
    parts: Vec<(usize, u32)>,
    loads: Loads,
}

impl Load {
    /// What an option takes on `pattern`, which must not be empty.
    pub fn of(&mut self, frame: &Frame<'_>, option: &OptionFrame, pattern: &[(usize, u32)]) -> &Loads {
        let loads = &mut self.loads;
        loads.nodes.clear();
        loads.rows.clear();
        loads.limits.clear();
        self.parts.clear();
        for &(cell, count) in pattern {
            let node = frame.node_of(cell);
            match loads.nodes.last_mut() {
                Some(last) if last.0 == node => last.1 += count,
                _ => loads.nodes.push((node, count)),
            }
            let mut at = Some(frame.island_of(cell));
            while let Some(part) = at {
                if frame.parts[part].uplink.is_some() {
                    match self.parts.iter_mut().find(|(known, _)| *known == part) {
                        Some((_, sum)) => *sum += count,
                        None => self.parts.push((part, count)),
                    }
                }
                at = frame.parts[part].parent;
            }
        }
        for &(part, count) in &self.parts {
            if let Some(row) = frame.parts[part].uplink {
                push(&mut loads.rows, row, traffic(option, count));
            }
        }
        for &(node, count) in &loads.nodes {
            let frame_of = &frame.nodes[node];
            for &(resource, need) in &option.per_gpu {
                if let Some(row) = frame.parts[frame_of.part].resources[resource] {
                    push(&mut loads.rows, row, need * i64::from(count));
                }
            }
            for &limit in &frame_of.limits {
                let power = share(option.peak, count, option.gang) - frame_of.gpu_idle * i64::from(count);
                match loads.limits.iter_mut().find(|(known, _)| *known == limit) {
                    Some((_, sum)) => *sum += power,
                    None => loads.limits.push((limit, power)),
                }
            }
        }
        if let Some(limit) = frame.cluster_limit {
            loads.limits.push((limit, option.peak_beyond));
        }
        &self.loads
    }

    /// The loads worked out last.
    pub fn into_loads(self) -> Loads {
        self.loads
    }
}

fn push(rows: &mut Vec<(usize, i64)>, row: usize, demand: i64) {
    if demand > 0 {
        rows.push((row, demand));
    }
}

/// Traffic through the uplink of a domain that holds `count` GPUs of the gang.
pub(super) fn traffic(option: &OptionFrame, count: u32) -> i64 {
    let ring = if count < option.gang { option.ring } else { 0 };
    ring + share(option.read, count, option.gang)
}
