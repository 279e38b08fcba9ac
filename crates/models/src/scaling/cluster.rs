//! What a cluster costs, from all workloads that ran on it.
//!
//! # Idea
//! One workload on a handful of gangs cannot tell bandwidth, latency and overlap apart; all workloads of a cluster
//! together can.
//!
//! # Model
//! The sum of the workloads' losses ([`Shared::fit`]) is minimized over the three numbers of the cluster by pattern search
//! on their logarithms, for each form of latency and each overlap of a short list. Of forms that fit alike the tree
//! without overlap wins: a form must lower the loss by a tenth, and gangs of three sizes must be there
//! to tell how latency grows.
//!
//! Without a gang of one GPU nothing tells computing from transfers, which then count as none: the step takes them in.
//!
//! # Complexity
//! `O(forms x steps x rows)`.
//!
//! # References
//! R. Hooke, T. Jeeves, "Direct search solution of numerical and statistical problems", 1961.

use std::collections::{BTreeMap, BTreeSet};

use crate::statistics::median;

use super::ring::{Hops, Measured, Own, Shared};

/// Shares of the step to hide behind.
const OVERLAPS: [f64; 3] = [0.0, 0.3, 0.6];
/// Factor by which another form must lower the loss.
const BETTER: f64 = 0.9;
/// Fewest sizes above one GPU from which the growth of latency is told.
const SIZES: usize = 3;
const ROUNDS: usize = 200;

/// Workloads of one cluster by name.
pub(super) type Workloads = BTreeMap<String, Vec<Measured>>;

/// The cluster and its workloads.
pub(super) fn fit(workloads: &Workloads) -> Option<(Shared, BTreeMap<String, Own>)> {
    let mut best: Option<(f64, Shared)> = None;
    let sizes: BTreeSet<u32> = workloads.values().flatten().map(|row| row.0.gpus).filter(|&gpus| gpus > 1).collect();
    let forms: &[Hops] = if sizes.len() < SIZES { &[Hops::Tree] } else { &[Hops::Tree, Hops::Ring] };
    for &hops in forms {
        for overlap in OVERLAPS {
            let (loss, shared) = search(workloads, start(workloads, hops, overlap)?);
            let handicap = if best.is_some() { BETTER } else { 1.0 };
            if best.as_ref().is_none_or(|(least, _)| loss < handicap * least) {
                best = Some((loss, shared));
            }
        }
    }
    let (_, shared) = best?;
    let own = workloads.iter().filter_map(|(name, rows)| Some((name.clone(), shared.fit(rows)?.0))).collect();
    Some((shared, own))
}

fn start(workloads: &Workloads, hops: Hops, overlap: f64) -> Option<Shared> {
    let times: Vec<f64> = workloads.values().flatten().map(|row| row.1).collect();
    let latency = 1e-3 * median(&times)?;
    let alone = workloads.values().flatten().any(|row| row.0.gpus == 1);
    let usual_share = if alone { 0.2 } else { 0.0 };
    Some(Shared { hops, slower_across: 2.0, latency_near_s: latency, latency_far_s: latency, overlap, usual_share })
}

fn search(workloads: &Workloads, start: Shared) -> (f64, Shared) {
    let mut shared = start;
    let mut least = loss(workloads, &shared);
    let mut step = 1.0_f64;
    for _ in 0..ROUNDS {
        if shared.usual_share > 0.0 {
            shared.usual_share = usual_share(workloads, &shared).unwrap_or(shared.usual_share);
        }
        let mut moved = false;
        for at in 0..3 {
            for factor in [step.exp(), (-step).exp()] {
                let next = scaled(shared, at, factor);
                let found = loss(workloads, &next);
                if found < least * (1.0 - 1e-9) {
                    (least, shared, moved) = (found, next, true);
                }
            }
        }
        if !moved {
            step /= 2.0;
            if step < 0.01 {
                break;
            }
        }
    }
    (least, shared)
}

/// The median of c over the shortest step, at most 1.
fn usual_share(workloads: &Workloads, shared: &Shared) -> Option<f64> {
    let share = |rows: &Vec<Measured>| {
        let shortest = rows.iter().map(|row| row.1).fold(f64::INFINITY, f64::min);
        shared.fit(rows).map(|(own, _)| own.transfer_s / shortest)
    };
    median(&workloads.values().filter_map(share).collect::<Vec<_>>()).map(|share| share.min(1.0))
}

fn scaled(shared: Shared, at: usize, factor: f64) -> Shared {
    let bounded = |value: f64, low: f64, high: f64| (value * factor).clamp(low, high);
    match at {
        0 => Shared { slower_across: bounded(shared.slower_across, 1.0, 100.0), ..shared },
        1 => Shared { latency_near_s: bounded(shared.latency_near_s, 1e-9, 1.0), ..shared },
        _ => Shared { latency_far_s: bounded(shared.latency_far_s, 1e-9, 1.0), ..shared },
    }
}

fn loss(workloads: &Workloads, shared: &Shared) -> f64 {
    workloads.values().filter_map(|rows| shared.fit(rows)).map(|found| found.1).sum()
}

#[cfg(test)]
mod tests {
    use super::super::ring::Placement;
    use super::*;

    #[test]
    fn a_planted_cluster_predicts_a_gang_larger_than_any() {
        let truth = Shared {
            hops: Hops::Ring,
            slower_across: 5.0,
            latency_near_s: 1e-5,
            latency_far_s: 2e-4,
            overlap: 0.0,
            usual_share: 0.1,
        };
        let own = |at: u32| Own { step_s: 0.05 * f64::from(at), transfer_s: 0.01 + 0.004 * f64::from(at) };
        let place = |gpus: u32| Placement { gpus, across_nodes: gpus > 8 };
        let rows = |at: u32| [1, 2, 4, 8, 16].map(|g| (place(g), truth.step_s(own(at), place(g)))).to_vec();
        let workloads: Workloads = (1..7).map(|at| (format!("w{at}"), rows(at))).collect();
        let (shared, owns) = fit(&workloads).unwrap();
        for at in 1..7 {
            let (found, expected) =
                (shared.step_s(owns[&format!("w{at}")], place(32)), truth.step_s(own(at), place(32)));
            assert!((found / expected - 1.0).abs() < 0.06, "{at} {found} {expected} {shared:?}");
        }
        assert!(fit(&Workloads::new()).is_none());
    }
}
