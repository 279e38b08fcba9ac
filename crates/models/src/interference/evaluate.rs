//! How well rates of pairs are predicted that no model saw.
//!
//! Held out are *unordered* pairs: a pair's rates are never fitted in the other order. Tasks, each on every type of GPU:
//!
//! * `pair-unseen`: a fifth of the pairs is held out; their jobs ran with others. Rates of those that can share, and
//!   whether they can.
//! * `can-share`: who can share, every pair held out once, in one of five folds. So few pairs cannot that one of them moves
//!   the figure of a single fifth by 0.1 and more. With half and nine tenths of the pairs known: `can-share-half` and
//!   `can-share-nine-tenths`.
//! * `model-unseen`: each training model in turn is held out of all pairs, with all its batch sizes; what is known of its
//!   jobs are their rates alone. The seed numbers the models in order of their names.
//! * `model-unseen-N`: the same, but each of its jobs was measured beside N others, chosen at random.
//! * `floor`: the two rates of a job beside itself, which differ by noise alone.

use std::collections::BTreeMap;

use rats_domain::problem::Problems;
use rats_domain::random::Random;
use rayon::prelude::*;

use crate::data::{Dataset, Pair};
use crate::evaluate::Progress;
use crate::score::{Held, Quantity, Score, Subject};
use crate::split::{folds, hold_out};

use super::baselines::Baseline;
use super::jobs::{Job, catalogue};
use super::memory::Memory;
use super::table::{Cell, Table, tables};
use super::{Estimate, Fitted, members};

/// Share of the unordered pairs that is held out.
const HELD: f64 = 0.2;
/// Folds of the pairs, and the tasks they make.
const SHARING: [(usize, &str); 3] = [(2, "can-share-half"), (5, "can-share"), (10, "can-share-nine-tenths")];
/// Measured partners of each job of a model that is otherwise new.
const PARTNERS: [usize; 3] = [1, 3, 6];

/// All tasks on pairs of one source and series, for these seeds.
///
/// # Errors
/// As [`super::InterferenceModel::train`].
pub fn scores(pairs: &[Pair], seeds: &[u64], progress: Progress) -> Result<Vec<Score>, Problems> {
    let jobs = catalogue(pairs, &[]).map_err(Problems)?;
    let source = pairs.first().map_or_else(String::new, |pair| pair.source.clone());
    let of = |(gpu, table): &(String, Table)| {
        let task = Task { source: &source, gpu, jobs: &jobs, table };
        let mut scores = concatenated(seeds.par_iter().map(|&seed| task.pairs_unseen(seed)).collect())?;
        scores.par_extend(seeds.par_iter().flat_map_iter(|&seed| SHARING.map(|folds| task.sharing(folds, seed))));
        scores.extend(task.models_unseen(seeds.first().copied().unwrap_or(0))?);
        scores.push(task.floor(pairs));
        progress(&format!("{source}/{gpu}"));
        Ok(scores)
    };
    let tables: Vec<(String, Table)> = tables(pairs, &jobs).map_err(Problems)?.into_iter().collect();
    concatenated(tables.par_iter().map(of).collect())
}

/// All scores, or the first failure in the order of the parts.
fn concatenated(parts: Vec<Result<Vec<Score>, Problems>>) -> Result<Vec<Score>, Problems> {
    let parts: Vec<Vec<Score>> = parts.into_iter().collect::<Result<_, _>>()?;
    Ok(parts.concat())
}

/// The series of pairs that is judged: of Gavel's others many rates are capped.
pub const SERIES: &str = "oracle-motivation";

/// [`scores`] of a data set's pairs on one GPU; none where they do not go together, as fitting a model to them would tell.
pub fn task(data: &Dataset, seeds: &[u64], progress: Progress) -> Vec<Score> {
    let wanted = |pair: &&Pair| pair.series == SERIES && pair.gpus == 1;
    let pairs: Vec<Pair> = data.pairs.iter().filter(wanted).cloned().collect();
    scores(&pairs, seeds, progress).unwrap_or_default()
}

struct Task<'a> {
    source: &'a str,
    gpu: &'a str,
    jobs: &'a [Job],
    table: &'a Table,
}

