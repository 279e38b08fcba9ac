//! Muri (SIGCOMM 2022): iteration and stage times of training on 1 to 32 V100.
//!
//! The traces repeat, for every job, the times that were measured for its model, batch size and number of GPUs.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::format::{
    ColumnOrigin, Figure, Kind, MeasuredPointFile, OriginFile, ProfileFile, ScalingFile, SourceFile, StagesFile,
    WorkloadFile,
};

use super::Imported;
use super::cells::{AMOUNT, COUNT, Cells, INDEX, SECONDS};
use super::findings::Findings;
use super::input::Input;
use super::names::{significant, slug};
use super::table::Table;

const COLUMNS: [&str; 13] = [
    "job_id",
    "num_gpu",
    "submit_time",
    "iterations",
    "model_name",
    "batch_size",
    "duration",
    "interval",
    "iteration_time",
    "resource_time_0",
    "resource_time_1",
    "resource_time_2",
    "priority",
];

/// Model and batch size.
type Key = (String, i64);

struct Job {
    key: Key,
    gpus: i64,
    /// ms.
    iteration: f64,
    /// ms.
    stages: [f64; 3],
}

/// What was said of one number of GPUs.
struct Gang {
    /// Where it was said first.
    place: String,
    iteration: f64,
    /// Every statement about the stages, with how often it was made.
    stages: Vec<([f64; 3], usize)>,
}

type Gangs = BTreeMap<Key, BTreeMap<i64, Gang>>;

pub(super) fn import(inputs: &[Input], imported: &mut Imported) {
    let mut gangs = Gangs::new();
    for input in inputs {
        let name = input.file_name();
        let trace = name.starts_with("trace") || name.starts_with("job_type_") || name == "cluster_trace.csv";
        if input.is("csv") && trace {
            read(input, &mut gangs, &mut imported.findings);
        } else if matches!(name, "job.csv" | "cluster.csv" | "result.out") {
            imported.findings.skip(&input.name, "what a scheduler did with the jobs, no profile");
        } else {
            imported.findings.stranger(&input.name);
        }
    }
    for (key, gangs) in &gangs {
        imported.profiles.push(profile(key, gangs, &mut imported.findings));
    }
}

fn read(input: &Input, gangs: &mut Gangs, findings: &mut Findings) {
    let Some(table) = Table::read(input, &COLUMNS, findings) else { return };
    for (line, job) in table.each(findings, row) {
        let gang = gangs.entry(job.key.clone()).or_default().entry(job.gpus).or_insert_with(|| Gang {
            place: table.place(line),
            iteration: job.iteration,
            stages: Vec::new(),
        });
        if gang.iteration.to_bits() != job.iteration.to_bits() {
            let (model, batch) = &job.key;
            let message = format!(
                "an iteration of {model} (batch size {batch}) on {} GPUs takes {} ms here and {} ms in {}.",
                job.gpus, job.iteration, gang.iteration, gang.place
            );
            findings.damage(Code::D11, format!("{}, iteration_time", table.place(line)), message);
            findings.leave_out(&table.name, 1);
            continue;
        }
        match gang.stages.iter_mut().find(|(stages, _)| stages.map(f64::to_bits) == job.stages.map(f64::to_bits)) {
            Some((_, count)) => *count += 1,
            None => gang.stages.push((job.stages, 1)),
        }
    }
}

fn row(cells: &mut Cells<'_, '_>) -> Option<Job> {
    let model = cells.text("model_name");
    let batch = cells.whole("batch_size", COUNT);
    let gpus = cells.whole("num_gpu", COUNT);
    let iteration = cells.number("iteration_time", SECONDS);
    let stages = ["resource_time_0", "resource_time_1", "resource_time_2"].map(|column| cells.number(column, AMOUNT));
    let others = [
        cells.whole("job_id", INDEX).is_some(),
        cells.number("submit_time", AMOUNT).is_some(),
        cells.number("iterations", AMOUNT).is_some(),
        cells.number("duration", AMOUNT).is_some(),
        cells.number("interval", AMOUNT).is_some(),
        cells.number("priority", AMOUNT).is_some(),
    ];
    let [Some(load), Some(compute), Some(network)] = stages else { return None };
    let key = (model?.to_owned(), batch?);
    let job = Job { key, gpus: gpus?, iteration: iteration?, stages: [load, compute, network] };
    others.into_iter().all(|good| good).then_some(job)
}

