//! Files of component utilizations: four lines of head, then a row a measurement or application.
//!
//! Line 1: number of clock domains. Line 2: default SM and memory clock, MHz. Line 3: components per domain. Line 4: their
//! names. Utilizations are shares of the peak at the default clocks.

use std::collections::BTreeMap;

use rats_domain::codes::Code;

use super::super::cells::Cells;
use super::super::findings::Findings;
use super::super::input::Input;
use super::super::names::rounded;
use super::super::table::Table;

/// Names in the files and of counters.
const COMPONENTS: [(&str, &str); 18] = [
    ("SP ADD", "util_sp_add"),
    ("SP MUL", "util_sp_mul"),
    ("SP FMA", "util_sp_fma"),
    ("FP32 ADD", "util_sp_add"),
    ("FP32 MUL", "util_sp_mul"),
    ("FP32 FMA", "util_sp_fma"),
    ("INT", "util_int"),
    ("DP ADD", "util_dp_add"),
    ("DP MUL", "util_dp_mul"),
    ("DP FMA", "util_dp_fma"),
    ("FP64 ADD", "util_dp_add"),
    ("FP64 MUL", "util_dp_mul"),
    ("FP64 FMA", "util_dp_fma"),
    ("SFU", "util_sfu"),
    ("CF", "util_cf"),
    ("L2", "util_l2"),
    ("Shared", "util_shared"),
    ("DRAM", "util_dram"),
];
/// Above it a number is no share of a peak but something else.
const MOST_UTILIZATION: f64 = 2.0;

/// Utilizations by name of counter.
pub(super) type Counters = BTreeMap<String, f64>;

/// Reads such a file as a table whose first columns are these.
pub(super) fn table(input: &Input, first: &[&str], findings: &mut Findings) -> Option<Table> {
    let text = input.text(findings)?;
    let mut lines = text.lines();
    let head: Vec<_> = lines.by_ref().take(4).collect();
    let [domains, clocks, _, names] = head[..] else {
        findings.damage(Code::D01, input.name.clone(), "has fewer than the 4 lines of its head.");
        return None;
    };
    if domains.trim() != "2" || clocks.split(',').filter_map(|clock| clock.trim().parse::<u32>().ok()).count() != 2 {
        let message = "does not begin with the number of clock domains (2) and the two default clocks.";
        findings.damage(Code::D02, format!("{}: line 1", input.name), message);
        return None;
    }
    // The header goes to the line of the names, so that rows keep their lines.
    let rows: Vec<_> = lines.collect();
    let text = format!("\n\n\n{},{names}\n{}\n", first.join(","), rows.join("\n"));
    Table::read(&Input { name: input.name.clone(), bytes: text.into_bytes(), named: input.named }, first, findings)
}

/// The utilizations of a row; `None` if one of them is damaged.
pub(super) fn counters(cells: &mut Cells<'_, '_>) -> Option<Counters> {
    let mut counters = Counters::new();
    let mut good = true;
    for (component, name) in COMPONENTS {
        if cells.has(component) {
            match cells.number(component, 0.0..=MOST_UTILIZATION) {
                Some(value) => drop(counters.insert(name.to_owned(), rounded(value))),
                None => good = false,
            }
        }
    }
    if counters.is_empty() && good {
        cells.damage(Code::D02, "utilizations", "no known component has a value.");
        return None;
    }
    good.then_some(counters)
}
