//! Shared helpers: documents to instances, plans and reports, and a small random number generator.

use std::collections::BTreeSet;

use rats_domain::check::{Report, check};
use rats_domain::format::{PlanFile, read};
use rats_domain::instance::Instance;
use rats_domain::problem::Problems;
use serde_json::Value;

/// The instance that a document states.
pub fn instance(document: &Value) -> Instance {
    try_instance(document).unwrap_or_else(|problems| panic!("{problems}\n{document}"))
}

/// The instance that a document states, or what is wrong with it.
pub fn try_instance(document: &Value) -> Result<Instance, Problems> {
    Instance::read(document.to_string().as_bytes()).map(|read| read.instance)
}

/// The plan that a document states.
pub fn plan(document: &Value) -> PlanFile {
    read(document.to_string().as_bytes()).unwrap_or_else(|problems| panic!("{problems}\n{document}")).document
}

/// What the checker says of a plan.
pub fn report(instance: &Instance, document: &Value) -> Report {
    check(instance, &plan(document)).unwrap_or_else(|problems| panic!("{problems}\n{document}"))
}

/// The codes of all violations.
pub fn codes(report: &Report) -> BTreeSet<&'static str> {
    report.violations.iter().map(|violation| violation.code.id()).collect()
}

/// Sets the value at a JSON pointer; the last step may name a new key or the index after the last.
pub fn set(document: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap_or_else(|| panic!("no {parent}")) {
        Value::Object(fields) => {
            fields.insert(key.to_owned(), value);
        }
        Value::Array(entries) => {
            let index: usize = key.parse().unwrap();
            if index == entries.len() {
                entries.push(value);
            } else {
                entries[index] = value;
            }
        }
        other => panic!("{parent} is {other}"),
    }
}

/// Removes the value at a JSON pointer.
pub fn remove(document: &mut Value, pointer: &str) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap() {
        Value::Object(fields) => assert!(fields.remove(key).is_some(), "no {pointer}"),
        Value::Array(entries) => {
            entries.remove(key.parse().unwrap());
        }
        other => panic!("{parent} is {other}"),
    }
}

/// Whether two sums of doubles agree but for rounding.
pub fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
}

/// A random number generator: `SplitMix64` (Steele, Lea, Flood, 2014).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in `least..=most`.
    pub fn between(&mut self, least: i64, most: i64) -> i64 {
        least + i64::try_from(self.next() % u64::try_from(most - least + 1).unwrap()).unwrap()
    }

    /// A position in a list of this length.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(length).unwrap()).unwrap()
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: i64) -> bool {
        self.between(1, 100) <= percent
    }

    /// One of these.
    pub fn pick<'t, T>(&mut self, things: &'t [T]) -> &'t T {
        &things[self.index(things.len())]
    }

    /// Puts these into random order.
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.index(last + 1));
        }
    }
}
