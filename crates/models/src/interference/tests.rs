//! Interference against numbers worked out by hand.

use super::evaluate;
use super::members::{Members, cross_validated};
use super::*;
use crate::data::Side;
use crate::score::Quantity;

const MODELS: usize = 4;
const BATCHES: usize = 3;

fn side(job: usize, gpu: &str) -> Side {
    let (model, batch) = (job / BATCHES, job % BATCHES);
    // Larger models gain more from the faster GPU.
    let speed = if gpu == "fast" { 1.5 + model as f64 } else { 1.0 };
    Side {
        job: format!("m{model}-b{batch}"),
        model: format!("m{model}"),
        batch: Some(f64::from(8_u32 << batch)),
        alone_rate: Some(speed * 8.0 / f64::from(1 << batch)),
        shared_rate: 0.0,
    }
}

/// Jobs that wait for each other: sensitivity falls and pressure rises with the model and the batch size.
fn planted(victim: usize, partner: usize) -> f64 {
    let (vm, vb) = ((victim / BATCHES) as f64, (victim % BATCHES) as f64);
    let (pm, pb) = ((partner / BATCHES) as f64, (partner % BATCHES) as f64);
    1.0 / (1.0 + (0.5 - 0.3 * vm - 0.4 * vb).exp() * (0.2 + 0.3 * pm + 0.5 * pb).exp() * 0.6)
}

/// Every pair of 12 jobs on two GPUs; the two largest jobs of all do not fit side by side.
fn pairs() -> Vec<Pair> {
    let n = MODELS * BATCHES;
    let pair = |gpu: &str, a: usize, b: usize| {
        let can_share = a + b < 2 * n - 5;
        let (mut first, mut second) = (side(a, gpu), side(b, gpu));
        if can_share {
            first.shared_rate = first.alone_rate.unwrap() * planted(a, b);
            second.shared_rate = second.alone_rate.unwrap() * planted(b, a);
        }
        Pair { gpu: gpu.to_owned(), gpus: 1, a: first, b: second, can_share, ..Pair::default() }
    };
    let of = |gpu| (0..n).flat_map(move |a| (a..n).map(move |b| pair(gpu, a, b)));
    of("fast").chain(of("slow")).collect()
}

fn codes(pairs: &[Pair]) -> Vec<Code> {
    InterferenceModel::train(pairs, &[]).unwrap_err().0.iter().map(|problem| problem.code).collect()
}

#[test]
fn planted_waiting_is_predicted_for_a_pair_that_never_ran() {
    let known: Vec<Pair> =
        pairs().into_iter().filter(|pair| (&*pair.a.job, &*pair.b.job) != ("m0-b1", "m2-b2")).collect();
    let model = InterferenceModel::train(&known, &[]).unwrap();
    let found = model.predict("fast", "m0-b1", "m2-b2").unwrap();
    assert!(found.can_share && found.probability > 0.8, "{found:?}");
    for (estimate, truth) in found.rates.iter().zip([planted(1, 8), planted(8, 1)]) {
        assert!((estimate.rate - truth).abs() < 0.02, "{estimate:?} {truth}");
        assert!(estimate.low <= estimate.rate && estimate.rate <= estimate.high, "{estimate:?}");
    }
    assert!(!model.predict("fast", "m3-b2", "m3-b2").unwrap().can_share);
    assert_eq!(model.gpus().collect::<Vec<_>>(), ["fast", "slow"]);
    let weights: f64 = model.weights("slow").unwrap().iter().map(|weight| weight.1).sum();
    assert!((weights - 1.0).abs() < 1e-12);
}

#[test]
fn asking_in_the_other_order_gives_the_mirrored_answer() {
    let model = InterferenceModel::train(&pairs(), &[]).unwrap();
    let (one, other) =
        (model.predict("slow", "m0-b0", "m3-b1").unwrap(), model.predict("slow", "m3-b1", "m0-b0").unwrap());
    assert_eq!([one.rates[0], one.rates[1]], [other.rates[1], other.rates[0]]);
    assert_eq!(one.probability.to_bits(), other.probability.to_bits());
    let mirrored: Vec<Pair> =
        pairs().into_iter().map(|pair| Pair { a: pair.b.clone(), b: pair.a.clone(), ..pair }).collect();
    let again = InterferenceModel::train(&mirrored, &[]).unwrap().predict("slow", "m0-b0", "m3-b1").unwrap();
    assert!((again.rates[0].rate - one.rates[0].rate).abs() < 1e-9);
}

#[test]
fn neither_a_held_out_pair_nor_its_mirror_tells_its_prediction() {
    let all = pairs();
    let jobs = catalogue(&all, &[]).unwrap();
    let table = tables(&all, &jobs).unwrap().remove("fast").unwrap();
    let features = features(&jobs, "fast");
    let choice = Members::fit(&jobs, &features, &table.cells, None, None).unwrap().kriging.choice;
    let before = cross_validated(&jobs, &features, &table.cells, choice);
    let mut changed = table.cells.clone();
    for cell in changed.iter_mut().filter(|cell| cell.pair() == (1, 8)) {
        cell.rate = 0.017;
    }
    let after = cross_validated(&jobs, &features, &changed, choice);
    let bits = |said: &[f64; MEMBERS]| said.map(f64::to_bits);
    let of_pair = |at: usize| (after[at].0 - 0.017).abs() < 1e-12;
    let places: Vec<usize> = (0..after.len()).filter(|&at| of_pair(at)).collect();
    assert_eq!(places.len(), 2);
    assert!(places.iter().all(|&at| bits(&before[at].1) == bits(&after[at].1) && before[at].0 > 0.1));
    assert!(before.iter().zip(&after).any(|(before, after)| bits(&before.1) != bits(&after.1)));
}

