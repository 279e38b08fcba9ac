//! `rats schema`: JSON Schemas made from the types that read the files, and the index of codes.

use std::fmt::Write as _;

use rats_domain::codes::{Code, Family};
use rats_domain::format::{
    FabricFile, GpuFile, InstanceFile, InventoryFile, ModelFile, PairsFile, PlanFile, ProfileFile,
};
use schemars::schema_for;

use super::args::SchemaOf;
use crate::document::json;

pub(super) fn text(what: SchemaOf) -> String {
    match what {
        SchemaOf::Instance => json(&schema_for!(InstanceFile)),
        SchemaOf::Plan => json(&schema_for!(PlanFile)),
        SchemaOf::Gpu => json(&schema_for!(GpuFile)),
        SchemaOf::Fabric => json(&schema_for!(FabricFile)),
        SchemaOf::Inventory => json(&schema_for!(InventoryFile)),
        SchemaOf::Profile => json(&schema_for!(ProfileFile)),
        SchemaOf::Model => json(&schema_for!(ModelFile)),
        SchemaOf::Pairs => json(&schema_for!(PairsFile)),
        SchemaOf::Codes => codes(),
    }
}

/// The index of all codes, one table a family.
fn codes() -> String {
    let mut text = "\
# Codes

Everything that can be wrong has a code that does not change. This page is printed by `rats schema codes`.
"
    .to_owned();
    for family in Family::ALL {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n## {}\n\n| code | meaning | remedy |\n|---|---|---|\n", family.title());
        for code in Code::ALL.iter().filter(|code| code.family() == family) {
            let cell = |words: &str| words.replace('|', "\\|");
            let _ = writeln!(text, "| {code} | {} | {} |", cell(code.meaning()), cell(code.remedy()));
        }
    }
    text
}
