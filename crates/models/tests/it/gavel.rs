//! Interference on Gavel's pairs: `RATS_DATA_DIR=... cargo test --release -p rats-models gavel -- --nocapture` prints every
//! figure of `docs/interference.md`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use rats_models::data::{Pair, Side};
use rats_models::interference::evaluate;
use rats_models::score::{Quantity, Score};

/// The pairs of `oracle_motivation`, each once.
fn pairs(folder: &Path) -> Vec<Pair> {
    let mut alone: BTreeMap<(String, String), f64> = BTreeMap::new();
    for row in csv::Reader::from_path(folder.join("isolated_throughput.csv")).unwrap().records() {
        let row = row.unwrap();
        if &row[0] == "oracle_motivation" {
            alone.insert((row[1].to_owned(), row[2].to_owned()), row[4].parse().unwrap());
        }
    }
    let mut text = String::new();
    let packed = File::open(folder.join("colocated_throughput.csv.gz")).unwrap();
    flate2::read::GzDecoder::new(packed).read_to_string(&mut text).unwrap();
    let mut pairs = Vec::new();
    for row in csv::Reader::from_reader(text.as_bytes()).records() {
        let row = row.unwrap();
        if &row[0] != "oracle_motivation" || row[2] > row[4] {
            continue;
        }
        let side = |job: &str, rate: &str| {
            let (model, batch) = job.split_once(" (batch size ").unwrap_or((job, ""));
            Side {
                job: job.to_owned(),
                model: model.to_owned(),
                batch: batch.trim_end_matches(')').parse().ok(),
                alone_rate: alone.get(&(row[1].to_owned(), job.to_owned())).copied(),
                shared_rate: rate.parse().unwrap(),
            }
        };
        let (a, b) = (side(&row[2], &row[6]), side(&row[4], &row[7]));
        let can_share = a.shared_rate > 0.0;
        let series = "oracle-motivation".to_owned();
        pairs.push(Pair {
            source: "gavel".into(),
            series,
            gpu: row[1].to_owned(),
            gpus: 1,
            a,
            b,
            can_share,
            ..Pair::default()
        });
    }
    pairs
}

/// Mean and worst of a figure over seeds, by task, GPU, model and quantity.
fn table(
    scores: &[Score],
    of: impl Fn(&Score) -> Option<f64>,
) -> BTreeMap<(String, String, String, Quantity), Vec<f64>> {
    let mut table: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for score in scores {
        let key = (score.task.clone(), score.gpu.clone(), score.model.clone(), score.quantity);
        table.entry(key).or_default().extend(of(score));
    }
    table.retain(|_, values| !values.is_empty());
    table
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn rates_of_unseen_pairs_are_within_the_reach() {
    let Some(folder) = crate::data("gavel") else { return };
    let scores = evaluate::scores(&pairs(&folder), &[1, 2, 3, 4, 5], &|_| ()).unwrap();
    let errors = table(&scores, |score| score.mean_abs.filter(|_| score.quantity == Quantity::Rate));
    let accuracy = table(&scores, |score| score.balanced_accuracy);
    let coverage = table(&scores, |score| score.coverage);
    for (name, table) in [("mean absolute error", &errors), ("balanced accuracy", &accuracy), ("coverage", &coverage)] {
        println!("{name}: mean, least, most");
        for ((task, gpu, model, quantity), values) in table {
            let (least, most) = values.iter().fold((f64::MAX, f64::MIN), |(a, b), &v| (a.min(v), b.max(v)));
            let name = format!("{task} {gpu} {model} {}", quantity.name());
            println!("  {name:<50} {:.4} {least:.4} {most:.4}  {values:.3?}", mean(values));
        }
    }
    for gpu in ["v100", "p100", "k80"] {
        let key = |task: &str, model: &str| (task.to_owned(), gpu.to_owned(), model.to_owned(), Quantity::Rate);
        let rats = &errors[&key("pair-unseen", "rats")];
        assert!(rats.iter().all(|error| *error <= 0.05), "{gpu} {rats:?}");
        for baseline in ["mean", "row-column", "model-pair", "nearest-batch"] {
            let simple = &errors[&key("pair-unseen", baseline)];
            assert!(rats.iter().zip(simple).all(|(rats, simple)| rats < simple), "{gpu} {baseline}");
        }
        let can = &accuracy[&("can-share".to_owned(), gpu.to_owned(), "rats".to_owned(), Quantity::CanShare)];
        assert!(mean(can) >= 0.9 && can.iter().all(|accuracy| *accuracy >= 0.85), "{gpu} {can:?}");
        assert!(mean(&errors[&key("model-unseen", "rats")]) <= 0.1, "{gpu}");
        let covered = mean(&coverage[&key("pair-unseen", "rats")]);
        assert!((0.86..=0.94).contains(&covered), "{gpu} {covered}");
    }
}