impl Task<'_> {
    fn subject(&self, task: &str, model: &str, quantity: Quantity, seed: u64) -> Subject {
        Subject {
            task: task.to_owned(),
            source: self.source.to_owned(),
            gpu: self.gpu.to_owned(),
            model: model.to_owned(),
            quantity,
            seed,
        }
    }

    fn pairs_unseen(&self, seed: u64) -> Result<Vec<Score>, Problems> {
        let keys: Vec<(usize, usize)> = self.table.sharing.iter().map(|&(a, b, _)| (a, b)).collect();
        let held: Vec<(usize, usize)> = hold_out(&keys, HELD, seed).held.iter().map(|&at| keys[at]).collect();
        let known = self.table.only(|pair| !held.contains(&pair));
        let out = self.table.only(|pair| held.contains(&pair));
        let fitted = Fitted::to(self.jobs, self.gpu, known.clone())?;
        let task = "pair-unseen";
        let mut scores = self.judged(task, seed, &fitted, &out);
        let subject = |model: &str| self.subject(task, model, Quantity::Rate, seed);
        for (at, name) in members::NAMES.into_iter().enumerate() {
            let rate = |i, j| fitted.members.rates(self.jobs, &fitted.features, i, j)[at];
            scores.push(Score::of(subject(name), &guessed(&out.cells, rate), 0));
        }
        for baseline in Baseline::ALL {
            let rate = |i, j| baseline.rate(self.jobs, &known.cells, i, j);
            scores.push(Score::of(subject(baseline.name()), &guessed(&out.cells, rate), 0));
        }
        Ok(scores)
    }

    /// What the model says of pairs: rates, and who can share.
    fn judged(&self, task: &str, seed: u64, fitted: &Fitted, out: &Table) -> Vec<Score> {
        let said = |cell: &Cell| fitted.estimate(self.jobs, cell.victim, cell.partner);
        let held: Vec<Held> = out.cells.iter().filter_map(|cell| Some(held(cell, said(cell)?))).collect();
        let refused = out.cells.len() - held.len();
        let answer = |&(a, b, can): &(usize, usize, bool)| (can, fitted.memory.can_share(a, b).0);
        let answers: Vec<(bool, bool)> = out.sharing.iter().map(answer).collect();
        vec![
            Score::of(self.subject(task, "rats", Quantity::Rate, seed), &held, refused),
            Score::of_answers(self.subject(task, "rats", Quantity::CanShare, seed), &answers),
        ]
    }

    fn sharing(&self, (count, task): (usize, &str), seed: u64) -> Score {
        let keys: Vec<(usize, usize)> = self.table.sharing.iter().map(|&(a, b, _)| (a, b)).collect();
        let mut answers = Vec::new();
        for split in folds(&keys, count, seed) {
            let known: Vec<(usize, usize, bool)> = split.fitted.iter().map(|&at| self.table.sharing[at]).collect();
            let memory = Memory::fit(self.jobs, &known);
            let answer = |(a, b, can): (usize, usize, bool)| (can, memory.can_share(a, b).0);
            answers.extend(split.held.iter().map(|&at| answer(self.table.sharing[at])));
        }
        Score::of_answers(self.subject(task, "rats", Quantity::CanShare, seed), &answers)
    }

    fn models_unseen(&self, seed: u64) -> Result<Vec<Score>, Problems> {
        let mut models: Vec<&str> = self.jobs.iter().map(|job| job.model.as_str()).collect();
        models.sort_unstable();
        models.dedup();
        concatenated(
            models
                .par_iter()
                .enumerate()
                .map(|(number, model)| self.model_unseen(model, number as u64, seed))
                .collect(),
        )
    }

    fn model_unseen(&self, model: &str, number: u64, seed: u64) -> Result<Vec<Score>, Problems> {
        let of = |pair: (usize, usize)| [pair.0, pair.1].iter().any(|&at| self.jobs[at].model == model);
        let mut order: Vec<(usize, usize)> =
            self.table.sharing.iter().map(|&(a, b, _)| (a, b)).filter(|&pair| of(pair)).collect();
        Random::new(seed).shuffle(&mut order);
        let most = PARTNERS.iter().copied().max().unwrap_or(0);
        let judged_by = chosen(&order, most, |at| self.jobs[at].model == model);
        let out = self.table.only(|pair| of(pair) && !judged_by.contains(&pair));
        let mut scores = Vec::new();
        for partners in [0].into_iter().chain(PARTNERS) {
            let measured = chosen(&order, partners, |at| self.jobs[at].model == model);
            let known = self.table.only(|pair| !of(pair) || measured.contains(&pair));
            let out = if partners == 0 { &self.table.only(of) } else { &out };
            let name = if partners == 0 { "model-unseen".into() } else { format!("model-unseen-{partners}") };
            let fitted = Fitted::to(self.jobs, self.gpu, known.clone())?;
            scores.extend(self.judged(&name, number, &fitted, out));
            for baseline in [Baseline::Mean, Baseline::RowColumn] {
                let subject = self.subject(&name, baseline.name(), Quantity::Rate, number);
                let rate = |i, j| baseline.rate(self.jobs, &known.cells, i, j);
                scores.push(Score::of(subject, &guessed(&out.cells, rate), 0));
            }
        }
        Ok(scores)
    }

    /// One rate of a job beside itself against the other.
    fn floor(&self, pairs: &[Pair]) -> Score {
        let of_twin =
            |pair: &&Pair| pair.gpu == self.gpu && pair.gpus == 1 && pair.can_share && pair.a.job == pair.b.job;
        let held = |pair: &Pair| {
            Some(Held { measured: pair.a.normalized_rate()?, predicted: pair.b.normalized_rate()?, interval: None })
        };
        let held: Vec<Held> = pairs.iter().filter(of_twin).filter_map(held).collect();
        Score::of(self.subject("floor", "floor", Quantity::Rate, 0), &held, 0)
    }
}

/// The first pairs of a list that give each job that is `new` at most so many partners.
fn chosen(order: &[(usize, usize)], partners: usize, new: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    let mut chosen = Vec::new();
    for &(a, b) in order {
        let fresh: Vec<usize> = [a, b].into_iter().filter(|&at| new(at)).collect();
        if fresh.iter().all(|at| counts.get(at).copied().unwrap_or(0) < partners) {
            for at in fresh {
                *counts.entry(at).or_default() += 1;
            }
            chosen.push((a, b));
        }
    }
    chosen
}

fn guessed(cells: &[Cell], rate: impl Fn(usize, usize) -> f64) -> Vec<Held> {
    let held = |cell: &Cell| Held { measured: cell.rate, predicted: rate(cell.victim, cell.partner), interval: None };
    cells.iter().map(held).collect()
}

fn held(cell: &Cell, said: Estimate) -> Held {
    Held { measured: cell.rate, predicted: said.rate, interval: Some((said.low, said.high)) }
}
