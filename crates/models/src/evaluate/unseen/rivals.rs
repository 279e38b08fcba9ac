//! What the model of unseen kernels competes with.

use rayon::prelude::*;

use crate::dvfs::fit::fit;
use crate::dvfs::forms::named;
use crate::dvfs::scope::{Axis, Place, Sample, Scope};
use crate::split;
use crate::statistics::mean;
use crate::trees::{TreeParams, Trees};
use crate::unseen::kernels::{Kernel, Kernels, OperatingPoint};

use super::{Line, Said};

/// Trees of the forest; more change nothing.
const FOREST: TreeParams = TreeParams::Forest { trees: 30, leaf: 1, features: Some(3) };
/// Groups of kernels that are left out at a time.
const FOLDS: usize = 10;

/// One of a kernel's two curves.
type Pick = fn(&Kernel) -> &Option<Vec<f64>>;

/// The mean curve of the known kernels, moved to go through the new kernel's first point; if `analytic`, a physical form
/// fitted to it (time linear in both periods, power with a knee of the voltage).
pub(super) fn shape(known: &Kernels, kernel: &Kernel, first: usize, analytic: bool) -> Said {
    let line = |which: Pick, form: [&str; 2]| -> Option<Line> {
        let own = which(kernel).as_ref()?[first];
        let curves: Vec<&Vec<f64>> = known.kernels.iter().filter_map(|kernel| which(kernel).as_ref()).collect();
        let at = |at: usize| mean(&curves.iter().map(|curve| curve[at] - curve[first]).collect::<Vec<_>>());
        let mean: Vec<f64> = (0..known.grid.len()).map(at).collect::<Option<_>>()?;
        let curve = if analytic { smooth(&known.grid, &mean, form)? } else { mean };
        Some(curve.iter().map(|value| (own + value - curve[first], None)).collect())
    };
    Said {
        time: line(|kernel| &kernel.time, ["time-linear", "time-limited"]),
        power: line(|kernel| &kernel.power, ["power-knee", "power-limited"]),
    }
}

fn smooth(grid: &[OperatingPoint], curve: &[f64], forms: [&str; 2]) -> Option<Vec<f64>> {
    let axis = if grid.iter().all(|point| point.sm_mhz.is_some()) { Axis::Clock } else { Axis::Limit };
    let form = named(forms[usize::from(axis == Axis::Limit)])?;
    let core = |point: &OperatingPoint| match axis {
        Axis::Clock => point.sm_mhz.map(|clock| clock as f64),
        Axis::Limit => point.power_limit_mw.map(|limit| limit as f64 / 1e3),
    };
    let place =
        |point: &OperatingPoint| Some(Place { core: core(point)?, mem: point.mem_mhz.map_or(1.0, |m| m as f64) });
    let places: Vec<Place> = grid.iter().map(place).collect::<Option<_>>()?;
    let scope = Scope::of(axis, places.iter().copied())?;
    let samples: Vec<Sample> = places.iter().zip(curve).map(|(&at, value)| Sample { at, value: value.exp() }).collect();
    let fitted = fit(form, &scope, &samples, &[])?;
    Some(places.iter().map(|&at| fitted.value(&scope, at).ln()).collect())
}

/// A forest over all points of the known kernels, ten groups of kernels left out in turn. `level` adds the logarithm of the
/// time at the first point to the features.
pub(super) fn forests(kernels: &Kernels, first: usize, level: bool, seed: u64) -> Vec<Said> {
    let names: Vec<&str> = kernels.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    let folds = split::folds(&names, FOLDS, seed);
    let lines = |pick: Pick| {
        let having = |at: &usize| pick(&kernels.kernels[*at]).is_some();
        let of_fold = |fold: &split::Split| {
            let known: Vec<usize> = fold.fitted.iter().copied().filter(having).collect();
            let Some(forest) = grow(kernels, &known, pick, first, level, seed) else { return Vec::new() };
            let held = fold.held.iter().copied().filter(having);
            held.map(|at| (at, predicted(kernels, at, pick, first, level, &forest))).collect()
        };
        let mut lines: Vec<Option<Line>> = vec![None; names.len()];
        for (at, line) in folds.par_iter().map(of_fold).collect::<Vec<_>>().concat() {
            lines[at] = line;
        }
        lines
    };
    let (time, power) = rayon::join(|| lines(|kernel| &kernel.time), || lines(|kernel| &kernel.power));
    time.into_iter().zip(power).map(|(time, power)| Said { time, power }).collect()
}

fn grow(kernels: &Kernels, known: &[usize], pick: Pick, first: usize, level: bool, seed: u64) -> Option<Trees> {
    let (mut rows, mut targets) = (Vec::new(), Vec::new());
    for &at in known {
        let kernel = &kernels.kernels[at];
        let curve = pick(kernel).as_ref()?;
        for (point, value) in curve.iter().enumerate().filter(|(point, _)| *point != first) {
            rows.push(row(kernels, kernel, point, first, level));
            targets.push(value - curve[first]);
        }
    }
    Trees::fit(&rows, &targets, None, FOREST, seed).ok()
}

fn predicted(kernels: &Kernels, at: usize, pick: Pick, first: usize, level: bool, forest: &Trees) -> Option<Line> {
    let kernel = &kernels.kernels[at];
    let own = pick(kernel).as_ref()?[first];
    let rows: Vec<Vec<f64>> = (0..kernels.grid.len()).map(|point| row(kernels, kernel, point, first, level)).collect();
    Some(forest.predict(&rows).ok()?.into_iter().map(|change| (own + change, None)).collect())
}

fn row(kernels: &Kernels, kernel: &Kernel, point: usize, first: usize, level: bool) -> Vec<f64> {
    let at = kernels.grid[point];
    let number = |value: Option<i64>| value.unwrap_or(0) as f64;
    let mut row = vec![number(at.sm_mhz), number(at.mem_mhz), number(at.power_limit_mw)];
    row.extend(kernel.power.as_ref().map(|power| power[first]));
    row.extend(kernel.time.as_ref().filter(|_| level).map(|time| time[first]));
    row.extend(&kernel.counters[first]);
    row
}
