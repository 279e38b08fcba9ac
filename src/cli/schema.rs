//! `rats schema`: JSON Schemas made from the types that read the files, and the index of codes.

use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use rats_domain::codes::{Code, Family};
use rats_domain::format::{
    FabricFile, GpuFile, InstanceFile, InventoryFile, ModelFile, PairsFile, PlanFile, ProfileFile,
};
use schemars::schema_for;

use crate::document::json;

/// Of `rats schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// What to print.
    #[arg(value_enum)]
    pub what: SchemaOf,
}

/// What `rats schema` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// JSON Schema of instances.
    Instance,
    /// JSON Schema of plans.
    Plan,
    /// JSON Schema of kinds of GPU.
    Gpu,
    /// JSON Schema of networks.
    Fabric,
    /// JSON Schema of inventories: which real GPU each GPU of an instance is.
    Inventory,
    /// JSON Schema of profiles: time and power of one workload on one type of GPU.
    Profile,
    /// JSON Schema of models: time and power of one workload over operating points, fitted.
    Model,
    /// JSON Schema of pairs: rates of workloads side by side on one GPU.
    Pairs,
    /// The index of all codes, in Markdown.
    Codes,
}

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
