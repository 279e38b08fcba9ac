//! Lower bounds and proofs of infeasibility that need no solver.
//!
//! # Idea
//! Bound each term of the objective by itself and add the bounds up with the objective's weights. A ladder from cheap to
//! strong; every rung is valid on its own and the best counts.
//!
//! # Model
//! * *windows*: no job ends before its release (or the end of the jobs before it) plus its shortest option.
//! * *energetic*: a node of G GPUs that runs k of them draws at least k/G of its base power for them, so each GPU-tick
//!   costs at least the cheapest share; always-on nodes are instead charged for the makespan, or a mixture of the two.
//! * *lagrangian*: see [`lagrange`]; here with a limited number of steps.
//!
//! # Complexity
//! Linear in the number of options, times the tariff's steps under a price.
//!
//! # Limits
//! The first two bound jobs one by one: links, caps and the packing of nodes are not seen.
//!
//! # References
//! P. Baptiste, C. Le Pape, W. Nuijten, Constraint-Based Scheduling (energetic reasoning), 2001.

mod energy;
pub mod lagrange;
mod price;

use rats_domain::check::check_schedule;
use rats_domain::codes::Code;
use rats_domain::format::PowerMode;
use rats_domain::instance::Instance;
use rats_domain::schedule::Schedule;
use rats_domain::units::Ticks;

pub(crate) use self::energy::beyond_idle;
use crate::windows::Windows;

/// What rounding of sums of doubles may have added, relative.
const ROUNDING: f64 = 1e-12;
/// Choices that the Lagrangian rung may look at; more steps are the business of a solver.
const LAGRANGIAN_WORK: usize = 300_000_000;
/// Its most steps.
const LAGRANGIAN_STEPS: usize = 2000;

/// A proven lower bound on the objective of every valid plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The bound.
    pub value: f64,
    /// Name of the argument that gave it.
    pub name: &'static str,
}

/// The best bound of the ladder.
pub fn lower_bound(instance: &Instance) -> Bound {
    strongest(&ladder(instance)).unwrap_or(Bound { value: f64::NEG_INFINITY, name: "none" })
}

/// The strongest of some bounds.
pub fn strongest(bounds: &[Bound]) -> Option<Bound> {
    bounds.iter().copied().max_by(|a, b| a.value.total_cmp(&b.value))
}

/// All bounds, each valid by itself, from cheap to strong.
pub fn ladder(instance: &Instance) -> Vec<Bound> {
    let windows = Windows::new(instance);
    let objective = &instance.objective;
    let tick_s = Ticks(1).seconds(instance.tick);
    let delays = objective.makespan * tick_s * windows.makespan().0 as f64
        + objective.completion * tick_s * windows.completion()
        + objective.tardiness * tick_s * windows.tardiness();
    let rung = |name, energy: f64, cost: f64| {
        let value = delays + objective.energy * energy + objective.cost * cost;
        Bound { value: value - ROUNDING * value.abs(), name }
    };
    let cost = if objective.cost > 0.0 { price::bound(instance, &windows) } else { 0.0 };
    let cheap = energy::bounds(instance, &windows).into_iter().map(|(name, energy)| rung(name, energy.joules(), cost));
    let mut rungs: Vec<Bound> = Vec::new();
    for bound in cheap.chain(lagrangian(instance)) {
        // One rung a name: of its mixtures the energetic argument counts with the best.
        match rungs.iter_mut().find(|rung| rung.name == bound.name) {
            Some(rung) => rung.value = rung.value.max(bound.value),
            None => rungs.push(bound),
        }
    }
    rungs
}

/// The Lagrangian rung, for horizons that it takes.
fn lagrangian(instance: &Instance) -> Option<Bound> {
    let model = lagrange::Relaxation::new(instance)?;
    let mut ascent = lagrange::Ascent::new(&model, None);
    ascent.climb((LAGRANGIAN_WORK / model.work()).min(LAGRANGIAN_STEPS), |_| false);
    Some(Bound { value: ascent.bound(), name: "lagrangian" }).filter(|bound| bound.value.is_finite())
}

/// Why no plan can be valid, where a cheap argument shows it.
pub fn infeasible(instance: &Instance) -> Option<String> {
    fixed_break_rules(instance).or_else(|| Windows::new(instance).too_tight())
}

/// Rules that fixed jobs break among themselves stay broken whatever is added.
fn fixed_break_rules(instance: &Instance) -> Option<String> {
    let lasting = [Code::V3, Code::V4, Code::V5, Code::V6, Code::V7, Code::V8, Code::V9, Code::V12];
    let report = check_schedule(instance, &Schedule::fixed_only(instance)).ok()?;
    let broken = report.violations.iter().find(|violation| lasting.contains(&violation.code));
    let broken =
        broken.map(|violation| format!("the fixed jobs alone break {}: {}", violation.code, violation.message));
    broken.or_else(|| fixed_too_early(instance))
}

fn fixed_too_early(instance: &Instance) -> Option<String> {
    let fixed = instance.jobs.values().filter_map(|job| job.fixed.as_ref().map(|fixed| (job, fixed)));
    let mut early = fixed.filter(|(job, fixed)| fixed.start + job.options[fixed.option].ticks > Ticks::ZERO).flat_map(
        |(job, fixed)| {
            fixed.gpus.iter().map(move |&gpu| (job, fixed, &instance.cluster.nodes[instance.cluster.gpus[gpu].node]))
        },
    );
    let (job, _, node) = early.find(|(_, fixed, node)| {
        node.power == PowerMode::Sleep && !node.on_at_start && fixed.start.max(Ticks::ZERO) < node.wake_ticks
    })?;
    Some(format!("fixed job `{}` runs on node `{}` before it can have woken (V13)", job.id, node.id))
}
