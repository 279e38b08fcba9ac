//! Texas Tech University: kernels and applications on a V100 (GV100) at 117 SM clocks.
//!
//! `mean_fp_data_*.csv` holds the mean power and the run time of every application at every clock. The energy column
//! does not agree with either and is not used.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::format::{
    ColumnOrigin, Figure, Kind, MeasuredPointFile, OriginFile, ProfileFile, SourceFile, WorkloadFile,
};

use super::Imported;
use super::cells::{AMOUNT, COUNT, Cells, SECONDS, WATTS};
use super::input::Input;
use super::names::{rounded, slug};
use super::table::Table;

const COLUMNS: [&str; 4] = ["application", "sm_app_clock", "power_usage", "run_time"];

/// DCGM activities (shares) and byte rates, under their own names. Those that are 0 in every row were not collected.
const COUNTERS: [&str; 6] =
    ["gr_engine_active", "dram_active", "fp64_active", "fp32_active", "pcie_tx_bytes", "pcie_rx_bytes"];

struct Run {
    application: String,
    clock: i64,
    watts: f64,
    seconds: f64,
    counters: BTreeMap<String, f64>,
}

pub(super) fn import(inputs: &[Input], imported: &mut Imported) {
    // Where a clock of an application was read first.
    let mut groups: BTreeMap<(String, String), BTreeMap<i64, (String, Run)>> = BTreeMap::new();
    for input in inputs {
        let name = input.file_name();
        if !(name.starts_with("mean_") && input.is("csv")) {
            imported.findings.stranger(&input.name);
            continue;
        }
        let findings = &mut imported.findings;
        let Some(table) = Table::read(input, &COLUMNS, findings) else { continue };
        for (line, run) in table.each(findings, read) {
            let group = groups.entry((run.application.clone(), name.to_owned())).or_default();
            if let Some((first, _)) = group.get(&run.clock) {
                let message = format!("{} at {} MHz is in {first} already.", run.application, run.clock);
                findings.damage(Code::D07, table.place(line), message);
                findings.leave_out(&table.name, 1);
            } else {
                group.insert(run.clock, (table.place(line), run));
            }
        }
    }
    for ((application, file), runs) in &groups {
        imported.profiles.push(profile(application, file, runs.values().map(|(_, run)| run)));
    }
}

fn read(cells: &mut Cells<'_, '_>) -> Option<Run> {
    let application = cells.text("application");
    let clock = cells.whole("sm_app_clock", COUNT);
    let watts = cells.number("power_usage", WATTS);
    let seconds = cells.number("run_time", SECONDS);
    let mut counters = BTreeMap::new();
    let mut good = true;
    for column in COUNTERS {
        if !cells.has(column) {
            continue;
        }
        let range = if column.ends_with("_active") { 0.0..=1.0 } else { AMOUNT };
        match cells.number(column, range) {
            Some(value) => drop(counters.insert(column.to_owned(), rounded(value))),
            None => good = false,
        }
    }
    let (application, clock) = (application?.to_owned(), clock?);
    good.then_some(Run { application, clock, watts: watts?, seconds: seconds?, counters })
}

fn profile<'r>(application: &str, file: &str, runs: impl Iterator<Item = &'r Run>) -> ProfileFile {
    let points: Vec<_> = runs
        .map(|run| MeasuredPointFile {
            sm_mhz: Some(run.clock),
            step_s: Some(run.seconds),
            power_w: Some(run.watts),
            counters: run.counters.clone(),
            ..MeasuredPointFile::default()
        })
        .collect();
    let counted = points.iter().any(|point| !point.counters.is_empty());
    ProfileFile {
        input_bytes_per_step: Some(Figure::assumed(0.0, "input is small beside the run")),
        points,
        ..ProfileFile::new(
            slug(&["v100-ttu", application]),
            "v100".to_owned(),
            WorkloadFile {
                model: application.to_owned(),
                step: "one run of the application".to_owned(),
                ..WorkloadFile::default()
            },
            source(file),
            OriginFile {
                step_s: ColumnOrigin::new(Kind::Measured, "run_time, mean of the runs at a clock"),
                power_w: Some(ColumnOrigin::new(Kind::Measured, "power_usage, mean of the runs at a clock")),
                counters: counted.then(|| ColumnOrigin::new(Kind::Measured, "DCGM, mean of the runs at a clock")),
            },
        )
    }
}

fn source(file: &str) -> SourceFile {
    SourceFile {
        id: Some("ttu".to_owned()),
        title: "gpupowermodel: mean power and time of GPU applications by SM clock".to_owned(),
        authors: Some(
            "Ghazanfar Ali, Mert Side (Texas Tech University), Sridutt Bhalachandra, Nicholas Wright (LBNL)".to_owned(),
        ),
        repository: Some("https://github.com/nsfcac/gpupowermodel".to_owned()),
        commit: Some("0b28e68f5a9da0eef54d53b7f47437141964af67".to_owned()),
        path: Some(file.to_owned()),
        licence: Some("BSD-3-Clause".to_owned()),
        hardware: Some("NVIDIA V100 (GV100), memory clock 877 MHz".to_owned()),
        citation: None,
    }
}
