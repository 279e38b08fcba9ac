//! Committed pages that the program itself prints.

use std::fs;
use std::path::Path;

use crate::harness::Place;

#[track_caller]
fn is_up_to_date(page: &str, words: &str) {
    let committed = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap_or_default();
    let printed = Place::with_plans(&[]).rats(words).stdout;
    assert!(committed == printed, "{page} is not what `rats {words}` prints; run `make docs`");
}

#[test]
fn the_index_of_codes_is_up_to_date() {
    is_up_to_date("docs/codes.md", "schema codes");
}

#[test]
fn the_schema_of_instances_is_up_to_date() {
    is_up_to_date("docs/schema/instance.schema.json", "schema instance");
}

#[test]
fn the_schema_of_plans_is_up_to_date() {
    is_up_to_date("docs/schema/plan.schema.json", "schema plan");
}
