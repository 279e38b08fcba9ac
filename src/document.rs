//! Parts of the JSON documents that commands print, and the same facts as text.
//!
//! They are serde types rather than `serde_json` values because energies in mJ can pass 64 bits.

use std::collections::BTreeMap;

use rats_domain::check::Violation;
use rats_domain::evaluate::Evaluation;
use rats_domain::instance::Instance;
use rats_domain::problem::Warning;
use serde::Serialize;

use crate::report::{Align, duration, kwh, number, table};

/// The terms of the objective.
#[derive(Clone, Debug, Serialize)]
pub struct Terms {
    /// J.
    pub energy: f64,
    /// mJ, exact.
    pub energy_mj: i128,
    /// s.
    pub makespan: f64,
    /// Weighted s.
    pub completion: f64,
    /// Weighted s.
    pub tardiness: f64,
    /// In the unit of the tariff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Where the energy goes.
    pub split: Split,
}

/// Where the energy goes, J; the first four add up.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Split {
    /// Running gangs.
    pub gpu_run: f64,
    /// Powered GPUs that run nothing.
    pub gpu_idle: f64,
    /// Powered nodes without their GPUs.
    pub base: f64,
    /// Wake-ups.
    pub wake: f64,
    /// The part of `gpu_idle` and `base` on nodes that run nothing.
    pub vacant: f64,
}

/// A broken rule.
#[derive(Clone, Debug, Serialize)]
pub struct BrokenRule {
    /// Its code.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// The job that breaks it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// First tick.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick: Option<i64>,
    /// First tick after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<i64>,
    /// Where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// Something suspicious.
#[derive(Clone, Debug, Serialize)]
pub struct Suspicion {
    /// Its code.
    pub code: &'static str,
    /// Where.
    pub place: String,
    /// What is suspicious.
    pub message: String,
}

/// Number of broken rules by code.
pub type Counts = BTreeMap<&'static str, usize>;

impl Terms {
    /// The terms of an evaluated plan.
    pub fn of(instance: &Instance, evaluation: &Evaluation) -> Self {
        let terms = &evaluation.terms;
        let tick_s = instance.tick.0 as f64;
        let split = &evaluation.split;
        Self {
            energy: terms.energy.joules(),
            energy_mj: terms.energy.0,
            makespan: terms.makespan.seconds(instance.tick),
            completion: terms.completion * tick_s,
            tardiness: terms.tardiness * tick_s,
            cost: terms.cost,
            split: Split {
                gpu_run: split.gpu_run.joules(),
                gpu_idle: split.gpu_idle.joules(),
                base: split.base.joules(),
                wake: split.wake.joules(),
                vacant: split.vacant.joules(),
            },
        }
    }
}

impl From<&Violation> for BrokenRule {
    fn from(violation: &Violation) -> Self {
        Self {
            code: violation.code.id(),
            message: violation.message.clone(),
            job: violation.job.clone(),
            tick: violation.tick.map(|tick| tick.0),
            end: violation.end.map(|tick| tick.0),
            place: violation.place.clone(),
        }
    }
}

impl From<&Warning> for Suspicion {
    fn from(warning: &Warning) -> Self {
        Self { code: warning.code.id(), place: warning.place.clone(), message: warning.message.clone() }
    }
}

/// Broken rules by code.
pub fn counts(violations: &[Violation]) -> Counts {
    let mut counts = Counts::new();
    for violation in violations {
        *counts.entry(violation.code.id()).or_default() += 1;
    }
    counts
}

/// `V4: 2, V10: 1`.
pub fn counts_text(counts: &Counts) -> String {
    // Codes are ordered as text; V10 belongs after V9.
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by_key(|(code, _)| (code.len(), **code));
    let parts: Vec<_> = sorted.into_iter().map(|(code, count)| format!("{code}: {count}")).collect();
    parts.join(", ")
}

/// A document as the text that goes to standard output. Numbers that are not finite become null.
///
/// # Panics
/// Never for the documents of this crate: their keys are strings.
pub fn json<T: Serialize>(document: &T) -> String {
    let text = serde_json::to_string_pretty(document).expect("documents have string keys only");
    text + "\n"
}

/// What a plan is worth, one fact a line.
pub fn facts(instance: &Instance, evaluation: &Evaluation) -> Vec<Vec<String>> {
    let terms = &evaluation.terms;
    let energy = format!("{} ({})", kwh(terms.energy), terms.energy);
    let unit = instance.tariff_unit.as_deref().unwrap_or("");
    let tick = instance.tick;
    let makespan = format!("{} (tick {} of {})", duration(terms.makespan, tick), terms.makespan, instance.horizon);
    let mut facts = vec![("energy", energy)];
    facts.extend(terms.cost.map(|cost| ("cost", format!("{} {unit}", number(cost)).trim_end().to_owned())));
    facts.push(("makespan", makespan));
    facts.push(("peak power", evaluation.peak_power.to_string()));
    facts.push(("late jobs", late_text(instance, evaluation)));
    facts.into_iter().map(|(name, fact)| vec![name.to_owned(), fact]).collect()
}

/// Where the energy goes, as a table.
pub fn split_table(evaluation: &Evaluation) -> String {
    let split = &evaluation.split;
    let total = evaluation.terms.energy.0;
    let share = |energy: i128| if total == 0 { 0.0 } else { energy as f64 / total as f64 };
    let rows: Vec<_> = [
        ("running gangs", split.gpu_run),
        ("idle GPUs", split.gpu_idle),
        ("nodes without GPUs", split.base),
        ("wake-ups", split.wake),
    ]
    .into_iter()
    .map(|(name, energy)| vec![format!("  {name}"), kwh(energy), format!("{:.1} %", share(energy.0) * 100.0)])
    .collect();
    table(&rows, &[Align::Left, Align::Right])
}

fn late_text(instance: &Instance, evaluation: &Evaluation) -> String {
    const SHOWN: usize = 8;
    let late = &evaluation.late;
    if late.is_empty() {
        return "none".to_owned();
    }
    let names: Vec<_> = late.iter().take(SHOWN).map(|&job| instance.jobs[job].id.as_str()).collect();
    let more = if late.len() > SHOWN { ", ..." } else { "" };
    format!("{} ({}{more})", late.len(), names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_not_finite_become_null_and_energies_stay_integers() {
        #[derive(Serialize)]
        struct Document {
            bound: f64,
            energy_mj: i128,
        }
        let text = json(&Document { bound: f64::NAN, energy_mj: i128::from(u64::MAX) + 1 });
        assert_eq!(text, "{\n  \"bound\": null,\n  \"energy_mj\": 18446744073709551616\n}\n");
    }

    #[test]
    fn rules_are_counted_in_their_order() {
        let counts = Counts::from([("V10", 1), ("V4", 2)]);
        assert_eq!(counts_text(&counts), "V4: 2, V10: 1");
    }
}
