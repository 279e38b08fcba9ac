//! Scaling: the time of a step on a gang, by its size and placement.
//!
//! [`ScalingModel`] learns one cluster (one type of GPU and its links) from gangs of several workloads: what the cluster costs
//! (`cluster`) and what is each workload's own (`ring`).

mod baselines;
mod cluster;
pub mod evaluate;
mod ring;

use std::collections::{BTreeMap, BTreeSet};

use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};
use serde::{Deserialize, Serialize};

use crate::data::Gang;
use crate::statistics::quantile;

use self::cluster::Workloads;
pub use self::ring::{Hops, Measured, Own, Placement, Shared};

/// Where neither nodes nor consolidation are known, nodes are taken to have this many GPUs.
pub const NODE_GPUS: i64 = 8;
/// Two measurements of one gang may differ by this share.
const REPEAT_TOLERANCE: f64 = 0.25;
/// Gangs up to this many times the largest measured one are answered.
const FARTHEST: u32 = 4;

/// A fitted model of how workloads scale on one cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScalingModel {
    format: String,
    /// What the cluster costs.
    pub cluster: Shared,
    workloads: BTreeMap<String, Workload>,
    /// Bandwidth inside a node by the workloads whose gradient bytes are known: their median, bytes/s.
    bandwidth: Option<f64>,
    /// The 90 % quantile of relative errors of gang sizes that were left out in turn.
    half_width: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Workload {
    own: Own,
    measured: Vec<Measured>,
}

/// The time of a step, and the interval that holds it with a probability of about 90 %, s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTime {
    /// The estimate.
    pub step_s: f64,
    /// Least of the interval.
    pub low_s: f64,
    /// Most of it.
    pub high_s: f64,
    /// What of the estimate is communication that does not hide behind computing.
    pub exposed_s: f64,
}

const FORMAT: &str = "rats.scaling/1";

impl ScalingModel {
    /// Fits gangs of one cluster. Gangs that differ in more than size and placement must be of different workloads.
    ///
    /// # Errors
    /// All of: gangs that cannot be (M51) or contradict each other (M54), a workload of one size alone (M50).
    pub fn train(gangs: &[Gang]) -> Result<Self, Problems> {
        let workloads = workloads(gangs)?;
        let nothing = || Problems::from(Problem::new(Code::M50, "gangs", "There are no gangs."));
        let (shared, owns) = cluster::fit(&workloads).ok_or_else(nothing)?;
        let workload =
            |(name, own): (&String, &Own)| (name.clone(), Workload { own: *own, measured: workloads[name].clone() });
        let bytes = |name: &str| gangs.iter().find(|gang| gang.workload == name)?.gradient_bytes;
        let bandwidths: Vec<f64> = owns
            .iter()
            .filter(|(_, own)| own.transfer_s > 0.0)
            .filter_map(|(name, own)| Some(bytes(name)? / own.transfer_s))
            .collect();
        Ok(Self {
            format: FORMAT.to_owned(),
            cluster: shared,
            workloads: owns.iter().map(workload).collect(),
            bandwidth: quantile(&bandwidths, 0.5),
            half_width: left_out(&workloads),
        })
    }

    /// The time of a step of a workload on a gang.
    ///
    /// # Errors
    /// An unknown workload (M52), a gang of no GPU, far larger than any measured, or placed like none that was measured
    /// (M53).
    pub fn predict(&self, workload: &str, at: Placement) -> Result<StepTime, Problem> {
        let known = self.workloads.get(workload).ok_or_else(|| {
            let names: Vec<&str> = self.workloads.keys().map(String::as_str).collect();
            Problem::new(Code::M52, workload, format!("Known: {}.", names.join(", ")))
        })?;
        self.reachable(workload, &known.measured, at)?;
        let correction = self.cluster.correction(known.own, &known.measured, at);
        Ok(self.step(known.own, at, correction))
    }

    /// The time of a step of a workload that ran on no gang: from its step on one GPU and its gradient bytes, or, without
    /// them, the usual share of communication. `name` stands for it in messages.
    ///
    /// # Errors
    /// Numbers that cannot be (M51); as [`Self::predict`], measured by the gangs of all workloads (M53).
    pub fn predict_new(
        &self,
        name: &str,
        step_s: f64,
        gradient_bytes: Option<f64>,
        at: Placement,
    ) -> Result<StepTime, Problem> {
        if [step_s, gradient_bytes.unwrap_or(1.0)].iter().any(|number| !(number.is_finite() && *number > 0.0)) {
            let message = "The step and the gradient bytes must be above 0.";
            return Err(Problem::new(Code::M51, name, message));
        }
        let all: Vec<Measured> = self.workloads.values().flat_map(|other| &other.measured).copied().collect();
        self.reachable(name, &all, at)?;
        let of_bytes = gradient_bytes.zip(self.bandwidth).map(|(bytes, bandwidth)| bytes / bandwidth);
        let transfer_s = of_bytes.unwrap_or(self.cluster.usual_share * step_s);
        Ok(self.step(Own { step_s, transfer_s }, at, 1.0))
    }

