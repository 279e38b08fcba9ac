//! Bytes at random and documents damaged at random: the readers and the checker say what is wrong and never panic.
//!
//! `RATS_FUZZ_CASES` sets the number of cases of each target.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rats_domain::check::check;
use rats_domain::format::{PlanFile, read};
use rats_domain::instance::Instance;
use rats_domain::problem::Problems;
use serde_json::{Value, json};

use crate::mutation::{base_instance, base_plan};
use crate::support::instance;

fn config() -> ProptestConfig {
    let cases = std::env::var("RATS_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(400);
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() }
}

/// Reads an instance and, if it is one, checks the base plan against it.
fn instance_target(bytes: &[u8]) -> Result<(), Problems> {
    let read = Instance::read(bytes)?;
    let plan: PlanFile = serde_json::from_value(base_plan()).unwrap();
    check(&read.instance, &plan).map(|_| ())
}

fn plan_target(bytes: &[u8], instance: &Instance) -> Result<(), Problems> {
    check(instance, &read::<PlanFile>(bytes)?.document).map(|_| ())
}

fn says_what_is_wrong(result: Result<(), Problems>) -> bool {
    result.err().is_none_or(|Problems(problems)| {
        !problems.is_empty() && problems.iter().all(|problem| !problem.to_string().is_empty())
    })
}

#[derive(Clone, Debug)]
enum Change {
    Flip(prop::sample::Index, u8),
    Delete(prop::sample::Index, usize),
    Insert(prop::sample::Index, Vec<u8>),
    /// Copies a part of the document elsewhere.
    Splice(prop::sample::Index, prop::sample::Index, usize),
}

fn change() -> impl Strategy<Value = Change> {
    use prop::sample::Index;
    let token = prop::sample::select(vec![
        "0",
        "1",
        "-1",
        "9",
        "e9",
        ".5",
        "-",
        "null",
        "[]",
        "{}",
        "\"\"",
        "true",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "\"",
        "2147483648",
        "2147483649",
        "9223372036854775807",
        "-9223372036854775808",
        "1e999",
        "\\u0000",
        "n0/0",
    ]);
    let insert = prop_oneof![
        token.prop_map(|token| token.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 1..4),
        prop::collection::vec(b'0'..=b'9', 1..24),
    ];
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, bits)| Change::Flip(at, bits)),
        (any::<Index>(), 1_usize..12).prop_map(|(at, length)| Change::Delete(at, length)),
        (any::<Index>(), insert).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        (any::<Index>(), any::<Index>(), 1_usize..200).prop_map(|(from, to, length)| Change::Splice(from, to, length)),
    ]
}

fn changed(document: &Value, changes: &[Change]) -> Vec<u8> {
    let mut bytes = document.to_string().into_bytes();
    for change in changes {
        let length = bytes.len().max(1);
        let end = |at: usize, size: usize| (at + size).min(bytes.len());
        match change {
            Change::Flip(at, bits) => {
                if let Some(byte) = bytes.get_mut(at.index(length)) {
                    *byte ^= bits;
                }
            }
            Change::Delete(at, size) => {
                let range = at.index(length)..end(at.index(length), *size);
                bytes.drain(range);
            }
            Change::Insert(at, inserted) => {
                let at = at.index(length);
                bytes.splice(at..at, inserted.iter().copied());
            }
            Change::Splice(from, to, size) => {
                let part = bytes[from.index(length)..end(from.index(length), *size)].to_vec();
                let to = to.index(length);
                bytes.splice(to..to, part);
            }
        }
    }
    bytes
}

/// Where a document holds a number, and other numbers to put there.
fn numbers(value: &Value, pointer: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(pointer.to_owned()),
        Value::Array(entries) => {
            entries.iter().enumerate().for_each(|(index, entry)| numbers(entry, &format!("{pointer}/{index}"), found));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(key, field)| numbers(field, &format!("{pointer}/{key}"), found));
        }
        _ => {}
    }
}

fn extreme() -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::sample::select(vec![
            i64::MIN,
            i64::MAX,
            0,
            -1,
            1 << 31,
            (1 << 31) + 1,
            -(1 << 31),
            1_000_000_000,
            1_000_000
        ])
        .prop_map(|number| json!(number)),
        any::<i64>().prop_map(|number| json!(number)),
        (-5_i64..50).prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
    ]
}

fn with_numbers(mut document: Value, changes: Vec<(prop::sample::Index, Value)>) -> Vec<u8> {
    let mut places = Vec::new();
    numbers(&document, "", &mut places);
    for (at, number) in changes {
        *document.pointer_mut(&places[at.index(places.len())]).unwrap() = number;
    }
    document.to_string().into_bytes()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn random_bytes_are_no_instance_and_no_plan(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(Instance::read(&bytes).is_err() && says_what_is_wrong(instance_target(&bytes)));
        prop_assert!(says_what_is_wrong(plan_target(&bytes, &instance(&base_instance()))));
    }

    #[test]
    fn a_changed_instance_is_read_or_refused(changes in prop::collection::vec(change(), 1..5)) {
        prop_assert!(says_what_is_wrong(instance_target(&changed(&base_instance(), &changes))));
    }

    #[test]
    fn a_changed_plan_is_checked_or_refused(changes in prop::collection::vec(change(), 1..5)) {
        prop_assert!(says_what_is_wrong(plan_target(&changed(&base_plan(), &changes), &instance(&base_instance()))));
    }

    #[test]
    fn an_instance_with_extreme_numbers_is_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), extreme()), 1..4),
    ) {
        prop_assert!(says_what_is_wrong(instance_target(&with_numbers(base_instance(), changes))));
    }

    #[test]
    fn a_plan_with_extreme_numbers_is_checked_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), extreme()), 1..4),
    ) {
        let bytes = with_numbers(base_plan(), changes);
        prop_assert!(says_what_is_wrong(plan_target(&bytes, &instance(&base_instance()))));
    }
}
