//! Scaling on Muri's, Gavel's and MPT's gangs: `RATS_DATA_DIR=... cargo test --release -p rats-models scaling -- --nocapture`
//! prints every figure of `docs/scaling.md`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use rats_models::data::Gang;
use rats_models::scaling::{ScalingModel, evaluate};

/// Rows of a CSV file, packed or not, by column.
fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let mut text = String::new();
    let mut file = File::open(path).unwrap();
    if path.extension().is_some_and(|extension| extension == "gz") {
        flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    } else {
        file.read_to_string(&mut text).unwrap();
    }
    csv::Reader::from_reader(text.as_bytes()).deserialize().map(Result::unwrap).collect()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap()
}

fn gavel(folder: &Path) -> Vec<Gang> {
    let mut gangs = Vec::new();
    for row in rows(&folder.join("isolated_throughput.csv")) {
        let rate = number(&row, "steps_per_s");
        let gpus: i64 = row["scale_factor"].parse().unwrap();
        if row["source"] == "physical_cluster" && rate > 0.0 {
            let (gpu, consolidated) =
                row["gpu"].strip_suffix("_unconsolidated").map_or((&*row["gpu"], true), |gpu| (gpu, false));
            gangs.push(Gang {
                source: "gavel".to_owned(),
                gpu: gpu.to_owned(),
                workload: format!("physical-cluster-{}", row["job"]),
                model: row["job"].split(" (").next().unwrap().to_owned(),
                gpus,
                consolidated: Some(consolidated),
                time_s: gpus as f64 / rate,
                ..Gang::default()
            });
        }
    }
    gangs
}

fn muri(folder: &Path) -> Vec<Gang> {
    let mut files = vec![folder.join("cluster_exp/cluster_trace.csv")];
    files.extend(fs::read_dir(folder.join("simulator_traces")).unwrap().map(|entry| entry.unwrap().path()));
    let mut gangs: BTreeMap<(String, i64), Gang> = BTreeMap::new();
    for row in files.iter().flat_map(|file| rows(file)) {
        let gpus: i64 = row["num_gpu"].parse().unwrap();
        let model = row["model_name"].clone();
        gangs.entry((model.clone(), gpus)).or_insert_with(|| Gang {
            source: "muri".to_owned(),
            gpu: "v100".to_owned(),
            workload: model.clone(),
            model,
            gpus,
            time_s: number(&row, "iteration_time") / 1000.0,
            ..Gang::default()
        });
    }
    gangs.into_values().collect()
}

fn mpt(folder: &Path) -> Vec<Gang> {
    let of = |row: BTreeMap<String, String>| {
        let gpus: i64 = row["# GPUs"].parse().unwrap();
        let batch = number(&row, "GlobalBatchSize");
        let key = ["Model", "SeqLen (T)", "MicroBatchSize", "GradAccum", "Precision", "Sharding Strategy", "MP Mode"];
        let workload = key.map(|column| row[column].clone()).join("-");
        let nodes = Some((gpus + 7) / 8);
        let bytes = 2.0 * number(&row, "NumParams");
        Gang {
            source: "mpt".to_owned(),
            gpu: row["GPU"].clone(),
            workload: format!("{workload}-{}-{}", row["Activation Checkpointing"], row["Activation CPUOffload"]),
            model: row["Model"].clone(),
            gpus,
            nodes,
            time_s: batch / number(&row, "Throughput (T/s)") * number(&row, "SeqLen (T)"),
            gradient_bytes: Some(bytes),
            ..Gang::default()
        }
    };
    rows(&folder.join("mpt_training_throughput.csv")).into_iter().map(of).collect()
}

#[test]
fn gangs_that_no_model_saw_are_predicted_better_than_by_linear_scaling() {
    let (Some(folder), Some(muri_folder), Some(mpt_folder)) =
        (crate::data("gavel"), crate::data("muri-sigcomm22"), crate::data("mpt-training-benchmarks"))
    else {
        return;
    };
    let muri = muri(&muri_folder);
    let all = [gavel(&folder), muri.clone(), mpt(&mpt_folder)].concat();
    let scores = evaluate::scores(&all, &|_| ());
    for score in &scores {
        let name = format!("{} {} {} {}", score.task, score.source, score.gpu, score.model);
        println!(
            "{name:<45} mape {:.4} worst workload {:.4} n {}",
            score.mape.unwrap(),
            score.worst_group.unwrap(),
            score.n
        );
    }
    for score in scores.iter().filter(|score| score.model == "rats" && score.task != "gang-model") {
        let linear = scores.iter().find(|other| {
            (&other.task, &other.source, &other.gpu) == (&score.task, &score.source, &score.gpu)
                && other.model == "linear"
        });
        assert!(score.mape < linear.unwrap().mape, "{score:?}");
    }
    let model = ScalingModel::train(&muri).unwrap();
    println!("muri: {:?}", model.cluster);
    for (name, own) in model.workloads() {
        println!("  {name:<20} step {:.4} s, transfer {:.4} s", own.step_s, own.transfer_s);
    }
}
