//! Zeus (NSDI 2023): training under power limits on V100, P100, A40 and RTX 6000.
//!
//! * `summary_power_<gpu>.csv`: time and power of one epoch by data set, network, batch size, optimizer and limit.
//! * `<GPU>+<model>+gpu<list>.csv`: windows of a training run under one limit each, on one or several GPUs.
//! * `summary_train.csv`: epochs to a target; read and checked, but no property of a GPU.

mod datasets;
mod windows;

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::format::{
    ColumnOrigin, Figure, Kind, MeasuredPointFile, OriginFile, ProfileFile, SourceFile, WorkloadFile,
};

use self::datasets::Dataset;
use super::Imported;
use super::cells::{COUNT, Cells, SECONDS, WATTS};
use super::findings::Findings;
use super::gpus;
use super::input::Input;
use super::names::{significant, slug};
use super::table::Table;

const POWER_COLUMNS: [&str; 7] =
    ["dataset", "network", "batch_size", "optimizer", "power_limit", "time_per_epoch", "average_power"];
const TRAIN_COLUMNS: [&str; 8] =
    ["dataset", "network", "batch_size", "optimizer", "learning_rate", "run", "target_metric", "target_epoch"];

/// What tells one workload from another.
type Key = (String, String, i64, String);

struct Epoch {
    key: Key,
    limit: Decimal,
    seconds: f64,
    watts: f64,
}

pub(super) fn import(inputs: &[Input], imported: &mut Imported) {
    for input in inputs {
        let name = input.file_name();
        if let Some(gpu) = name.strip_prefix("summary_power_").and_then(|rest| rest.strip_suffix(".csv")) {
            power(input, gpu, imported);
        } else if name == "summary_train.csv" {
            train(input, &mut imported.findings);
        } else if let Some(window) = windows::parse_name(name) {
            windows::import(input, &window, imported);
        } else {
            imported.findings.stranger(&input.name);
        }
    }
}

fn power(input: &Input, gpu: &str, imported: &mut Imported) {
    let findings = &mut imported.findings;
    let Some(gpu_type) = gpu_type(gpu) else {
        findings.damage(Code::D06, input.name.clone(), format!("`{gpu}` is none of v100, p100, a40, rtx6000."));
        return;
    };
    let Some(table) = Table::read(input, &POWER_COLUMNS, findings) else { return };
    let mut groups: BTreeMap<Key, Vec<(u64, Epoch)>> = BTreeMap::new();
    for (line, row) in table.each(findings, epoch) {
        let group = groups.entry(row.key.clone()).or_default();
        if let Some((first, _)) = group.iter().find(|(_, other)| other.limit == row.limit) {
            let message = format!("the workload was measured at {} W in line {first} already.", row.limit);
            findings.damage(Code::D07, table.place(line), message);
            findings.leave_out(&table.name, 1);
        } else {
            group.push((line, row));
        }
    }
    for (key, rows) in groups {
        imported.profiles.push(profile(input, gpu_type, &key, &rows));
    }
}

fn epoch(cells: &mut Cells<'_, '_>) -> Option<Epoch> {
    let dataset = cells.text("dataset");
    let network = cells.text("network");
    let batch = cells.whole("batch_size", COUNT);
    let optimizer = cells.text("optimizer");
    let limit = cells.decimal("power_limit");
    let seconds = cells.number("time_per_epoch", SECONDS);
    let watts = cells.number("average_power", WATTS);
    let key = (dataset?.to_owned(), network?.to_owned(), batch?, optimizer?.to_owned());
    Some(Epoch { key, limit: limit?, seconds: seconds?, watts: watts? })
}

fn train(input: &Input, findings: &mut Findings) {
    let Some(table) = Table::read(input, &TRAIN_COLUMNS, findings) else { return };
    table.each(findings, |cells| {
        let named = ["dataset", "network", "optimizer"].map(|column| cells.text(column).is_some());
        let whole = ["batch_size", "run"].map(|column| cells.whole(column, COUNT).is_some());
        // `nan`: the target was never reached.
        let reached = cells.optional("target_epoch") != Some("nan");
        let epoch = !reached || cells.whole("target_epoch", COUNT).is_some();
        let number = ["learning_rate", "target_metric"].map(|column| cells.number(column, WATTS).is_some());
        named.into_iter().chain(whole).chain(number).chain([epoch]).all(|good| good).then_some(())
    });
    findings.notes.push(format!(
        "{}: checked, not written: epochs to a target are no property of a GPU; give them to a job as its samples.",
        input.name
    ));
}

