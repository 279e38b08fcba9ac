//! Gavel (OSDI 2020): training throughput by GPU type, number of GPUs and neighbor on the same GPU.
//!
//! * `isolated_throughput.csv`: steps per second alone; `_unconsolidated` GPU types are gangs spread over nodes. The rate of a
//!   gang is the sum over its GPUs, each of which counts the steps of its own process: the source's profiler adds what every
//!   worker reports, and its scheduler gives each worker the steps of a job divided by the number of GPUs. All take a step
//!   together, so one step of a gang takes GPUs / rate.
//! * `colocated_throughput.csv`: steps per second of two jobs on the same GPUs; 0 and 0 means that they cannot share.

mod pairs;

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::format::{
    ColumnOrigin, Figure, Kind, MeasuredPointFile, OriginFile, ProfileFile, ScalingFile, SourceFile, WorkloadFile,
};

use super::Imported;
use super::cells::{AMOUNT, COUNT, Cells};
use super::findings::Findings;
use super::input::Input;
use super::names::{significant, slug};
use super::table::Table;

const COLUMNS: [&str; 5] = ["source", "gpu", "job", "scale_factor", "steps_per_s"];

/// How the time of a step comes out of a rate.
const STEP_NOTE: &str = "GPUs / steps per second, which the source adds up over the GPUs of a gang";

/// Names of GPU types in the tables: the catalogue's name, and whether gangs sit together.
const GPUS: [(&str, (&str, bool)); 6] = [
    ("k80", ("k80", true)),
    ("p100", ("p100", true)),
    ("v100", ("v100", true)),
    ("k80_unconsolidated", ("k80", false)),
    ("p100_unconsolidated", ("p100", false)),
    ("v100_unconsolidated", ("v100", false)),
];

/// Source, GPU type, job.
type Key = (String, &'static str, String);

struct Rate {
    key: Key,
    gpus: i64,
    consolidated: bool,
    steps_per_s: f64,
}

/// Rates of one job, by number of GPUs and whether they sit together, with the line.
type Rates = BTreeMap<(i64, bool), (u64, f64)>;

pub(super) fn import(inputs: &[Input], imported: &mut Imported) {
    let mut alone: BTreeMap<Key, Rates> = BTreeMap::new();
    for input in inputs {
        match input.file_name() {
            "isolated_throughput.csv" => isolated(input, &mut alone, imported),
            "colocated_throughput.csv" => {}
            "simulation_throughputs.json" | "physical_cluster_throughputs.json" | "oracle_throughputs.json" => {
                imported.findings.skip(&input.name, "the same rates as in the csv files");
            }
            "philly_job_distribution.csv" => imported.findings.skip(&input.name, "a trace of jobs, no profile"),
            _ if input.is("trace") => imported.findings.skip(&input.name, "a trace of jobs, no profile"),
            _ => imported.findings.stranger(&input.name),
        }
    }
    for input in inputs.iter().filter(|input| input.file_name() == "colocated_throughput.csv") {
        pairs::import(input, &alone, imported);
    }
}

fn isolated(input: &Input, alone: &mut BTreeMap<Key, Rates>, imported: &mut Imported) {
    let findings = &mut imported.findings;
    let Some(table) = Table::read(input, &COLUMNS, findings) else { return };
    for (line, rate) in table.each(findings, read) {
        let rates = alone.entry(rate.key).or_default();
        if let Some((first, _)) = rates.get(&(rate.gpus, rate.consolidated)) {
            findings.damage(Code::D07, table.place(line), format!("the job is in line {first} already."));
            findings.leave_out(&table.name, 1);
        } else {
            rates.insert((rate.gpus, rate.consolidated), (line, rate.steps_per_s));
        }
    }
    for (key, rates) in alone.iter() {
        imported.profiles.extend(profile(key, rates, &table, &mut imported.findings));
    }
}

fn read(cells: &mut Cells<'_, '_>) -> Option<Rate> {
    let source = cells.text("source");
    let gpu = cells.one_of("gpu", &GPUS);
    let job = cells.text("job");
    let gpus = cells.whole("scale_factor", COUNT);
    let steps_per_s = cells.number("steps_per_s", AMOUNT);
    let (gpu_type, consolidated) = gpu?;
    let key = (source?.to_owned(), gpu_type, job?.to_owned());
    Some(Rate { key, gpus: gpus?, consolidated, steps_per_s: steps_per_s? })
}

/// The profile of one job; `None` if it runs nowhere.
fn profile(key: &Key, rates: &Rates, table: &Table, findings: &mut Findings) -> Option<ProfileFile> {
    let (source_name, gpu_type, job) = key;
    let id = slug(&[gpu_type, "gavel", source_name, job]);
    let mut scaling = Vec::new();
    for (&(gpus, consolidated), &(line, rate)) in rates {
        if rate > 0.0 {
            let step_s = significant(gpus as f64 / rate);
            scaling.push(ScalingFile {
                gpus,
                nodes: None,
                consolidated: Some(consolidated),
                step_s,
                power_w: None,
                stages: None,
                flags: Vec::new(),
            });
        } else {
            let message = format!("{job} makes 0 steps per second on {gpus} GPUs ({gpu_type}, {source_name}).");
            findings.suspect(Code::S07, table.place(line), message);
        }
    }
    let single = scaling.iter().find(|entry| entry.gpus == 1 && entry.consolidated == Some(true));
    let points = single.map(|entry| MeasuredPointFile { step_s: Some(entry.step_s), ..MeasuredPointFile::default() });
    let (model, batch) = model_and_batch(job);
    let has_any = !scaling.is_empty();
    has_any.then(|| ProfileFile {
        batch_per_gpu: batch.map(|batch| {
            Figure::assumed(batch, "the batch size in the job's name; whether a GPU's or the gang's is not stated")
        }),
        points: points.into_iter().collect(),
        scaling,
        ..ProfileFile::new(
            id,
            (*gpu_type).to_owned(),
            WorkloadFile { model, step: "one training step".to_owned(), ..WorkloadFile::default() },
            source(&format!("{source_name}_throughputs.json")),
            OriginFile { step_s: ColumnOrigin::new(Kind::Derived, STEP_NOTE), power_w: None, counters: None },
        )
    })
}

/// `ResNet-50 (batch size 32)` as `ResNet-50` and 32.
fn model_and_batch(job: &str) -> (String, Option<f64>) {
    let parts = job.strip_suffix(')').and_then(|rest| rest.split_once(" (batch size "));
    match parts.and_then(|(model, batch)| Some((model, batch.parse::<u32>().ok().filter(|&batch| batch > 0)?))) {
        Some((model, batch)) if !model.trim().is_empty() => (model.to_owned(), Some(f64::from(batch))),
        _ => (job.to_owned(), None),
    }
}

fn source(path: &str) -> SourceFile {
    let citation = "D. Narayanan, K. Santhanam, F. Kazhamiaka, A. Phanishayee, M. Zaharia, \"Heterogeneity-Aware Cluster \
                    Scheduling Policies for Deep Learning Workloads\", OSDI 2020";
    SourceFile {
        id: Some("gavel".to_owned()),
        title: "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads".to_owned(),
        authors: Some("D. Narayanan, K. Santhanam, F. Kazhamiaka, A. Phanishayee, M. Zaharia".to_owned()),
        repository: Some("https://github.com/stanford-futuredata/gavel".to_owned()),
        commit: Some("c4fa40097339e9608ab71fd64c8bdea96a5e4a4c".to_owned()),
        path: Some(path.to_owned()),
        licence: Some("MIT".to_owned()),
        hardware: None,
        citation: Some(citation.to_owned()),
    }
}
