//! Pipeline stages: a micro-batch's forward and backward pass at every locked clock.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::format::{ColumnOrigin, Figure, Kind, MeasuredPointFile, OriginFile, ProfileFile, WorkloadFile};

use super::{GPUS, source};
use crate::import::Imported;
use crate::import::cells::{COUNT, Cells, INDEX, JOULES, SECONDS};
use crate::import::findings::Findings;
use crate::import::gpus;
use crate::import::input::Input;
use crate::import::names::{significant, slug};
use crate::import::table::Table;

const COLUMNS: [&str; 5] = ["stage", "instruction", "frequency", "time", "energy"];

/// What the name of such a file says.
pub(super) struct Stage {
    model: String,
    gpu: String,
    precision: String,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Pass {
    Forward,
    Backward,
}

struct Row {
    stage: i64,
    clock: i64,
    pass: Pass,
    seconds: f64,
    joules: f64,
}

/// The passes at one clock, each with its line.
type Passes = BTreeMap<Pass, (u64, Row)>;

/// Reads `<model>+<gpu>_<precision>.csv`.
pub(super) fn parse_name(name: &str) -> Option<Stage> {
    let (model, rest) = name.strip_suffix(".csv")?.split_once('+')?;
    let (gpu, precision) = rest.rsplit_once('_')?;
    Some(Stage { model: model.to_owned(), gpu: gpu.to_owned(), precision: precision.to_owned() })
}

pub(super) fn import(input: &Input, stage: &Stage, imported: &mut Imported) {
    let findings = &mut imported.findings;
    let Some((_, (gpu_type, hardware))) = GPUS.iter().find(|(name, _)| *name == stage.gpu) else {
        findings.damage(Code::D06, input.name.clone(), format!("`{}` is none of a40, a100, a100_sxm.", stage.gpu));
        return;
    };
    let Some(table) = Table::read(input, &COLUMNS, findings) else { return };
    let mut stages: BTreeMap<i64, BTreeMap<i64, Passes>> = BTreeMap::new();
    for (line, row) in table.each(findings, read) {
        let passes = stages.entry(row.stage).or_default().entry(row.clock).or_default();
        if let Some((first, _)) = passes.get(&row.pass) {
            findings.damage(Code::D07, table.place(line), format!("the pass is in line {first} already."));
            findings.leave_out(&table.name, 1);
        } else {
            passes.insert(row.pass, (line, row));
        }
    }
    let mut parts: Vec<(i64, i64, Vec<MeasuredPointFile>)> = Vec::new();
    for (&number, clocks) in &stages {
        let points: Vec<_> =
            clocks.iter().filter_map(|(&clock, passes)| point(&table, clock, passes, findings)).collect();
        match parts.last_mut() {
            // Stages of equal layers were measured once; one profile stands for all of them.
            Some((_, last, before)) if *before == points && *last + 1 == number => *last = number,
            _ if points.is_empty() => {}
            _ => parts.push((number, number, points)),
        }
    }
    for (first, last, points) in parts {
        let mut file = profile(input, stage, gpu_type, hardware, points);
        file.id = slug(&[gpu_type, "perseus", &stage.model, &format!("stage{first}")]);
        let number = if first == last { format!("stage {first}") } else { format!("each of stages {first} to {last}") };
        file.workload.part = Some(format!("{number}, of {} counted from 0", stages.len()));
        if first < last {
            findings.notes.push(format!("{}: stages {first} to {last} are one measurement: {}.", input.name, file.id));
        }
        imported.profiles.push(file);
    }
}

fn read(cells: &mut Cells<'_, '_>) -> Option<Row> {
    let stage = cells.whole("stage", INDEX);
    let pass = cells.one_of("instruction", &[("forward", Pass::Forward), ("backward", Pass::Backward)]);
    let clock = cells.whole("frequency", COUNT);
    let seconds = cells.number("time", SECONDS);
    let joules = cells.number("energy", JOULES);
    Some(Row { stage: stage?, clock: clock?, pass: pass?, seconds: seconds?, joules: joules? })
}

fn point(table: &Table, clock: i64, passes: &Passes, findings: &mut Findings) -> Option<MeasuredPointFile> {
    let (Some((_, forward)), Some((_, backward))) = (passes.get(&Pass::Forward), passes.get(&Pass::Backward)) else {
        let (line, row) = passes.values().next()?;
        let message = format!("stage {} at {clock} MHz has only one of its two passes.", row.stage);
        findings.damage(Code::D10, table.place(*line), message);
        findings.leave_out(&table.name, 1);
        return None;
    };
    let seconds = forward.seconds + backward.seconds;
    Some(MeasuredPointFile {
        sm_mhz: Some(clock),
        step_s: Some(significant(seconds)),
        power_w: Some(significant((forward.joules + backward.joules) / seconds)),
        ..MeasuredPointFile::default()
    })
}

fn profile(
    input: &Input,
    stage: &Stage,
    gpu_type: &str,
    hardware: &str,
    points: Vec<MeasuredPointFile>,
) -> ProfileFile {
    let path = format!("sosp24_data/emulation/stage_profile/{}", input.file_name());
    ProfileFile {
        batch_per_gpu: Some(Figure::assumed(1.0, "one micro-batch counts as one sample; its size is not stated")),
        gradient_bytes: gradient_bytes(&stage.model),
        input_bytes_per_step: Some(Figure::assumed(0.0, "token ids are small beside the activations")),
        blocked_w: gpus::blocked_w(gpu_type),
        points,
        ..ProfileFile::new(
            String::new(),
            gpu_type.to_owned(),
            WorkloadFile {
                model: stage.model.clone(),
                precision: Some(stage.precision.clone()),
                step: "one micro-batch: forward and backward pass of the stage".to_owned(),
                ..WorkloadFile::default()
            },
            source(&path, hardware),
            OriginFile {
                step_s: ColumnOrigin::new(Kind::Derived, "measured time of forward + backward"),
                power_w: Some(ColumnOrigin::new(Kind::Derived, "measured energy of forward + backward / their time")),
                counters: None,
            },
        )
    }
}

/// bf16 gradients of the layers of one stage, split over 8 GPUs.
fn gradient_bytes(model: &str) -> Option<Figure> {
    let (layers, hidden) = match model {
        "gpt3-175b" => (12.0, 12_288.0_f64),
        "bloom" => (9.0, 14_336.0),
        _ => return None,
    };
    let note = format!("{layers} layers x 12 x {hidden}^2 parameters x 2 bytes / 8 tensor-parallel GPUs; not stated");
    Some(Figure::assumed(layers * 12.0 * hidden.powi(2) * 2.0 / 8.0, note))
}
