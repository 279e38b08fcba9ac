//! The registry of best known values, a TOML file that changes only through the checker.
//!
//! One table per family (the instance's folder) and instance. An entry gives way to a better value, to a proof, or when
//! the instance file itself has changed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The comment at the top of the file.
const HEADER: &str =
    "# Best known values. Written by `rats record`, which solves, checks and then writes; do not edit.\n\n";

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The instance was not known.
    New,
    /// It is better than the old one, or proves it.
    Better,
    /// The instance file has changed since.
    Renewed,
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
            Some(old) if is_better(&entry, old) => Change::Better,
            Some(_) => Change::None,
        };
        if change != Change::None {
            known.insert(instance.to_owned(), entry);
        }
        change
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
}
