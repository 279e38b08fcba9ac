//! MPT training benchmarks: training throughput of language models on 8 to 512 A100 and H100.
//!
//! `mpt_training_throughput.csv`: a row a run. A step is one global batch: its tokens / tokens per second. Sequences per
//! second are rounded to whole numbers and not used.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::format::{ColumnOrigin, Figure, Kind, OriginFile, ProfileFile, ScalingFile, SourceFile, WorkloadFile};

use super::Imported;
use super::cells::{AMOUNT, COUNT, Cells};
use super::input::Input;
use super::names::{significant, slug};
use super::table::Table;

const FILE: &str = "mpt_training_throughput.csv";
const GPUS: [(&str, &str); 3] = [("a100_40gb", "a100-sxm-40gb"), ("a100_80gb", "a100-sxm-80gb"), ("h100_80gb", "h100")];
const TRUTHS: [(&str, bool); 2] = [("True", true), ("False", false)];
const PRECISIONS: [(&str, &str); 3] = [("amp_bf16", "amp_bf16"), ("amp_fp8", "amp_fp8"), ("bf16", "bf16")];
const COLUMNS: [&str; 17] = [
    "Model",
    "SeqLen (T)",
    "# GPUs",
    "GPU",
    "MicroBatchSize",
    "GradAccum",
    "GlobalBatchSize",
    "Throughput (S/s)",
    "Throughput (T/s)",
    "Throughput (T/s/GPU)",
    "GlobalBatchSize (T)",
    "Precision",
    "MP Mode",
    "Sharding Strategy",
    "Activation Checkpointing",
    "Activation CPUOffload",
    "NumParams",
];
/// GPUs of one node of the clusters.
const NODE: i64 = 8;
/// Throughputs of one run agree but for rounding to whole numbers, which matters for the smaller of two.
const ROUNDING: f64 = 0.01;

/// What tells one profile from another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    gpu_type: &'static str,
    model: String,
    sequence: i64,
    micro_batch: i64,
    accumulation: i64,
    precision: &'static str,
    sharding: String,
    mode: String,
    checkpointing: bool,
    offload: bool,
    parameters: i64,
}

struct Row {
    run: Run,
    gpus: i64,
    step_s: f64,
}

pub(super) fn import(inputs: &[Input], imported: &mut Imported) {
    let mut runs: BTreeMap<Run, BTreeMap<i64, (String, f64)>> = BTreeMap::new();
    for input in inputs {
        if input.file_name() != FILE {
            imported.findings.stranger(&input.name);
            continue;
        }
        let findings = &mut imported.findings;
        let Some(table) = Table::read(input, &COLUMNS, findings) else { continue };
        for (line, row) in table.each(findings, read) {
            let gangs = runs.entry(row.run).or_default();
            if let Some((first, _)) = gangs.get(&row.gpus) {
                let message = format!("the run on {} GPUs is in {first} already.", row.gpus);
                findings.damage(Code::D07, table.place(line), message);
                findings.leave_out(&table.name, 1);
            } else {
                gangs.insert(row.gpus, (table.place(line), row.step_s));
            }
        }
    }
    imported.profiles.extend(runs.iter().map(|(run, gangs)| profile(run, gangs)));
}

fn read(cells: &mut Cells<'_, '_>) -> Option<Row> {
    let gpu_type = cells.one_of("GPU", &GPUS);
    let precision = cells.one_of("Precision", &PRECISIONS);
    let texts = ["Model", "Sharding Strategy", "MP Mode"].map(|column| cells.text(column));
    let truths = ["Activation Checkpointing", "Activation CPUOffload"].map(|column| cells.one_of(column, &TRUTHS));
    let counts = ["SeqLen (T)", "# GPUs", "MicroBatchSize", "GradAccum", "GlobalBatchSize"]
        .map(|column| cells.whole(column, COUNT));
    let parameters = cells.whole("NumParams", 1..=1 << 50);
    let tokens = cells.whole("GlobalBatchSize (T)", 1..=1 << 50);
    let rate = cells.number("Throughput (T/s)", f64::MIN_POSITIVE..=1e18);
    let rate_per_gpu = cells.number("Throughput (T/s/GPU)", AMOUNT);
    let sequences = cells.number("Throughput (S/s)", AMOUNT);
    let [Some(model), Some(sharding), Some(mode)] = texts else { return None };
    let [Some(checkpointing), Some(offload)] = truths else { return None };
    let [Some(sequence), Some(gpus), Some(micro_batch), Some(accumulation), Some(batch)] = counts else { return None };
    let (tokens, rate) = (tokens?, rate?);
    let mut good = true;
    let mut agree = |column: &str, stated: f64, computed: f64, slack: f64| {
        if (stated - computed).abs() > slack {
            cells.damage(
                Code::D11,
                column,
                format!("{stated} does not agree with the other columns, which give {computed}."),
            );
            good = false;
        }
    };
    let passes = [gpus, micro_batch, accumulation].into_iter().map(|count| count as f64).product::<f64>();
    agree("GlobalBatchSize", batch as f64, passes, 0.5);
    agree("GlobalBatchSize (T)", tokens as f64, batch as f64 * sequence as f64, 0.5);
    agree("Throughput (T/s/GPU)", rate_per_gpu?, rate / gpus as f64, 1.0 + ROUNDING * rate / gpus as f64);
    agree("Throughput (S/s)", sequences?, rate / sequence as f64, 1.0 + ROUNDING * rate / sequence as f64);
    let run = Run {
        gpu_type: gpu_type?,
        model: model.to_owned(),
        sequence,
        micro_batch,
        accumulation,
        precision: precision?,
        sharding: sharding.to_owned(),
        mode: mode.to_owned(),
        checkpointing,
        offload,
        parameters: parameters?,
    };
    good.then(|| Row { run, gpus, step_s: significant(tokens as f64 / rate) })
}

