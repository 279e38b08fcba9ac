//! How well the time of a gang is predicted that no model saw.
//!
//! Tasks, on each cluster (source and type of GPU), with all its workloads at once:
//!
//! * `gang-largest`: each workload's largest gangs are held out;
//! * `gang-size`: one size is held out, in turn, neither the smallest nor the largest of a workload;
//! * `gang-model`: a model is held out, in turn, but for its smallest gang.

use std::collections::{BTreeMap, BTreeSet};

use crate::data::Gang;
use crate::evaluate::Progress;
use crate::score::{Held, Quantity, Score, Subject};

use super::baselines::Baseline;
use super::cluster::{self, Workloads};
use super::ring::{Measured, Own, Placement};
use super::{measured, placement};

/// Fewest sizes of a workload that is judged.
const SIZES: usize = 3;

/// All tasks on the gangs of a data set that can be used.
///
/// Left out: what is not [`measured`], and workloads of fewer than three sizes.
pub fn scores(gangs: &[Gang], progress: Progress) -> Vec<Score> {
    let mut clusters: BTreeMap<(String, String), Workloads> = BTreeMap::new();
    let mut models: BTreeMap<String, String> = BTreeMap::new();
    for gang in gangs {
        let valid = |_: &Placement| gang.time_s.is_finite() && gang.time_s > 0.0 && measured(gang);
        let Some(at) = placement(gang).filter(valid) else { continue };
        let workloads = clusters.entry((gang.source.clone(), gang.gpu.clone())).or_default();
        workloads.entry(gang.workload.clone()).or_default().push((at, gang.time_s));
        models.insert(gang.workload.clone(), gang.model.clone());
    }
    let mut scores = Vec::new();
    for ((source, gpu), mut workloads) in clusters {
        workloads.retain(|_, rows| rows.iter().map(|row| row.0.gpus).collect::<BTreeSet<_>>().len() >= SIZES);
        if !workloads.is_empty() {
            let task = Task { source, gpu, workloads, models: &models };
            scores.extend(task.scores());
            progress(&format!("{}/{}", task.source, task.gpu));
        }
    }
    scores
}

struct Task<'a> {
    source: String,
    gpu: String,
    workloads: Workloads,
    models: &'a BTreeMap<String, String>,
}

/// Errors by model, one list a workload.
type Groups = BTreeMap<&'static str, Vec<Vec<Held>>>;

impl Task<'_> {
    fn scores(&self) -> Vec<Score> {
        let sizes = |rows: &[Measured]| {
            let sizes = || rows.iter().map(|row| row.0.gpus);
            (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0))
        };
        let mut scores = self.scored("gang-largest", vec![self.held(&|_, rows, row| row.0.gpus == sizes(rows).1)]);
        let inner = |size: u32| {
            self.held(&move |_, rows, row| {
                let (least, most) = sizes(rows);
                row.0.gpus == size && size != least && size != most
            })
        };
        let all: BTreeSet<u32> = self.workloads.values().flatten().map(|row| row.0.gpus).collect();
        scores.extend(self.scored("gang-size", all.into_iter().map(inner).collect()));
        let models: BTreeSet<&String> = self.workloads.keys().map(|name| &self.models[name]).collect();
        let of =
            |model: &String| self.held(&|name, rows, row| self.models[name] == *model && row.0.gpus != sizes(rows).0);
        scores.extend(self.scored("gang-model", models.into_iter().map(of).collect()));
        scores
    }

    /// Predictions of all rows that `out` takes away, by a cluster and baselines fitted to the others.
    fn held(&self, out: &dyn Fn(&str, &[Measured], &Measured) -> bool) -> Groups {
        let known: Workloads = self
            .workloads
            .iter()
            .map(|(name, rows)| (name.clone(), rows.iter().copied().filter(|row| !out(name, rows, row)).collect()))
            .collect();
        let mut groups = Groups::new();
        let Some((shared, owns)) = cluster::fit(&known) else { return groups };
        for (name, rows) in &self.workloads {
            let held = |said: &dyn Fn(&Measured) -> Option<f64>| -> Vec<Held> {
                let one = |row: &Measured| Some(Held { measured: row.1, predicted: said(row)?, interval: None });
                rows.iter().filter(|row| out(name, rows, row)).filter_map(one).collect()
            };
            let own: Option<&Own> = owns.get(name);
            let ring =
                held(&|row| own.map(|own| shared.step_s(*own, row.0) * shared.correction(*own, &known[name], row.0)));
            groups.entry("rats").or_default().push(ring);
            groups.entry("formula").or_default().push(held(&|row| own.map(|own| shared.step_s(*own, row.0))));
            for baseline in Baseline::ALL {
                groups.entry(baseline.name()).or_default().push(held(&|row| baseline.step_s(&known[name], row.0)));
            }
        }
        groups
    }

    fn scored(&self, task: &str, parts: Vec<Groups>) -> Vec<Score> {
        let mut all = Groups::new();
        for (model, groups) in parts.into_iter().flatten() {
            all.entry(model).or_default().extend(groups);
        }
        let subject = |model: &str| Subject {
            task: task.to_owned(),
            source: self.source.clone(),
            gpu: self.gpu.clone(),
            model: model.to_owned(),
            quantity: Quantity::Time,
            seed: 0,
        };
        all.iter().map(|(model, groups)| Score::of_groups(subject(model), groups, 0)).collect()
    }
}
