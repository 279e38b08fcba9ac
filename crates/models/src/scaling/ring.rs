//! One workload on gangs of several sizes, given what its cluster costs.
//!
//! # Model
//! Time of a step on g GPUs, the formula of an all-reduce along a ring (chapter 5 of `docs/model.md`):
//!
//! ```text
//! ring = c 2 (g-1)/g F + h(g) L          c = gradient bytes / bandwidth inside a node (s); F = 1 inside a node
//! t    = step + max(0, ring - overlap step)
//! h(g) = 2 (g-1) along a ring, 2 log2(g) along a tree
//! ```
//!
//! F, L and overlap belong to the cluster ([`Shared`]), `step` and `c`, both at least 0, to the workload. Given the former
//! the latter are a robust least-squares problem of two unknowns in relative error, with a weak pull of c towards the
//! usual share of the step.
//!
//! # References
//! P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009. P. Sanders, J.
//! Speck, J. Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009 (NCCL's trees).

use serde::{Deserialize, Serialize};

/// Errors beyond this count linearly.
const HUBER: f64 = 0.05;
/// Weight of the pull of c towards its usual share of the step.
const PULL: f64 = 0.05;
/// Share of what the formula leaves over that is carried to other sizes.
const CORRECTION: f64 = 0.5;
const ITERATIONS: usize = 8;

/// How many GPUs, and whether they sit on more than one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// At least 1.
    pub gpus: u32,
    /// Whether traffic leaves the node; of no account for one GPU.
    pub across_nodes: bool,
}

/// How latency grows with the gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hops {
    /// `2 (g-1)`.
    Ring,
    /// `2 log2(g)`.
    Tree,
}

/// What all workloads of one cluster share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// How latency grows with the gang.
    pub hops: Hops,
    /// Bandwidth inside a node over bandwidth between nodes.
    pub slower_across: f64,
    /// Latency of a hop inside a node, s.
    pub latency_near_s: f64,
    /// Latency of a hop between nodes, s.
    pub latency_far_s: f64,
    /// Share of the step behind which communication hides.
    pub overlap: f64,
    /// The usual c over the shortest step measured.
    pub usual_share: f64,
}

/// What is one workload's own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Own {
    /// One step without communication, s.
    pub step_s: f64,
    /// Gradient bytes over the bandwidth inside a node, s.
    pub transfer_s: f64,
}

/// A measured gang: placement and seconds of a step.
pub type Measured = (Placement, f64);

impl Shared {
    /// Seconds of a step.
    pub fn step_s(&self, own: Own, at: Placement) -> f64 {
        let ring = own.transfer_s * self.volume(at) + self.latency(at);
        own.step_s + (ring - self.overlap * own.step_s).max(0.0)
    }

    /// `2 (g-1)/g F`.
    fn volume(&self, at: Placement) -> f64 {
        let g = f64::from(at.gpus.max(1));
        2.0 * (g - 1.0) / g * if at.across_nodes { self.slower_across } else { 1.0 }
    }

    /// `h(g) L`, s.
    fn latency(&self, at: Placement) -> f64 {
        let g = f64::from(at.gpus.max(1));
        let hops = match self.hops {
            Hops::Ring => 2.0 * (g - 1.0),
            Hops::Tree => 2.0 * g.log2(),
        };
        hops * if at.across_nodes { self.latency_far_s } else { self.latency_near_s }
    }

    /// The workload that fits best, and its robust loss; `None` without measurements.
    pub fn fit(&self, measured: &[Measured]) -> Option<(Own, f64)> {
        let shortest = measured.iter().map(|row| row.1).fold(f64::INFINITY, f64::min);
        if !shortest.is_finite() {
            return None;
        }
        let mut own = Own { step_s: shortest, transfer_s: self.usual_share * shortest };
        let mut best = (own, f64::INFINITY);
        for _ in 0..ITERATIONS {
            own = self.weighted(measured, own, shortest);
            let loss = self.loss(measured, own, shortest);
            if loss < best.1 {
                best = (own, loss);
            }
        }
        Some(best)
    }

    /// By what the measurements at hand stretch the formula at a placement: the logarithms of measured over computed times,
    /// interpolated along the logarithm of the size between gangs placed alike, constant beyond, and halved, as half of
    /// what is left over is noise.
    pub fn correction(&self, own: Own, measured: &[Measured], at: Placement) -> f64 {
        let alike = |row: &&Measured| row.0.gpus == 1 || row.0.across_nodes == at.across_nodes;
        let mut known: Vec<(f64, f64)> = measured
            .iter()
            .filter(alike)
            .map(|row| (f64::from(row.0.gpus).log2(), (row.1 / self.step_s(own, row.0)).ln()))
            .collect();
        known.sort_by(|a, b| a.0.total_cmp(&b.0));
        let x = f64::from(at.gpus.max(1)).log2();
        let after = known.partition_point(|point| point.0 < x);
        let left_over = match (after.checked_sub(1).and_then(|before| known.get(before)), known.get(after)) {
            (Some(&(x0, y0)), Some(&(x1, y1))) => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
            (Some(&(_, y)), None) | (None, Some(&(_, y))) => y,
            (None, None) => 0.0,
        };
        (CORRECTION * left_over).exp()
    }

