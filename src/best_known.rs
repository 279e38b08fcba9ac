//! The registry of best known values, a TOML file that changes only through the checker.
//!
//! One table per family (the instance's folder) and instance. An entry gives way to a better value, to a proof, to
//! what contradicts it, or when the instance file itself has changed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The comment at the top of the file.
const HEADER: &str =
    "# Best known values. Written by `rats record`, which solves, checks and then writes; do not edit.\n\n";

/// How far a value may lie below a bound, relative, before one of them must be wrong.
const TOLERANCE: f64 = 1e-6;

/// All entries, by family and instance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BestKnown {
    families: BTreeMap<String, BTreeMap<String, Entry>>,
}

/// What is known of one instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// `optimal`, `feasible` or `infeasible`.
    pub status: String,
    /// The objective of the best plan; none if infeasible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<f64>,
    /// A proven lower bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// Energy of that plan, mJ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_mj: Option<i64>,
    /// Who found it.
    pub solver: String,
    /// SHA-256 of the instance file.
    pub instance_sha256: String,
}

/// What became of an entry that was offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The instance was not known.
    New,
    /// It is better than the old one, or proves it.
    Better,
    /// The instance file has changed since.
    Renewed,
    /// What was recorded cannot be true; in words.
    Contradicted(String),
    /// It says nothing new.
    None,
}

impl BestKnown {
    /// Reads the registry.
    ///
    /// # Errors
    /// The text is not the registry's TOML; in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// The registry as text.
    pub fn to_text(&self) -> String {
        format!("{HEADER}{}", toml::to_string(self).unwrap_or_default())
    }

    /// The entry of an instance.
    pub fn get(&self, family: &str, instance: &str) -> Option<&Entry> {
        self.families.get(family)?.get(instance)
    }

    /// Takes an entry where it says something new.
    pub fn offer(&mut self, family: &str, instance: &str, entry: Entry) -> Change {
        let known = self.families.entry(family.to_owned()).or_default();
        let change = match known.get(instance) {
            None => Change::New,
            Some(old) if old.instance_sha256 != entry.instance_sha256 => Change::Renewed,
            Some(old) => match contradiction(&entry, old) {
                Some(words) => Change::Contradicted(words),
                None if is_better(&entry, old) => Change::Better,
                None => Change::None,
            },
        };
        if change != Change::None {
            known.insert(instance.to_owned(), entry);
        }
        change
    }
}

/// Why the two cannot both be true, if they cannot. Differences that rounding could have made count for nothing.
fn contradiction(new: &Entry, old: &Entry) -> Option<String> {
    let below = |value: f64, bound: f64| value < bound - TOLERANCE * bound.abs().max(value.abs());
    match (old.objective, old.bound, new.objective, new.bound) {
        (Some(claimed), _, None, _) if new.status == "infeasible" => {
            Some(format!("the record claimed {claimed}, proof gives that no plan exists"))
        }
        (None, _, Some(found), _) if old.status == "infeasible" => {
            Some(format!("the record claimed that no plan exists, a checked plan gives {found}"))
        }
        (Some(claimed), _, _, Some(bound)) if below(claimed, bound) => {
            Some(format!("the record claimed {claimed}, proof gives at least {bound}"))
        }
        (_, Some(bound), Some(found), _) if below(found, bound) => {
            Some(format!("the record claimed at least {bound}, a checked plan gives {found}"))
        }
        _ => None,
    }
}

fn is_better(new: &Entry, old: &Entry) -> bool {
    let proof = |entry: &Entry| entry.status != "feasible";
    match (new.objective, old.objective) {
        (Some(new_value), Some(old_value)) => {
            new_value < old_value || (new_value <= old_value && proof(new) && !proof(old))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(status: &str, objective: f64, hash: &str) -> Entry {
        let (solver, instance_sha256) = ("milp".to_owned(), hash.to_owned());
        Entry {
            status: status.to_owned(),
            objective: Some(objective),
            bound: None,
            energy_mj: None,
            solver,
            instance_sha256,
        }
    }

    #[test]
    fn only_what_is_better_or_proved_replaces_an_entry() {
        let mut registry = BestKnown::default();
        assert_eq!(registry.offer("tiny", "a", entry("feasible", 10.0, "x")), Change::New);
        assert_eq!(registry.offer("tiny", "a", entry("feasible", 11.0, "x")), Change::None);
        assert_eq!(registry.offer("tiny", "a", entry("optimal", 10.0, "x")), Change::Better);
        assert_eq!(registry.offer("tiny", "a", entry("feasible", 10.0, "x")), Change::None);
        assert_eq!(registry.offer("tiny", "a", entry("feasible", 12.0, "y")), Change::Renewed);
        assert_eq!(BestKnown::parse(&registry.to_text()), Ok(registry));
    }

    #[test]
    fn a_proof_replaces_what_it_contradicts() {
        let mut registry = BestKnown::default();
        registry.offer("tiny", "a", entry("optimal", 10.0, "x"));
        let proved = Entry { bound: Some(12.0), ..entry("optimal", 12.0, "x") };
        let change = registry.offer("tiny", "a", proved);
        assert_eq!(change, Change::Contradicted("the record claimed 10, proof gives at least 12".to_owned()));
        assert_eq!(registry.get("tiny", "a").and_then(|entry| entry.objective), Some(12.0));
        let none = Entry { objective: None, ..entry("infeasible", 0.0, "x") };
        assert!(matches!(registry.offer("tiny", "a", none), Change::Contradicted(_)));
        assert!(matches!(registry.offer("tiny", "a", entry("feasible", 9.0, "x")), Change::Contradicted(_)));
    }
}
