//! One workload on one type of GPU as it was measured: rows of a profile or of the data set.

use std::collections::BTreeMap;

use rats_domain::decimal::Decimal;
use rats_domain::format::{Flag, SourceFile};
use rats_domain::profile::Profile;

use crate::data::Dataset;

/// One row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// Where it stands, for messages: `points[3]`.
    pub row: String,
    /// Locked SM clock, MHz.
    pub sm_mhz: Option<i64>,
    /// Locked memory clock, MHz.
    pub mem_mhz: Option<i64>,
    /// Power limit, W.
    pub power_limit_w: Option<f64>,
    /// Time of one step, in s or in an unknown unit that is the same for all rows.
    pub time: Option<f64>,
    /// Mean power of one GPU, W.
    pub power: Option<f64>,
}

/// What was measured of one workload on one type of GPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Name, unique among those that are fitted together.
    pub id: String,
    /// Type of GPU.
    pub gpu: String,
    /// What ran.
    pub name: String,
    /// Short name of the source.
    pub set: String,
    /// Where the measurements come from.
    pub source: SourceFile,
    /// The rows.
    pub rows: Vec<Observation>,
}

impl Workload {
    /// The points of a profile; what is flagged as unusable is left out.
    pub fn of_profile(profile: &Profile) -> Self {
        let row = |(position, point): (usize, &rats_domain::format::MeasuredPointFile)| Observation {
            row: format!("points[{position}]"),
            sm_mhz: point.sm_mhz,
            mem_mhz: point.mem_mhz,
            power_limit_w: point.power_limit_w.map(Decimal::to_f64),
            time: point.step_s.filter(|_| !point.flags.contains(&Flag::TimeUnusable)),
            power: point.power_w.filter(|_| !point.flags.contains(&Flag::PowerUnusable)),
        };
        Self {
            id: profile.id.clone(),
            gpu: profile.gpu_type.clone(),
            name: profile.workload.model.clone(),
            set: profile.source.id.clone().unwrap_or_default(),
            source: profile.source.clone(),
            rows: profile.points.iter().enumerate().map(row).collect(),
        }
    }

    /// Every workload of the points of a data set, in its order; the id is `source/gpu/workload`.
    pub fn all_of(dataset: &Dataset) -> Vec<Self> {
        let mut found: BTreeMap<(&str, &str, &str), Self> = BTreeMap::new();
        for (position, point) in dataset.points.iter().enumerate() {
            let key = (point.source.as_str(), point.gpu.as_str(), point.workload.as_str());
            let workload = found.entry(key).or_insert_with(|| Self {
                id: format!("{}/{}/{}", point.source, point.gpu, point.workload),
                gpu: point.gpu.clone(),
                name: point.workload.clone(),
                set: point.source.clone(),
                source: SourceFile {
                    id: Some(point.source.clone()),
                    title: point.source.clone(),
                    repository: point.provenance.repository.clone(),
                    commit: point.provenance.commit.clone(),
                    path: point.provenance.file.clone(),
                    licence: point.provenance.licence.clone(),
                    ..SourceFile::default()
                },
                rows: Vec::new(),
            });
            workload.rows.push(Observation {
                row: format!("points, row {}", position + 1),
                sm_mhz: point.sm_mhz,
                mem_mhz: point.mem_mhz,
                power_limit_w: point.power_limit_w,
                time: point.usable_time(),
                power: point.usable_power(),
            });
        }
        found.into_values().collect()
    }
}