    /// Huber's loss of relative errors, the pull included.
    fn loss(&self, measured: &[Measured], own: Own, shortest: f64) -> f64 {
        let huber = |error: f64| if error < HUBER { error * error } else { HUBER * (2.0 * error - HUBER) };
        let errors = measured.iter().map(|&(at, time)| huber((self.step_s(own, at) / time - 1.0).abs()));
        errors.sum::<f64>() + (PULL * (own.transfer_s / shortest - self.usual_share)).powi(2)
    }

    /// Least squares with weights and hidden rows as they are at `own`.
    fn weighted(&self, measured: &[Measured], own: Own, shortest: f64) -> Own {
        // Sums of products of the columns step, c and target.
        let (mut ss, mut sc, mut cc, mut st, mut ct) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let mut add = |s: f64, c: f64, target: f64, weight: f64| {
            (ss, sc, cc) = (ss + weight * s * s, sc + weight * s * c, cc + weight * c * c);
            (st, ct) = (st + weight * s * target, ct + weight * c * target);
        };
        for &(at, time) in measured {
            let error = (self.step_s(own, at) / time - 1.0).abs();
            let weight = (HUBER / error.max(1e-12)).min(1.0);
            let ring = own.transfer_s * self.volume(at) + self.latency(at);
            if ring > self.overlap * own.step_s {
                let target = (time - self.latency(at)) / time;
                add((1.0 - self.overlap) / time, self.volume(at) / time, target, weight);
            } else {
                add(1.0 / time, 0.0, 1.0, weight);
            }
        }
        add(0.0, PULL / shortest, PULL * self.usual_share, 1.0);
        let determinant = ss * cc - sc * sc;
        let (step_s, transfer_s) = ((st * cc - ct * sc) / determinant, (ct * ss - st * sc) / determinant);
        let least = 1e-3 * shortest;
        match (step_s, transfer_s) {
            (s, c) if s >= least && c >= 0.0 => Own { step_s: s, transfer_s: c },
            (s, c) if c < 0.0 && s >= least => Own { step_s: (st / ss).max(least), transfer_s: 0.0 },
            (s, _) if s < least => Own { step_s: least, transfer_s: ((ct - sc * least) / cc).max(0.0) },
            _ => own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARED: Shared = Shared {
        hops: Hops::Ring,
        slower_across: 4.0,
        latency_near_s: 0.0,
        latency_far_s: 0.001,
        overlap: 0.5,
        usual_share: 0.1,
    };

    fn at(gpus: u32, across_nodes: bool) -> Placement {
        Placement { gpus, across_nodes }
    }

    #[test]
    fn the_formula_by_hand() {
        let own = Own { step_s: 0.1, transfer_s: 0.04 };
        // One GPU: the step. 4 near: ring 0.04 x 1.5 = 0.06, hidden 0.05: 0.11. 4 far: 0.24 + 6 x 0.001 - 0.05: 0.296.
        for (placement, expected) in [(at(1, false), 0.1), (at(4, false), 0.11), (at(4, true), 0.296)] {
            assert!((SHARED.step_s(own, placement) - expected).abs() < 1e-12, "{placement:?}");
        }
        let tree = Shared { hops: Hops::Tree, overlap: 0.0, ..SHARED };
        // 8 far: 0.04 x 1.75 x 4 = 0.28, latency 2 x 3 x 0.001.
        assert!((tree.step_s(own, at(8, true)) - 0.386).abs() < 1e-12);
    }

    #[test]
    fn half_of_what_is_left_over_is_carried_to_sizes_between() {
        let own = Own { step_s: 0.1, transfer_s: 0.04 };
        let stretched = |at: Placement, factor: f64| (at, SHARED.step_s(own, at) * factor);
        let measured = [stretched(at(1, false), 1.0), stretched(at(4, false), 1.2), stretched(at(4, true), 3.0)];
        // Half way between 1 and 4 in the logarithm: a quarter of ln 1.2; beyond 4: half of it. Far: half of ln 3 at 4.
        for (placement, expected) in
            [(at(2, false), 1.2_f64.powf(0.25)), (at(8, false), 1.2_f64.sqrt()), (at(4, true), 3_f64.sqrt())]
        {
            assert!((SHARED.correction(own, &measured, placement) - expected).abs() < 1e-12, "{placement:?}");
        }
        assert!((SHARED.correction(own, &[], at(2, false)) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_planted_workload_is_found_again_past_an_outlier() {
        let own = Own { step_s: 0.2, transfer_s: 0.09 };
        let places = [at(1, false), at(2, false), at(4, false), at(8, false), at(16, true), at(32, true)];
        let mut measured: Vec<Measured> = places.iter().map(|&at| (at, SHARED.step_s(own, at))).collect();
        let (found, _) = SHARED.fit(&measured).unwrap();
        assert!((found.step_s / 0.2 - 1.0).abs() < 0.01 && (found.transfer_s / 0.09 - 1.0).abs() < 0.03, "{found:?}");
        measured[2].1 *= 2.0;
        let (found, _) = SHARED.fit(&measured).unwrap();
        assert!((found.transfer_s / 0.09 - 1.0).abs() < 0.15, "{found:?}");
        assert!(SHARED.fit(&[]).is_none());
    }
}
