//! The plain table of `docs/formats.md`: one row an operating point, or a gang of several GPUs.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::format::{
    ColumnOrigin, Figure, Kind, MeasuredPointFile, OriginFile, ProfileFile, ScalingFile, SourceFile, WorkloadFile,
};

use super::Imported;
use super::cells::{AMOUNT, COUNT, Cells, SECONDS, WATTS};
use super::findings::Findings;
use super::input::Input;
use super::names::slug;
use super::table::Table;

const REQUIRED: [&str; 3] = ["model", "gpu_type", "step_s"];
const TEXTS: [&str; 5] = ["dataset", "optimizer", "precision", "part", "step"];
const POINT: [&str; 10] = [
    "sm_mhz",
    "mem_mhz",
    "power_limit_w",
    "power_w",
    "step_s_spread",
    "power_w_spread",
    "samples",
    "gpus",
    "nodes",
    "consolidated",
];
/// What the columns of hardware counters begin with.
const COUNTER: &str = "counter_";
/// Figures of the whole profile.
const FIGURES: [&str; 8] = [
    "batch_per_gpu",
    "samples_per_epoch",
    "gradient_bytes",
    "input_bytes_per_step",
    "overlap",
    "blocked_w",
    "memory_mib",
    "startup_s",
];
const KINDS: [(&str, Kind); 3] = [("measured", Kind::Measured), ("derived", Kind::Derived), ("assumed", Kind::Assumed)];

/// Lines `# key: value` above the table.
type Preamble = BTreeMap<String, String>;

/// What tells one profile from another: GPU type, workload, batch size.
type Key = (String, WorkloadFile, Option<u64>);

struct Row {
    workload: WorkloadFile,
    gpu_type: String,
    figures: [Option<f64>; FIGURES.len()],
    measured: Measured,
}

enum Measured {
    Point(MeasuredPointFile),
    Gang(ScalingFile),
}

/// What is known of one profile so far: the line that began it, its figures, its measurements with their lines.
struct Group {
    line: u64,
    figures: [Option<f64>; FIGURES.len()],
    points: Vec<(u64, MeasuredPointFile)>,
    scaling: Vec<(u64, ScalingFile)>,
}

pub(super) fn import(inputs: &[Input], imported: &mut Imported) {
    for input in inputs {
        if input.named || input.is("csv") {
            table(input, imported);
        } else {
            imported.findings.stranger(&input.name);
        }
    }
}

fn table(input: &Input, imported: &mut Imported) {
    let findings = &mut imported.findings;
    let Some(table) = Table::read(input, &REQUIRED, findings) else { return };
    let preamble = preamble(input);
    let kinds = kinds(input, &preamble, findings);
    for column in table.columns() {
        let known = [REQUIRED.as_slice(), &TEXTS, &POINT, &FIGURES].concat().contains(&column);
        if !known && !column.starts_with(COUNTER) {
            findings.suspect(
                Code::W3,
                input.name.clone(),
                format!("unknown column `{}`, ignored.", column.escape_debug()),
            );
        }
    }
    let mut groups: BTreeMap<Key, Group> = BTreeMap::new();
    let counters: Vec<_> = table.columns().filter(|column| column.starts_with(COUNTER)).collect();
    for (line, row) in table.each(findings, |cells| read(cells, &counters)) {
        // The batch size is the first of the figures.
        let batch = row.figures[0].map(f64::to_bits);
        let group = groups.entry((row.gpu_type, row.workload, batch)).or_insert_with(|| Group {
            line,
            figures: row.figures,
            points: Vec::new(),
            scaling: Vec::new(),
        });
        if !add(group, line, row.figures, row.measured, &table, findings) {
            findings.leave_out(&table.name, 1);
        }
    }
    for ((gpu_type, workload, _), group) in groups {
        if !group.points.is_empty() || !group.scaling.is_empty() {
            imported.profiles.push(profile(input, &preamble, &kinds, gpu_type, workload, group));
        }
    }
}

