//! What a floating-point bound proves, exactly.
//!
//! A bound of `HiGHS` is right up to its tolerances only. Where the objective is energy alone (or makespan alone) its
//! values lie on a grid: every contribution is a multiple of some number of mJ. A bound is first lowered by more than
//! the tolerances allow and then raised to the next grid value.

use rats_domain::instance::Instance;
use rats_domain::objective::Objective;
use rats_domain::units::{TickLength, Ticks};

use super::backend::Answer;
use super::backend::Verdict;
use super::linear::Program;

/// Relative error that tolerances of 1e-9 may leave in a bound, with a wide margin.
const ERROR: f64 = 1e-7;

/// What a plan has to beat, and what is proved when none does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Beat {
    /// Plans below it are looked for.
    pub threshold: f64,
    /// No plan is below it if none is below the threshold.
    pub proved: f64,
}

impl Beat {
    /// A known objective, within a relative gap; on a grid, a better plan is better by a step.
    pub fn new(instance: &Instance, objective: f64, gap: f64) -> Self {
        if gap > 0.0 {
            let threshold = objective - gap * objective.abs();
            return Self { threshold, proved: threshold };
        }
        let step = grid(instance).filter(|&step| step > 4.0 * ERROR * objective.abs());
        Self { threshold: objective - step.unwrap_or(0.0) / 2.0, proved: objective }
    }
}

/// The lower bound on the instance's objective that an answer proves.
pub(crate) fn bound(instance: &Instance, program: &Program, answer: &Answer) -> Option<f64> {
    let raw = program.objective(answer.bound?);
    let magnitude = program.columns.iter().map(|column| column.cost.abs()).fold(raw.abs(), f64::max);
    match grid(instance) {
        Some(step) if step > 4.0 * ERROR * magnitude => Some(((raw - ERROR * magnitude) / step).ceil() * step),
        _ if answer.verdict == Verdict::Optimal => Some(raw),
        _ => Some(raw - 1e-9 * magnitude),
    }
}

/// The step of the grid of possible objective values.
fn grid(instance: &Instance) -> Option<f64> {
    match instance.objective {
        Objective { energy, cost: 0.0, makespan: 0.0, completion: 0.0, tardiness: 0.0 } => {
            Some(energy * energy_step(instance) as f64 / 1e3)
        }
        Objective { energy: 0.0, cost: 0.0, makespan, completion: 0.0, tardiness: 0.0 } => {
            Some(makespan * Ticks(1).seconds(instance.tick))
        }
        _ => None,
    }
}

/// The greatest common divisor of everything that total energy can be made of, mJ.
fn energy_step(instance: &Instance) -> i128 {
    let TickLength(tick_s) = instance.tick;
    let powers = instance.jobs.values().flat_map(|job| job.options.values()).map(|option| option.power.0);
    let idle = instance.cluster.gpu_types.values().map(|kind| kind.idle.0);
    let base = instance.cluster.nodes.values().map(|node| node.base.0);
    let step = powers.chain(idle).chain(base).fold(0, |step, power| gcd(step, i128::from(power) * i128::from(tick_s)));
    instance.cluster.nodes.values().fold(step, |step, node| gcd(step, node.wake.0)).max(1)
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