    /// Whether gangs of several GPUs were measured, on one node and on several.
    pub fn placements(&self) -> (bool, bool) {
        let gangs = || self.workloads.values().flat_map(|other| &other.measured).filter(|row| row.0.gpus > 1);
        (gangs().any(|row| !row.0.across_nodes), gangs().any(|row| row.0.across_nodes))
    }

    fn reachable(&self, name: &str, measured: &[Measured], at: Placement) -> Result<(), Problem> {
        let sizes = || measured.iter().map(|row| row.0.gpus);
        let (least, largest) = (sizes().min().unwrap_or(1), sizes().max().unwrap_or(1));
        let most = largest.saturating_mul(FARTHEST);
        if at.gpus == 0 || at.gpus > most {
            let message = format!("{} GPUs; measured were {least} to {largest}, answered are up to {most}.", at.gpus);
            return Err(Problem::new(Code::M53, name, message));
        }
        let (on_one, on_several) = self.placements();
        if at.gpus > 1 && !(if at.across_nodes { on_several } else { on_one }) {
            let nodes = if at.across_nodes { "several nodes" } else { "one node" };
            return Err(Problem::new(Code::M53, name, format!("No gang on {nodes} was measured.")));
        }
        Ok(())
    }

    /// Bandwidth inside a node and between nodes that rings reach by the workloads whose gradient bytes are known,
    /// gigabytes (1e9 bytes) per second.
    pub fn bandwidth_gb_s(&self) -> Option<(f64, f64)> {
        self.bandwidth.map(|near| (near / 1e9, near / 1e9 / self.cluster.slower_across))
    }

    /// The names of the workloads it knows, and what is their own.
    pub fn workloads(&self) -> impl Iterator<Item = (&str, Own)> {
        self.workloads.iter().map(|(name, workload)| (name.as_str(), workload.own))
    }

    /// Reads a model from JSON; `place` names it in messages.
    ///
    /// # Errors
    /// It is no such file, or holds numbers that cannot be (M47).
    pub fn from_json(place: &str, text: &str) -> Result<Self, Problem> {
        let problem = |message: String| Problem::new(Code::M47, place, message);
        let model: Self = serde_json::from_str(text).map_err(|error| problem(format!("{error}.")))?;
        if model.format != FORMAT {
            return Err(problem(format!("Its format is `{}`, not `{FORMAT}`.", model.format)));
        }
        let Shared { slower_across, latency_near_s, latency_far_s, overlap, usual_share, .. } = model.cluster;
        let owns = model.workloads.values().flat_map(|workload| {
            let times = workload.measured.iter().map(|row| row.1 - f64::MIN_POSITIVE);
            times.chain([workload.own.step_s, workload.own.transfer_s])
        });
        let cluster = [slower_across, latency_near_s, latency_far_s, overlap, usual_share, model.half_width];
        if owns.chain(cluster).any(|number| !number.is_finite() || number < 0.0) {
            return Err(problem("A number is negative or none.".to_owned()));
        }
        Ok(model)
    }

    /// The model as JSON.
    pub fn to_json(&self) -> String {
        // Maps have text keys and all numbers are finite, so there is nothing to fail on.
        serde_json::to_string(self).unwrap_or_default()
    }

    fn step(&self, own: Own, at: Placement, correction: f64) -> StepTime {
        let step_s = self.cluster.step_s(own, at) * correction;
        StepTime {
            step_s,
            low_s: step_s / (1.0 + self.half_width),
            high_s: step_s * (1.0 + self.half_width),
            exposed_s: step_s - own.step_s * correction,
        }
    }
}

/// Whether the gang was measured, as far as its source tells. Of Gavel are not:
/// * the series `simulation` and `oracle-motivation`, which repeat or lack gangs;
/// * consolidated V100 gangs: rates on 2 GPUs are exactly twice those on one, on 8 as much as 7.5 times those on 1 where on
///   4 it is 1.5 times;
/// * one GPU "unconsolidated", which is one GPU.
pub fn measured(gang: &Gang) -> bool {
    let consolidated = gang.consolidated == Some(true);
    gang.source != "gavel"
        || gang.workload.starts_with("physical-cluster")
            && (gang.gpus > 1 || consolidated)
            && !(gang.gpu == "v100" && gang.gpus > 1 && consolidated)
}

