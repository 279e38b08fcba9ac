//! What an [`UnseenModel`](super::UnseenModel) learns from: kernels of one type of GPU, each measured at all operating
//! points of one grid.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rats_domain::codes::Code;
use rats_domain::format::Flag;
use rats_domain::problem::{Problem, Problems};
use serde::{Deserialize, Serialize};

use crate::data::Point;
use crate::statistics::mean;

/// Fewest kernels to learn from; with fewer than 19 there are no 90 % intervals.
pub const FEWEST_KERNELS: usize = 8;

/// Counters that the models use, where the source has them: shares of a peak. Byte rates over PCIe and the utilization that
/// NVML reports made predictions of the V100 worse.
const SHARES: [&str; 3] = ["gr_engine_active", "dram_active", FLOATING_POINT];
/// Made of its two parts: cycles in which a floating-point pipe was active.
const FLOATING_POINT: &str = "fp_active";
const PARTS: [&str; 2] = ["fp32_active", "fp64_active"];

/// Where a GPU runs: clocks and power limit that were set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OperatingPoint {
    /// Locked memory clock, MHz; `None` is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mem_mhz: Option<i64>,
    /// Locked SM clock, MHz; `None` is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_mhz: Option<i64>,
    /// Power limit, mW; `None` is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_limit_mw: Option<i64>,
}

impl OperatingPoint {
    /// Where a point of the data set was measured.
    pub fn of(point: &Point) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "the data set holds limits below 1 MW")]
        let power_limit_mw = point.power_limit_w.map(|watts| (watts * 1e3).round() as i64);
        Self { mem_mhz: point.mem_mhz, sm_mhz: point.sm_mhz, power_limit_mw }
    }
}

impl fmt::Display for OperatingPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.sm_mhz.map(|clock| format!("core {clock} MHz")),
            self.mem_mhz.map(|clock| format!("memory {clock} MHz")),
            self.power_limit_mw.map(|limit| format!("limit {} W", limit as f64 / 1e3)),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        f.write_str(if parts.is_empty() { "default clocks" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
}

/// A kernel measured at every operating point of the grid. Curves are natural logarithms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    /// Its name in the source.
    pub name: String,
    /// The model or application alone: kernels that share it are relatives.
    pub model: String,
    /// Logarithm of its time (any unit) at each point of the grid, if measured and usable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Vec<f64>>,
    /// Logarithm of its power, W, at each point of the grid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<Vec<f64>>,
    /// One list a point of the grid: the counters, in the order of [`Kernels::counters`].
    pub counters: Vec<Vec<f64>>,
}

/// Kernels of one type of GPU over one grid of operating points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kernels {
    /// The type of GPU.
    pub gpu: String,
    /// Operating points, ascending; memory clock first, then core clock.
    pub grid: Vec<OperatingPoint>,
    /// Names of the counters.
    pub counters: Vec<String>,
    /// The kernels, in the order of their names.
    pub kernels: Vec<Kernel>,
}

type Row<'a> = BTreeMap<OperatingPoint, Vec<&'a Point>>;

impl Kernels {
    /// Gathers the kernels of points of one type of GPU. The grid is what at least nine tenths of the workloads share;
    /// a workload that lacks one of its points is left out, and so is a time or power that is flagged as unusable.
    ///
    /// # Errors
    /// M26 for points of several GPUs, M20 for fewer than [`FEWEST_KERNELS`] kernels on a common grid.
    pub fn gather(points: &[Point]) -> Result<Self, Problems> {
        let gpus: BTreeSet<&str> = points.iter().map(|point| point.gpu.as_str()).collect();
        if gpus.len() > 1 {
            let names = gpus.into_iter().collect::<Vec<_>>().join(", ");
            return Err(Problem::new(Code::M26, "points", format!("points of {names} are mixed.")).into());
        }
        let mut workloads: BTreeMap<(&str, &str), Row> = BTreeMap::new();
        for point in points {
            let row = workloads.entry((&point.workload, &point.source)).or_default();
            row.entry(OperatingPoint::of(point)).or_default().push(point);
        }
        let grid = common_grid(workloads.values());
        let counters = counters_of(points);
        let kernels: Vec<Kernel> = workloads
            .iter()
            .filter_map(|((name, _), row)| kernel(name, row, &grid, &counters))
            .filter(|kernel| kernel.time.is_some() || kernel.power.is_some())
            .collect();
        if grid.len() < 2 || kernels.len() < FEWEST_KERNELS {
            let message = format!(
                "{} of {} workloads share {} operating points; {FEWEST_KERNELS} and 2 are needed.",
                kernels.len(),
                workloads.len(),
                grid.len()
            );
            return Err(Problem::new(Code::M20, gpus.first().copied().unwrap_or("points"), message).into());
        }
        Ok(Self { gpu: gpus.first().copied().unwrap_or_default().to_owned(), grid, counters, kernels })
    }

