//! What all runs together show of each instance, and claims that cannot all be true.

use std::collections::BTreeMap;

use super::case::Case;
use super::report::Report;
use super::row::{Ending, InstanceKey, Row, is_above};
use crate::report::{number, printable};

/// The best of an instance, of the registry and of all runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reference {
    /// Objective of the best valid plan.
    pub objective: Option<f64>,
    /// The highest lower bound that lies above no plan.
    pub bound: Option<f64>,
    /// Whether it was proved, and by no plan disproved, that there is no plan.
    pub is_infeasible: bool,
}

/// A bound above a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Contradiction {
    /// Suite and name of the instance.
    pub instance: InstanceKey,
    /// Who claims the bound.
    pub claimant: String,
    /// The bound; infinite where it was claimed that there is no plan.
    pub bound: f64,
    /// Who found the plan.
    pub finder: String,
    /// Its objective.
    pub objective: f64,
}

/// Who says it, and what.
type Claims = Vec<(String, f64)>;

/// References by instance, and all contradictions.
pub fn references(report: &Report) -> (BTreeMap<InstanceKey, Reference>, Vec<Contradiction>) {
    let mut references = BTreeMap::new();
    let mut contradictions = Vec::new();
    for case in &report.env.instances {
        let rows: Vec<_> = report.rows.iter().filter(|row| row.instance_key() == case.key()).collect();
        let (plans, bounds) = claims(case, &rows);
        let best = plans.iter().min_by(|a, b| a.1.total_cmp(&b.1)).cloned();
        let mut reference = Reference { objective: best.as_ref().map(|best| best.1), ..Reference::default() };
        for (claimant, bound) in bounds {
            match &best {
                Some((finder, objective)) if is_above(bound, *objective) => contradictions.push(Contradiction {
                    instance: case.key(),
                    claimant,
                    bound,
                    finder: finder.clone(),
                    objective: *objective,
                }),
                None if bound == f64::INFINITY => reference.is_infeasible = true,
                _ => reference.bound = Some(reference.bound.map_or(bound, |known| known.max(bound))),
            }
        }
        references.insert(case.key(), reference);
    }
    (references, contradictions)
}

/// Objectives of valid plans, and bounds.
fn claims(case: &Case, rows: &[&Row]) -> (Claims, Claims) {
    let mut plans = Claims::new();
    let mut bounds = Claims::new();
    if let Some(entry) = &case.best_known {
        let who = || format!("{} on record", entry.solver);
        plans.extend(entry.objective.map(|objective| (who(), objective)));
        bounds.extend(entry.bound.map(|bound| (who(), bound)));
        bounds.extend((entry.status == "infeasible").then(|| (who(), f64::INFINITY)));
    }
    for row in rows {
        let who = || format!("{} with seed {}", row.solver, row.seed);
        plans.extend(row.plan().map(|objective| (who(), objective)));
        bounds.extend(row.bound.map(|bound| (who(), bound)));
        bounds.extend((row.status == Ending::Infeasible).then(|| (who(), f64::INFINITY)));
    }
    (plans, bounds)
}

impl Contradiction {
    /// The line that must not be overlooked.
    pub fn text(&self) -> String {
        let claim = if self.bound == f64::INFINITY {
            "claims that no plan exists".to_owned()
        } else {
            format!("claims the bound {}", number(self.bound))
        };
        let (suite, name) = &self.instance;
        let (objective, finder) = (number(self.objective), &self.finder);
        let difference = number(self.bound - self.objective);
        let line = format!(
            "BOUND ABOVE PLAN: {suite}/{name}: {} {claim}, a plan of {finder} has {objective} ({difference} less).",
            self.claimant
        );
        printable(&line).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::row::tests::row;
    use crate::bench::summary::tests::report;

    #[test]
    fn a_bound_above_the_plan_of_another_solver_is_found() {
        let mut exact = row("a", "exact", 0, Some(12.0));
        exact.bound = Some(12.0);
        let mut other = row("a", "other", 0, Some(11.0));
        other.bound = Some(7.0);
        let (references, contradictions) = references(&report(vec![exact, other]));
        let found = Reference { objective: Some(11.0), bound: Some(7.0), is_infeasible: false };
        assert_eq!(references.values().collect::<Vec<_>>(), [&found]);
        let [contradiction] = &contradictions[..] else { panic!("{contradictions:?}") };
        let expected = "BOUND ABOVE PLAN: suite/a: exact with seed 0 claims the bound 12, a plan of other with seed 0 has 11 (1 less).";
        assert_eq!(contradiction.text(), expected);
    }

    #[test]
    fn a_plan_disproves_infeasibility() {
        let mut exact = row("a", "exact", 0, None);
        exact.status = Ending::Infeasible;
        assert!(references(&report(vec![exact.clone()])).0.values().all(|reference| reference.is_infeasible));
        let (references, contradictions) = references(&report(vec![exact, row("a", "other", 3, Some(11.0))]));
        assert!(references.values().all(|reference| !reference.is_infeasible));
        assert!(contradictions[0].text().contains("claims that no plan exists"), "{}", contradictions[0].text());
    }

    #[test]
    fn an_invalid_plan_disproves_nothing() {
        let mut exact = row("a", "exact", 0, Some(12.0));
        exact.bound = Some(12.0);
        let mut other = row("a", "other", 0, Some(11.0));
        other.valid = Some(false);
        assert_eq!(references(&report(vec![exact, other])).1, []);
    }
}