/// The gangs of each cluster (source, type of GPU) that a model can be fitted to: those [`measured`], of workloads of
/// which two sizes or placements were.
pub fn clusters(gangs: &[Gang]) -> BTreeMap<(String, String), Vec<Gang>> {
    let mut clusters: BTreeMap<(String, String), Vec<Gang>> = BTreeMap::new();
    for gang in gangs.iter().filter(|gang| measured(gang)) {
        clusters.entry((gang.source.clone(), gang.gpu.clone())).or_default().push(gang.clone());
    }
    for gangs in clusters.values_mut() {
        let mut placements: BTreeMap<String, BTreeSet<Option<Placement>>> = BTreeMap::new();
        for gang in gangs.iter() {
            placements.entry(gang.workload.clone()).or_default().insert(placement(gang));
        }
        gangs.retain(|gang| placements[&gang.workload].len() > 1);
    }
    clusters.retain(|_, gangs| !gangs.is_empty());
    clusters
}

/// Where the GPUs of a gang sit.
fn placement(gang: &Gang) -> Option<Placement> {
    let gpus = u32::try_from(gang.gpus).ok().filter(|&gpus| gpus > 0)?;
    if gang.nodes.is_some_and(|nodes| nodes < 1 || nodes > gang.gpus) {
        return None;
    }
    let across = match (gang.nodes, gang.consolidated) {
        (Some(nodes), _) => nodes > 1,
        (None, Some(consolidated)) => !consolidated,
        (None, None) => gang.gpus > NODE_GPUS,
    };
    Some(Placement { gpus, across_nodes: across && gpus > 1 })
}

fn workloads(gangs: &[Gang]) -> Result<Workloads, Problems> {
    let mut problems = Vec::new();
    let mut workloads = Workloads::new();
    for (row, gang) in gangs.iter().enumerate() {
        let place = format!("gangs[{row}] ({} on {} GPUs)", gang.workload, gang.gpus);
        let Some(at) = placement(gang).filter(|_| gang.time_s.is_finite() && gang.time_s > 0.0) else {
            let message = format!("{} s on {} GPUs and {:?} nodes.", gang.time_s, gang.gpus, gang.nodes);
            problems.push(Problem::new(Code::M51, place, message));
            continue;
        };
        let rows = workloads.entry(gang.workload.clone()).or_default();
        match rows.iter().find(|row| row.0 == at) {
            Some(&(_, time)) if (gang.time_s / time - 1.0).abs() > REPEAT_TOLERANCE => {
                let message = format!("{} s; an earlier row of the same gang says {time} s.", gang.time_s);
                problems.push(Problem::new(Code::M54, place, message));
            }
            _ => rows.push((at, gang.time_s)),
        }
    }
    for (name, rows) in &workloads {
        if rows.iter().all(|row| row.0 == rows[0].0) {
            problems.push(Problem::new(Code::M50, name.as_str(), "It was measured on one size of gang."));
        }
    }
    if problems.is_empty() { Ok(workloads) } else { Err(Problems(problems)) }
}

/// The 90 % quantile of the relative errors of sizes left out in turn, of all workloads at once; the smallest stays.
fn left_out(workloads: &Workloads) -> f64 {
    let smallest = |rows: &[Measured]| rows.iter().map(|row| row.0.gpus).min();
    let mut sizes: Vec<u32> = workloads.values().flatten().map(|row| row.0.gpus).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut errors = Vec::new();
    for size in sizes {
        let out = |rows: &[Measured], row: &Measured| row.0.gpus == size && smallest(rows) != Some(size);
        let known: Workloads = workloads
            .iter()
            .map(|(name, rows)| (name.clone(), rows.iter().copied().filter(|row| !out(rows, row)).collect()))
            .collect();
        let Some((shared, owns)) = cluster::fit(&known) else { continue };
        for (name, rows) in workloads {
            let Some(&own) = owns.get(name) else { continue };
            let said = |row: &Measured| shared.step_s(own, row.0) * shared.correction(own, &known[name], row.0);
            let error = |row: &Measured| (said(row) / row.1).ln().abs().exp_m1();
            errors.extend(rows.iter().filter(|row| out(rows, row)).map(error));
        }
    }
    quantile(&errors, 0.9).unwrap_or(1.0)
}

#[cfg(test)]
mod tests;