fn profile((model, batch): &Key, gangs: &BTreeMap<i64, Gang>, findings: &mut Findings) -> ProfileFile {
    let id = slug(&["v100-muri", model, &format!("b{batch}")]);
    let scaling: Vec<_> = gangs
        .iter()
        .map(|(&gpus, gang)| {
            // The statement made most often; of equals the first.
            let most = gang.stages.iter().map(|(_, count)| *count).max().unwrap_or(0);
            let stages = gang.stages.iter().find(|(_, count)| *count == most).map(|(stages, _)| *stages);
            if gang.stages.len() > 1 {
                let shown: Vec<_> = gang.stages.iter().map(|(stages, n)| format!("{stages:?} ms ({n} rows)")).collect();
                let message =
                    format!("the stages on {gpus} GPUs take {}; the most frequent are kept.", shown.join(" or "));
                findings.suspect(Code::S06, &id, message);
            }
            let seconds = |ms: f64| significant(ms / 1000.0);
            ScalingFile {
                gpus,
                nodes: None,
                consolidated: None,
                step_s: seconds(gang.iteration),
                power_w: None,
                stages: stages.map(|[load, compute, network]| StagesFile {
                    load_s: seconds(load),
                    compute_s: seconds(compute),
                    network_s: seconds(network),
                }),
                flags: Vec::new(),
            }
        })
        .collect();
    let alone = scaling.iter().find(|entry| entry.gpus == 1);
    let points = alone.map(|entry| MeasuredPointFile { step_s: Some(entry.step_s), ..MeasuredPointFile::default() });
    ProfileFile {
        batch_per_gpu: Some(Figure::measured(*batch as f64, "batch_size")),
        gradient_bytes: gradient_bytes(model),
        points: points.into_iter().collect(),
        scaling,
        ..ProfileFile::new(
            id,
            "v100".to_owned(),
            WorkloadFile { model: model.clone(), step: "one training step".to_owned(), ..WorkloadFile::default() },
            source(),
            OriginFile { step_s: ColumnOrigin::new(Kind::Measured, "iteration_time"), power_w: None, counters: None },
        )
    }
}

fn gradient_bytes(model: &str) -> Option<Figure> {
    let (parameters, note) = match model {
        "vgg16" => (138_357_544.0, "138,357,544 parameters x 4 bytes"),
        "vgg19" => (143_667_240.0, "143,667,240 parameters x 4 bytes"),
        "resnet18" => (11_689_512.0, "11,689,512 parameters x 4 bytes"),
        "shufflenet_v2_x1_0" => (2_278_604.0, "2,278,604 parameters x 4 bytes"),
        "bert" => (109_482_240.0, "BERT base, 109,482,240 parameters x 4 bytes"),
        "gpt2" => (124_439_808.0, "GPT-2 small, 124,439,808 parameters x 4 bytes"),
        _ => return None,
    };
    Some(Figure::assumed(parameters * 4.0, format!("{note}; size and precision not stated")))
}

fn source() -> SourceFile {
    let citation = "Y. Zhao, Y. Liu, Y. Peng, Y. Zhu, X. Liu, X. Jin, \"Multi-Resource Interleaving for Deep Learning \
                    Training\", SIGCOMM 2022";
    SourceFile {
        id: Some("muri".to_owned()),
        title: "Multi-Resource Interleaving for Deep Learning Training".to_owned(),
        authors: Some("Y. Zhao, Y. Liu, Y. Peng, Y. Zhu, X. Liu, X. Jin".to_owned()),
        repository: Some("https://github.com/Rivendile/Muri".to_owned()),
        commit: Some("4e69a78ce75f629a5a00abd48150a1860b341ce6".to_owned()),
        path: Some("traces".to_owned()),
        licence: Some("Apache-2.0".to_owned()),
        hardware: Some("8 nodes of 8 V100".to_owned()),
        citation: Some(citation.to_owned()),
    }
}