fn profile(input: &Input, gpu_type: &str, key: &Key, rows: &[(u64, Epoch)]) -> ProfileFile {
    let (dataset, network, batch, optimizer) = key;
    let known = datasets::find(dataset);
    // Without a known number of samples the epoch itself is the step.
    let steps = known.map_or(1.0, |known| (known.samples / *batch as f64).ceil());
    let mut points: Vec<_> = rows
        .iter()
        .map(|(_, row)| MeasuredPointFile {
            power_limit_w: Some(row.limit),
            step_s: Some(significant(row.seconds / steps)),
            power_w: Some(row.watts),
            samples: Some(1),
            ..MeasuredPointFile::default()
        })
        .collect();
    points.sort_by_key(|point| point.power_limit_w.and_then(|limit| limit.scaled(3)));
    ProfileFile {
        batch_per_gpu: known.map(|_| Figure::measured(*batch as f64, "batch_size")),
        samples_per_epoch: known.map(|known| Figure {
            value: known.samples,
            kind: known.kind,
            note: Some(known.note.to_owned()),
        }),
        gradient_bytes: datasets::gradient_bytes(network),
        input_bytes_per_step: known.map(|known| Figure::assumed(known.input_bytes * *batch as f64, known.input_note)),
        blocked_w: blocked_elsewhere(gpu_type),
        points,
        ..ProfileFile::new(
            slug(&[gpu_type, "zeus", dataset, network, &format!("b{batch}"), optimizer]),
            gpu_type.to_owned(),
            WorkloadFile {
                model: network.clone(),
                dataset: Some(dataset.clone()),
                optimizer: Some(optimizer.clone()),
                step: if known.is_some() { "one training step" } else { "one epoch" }.to_owned(),
                ..WorkloadFile::default()
            },
            source(&format!("examples/research_reproducibility/zeus_nsdi23/trace/{}", input.file_name())),
            OriginFile {
                step_s: step_origin(known, *batch, steps),
                power_w: Some(ColumnOrigin::new(Kind::Measured, "average_power of the epoch")),
                counters: None,
            },
        )
    }
}

fn step_origin(known: Option<&Dataset>, batch: i64, steps: f64) -> ColumnOrigin {
    match known {
        None => ColumnOrigin::new(Kind::Measured, "time_per_epoch"),
        Some(known) => {
            let note = format!("time_per_epoch / {steps} steps of {batch}; {}", known.note);
            ColumnOrigin::new(known.kind, note)
        }
    }
}

/// Blocked power was measured by others on the same type of GPU.
fn blocked_elsewhere(gpu_type: &str) -> Option<Figure> {
    gpus::blocked_w(gpu_type).map(|figure| Figure { kind: Kind::Assumed, ..figure })
}

/// The catalogue's name of a GPU type.
fn gpu_type(name: &str) -> Option<&'static str> {
    match name.to_ascii_lowercase().as_str() {
        "v100" => Some("v100"),
        "p100" => Some("p100"),
        "a40" => Some("a40"),
        "rtx6000" => Some("rtx6000"),
        _ => None,
    }
}

fn source(path: &str) -> SourceFile {
    let citation = "J. You, J.-W. Chung, M. Chowdhury, \"Zeus: Understanding and Optimizing GPU Energy Consumption of DNN \
                    Training\", NSDI 2023";
    SourceFile {
        id: Some("zeus".to_owned()),
        title: "Zeus: Understanding and Optimizing GPU Energy Consumption of DNN Training".to_owned(),
        authors: Some("J. You, J.-W. Chung, M. Chowdhury".to_owned()),
        repository: Some("https://github.com/ml-energy/zeus".to_owned()),
        commit: Some("75a8b9398034eb9baf74ca0a830c2c31bcce52cd".to_owned()),
        path: Some(path.to_owned()),
        licence: Some("Apache-2.0".to_owned()),
        hardware: None,
        citation: Some(citation.to_owned()),
    }
}
