//! `rats.gpu/1`: what a kind of GPU can be set to and what it draws, each figure with its origin.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::read::Document;
use crate::decimal::Decimal;

/// A kind of GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GpuFile {
    /// Always `rats.gpu/1`.
    pub format: String,
    /// Short name, for `gpu_type` of instances and profiles.
    pub id: String,
    /// Name of the product as its driver reports it.
    pub name: String,
    /// Memory, MiB.
    pub memory_mib: GpuFigure<i64>,
    /// Supported SM clocks, one entry a memory clock, the highest first.
    pub clocks: Vec<ClocksFile>,
    /// SM clock without any lock, MHz.
    pub default_sm_mhz: GpuFigure<i64>,
    /// Memory clock without any lock, MHz.
    pub default_mem_mhz: GpuFigure<i64>,
    /// Power limits, W.
    pub power_limit_w: PowerLimitsFile,
    /// Power of a powered GPU that runs nothing, W.
    pub idle_w: GpuFigure<Decimal>,
    /// Power while a running job waits for others, W.
    pub blocked_w: GpuFigure<Decimal>,
}

/// A number and where it is from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GpuFigure<T> {
    /// The number.
    pub value: T,
    /// How it is known.
    pub kind: GpuFigureKind,
    /// File, publication or rule.
    pub source: String,
}

/// How a figure is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GpuFigureKind {
    /// Read from a real board.
    Measured,
    /// Published by the maker.
    Specification,
    /// Neither: a rule or a guess, named in the source.
    Assumed,
}

/// The SM clocks that go with one memory clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClocksFile {
    /// The memory clock, MHz.
    pub mem_mhz: i64,
    /// Runs of clocks, low to high.
    pub sm_mhz: GpuFigure<Vec<ClockRunFile>>,
}

/// Evenly spaced clocks: `from`, `from + step`, ... up to `to`, each rounded down to whole MHz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockRunFile {
    /// The first, MHz.
    pub from: i64,
    /// The last, MHz.
    pub to: i64,
    /// The distance, MHz, with at most one decimal; absent where there is one clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Decimal>,
}

/// The range of the power limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PowerLimitsFile {
    /// The lowest that can be set, W.
    pub min: GpuFigure<Decimal>,
    /// What holds when nothing is set, W.
    pub default: GpuFigure<Decimal>,
    /// The highest that can be set, W.
    pub max: GpuFigure<Decimal>,
}

impl Document for GpuFile {
    const FORMAT: &'static str = "rats.gpu/1";
}

impl GpuFile {
    /// All supported pairs of memory and SM clock, MHz, in the order of the file.
    pub fn pairs(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        let clocks = |entry: &ClocksFile| entry.sm_mhz.value.iter().flat_map(ClockRunFile::clocks).collect::<Vec<_>>();
        self.clocks.iter().flat_map(move |entry| clocks(entry).into_iter().map(|sm| (entry.mem_mhz, sm)))
    }
}

impl ClockRunFile {
    /// The clocks it stands for, MHz; none for a run that is not one.
    pub fn clocks(&self) -> Vec<i64> {
        /// More clocks than any GPU has; guards memory.
        const MOST: usize = 10_000;
        let Self { from, to, .. } = *self;
        let Some(step) = self.step else { return if from == to { vec![from] } else { Vec::new() } };
        let Some(tenths) = step.scaled(1).filter(|&tenths| tenths > 0) else { return Vec::new() };
        let clock = |k: i128| i64::try_from(i128::from(from) + (k * tenths).div_euclid(10)).ok();
        (0..).take(MOST).map_while(clock).take_while(|&clock| clock <= to).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_rounds_each_clock_down() {
        // V100: 135, 142.5, 150, 157.5 as the driver shows them.
        let run = ClockRunFile { from: 135, to: 157, step: Some(Decimal::from_scaled(75, 1)) };
        assert_eq!(run.clocks(), [135, 142, 150, 157]);
        assert_eq!(ClockRunFile { from: 9, to: 9, step: None }.clocks(), [9]);
        assert_eq!(ClockRunFile { from: 1, to: 9, step: Some(0.into()) }.clocks(), [0; 0]);
    }
}