/// Adds a row to its profile; a contradiction or a repetition is noted instead.
fn add(
    group: &mut Group,
    line: u64,
    figures: [Option<f64>; FIGURES.len()],
    measured: Measured,
    table: &Table,
    findings: &mut Findings,
) -> bool {
    let place = table.place(line);
    let mut good = true;
    for ((column, new), old) in FIGURES.iter().zip(figures).zip(&mut group.figures) {
        match (new, *old) {
            (Some(new), Some(old)) if new.to_bits() != old.to_bits() => {
                let message = format!("{new} here and {old} from line {} on.", group.line);
                findings.damage(Code::D11, format!("{place}, {column}"), message);
                good = false;
            }
            (new, None) => *old = new,
            _ => {}
        }
    }
    let first = match &measured {
        Measured::Point(point) => {
            let same = group.points.iter().find(|(_, other)| other.point() == point.point());
            same.map(|(line, other)| (*line, other.step_s, other.power_w))
        }
        Measured::Gang(gang) => {
            let key = |gang: &ScalingFile| (gang.gpus, gang.nodes, gang.consolidated);
            let same = group.scaling.iter().find(|(_, other)| key(other) == key(gang));
            same.map(|(line, other)| (*line, Some(other.step_s), other.power_w))
        }
    };
    if let Some((first, seconds, watts)) = first {
        let shown =
            |value: Option<f64>, unit| value.map_or_else(|| "nothing".to_owned(), |value| format!("{value} {unit}"));
        let message =
            format!("the point is in line {first} already, with {} and {}.", shown(seconds, "s"), shown(watts, "W"));
        findings.damage(Code::D07, place, message);
        return false;
    }
    match measured {
        _ if !good => {}
        Measured::Point(point) => group.points.push((line, point)),
        Measured::Gang(gang) => group.scaling.push((line, gang)),
    }
    good
}

fn read(cells: &mut Cells<'_, '_>, counters: &[&str]) -> Option<Row> {
    let model = cells.text("model");
    let gpu_type = name(cells, "gpu_type");
    let [dataset, optimizer, precision, part, step] = TEXTS.map(|column| cells.optional(column).map(str::to_owned));
    let mut good = true;
    let figures = FIGURES.map(|column| {
        let range = match column {
            "overlap" => 0.0..=1.0,
            "batch_per_gpu" | "samples_per_epoch" | "memory_mib" => f64::MIN_POSITIVE..=1e18,
            "blocked_w" => 0.0..=1e6,
            "startup_s" => 0.0..=1e9,
            _ => AMOUNT,
        };
        optional(cells, column, &mut good, |cells| cells.number(column, range))
    });
    let measured = measured(cells, counters);
    let workload = WorkloadFile {
        model: model?.to_owned(),
        dataset,
        optimizer,
        precision,
        part,
        settings: BTreeMap::new(),
        step: step.unwrap_or_else(|| "one training step".to_owned()),
    };
    let row = Row { workload, gpu_type: gpu_type?, figures, measured: measured? };
    good.then_some(row)
}

fn measured(cells: &mut Cells<'_, '_>, columns: &[&str]) -> Option<Measured> {
    let mut good = true;
    let mut counters = BTreeMap::new();
    for column in columns {
        let value = optional(cells, column, &mut good, |cells| cells.number(column, AMOUNT));
        counters.extend(value.map(|value| (column[COUNTER.len()..].to_owned(), value)));
    }
    let step_s = cells.number("step_s", SECONDS);
    let power_w = optional(cells, "power_w", &mut good, |cells| cells.number("power_w", WATTS));
    let spreads = ["step_s_spread", "power_w_spread"]
        .map(|column| optional(cells, column, &mut good, |cells| cells.number(column, AMOUNT)));
    let [sm_mhz, mem_mhz, samples, gpus, nodes] = ["sm_mhz", "mem_mhz", "samples", "gpus", "nodes"]
        .map(|column| optional(cells, column, &mut good, |cells| cells.whole(column, COUNT)));
    let power_limit_w: Option<Decimal> =
        optional(cells, "power_limit_w", &mut good, |cells| cells.decimal("power_limit_w"));
    let consolidated = optional(cells, "consolidated", &mut good, |cells| {
        cells.one_of("consolidated", &[("true", true), ("false", false)])
    });
    let step_s = step_s.filter(|_| good)?;
    Some(match gpus {
        None | Some(1) => Measured::Point(MeasuredPointFile {
            sm_mhz,
            mem_mhz,
            power_limit_w,
            step_s: Some(step_s),
            power_w,
            step_s_spread: spreads[0],
            power_w_spread: spreads[1],
            samples,
            counters,
            ..MeasuredPointFile::default()
        }),
        Some(gpus) => {
            Measured::Gang(ScalingFile { gpus, nodes, consolidated, step_s, power_w, stages: None, flags: Vec::new() })
        }
    })
}

