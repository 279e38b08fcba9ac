//! Perseus (SOSP 2024): training of large models at locked clocks and under power limits, A100 and A40.
//!
//! * `stage_profile/<model>+<gpu>_<precision>.csv`: one pipeline stage's forward and backward pass at every clock.
//! * `measured_runs.csv`: whole training runs, one row a run plan and rank.
//! * `zeus/csv/*/zeus_{global,local}.csv`: the runs under power limits once more, in sums; checked only.

mod runs;
mod stages;

use rats_domain::format::SourceFile;

use super::Imported;
use super::cells::{Cells, JOULES, SECONDS};
use super::findings::Findings;
use super::input::Input;
use super::table::Table;

pub(super) fn import(inputs: &[Input], imported: &mut Imported) {
    for input in inputs {
        let (name, path) = (input.file_name(), input.path());
        if let Some(stage) = stages::parse_name(name) {
            stages::import(input, &stage, imported);
        } else if name == "measured_runs.csv" {
            runs::import(input, imported);
        } else if matches!(name, "zeus_global.csv" | "zeus_local.csv") {
            sums(input, &mut imported.findings);
        } else if path.contains("iteration_time_energy") || name == "envpipe_result.csv" {
            imported.findings.skip(&input.name, "computed by a planner, not measured");
        } else if name.starts_with("models_") && input.is("csv") {
            imported.findings.skip(&input.name, "the shape of the runs, which every row of the runs states too");
        } else if name.ends_with(".prof.json") || name.ends_with(".sched.json") {
            imported.findings.skip(&input.name, "raw samples of one run plan, whose means are in the runs");
        } else {
            imported.findings.stranger(&input.name);
        }
    }
}

/// Iterations under power limits, in sums over the ranks.
fn sums(input: &Input, findings: &mut Findings) {
    let required = ["model_name", "dp", "tp", "pp", "power_limit_0", "time", "energy"];
    let Some(table) = Table::read(input, &required, findings) else { return };
    let limits: Vec<_> = table.columns().filter(|column| is_limit(column)).collect();
    table.each(findings, |cells: &mut Cells<'_, '_>| {
        let name = cells.text("model_name").is_some();
        let figures = [cells.number("time", SECONDS).is_some(), cells.number("energy", JOULES).is_some()];
        let mut good = name && figures.into_iter().all(|good| good);
        for limit in &limits {
            // Runs on fewer GPUs leave the limits of the others empty or 0.
            let limited = cells.has(limit) && cells.optional(limit).and_then(|text| text.parse().ok()) != Some(0.0);
            let needed = *limit == "power_limit_0" || limited;
            good &= !needed || cells.decimal(limit).is_some();
        }
        good.then_some(())
    });
    findings.notes.push(format!("{}: checked, not written: the runs hold the same iterations by rank.", input.name));
}

fn is_limit(column: &str) -> bool {
    column.strip_prefix("power_limit_").is_some_and(|rank| rank.parse::<u16>().is_ok())
}

/// The catalogue's name of a GPU type, and the machine.
const GPUS: [(&str, (&str, &str)); 3] = [
    ("a40", ("a40", "nodes of 4 NVIDIA A40 48 GB, EPYC 7513")),
    ("a100", ("a100-pcie-80gb", "4 NVIDIA A100 80 GB PCIe, 2 Xeon 8380")),
    ("a100_sxm", ("a100-sxm-80gb", "4 NVIDIA A100 80 GB SXM, 2 EPYC 7763; power limit not stated")),
];

fn source(path: &str, hardware: &str) -> SourceFile {
    let citation = "J.-W. Chung, Y. Gu, I. Jang, L. Meng, N. Bansal, M. Chowdhury, \"Reducing Energy Bloat in Large Model \
                    Training\", SOSP 2024";
    SourceFile {
        id: Some("perseus".to_owned()),
        title: "Reducing Energy Bloat in Large Model Training".to_owned(),
        authors: Some("J.-W. Chung, Y. Gu, I. Jang, L. Meng, N. Bansal, M. Chowdhury".to_owned()),
        repository: Some("https://github.com/ml-energy/zeus".to_owned()),
        commit: Some("1b1c4a9d7fe73b9bc3ca3a365feb60e851226296".to_owned()),
        path: Some(path.to_owned()),
        licence: Some("Apache-2.0".to_owned()),
        hardware: Some(hardware.to_owned()),
        citation: Some(citation.to_owned()),
    }
}