fn profile(run: &Run, gangs: &BTreeMap<i64, (String, f64)>) -> ProfileFile {
    let scaling = gangs.iter().map(|(&gpus, &(_, step_s))| ScalingFile {
        gpus,
        nodes: Some((gpus + NODE - 1) / NODE),
        consolidated: None,
        step_s,
        power_w: None,
        stages: None,
        flags: Vec::new(),
    });
    let settings = [
        ("activation_checkpointing", run.checkpointing.to_string()),
        ("activation_cpu_offload", run.offload.to_string()),
        ("mixed_precision_mode", run.mode.clone()),
        ("sharding", run.sharding.clone()),
    ];
    let passes = format!("{} passes of {}", run.accumulation, run.micro_batch);
    ProfileFile {
        batch_per_gpu: Some(Figure::derived((run.micro_batch * run.accumulation) as f64, passes)),
        gradient_bytes: Some(Figure::assumed(run.parameters as f64 * 2.0, "parameters x 2 bytes (bf16)")),
        parameters: Some(stated(run.parameters)),
        sequence_tokens: Some(stated(run.sequence)),
        micro_batch: Some(stated(run.micro_batch)),
        scaling: scaling.collect(),
        ..ProfileFile::new(
            id(run),
            run.gpu_type.to_owned(),
            WorkloadFile {
                model: format!("mpt-{}", run.model),
                precision: Some(run.precision.to_owned()),
                settings: settings.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
                step: "one training step of the whole gang".to_owned(),
                ..WorkloadFile::default()
            },
            source(),
            OriginFile {
                step_s: ColumnOrigin::new(Kind::Derived, "GlobalBatchSize (T) / Throughput (T/s)"),
                power_w: None,
                counters: None,
            },
        )
    }
}

/// A figure of the table.
fn stated(value: i64) -> Figure {
    Figure { value: value as f64, kind: Kind::Measured, note: None }
}

fn id(run: &Run) -> String {
    let batch = format!("b{}x{}", run.micro_batch, run.accumulation);
    let mut parts =
        vec![run.gpu_type.to_owned(), "mpt".to_owned(), run.model.clone(), format!("s{}", run.sequence), batch];
    parts.extend([run.precision.to_owned(), run.sharding.clone(), run.mode.clone()]);
    parts.extend(run.checkpointing.then(|| "recompute".to_owned()));
    parts.extend(run.offload.then(|| "offload".to_owned()));
    slug(&parts.iter().map(String::as_str).collect::<Vec<_>>())
}

fn source() -> SourceFile {
    SourceFile {
        id: Some("mpt".to_owned()),
        title: "LLM Foundry: MPT training benchmarks".to_owned(),
        authors: Some("MosaicML, Databricks".to_owned()),
        repository: Some("https://github.com/mosaicml/llm-foundry".to_owned()),
        commit: Some("8c8dd48f72168c5d51e2f7b151595892a8fba43d".to_owned()),
        path: Some("scripts/train/benchmarking/README.md".to_owned()),
        licence: Some("Apache-2.0".to_owned()),
        hardware: Some("nodes of 8 GPUs (assumed), SXM (assumed); A100 nodes linked by 1600 Gbit/s RoCE".to_owned()),
        citation: None,
    }
}