/// A field that may be empty or have no column.
fn optional<'t, T>(
    cells: &mut Cells<'t, '_>,
    column: &str,
    good: &mut bool,
    read: impl FnOnce(&mut Cells<'t, '_>) -> Option<T>,
) -> Option<T> {
    if !cells.has(column) {
        return None;
    }
    let value = read(cells);
    *good &= value.is_some();
    value
}

/// A text that can be an id.
fn name(cells: &mut Cells<'_, '_>, column: &str) -> Option<String> {
    let text = cells.text(column)?;
    if text.contains('/') || text.chars().any(char::is_control) {
        cells.damage(Code::I04, column, format!("`{}` is not a name.", text.escape_debug()));
        return None;
    }
    Some(text.to_owned())
}

/// The lines `# key: value` of a table.
fn preamble(input: &Input) -> Preamble {
    // The table was read before: what is wrong with the text is noted already.
    let text = input.text(&mut Findings::default()).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix('#')?.split_once(':'));
    lines.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect()
}

/// How columns came about: lines `# <column>_kind: derived`; measured if not stated.
fn kinds(input: &Input, preamble: &Preamble, findings: &mut Findings) -> BTreeMap<String, Kind> {
    let mut kinds = BTreeMap::new();
    for (key, value) in preamble {
        let Some(column) = key.strip_suffix("_kind") else { continue };
        if let Some((_, kind)) = KINDS.iter().find(|(name, _)| name == value) {
            kinds.insert(column.to_owned(), *kind);
        } else {
            let message = format!("`{}` is none of measured, derived, assumed.", value.escape_debug());
            findings.damage(Code::D06, format!("{}: {}", input.name, key.escape_debug()), message);
        }
    }
    kinds
}

fn profile(
    input: &Input,
    preamble: &Preamble,
    kinds: &BTreeMap<String, Kind>,
    gpu_type: String,
    workload: WorkloadFile,
    group: Group,
) -> ProfileFile {
    let kind = |column: &str| kinds.get(column).copied().unwrap_or(Kind::Measured);
    let [
        batch_per_gpu,
        samples_per_epoch,
        gradient_bytes,
        input_bytes_per_step,
        overlap,
        blocked_w,
        memory_mib,
        startup_s,
    ] = std::array::from_fn(|i| group.figures[i].map(|value| Figure { value, kind: kind(FIGURES[i]), note: None }));
    let batch = batch_per_gpu.as_ref().map(|figure: &Figure| format!("b{}", figure.value));
    let parts = [
        workload.dataset.as_deref(),
        Some(&workload.model),
        workload.part.as_deref(),
        batch.as_deref(),
        workload.optimizer.as_deref(),
        workload.precision.as_deref(),
    ];
    let parts: Vec<_> = std::iter::once(gpu_type.as_str()).chain(parts.into_iter().flatten()).collect();
    let has_counters = group.points.iter().any(|(_, point)| !point.counters.is_empty());
    let has_power = group.points.iter().any(|(_, point)| point.power_w.is_some());
    let column = |column| ColumnOrigin { kind: kind(column), note: None };
    ProfileFile {
        batch_per_gpu,
        samples_per_epoch,
        gradient_bytes,
        input_bytes_per_step,
        overlap,
        blocked_w,
        memory_mib,
        startup_s,
        points: group.points.into_iter().map(|(_, point)| point).collect(),
        scaling: group.scaling.into_iter().map(|(_, gang)| gang).collect(),
        ..ProfileFile::new(
            slug(&parts),
            gpu_type,
            workload,
            source(input, preamble),
            OriginFile {
                step_s: column("step_s"),
                power_w: has_power.then(|| column("power_w")),
                counters: has_counters.then(|| column("counters")),
            },
        )
    }
}

fn source(input: &Input, preamble: &Preamble) -> SourceFile {
    let text = |key: &str| preamble.get(key).filter(|value| !value.is_empty()).cloned();
    SourceFile {
        id: text("id"),
        title: text("title").unwrap_or_else(|| input.file_name().to_owned()),
        authors: text("authors"),
        repository: text("repository"),
        commit: text("commit"),
        path: Some(text("path").unwrap_or_else(|| input.file_name().to_owned())),
        licence: text("licence"),
        hardware: text("hardware"),
        citation: text("citation"),
    }
}
