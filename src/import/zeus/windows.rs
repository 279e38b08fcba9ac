//! Windows of one training run, each under another power limit.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::format::{ColumnOrigin, GangFile, Kind, MeasuredPointFile, OriginFile, ProfileFile, WorkloadFile};

use super::{blocked_elsewhere, datasets, gpu_type, source};
use crate::import::Imported;
use crate::import::cells::{AMOUNT, Cells, JOULES, SECONDS};
use crate::import::input::Input;
use crate::import::names::{significant, slug};
use crate::import::table::Table;

/// What the name of such a file says.
pub(super) struct Window {
    gpu: String,
    model: String,
    /// Indices of the GPUs of the run.
    gpus: Vec<String>,
}

struct Row {
    limit: Decimal,
    seconds: f64,
    /// Of all GPUs.
    joules: f64,
}

/// Reads `<GPU>+<model>+gpu<list>.csv`.
pub(super) fn parse_name(name: &str) -> Option<Window> {
    let mut parts = name.strip_suffix(".csv")?.split('+');
    let (gpu, model, list) = (parts.next()?, parts.next()?, parts.next()?);
    let gpus: Vec<_> = list.strip_prefix("gpu")?.split(',').map(str::to_owned).collect();
    let good = parts.next().is_none() && gpus.iter().all(|gpu| !gpu.is_empty() && gpu.len() < 4);
    good.then(|| Window { gpu: gpu.to_owned(), model: model.to_owned(), gpus })
}

pub(super) fn import(input: &Input, window: &Window, imported: &mut Imported) {
    let findings = &mut imported.findings;
    let Some(gpu_type) = gpu_type(&window.gpu) else {
        let message = format!("`{}` is none of v100, p100, a40, rtx6000.", window.gpu);
        findings.damage(Code::D06, input.name.clone(), message);
        return;
    };
    let energies: Vec<_> = window.gpus.iter().map(|gpu| format!("gpu{gpu}_energy")).collect();
    let mut required = vec!["start_time", "window_name", "elapsed_time"];
    required.extend(energies.iter().map(String::as_str));
    let Some(table) = Table::read(input, &required, findings) else { return };
    let mut rows = BTreeMap::new();
    for (line, row) in table.each(findings, |cells| read(cells, &energies)) {
        if let Some((first, _)) = rows.get(&row.limit.scaled(3)) {
            let message = format!("the limit {} W has a window in line {first} already.", row.limit);
            findings.damage(Code::D07, table.place(line), message);
            findings.leave_out(&table.name, 1);
        } else {
            rows.insert(row.limit.scaled(3), (line, row));
        }
    }
    if !rows.is_empty() {
        imported.profiles.push(profile(input, gpu_type, window, rows.values().map(|(_, row)| row)));
    }
}

fn read(cells: &mut Cells<'_, '_>, energies: &[String]) -> Option<Row> {
    let start = cells.number("start_time", AMOUNT);
    let seconds = cells.number("elapsed_time", SECONDS);
    let joules: Vec<_> = energies.iter().map(|column| cells.number(column, JOULES)).collect();
    let name = cells.text("window_name");
    let limit = name.and_then(|name| name.rsplit('_').next()).and_then(|text| Decimal::parse(text).ok());
    let limit = limit.filter(|limit| limit.scaled(3).is_some_and(|scaled| (1..1_000_000_000).contains(&scaled)));
    if limit.is_none() && name.is_some() {
        cells.damage(Code::D04, "window_name", "does not end in `_` and a power limit in W.");
    }
    start?;
    Some(Row { limit: limit?, seconds: seconds?, joules: joules.into_iter().sum::<Option<f64>>()? })
}

fn profile<'r>(input: &Input, gpu_type: &str, window: &Window, rows: impl Iterator<Item = &'r Row>) -> ProfileFile {
    let gpus = window.gpus.len();
    let point = |row: &Row| MeasuredPointFile {
        power_limit_w: Some(row.limit),
        step_s: Some(row.seconds),
        power_w: Some(significant(row.joules / row.seconds / gpus as f64)),
        samples: Some(1),
        ..MeasuredPointFile::default()
    };
    let count = i64::try_from(gpus).unwrap_or(i64::MAX);
    ProfileFile {
        gang: (gpus > 1).then_some(GangFile { gpus: count, dp: count, pp: 1, tp: 1 }),
        gradient_bytes: datasets::gradient_bytes(&window.model),
        blocked_w: blocked_elsewhere(gpu_type),
        points: rows.map(point).collect(),
        ..ProfileFile::new(
            slug(&[gpu_type, "zeus-window", &window.model, &format!("x{gpus}")]),
            gpu_type.to_owned(),
            WorkloadFile {
                model: window.model.clone(),
                step: "one window of a fixed number of training steps, not stated".to_owned(),
                ..WorkloadFile::default()
            },
            source(&format!("tests/profile_data/{}", input.file_name())),
            OriginFile {
                step_s: ColumnOrigin::new(Kind::Measured, "elapsed_time; compare within this profile only"),
                power_w: Some(ColumnOrigin::new(Kind::Derived, "energy of all GPUs / elapsed_time / number of GPUs")),
                counters: None,
            },
        )
    }
}