    /// The same without some kernels.
    pub fn without(&self, leave_out: impl Fn(&Kernel) -> bool) -> Self {
        let kernels = self.kernels.iter().filter(|kernel| !leave_out(kernel)).cloned().collect();
        Self { kernels, ..self.clone() }
    }

    /// Position of an operating point on the grid.
    pub fn position(&self, at: OperatingPoint) -> Option<usize> {
        self.grid.binary_search(&at).ok()
    }
}

/// Points that at least nine tenths of the workloads with the most common number of points have.
fn common_grid<'a, 'b: 'a>(rows: impl Iterator<Item = &'a Row<'b>> + Clone) -> Vec<OperatingPoint> {
    let mut counts: BTreeMap<OperatingPoint, usize> = BTreeMap::new();
    for at in rows.clone().flat_map(BTreeMap::keys) {
        *counts.entry(*at).or_default() += 1;
    }
    let workloads = rows.count();
    counts.into_iter().filter(|(_, count)| count * 10 >= workloads * 9).map(|(at, _)| at).collect()
}

/// Counters that every point has: the shares that are known to help, and every utilization of a component.
fn counters_of(points: &[Point]) -> Vec<String> {
    let names: BTreeSet<&String> = points.iter().flat_map(|point| point.counters.keys()).collect();
    let known = SHARES.iter().map(|name| (*name).to_owned());
    let components = names.into_iter().filter(|name| name.starts_with("util_")).cloned();
    known.chain(components).filter(|name| points.iter().all(|point| counter(&point.counters, name).is_some())).collect()
}

/// A counter by name, sums included; `None` where it is missing or not usable.
pub fn counter(counters: &BTreeMap<String, f64>, name: &str) -> Option<f64> {
    let value = |name: &str| counters.get(name).copied();
    let parts = || PARTS.iter().map(|part| value(part)).sum();
    let found = if name == FLOATING_POINT { value(name).or_else(parts) } else { value(name) };
    found.filter(|value| value.is_finite() && *value >= 0.0)
}

fn kernel(name: &str, row: &Row, grid: &[OperatingPoint], counters: &[String]) -> Option<Kernel> {
    let at: Vec<&Vec<&Point>> = grid.iter().map(|at| row.get(at)).collect::<Option<_>>()?;
    let curve = |value: fn(&Point) -> Option<f64>, spoiled: Flag| -> Option<Vec<f64>> {
        at.iter()
            .map(|points| {
                let usable = points.iter().filter(|point| !point.flags.contains(&spoiled));
                let logs: Vec<f64> =
                    usable.filter_map(|point| value(point)).filter(|v| *v > 0.0).map(f64::ln).collect();
                mean(&logs)
            })
            .collect()
    };
    let mean_counter = |points: &[&Point], name: &str| {
        let found: Vec<f64> = points.iter().filter_map(|point| counter(&point.counters, name)).collect();
        mean(&found).unwrap_or(0.0)
    };
    Some(Kernel {
        name: name.to_owned(),
        model: at.first()?.first()?.model.clone(),
        time: curve(|point| point.time_s, Flag::TimeUnusable),
        power: curve(|point| point.power_w, Flag::PowerUnusable),
        counters: at.iter().map(|points| counters.iter().map(|name| mean_counter(points, name)).collect()).collect(),
    })
}