#[test]
fn a_written_model_answers_the_same() {
    let model = InterferenceModel::train(&pairs(), &[]).unwrap();
    let read = InterferenceModel::from_json("m", &model.to_json()).unwrap();
    for (a, b) in [("m0-b0", "m1-b1"), ("m3-b2", "m3-b2"), ("m2-b0", "m0-b2")] {
        let (read, model) = (read.predict("fast", a, b).unwrap(), model.predict("fast", a, b).unwrap());
        assert_eq!(read.can_share, model.can_share);
        let pairs = read.rates.iter().zip(&model.rates);
        assert!(pairs.into_iter().all(|(a, b)| (a.rate - b.rate).abs() < 1e-9 && (a.low - b.low).abs() < 1e-9));
    }
    let damage = |from: &str, to: &str| {
        InterferenceModel::from_json("m", &model.to_json().replacen(from, to, 1)).unwrap_err().code
    };
    assert_eq!(damage("rats.interference/1", "rats.plan/1"), Code::M47);
    assert_eq!(damage("\"victim\":0", "\"victim\":99"), Code::M47);
    assert_eq!(damage("\"demand\":[", "\"demand\":[0.5,"), Code::M47);
}

#[test]
fn a_job_that_ran_in_no_pair_is_answered_by_what_it_is() {
    let known: Vec<Pair> = pairs().into_iter().filter(|pair| pair.a.model != "m2" && pair.b.model != "m2").collect();
    let alone: Vec<Alone> = ["fast", "slow"]
        .iter()
        .flat_map(|gpu| (6..9).map(|job| (side(job, gpu), (*gpu).to_owned())))
        .map(|(side, gpu)| Alone {
            gpu,
            rate: side.alone_rate.unwrap(),
            job: side.job,
            model: side.model,
            batch: side.batch,
        })
        .collect();
    let model = InterferenceModel::train(&known, &alone).unwrap();
    let found = model.predict("fast", "m2-b1", "m0-b1").unwrap().rates[0];
    assert!((found.rate - planted(7, 1)).abs() < 0.1, "{found:?} {}", planted(7, 1));
    let old = model.predict("fast", "m1-b1", "m0-b1").unwrap().rates[0];
    assert!(found.high - found.low > old.high - old.low, "{found:?} {old:?}");
    let code = |gpu: &str, job: &str| model.predict(gpu, job, "m0-b0").unwrap_err().code;
    assert_eq!((code("none", "m0-b0"), code("fast", "none")), (Code::M41, Code::M42));
}

#[test]
fn pairs_that_cannot_be_are_refused_with_their_row() {
    assert_eq!(codes(&[]), [Code::M40]);
    assert_eq!(codes(&pairs()[..5]), [Code::M40]);
    let damaged = |damage: &dyn Fn(&mut Pair)| {
        let mut all = pairs();
        damage(&mut all[3]);
        codes(&all)
    };
    assert_eq!(damaged(&|pair| pair.a.alone_rate = None), [Code::M43]);
    assert_eq!(damaged(&|pair| pair.a.shared_rate = 0.0), [Code::M43]);
    assert_eq!(damaged(&|pair| pair.can_share = false), [Code::M43]);
    assert_eq!(damaged(&|pair| pair.b.shared_rate *= 1000.0), [Code::M45]);
    assert_eq!(damaged(&|pair| pair.a.alone_rate = Some(1e3)), [Code::M46]);
    assert_eq!(damaged(&|pair| pair.a.batch = Some(3.0)), [Code::M46]);
}

#[test]
fn a_mirrored_row_must_agree() {
    let mut all = pairs();
    let mirrored = |pair: &Pair| Pair { a: pair.b.clone(), b: pair.a.clone(), ..pair.clone() };
    all.push(mirrored(&all[5]));
    assert!(InterferenceModel::train(&all, &[]).is_ok());
    all.last_mut().unwrap().a.shared_rate *= 0.7;
    let problems = InterferenceModel::train(&all, &[]).unwrap_err().0;
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].code, Code::M44);
    assert!(problems[0].place.contains("pairs[156]") && problems[0].message.contains("pairs[5]"), "{problems:?}");
}

#[test]
fn the_evaluation_beats_its_baselines_on_planted_pairs() {
    let slow: Vec<Pair> = pairs().into_iter().filter(|pair| pair.gpu == "slow").collect();
    let scores = evaluate::scores(&slow, &[1], &|_| ()).unwrap();
    let error = |model: &str| {
        let wanted = |score: &&crate::score::Score| {
            score.task == "pair-unseen" && score.model == model && score.quantity == Quantity::Rate
        };
        scores.iter().find(wanted).unwrap().mean_abs.unwrap()
    };
    for baseline in ["mean", "row-column", "model-pair", "nearest-batch"] {
        assert!(error("rats") < error(baseline), "{baseline}: {} {}", error("rats"), error(baseline));
    }
    // A rate of a job beside itself was measured twice and is the same: no noise.
    let floor = scores.iter().find(|score| score.task == "floor").unwrap();
    assert!(floor.mean_abs.unwrap() < 1e-12 && floor.n > 0);
}
