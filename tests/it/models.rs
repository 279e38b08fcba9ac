//! `rats fit`, `rats predict`, `rats share`, `rats scale` and `rats unseen` on the profiles that ship.

use std::path::Path;

use serde_json::Value;

use crate::harness::{Done, Place};

const RESNET: &str = "ResNet-50 (batch size 64)";
const LM: &str = "LM (batch size 20)";

/// A place from which the profiles that ship are seen as from the root of the repository.
fn place() -> Place {
    let place = Place::with_plans(&[]);
    std::os::unix::fs::symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join("instances"), place.path("instances"))
        .unwrap();
    place
}

/// Runs `rats` with these words and then these, which may hold spaces.
fn rats(place: &Place, words: &str, last: &[&str]) -> Done {
    Done::from(place.command(words).args(last).output().unwrap())
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn two_jobs_share_a_gpu_at_the_rates_that_were_measured() {
    let place = place();
    // Measured: 0.5 to 1 of their rates alone, whatever noise there is; the two are in instances/profiles/gavel.
    let answer = rats(&place, "share --gpu v100 --json", &[RESNET, LM]).json();
    let file = place.read("instances/profiles/gavel/v100-gavel-oracle-motivation-pairs.json");
    let file: Value = serde_json::from_str(&file).unwrap();
    let jobs = file["workloads"].as_array().unwrap();
    let at = |name: &str| jobs.iter().position(|job| job["name"] == name).unwrap();
    let (a, b) = (at(RESNET), at(LM));
    let pairs = file["pairs"].as_array().unwrap();
    let pair = pairs.iter().find(|pair| pair[0] == a && pair[1] == b).unwrap();
    for (side, job) in [a, b].into_iter().enumerate() {
        let measured = number(&pair[2 + side]) / number(&jobs[job]["alone"]);
        let rate = &answer["rates"][side];
        assert!((number(&rate["rate"]) - measured).abs() < 0.05, "{rate} {measured}");
        assert!(number(&rate["low"]) < number(&rate["rate"]) && number(&rate["rate"]) < number(&rate["high"]));
        let votes = answer["votes"].as_array().unwrap();
        let mixed: f64 = votes.iter().map(|vote| number(&vote["weight"]) * number(&vote["rates"][side])).sum();
        assert!((mixed - number(&rate["rate"])).abs() < 1e-9, "{mixed} {rate}");
    }
    assert_eq!((&answer["can_share"], &answer["series"]), (&true.into(), &"oracle-motivation".into()));
    let text = rats(&place, "share --gpu v100", &[RESNET, LM]).stdout;
    assert!(text.contains("Pairs on v100 of the series oracle-motivation") && text.contains("KRIGING"), "{text}");
}

#[test]
fn a_job_that_ran_in_no_pair_is_asked_by_its_rate_alone() {
    let new = ["--alone", "job=mine,model=ResNet-50,batch=96,v100=3.4", "mine", LM];
    let answer = rats(&place(), "share --gpu v100 --json", &new).json();
    let votes = answer["votes"].as_array().unwrap();
    assert_eq!((votes.len(), &votes[0]["model"]), (1, &"kriging".into()));
    assert!((0.2..1.0).contains(&number(&answer["rates"][0]["rate"])), "{answer}");
}

#[test]
fn the_jobs_of_a_gpu_are_listed() {
    let jobs = place().rats("share --gpu k80 --json").json()["jobs"].as_array().unwrap().clone();
    assert_eq!(jobs.len(), 26);
    // Every job was tried beside all 26; the 53 pairs that cannot share are counted at both of their jobs.
    let sum = |job: &Value| number(&job["shares_with"]) + number(&job["cannot_share_with"]);
    assert!(jobs.iter().all(|job| (sum(job) - 26.0).abs() < 0.5), "{jobs:?}");
}

#[test]
fn what_cannot_be_shared_or_is_unknown_is_refused() {
    let place = place();
    rats(&place, "share --gpu v100", &["nobody", LM]).fails_with("error [M42] nobody: Known: A3C, ");
    rats(&place, "share --gpu h100", &[RESNET, LM]).fails_with("error [M41] h100: Known: k80, p100, v100.");
    place.rats("share --gpu v100 --series none").fails_with("error [D06] --series none: ");
    rats(&place, "share --gpu v100 --alone", &["job=x,v100=1"]).fails_with("error [U05] command line: ");
    Place::with_plans(&[]).rats("share --gpu v100").fails_with("error [U01] instances/profiles: ");
    Place::with_plans(&[]).rats("share nowhere --gpu v100").fails_with("error [U01] nowhere/");
}

#[test]
fn a_step_of_a_gang_is_told_with_what_it_waits_for() {
    let place = place();
    // Muri measured VGG-16 on 16 V100.
    let profile: Value = serde_json::from_str(&place.read("instances/profiles/muri/v100-muri-vgg16-b16.json")).unwrap();
    let gangs = profile["scaling"].as_array().unwrap();
    let measured = number(&gangs.iter().find(|gang| gang["gpus"] == 16).unwrap()["step_s"]);
    let answer = place.rats("scale --workload vgg16-b16 --gpus 16 --json").json();
    let step = number(&answer["step_s"]);
    assert!((step / measured - 1.0).abs() < 0.1, "{step} {measured}");
    assert!(number(&answer["interval_s"][0]) < step && step < number(&answer["interval_s"][1]));
    let exposed = number(&answer["exposed_communication_s"]);
    assert!(exposed > 0.0 && exposed < step, "{answer}");
    assert_eq!((&answer["across_nodes"], &answer["of_cluster"]["hops"]), (&true.into(), &"tree".into()));
    let text = place.rats("scale --workload vgg16-b16 --gpus 16").stdout;
    assert!(text.starts_with("vgg16-b16 of muri/v100 on 16 GPUs on several nodes\n"), "{text}");
    let list = place.rats("scale").stdout;
    assert!(list.contains("vgg16-b16") && list.contains("1 2 4 8 16 32"), "{list}");
}

#[test]
fn a_gang_takes_longer_for_a_step_than_one_gpu() {
    let place = place();
    let words = "scale --cluster gavel/k80 --workload physical-cluster-lm-batch-size-20 --json --gpus";
    let step = |gpus: u32| number(&place.rats(&format!("{words} {gpus}")).json()["step_s"]);
    assert!(step(1) < step(2) && step(2) < step(8), "{} {} {}", step(1), step(2), step(8));
    let new = "scale --cluster mpt/h100 --step 1.2 --gradient-bytes 6e9 --gpus 64 --json";
    assert!(number(&place.rats(new).json()["step_s"]) >= 1.2);
}

#[test]
fn gangs_beyond_what_was_measured_are_refused() {
    let place = place();
    place.rats("scale --workload vgg16-b16 --gpus 1000").fails_with("error [M53] vgg16-b16: 1000 GPUs; ");
    place.rats("scale --workload none --gpus 4").fails_with("error [M52] none: ");
    place.rats("scale --cluster muri/h100").fails_with("error [D06] --cluster muri/h100: ");
    let lm = "--workload physical-cluster-lm-batch-size-20 --gpus 4";
    place.rats(&format!("scale {lm}")).fails_with("error [U05] physical-cluster-lm-batch-size-20: ");
    let together = format!("scale --cluster gavel/v100 {lm} --placement together");
    place
        .rats(&together)
        .fails_with("error [M53] physical-cluster-lm-batch-size-20: No gang on one node was measured.");
    place.rats("scale --workload vgg16-b16").fails_with("error [U05] command line: ");
}

#[test]
fn a_kernel_of_one_measurement_gets_its_curve_or_what_to_measure_next() {
    let place = place();
    let built = place.rats("dataset build -o dataset");
    assert_eq!(built.exit, 0, "{}", built.stderr);
    let next = place.rats("unseen dataset --like ulisboa-ptx/gtx-titan-x --next 3");
    assert_eq!((next.exit, next.stdout.lines().count()), (0, 3), "{}{}", next.stdout, next.stderr);
    let words = "unseen dataset --like ulisboa-ptx/gtx-titan-x --measured sm=975,mem=3505,time=2.1,power=140";
    let curve = place.rats(&format!("{words} --json")).json();
    // 16 SM clocks at each of 2 memory clocks; the point measured keeps its numbers.
    let curve = curve.as_array().unwrap();
    assert_eq!(curve.len(), 32);
    let measured: Vec<&Value> = curve.iter().filter(|point| point["measured"] == true).collect();
    assert_eq!(measured.len(), 1);
    assert!((number(&measured[0]["time"]["value"]) - 2.1).abs() < 1e-9, "{}", measured[0]);
    assert!(place.rats(words).stdout.contains("least energy"));
    // The folder may be left out.
    assert_eq!(place.rats(&words.replace("unseen dataset", "unseen")).stdout, place.rats(words).stdout);
    place.rats("unseen dataset --like nobody/v100 --next 1").fails_with("error [D06] nobody/v100: ");
}

#[test]
fn clocks_that_were_kept_from_the_fit_are_predicted() {
    // Every fourth of the 117 clocks of dgemm is fitted. Time and power of the others are off by 0.5 % on average.
    let place = place();
    let mut profile: Value = serde_json::from_str(&place.read("instances/profiles/ttu/v100-ttu-dgemm.json")).unwrap();
    let points = profile["points"].as_array().unwrap().clone();
    let (fitted, held): (Vec<(usize, Value)>, Vec<_>) =
        points.into_iter().enumerate().partition(|(at, _)| at.is_multiple_of(4));
    profile["points"] = fitted.into_iter().map(|(_, point)| point).collect();
    place.write("thinned.json", &profile.to_string());
    let done = place.rats("fit thinned.json -o models --json");
    assert_eq!((done.exit, &*done.stderr), (0, ""));
    let file = done.json()[0]["file"].as_str().unwrap().to_owned();
    let clocks: Vec<String> = held.iter().map(|(_, point)| format!("--sm-mhz {}", point["sm_mhz"])).collect();
    let answer = place.rats(&format!("predict models/{file} --json {}", clocks.join(" "))).json();
    let lines = answer.as_array().unwrap();
    assert_eq!(lines.len(), held.len());
    for (quantity, measured) in [("time", "step_s"), ("power_w", "power_w")] {
        let (mut error, mut inside) = (0.0, 0);
        for (line, (_, point)) in lines.iter().zip(&held) {
            let [said, low, high] = [0, 1, 2].map(|at| number(&line[quantity][at]));
            let truth = number(&point[measured]);
            error += (said / truth - 1.0).abs() / held.len() as f64;
            inside += usize::from(low <= truth && truth <= high);
        }
        assert!(error < 0.01, "{quantity} is off by {error}");
        assert!(inside * 10 >= held.len() * 7, "{quantity}: {inside} of {} intervals hold", held.len());
    }
    // Nothing is said far outside, and a damaged model is refused.
    place.rats(&format!("predict models/{file} --sm-mhz 100")).fails_with("error [M10] ");
    let model = place.read(&format!("models/{file}"));
    place.write("models/damaged.json", &model.replace("\"form\": \"time-", "\"form\": \"unknown-"));
    place.rats("predict models/damaged.json --sm-mhz 1000").fails_with("error [M11] ");
}
