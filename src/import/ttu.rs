//! Texas Tech University: kernels and applications on a V100 (GV100) at 117 SM clocks.
//!
//! `mean_fp_data_*.csv` holds the mean power and the run time of every application at every clock. The energy column
//! does not agree with either and is not used.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::format::{
    ColumnOrigin, Document, Figure, Kind, MeasuredPointFile, OriginFile, ProfileFile, SourceFile, WorkloadFile,
};

use super::Imported;
use super::cells::{COUNT, Cells, SECONDS, WATTS};
use super::input::Input;
use super::names::slug;
use super::table::Table;

const COLUMNS: [&str; 4] = ["application", "sm_app_clock", "power_usage", "run_time"];

struct Run {
    application: String,
    clock: i64,
    watts: f64,
    seconds: f64,
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
    Some(Run { application: application?.to_owned(), clock: clock?, watts: watts?, seconds: seconds? })
}

fn profile<'r>(application: &str, file: &str, runs: impl Iterator<Item = &'r Run>) -> ProfileFile {
    let points = runs.map(|run| MeasuredPointFile {
        sm_mhz: Some(run.clock),
        step_s: Some(run.seconds),
        power_w: Some(run.watts),
        ..MeasuredPointFile::default()
    });
    ProfileFile {
        format: ProfileFile::FORMAT.to_owned(),
        id: slug(&["v100-ttu", application]),
        gpu_type: "v100".to_owned(),
        workload: WorkloadFile {
            model: application.to_owned(),
            step: "one run of the application".to_owned(),
            ..WorkloadFile::default()
        },
        source: source(file),
        origin: OriginFile {
            step_s: ColumnOrigin::new(Kind::Measured, "run_time, mean of the runs at a clock"),
            power_w: Some(ColumnOrigin::new(Kind::Measured, "power_usage, mean of the runs at a clock")),
        },
        gang: None,
        batch_per_gpu: None,
        samples_per_epoch: None,
        gradient_bytes: None,
        input_bytes_per_step: Some(Figure::assumed(0.0, "input is small beside the run")),
        overlap: None,
        blocked_w: None,
        memory_mib: None,
        startup_s: None,
        points: points.collect(),
        scaling: Vec::new(),
    }
}

fn source(file: &str) -> SourceFile {
    SourceFile {
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
