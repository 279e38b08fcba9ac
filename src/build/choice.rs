//! One way to run a job, in the integers of an instance.

use std::collections::BTreeMap;

use rats_domain::decimal::Decimal;
use rats_domain::format::{OptionFile, PointFile};
use rats_domain::topology::Rank;
use rats_domain::units::Milliwatts;
use serde::Serialize;

use super::fill::Predicted;
use super::physics::Outcome;

/// Thousandths of a resource, by name.
pub type Needs = BTreeMap<String, i64>;

/// One way to run a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The kind of GPU.
    pub gpu_type: String,
    /// Power of one of its GPUs that runs nothing.
    pub idle: Milliwatts,
    /// Gang size.
    pub gpus: u32,
    /// Widest domain over which the gang may be spread.
    pub span: Rank,
    /// Its name.
    pub span_name: String,
    /// Operating point.
    pub point: PointFile,
    /// What it stands on where nobody measured the point.
    pub predicted: Option<Predicted>,
    /// Time, power and traffic.
    pub outcome: Outcome,
    /// What one GPU needs of its node.
    pub per_gpu: Needs,
    /// Memory on each GPU.
    pub memory_mib: Option<i64>,
    /// What is behind it.
    pub behind: Behind,
}

/// What is behind an option, which no rule reads: how a job is told its steps, and what a report of its run compares with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Behind {
    /// Steps of the gang.
    pub steps: i64,
    /// Time of one with communication and margin, s.
    pub step_s: f64,
    /// Time before the first, s.
    pub startup_s: f64,
}

impl Choice {
    /// As it stands in an instance.
    pub fn to_file(&self) -> OptionFile {
        let Outcome { ticks, power, peak, ring, read } = self.outcome;
        let decimal = |value: i64, decimals: u32| Decimal::from_scaled(i128::from(value), decimals);
        OptionFile {
            gpu_type: self.gpu_type.clone(),
            gpus: i64::from(self.gpus),
            span: self.span_name.clone(),
            point: self.point,
            ticks: ticks.0,
            power_w: decimal(power.0, 3),
            peak_w: (peak != power).then(|| decimal(peak.0, 3)),
            ring_gb_s: decimal(ring.0, 6),
            read_gb_s: decimal(read.0, 6),
            per_gpu: self.per_gpu.iter().map(|(name, &need)| (name.clone(), decimal(need, 3))).collect(),
            memory_mib: self.memory_mib,
        }
    }
}
