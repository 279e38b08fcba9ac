//! Interference: how fast two jobs run that share a GPU, and whether they can.
//!
//! [`InterferenceModel`] learns from measured pairs and answers for pairs that nobody ran together: a white box of jobs that
//! wait for each other (`waiting`), a black box that knows rates of like jobs (`kriging`), boosted trees, and the
//! mixture of them that cross-validation prefers (`members`). Whether two jobs fit at all is a question of its own
//! (`memory`). [`host`] and [`network`] hold the resources that jobs on different GPUs share.

mod baselines;
pub mod evaluate;
mod file;
pub mod host;
mod jobs;
mod kriging;
mod members;
mod memory;
pub mod network;
mod table;
#[cfg(test)]
mod tests;
mod waiting;

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};
use serde::Serialize;

use crate::data::Pair;

pub use self::jobs::Alone;
use self::jobs::{Job, catalogue, features};
use self::members::{MEMBERS, Members};
use self::memory::Memory;
use self::table::{Table, tables};

/// Fewest jobs and fewest pairs that can share of which a model is fitted.
const LEAST: (usize, usize) = (4, 10);

/// What two jobs do to each other on one type of GPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// Whether they can share.
    pub can_share: bool,
    /// The probability that they can.
    pub probability: f64,
    /// Of the first and the second job: rate beside the other over rate alone, if they can share.
    pub rates: [Estimate; 2],
}

/// A rate over the rate alone, and the interval that holds it with a probability of 90 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Above 0, at most 1.
    pub rate: f64,
    /// Least of the interval.
    pub low: f64,
    /// Most of it.
    pub high: f64,
}

/// What one part of the model says of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Vote {
    /// Its name.
    pub model: &'static str,
    /// Its weight in the mixture; the weights sum to 1.
    pub weight: f64,
    /// Of the first and the second job: rate beside the other over rate alone.
    pub rates: [f64; 2],
}

/// A fitted model of interference for one or more types of GPU.
#[derive(Debug)]
pub struct InterferenceModel {
    jobs: Vec<Job>,
    gpus: BTreeMap<String, Fitted>,
}

/// What was fitted to one type of GPU.
#[derive(Debug)]
struct Fitted {
    table: Table,
    features: Vec<[f64; 2]>,
    /// With how many jobs each ran.
    partners: Vec<usize>,
    members: Members,
    weights: [f64; MEMBERS],
    /// Half widths of intervals in logits: of jobs that ran in pairs, and of others (`None` where nothing can be said).
    half_widths: (f64, Option<f64>),
    memory: Memory,
}

impl InterferenceModel {
    /// Fits pairs on one GPU each, whatever their types of GPU; pairs on several GPUs are passed over. `alone` adds jobs
    /// that ran in no pair, of which the model then can also be asked.
    ///
    /// # Errors
    /// All of: rates that cannot be (M43, M45), rows that disagree (M44, M46), a GPU with too few pairs (M40).
    pub fn train(pairs: &[Pair], alone: &[Alone]) -> Result<Self, Problems> {
        let pairs: Vec<Pair> = pairs.iter().filter(|pair| pair.gpus == 1).cloned().collect();
        let jobs = catalogue(&pairs, alone).map_err(Problems)?;
        let tables = tables(&pairs, &jobs).map_err(Problems)?;
        if tables.is_empty() {
            let message = format!("There are no pairs on one GPU; at least {} that can share are needed.", LEAST.1);
            return Err(Problem::new(Code::M40, "pairs", message).into());
        }
        let mut gpus = BTreeMap::new();
        let mut problems = Vec::new();
        for (gpu, table) in tables {
            match Fitted::to(&jobs, &gpu, table) {
                Ok(fitted) => drop(gpus.insert(gpu, fitted)),
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() { Ok(Self { jobs, gpus }) } else { Err(Problems(problems)) }
    }

    /// What two jobs do to each other; asking with the two exchanged gives the same answer exchanged.
    ///
    /// # Errors
    /// A type of GPU (M41) or a job (M42) of which nothing is known.
    pub fn predict(&self, gpu: &str, first: &str, second: &str) -> Result<Forecast, Problem> {
        let fitted = self.gpus.get(gpu).ok_or_else(|| {
            let known: Vec<&str> = self.gpus.keys().map(String::as_str).collect();
            Problem::new(Code::M41, gpu, format!("Known: {}.", known.join(", ")))
        })?;
        let (a, b) = (self.number(gpu, first)?, self.number(gpu, second)?);
        let (can_share, probability) = fitted.memory.can_share(a, b);
        let rates = [fitted.estimate(&self.jobs, a, b), fitted.estimate(&self.jobs, b, a)];
        let [Some(first), Some(second)] = rates else {
            let message = "One of the two ran in no pair, and the pairs are of fewer than 3 models.";
            return Err(Problem::new(Code::M42, format!("{first} beside {second}"), message));
        };
        Ok(Forecast { can_share, probability, rates: [first, second] })
    }

    /// What each part of the model says of the two rates, and its weight in the mixture. Where one of the two ran in no pair
    /// only kriging can answer, and so is the only one.
    ///
    /// # Errors
    /// As [`Self::predict`].
    pub fn votes(&self, gpu: &str, first: &str, second: &str) -> Result<Vec<Vote>, Problem> {
        self.predict(gpu, first, second)?;
        let (a, b) = (self.number(gpu, first)?, self.number(gpu, second)?);
        let fitted = &self.gpus[gpu];
        let [forth, back] = [(a, b), (b, a)]
            .map(|(victim, partner)| fitted.members.rates(&self.jobs, &fitted.features, victim, partner));
        let new = fitted.partners[a].min(fitted.partners[b]) == 0;
        let vote =
            |at: usize| Vote { model: members::NAMES[at], weight: fitted.weights[at], rates: [forth[at], back[at]] };
        if new {
            return Ok(vec![Vote { weight: 1.0, ..vote(members::KRIGING) }]);
        }
        Ok((0..MEMBERS).map(vote).collect())
    }

    /// The types of GPU it knows.
    pub fn gpus(&self) -> impl Iterator<Item = &str> {
        self.gpus.keys().map(String::as_str)
    }

    /// The names of the jobs it knows.
    pub fn jobs(&self) -> impl Iterator<Item = &str> {
        self.jobs.iter().map(|job| job.name.as_str())
    }

    /// The weights of its parts by name, on one type of GPU.
    pub fn weights(&self, gpu: &str) -> Option<Vec<(&'static str, f64)>> {
        self.gpus.get(gpu).map(|fitted| members::NAMES.into_iter().zip(fitted.weights).collect())
    }

    fn number(&self, gpu: &str, name: &str) -> Result<usize, Problem> {
        let found = self.jobs.iter().position(|job| job.name == name);
        found.filter(|&at| self.jobs[at].alone.contains_key(gpu)).ok_or_else(|| {
            let known: Vec<&str> = self.jobs().collect();
            Problem::new(Code::M42, name, format!("Known: {}.", known.join(", ")))
        })
    }
}

impl Fitted {
    fn to(jobs: &[Job], gpu: &str, table: Table) -> Result<Self, Problem> {
        let features = features(jobs, gpu);
        let partners = table.partners(jobs.len());
        let known = partners.iter().filter(|&&partners| partners > 0).count();
        let pairs = table.sharing.iter().filter(|pair| pair.2).count();
        let too_few = || {
            let message = format!(
                "{pairs} pairs of {known} jobs can share; at least {} pairs of {} jobs are needed.",
                LEAST.1, LEAST.0
            );
            Problem::new(Code::M40, gpu, message)
        };
        if known < LEAST.0 || pairs < LEAST.1 {
            return Err(too_few());
        }
        let members = Members::fit(jobs, &features, &table.cells, None, None).ok_or_else(too_few)?;
        let choice = members.kriging.choice;
        let unseen = members::cross_validated(jobs, &features, &table.cells, choice);
        let weights = members::weights(&unseen);
        let error = |(rate, said): &members::Unseen| {
            (kriging::logit(*rate) - kriging::logit(members::mixed(said, &weights))).abs()
        };
        let known_width = members::half_width(unseen.iter().map(error).collect());
        let new_width = members::models_left_out(jobs, &features, &table.cells, choice).map(members::half_width);
        let memory = Memory::fit(jobs, &table.sharing);
        let half_widths = (known_width, new_width);
        Ok(Self { table, features, partners, members, weights, half_widths, memory })
    }

    /// The rate of a job beside another; `None` where one is new and nothing can be said of new ones.
    fn estimate(&self, jobs: &[Job], victim: usize, partner: usize) -> Option<Estimate> {
        let least = self.partners[victim].min(self.partners[partner]);
        let rate = if least > 0 {
            members::mixed(&self.members.rates(jobs, &self.features, victim, partner), &self.weights)
        } else {
            self.members.kriging.rate(victim, partner)
        };
        let half_width = self.half_width(least)?;
        let (low, high) = members::interval(rate, half_width);
        Some(Estimate { rate, low, high })
    }

    /// Half width of an interval, in logits, if the less known of the two jobs ran with so many others: its square falls
    /// from that of a new job like `1 / (1 + partners)`, as a variance does, to that of a job that ran with as many as
    /// most.
    fn half_width(&self, partners: usize) -> Option<f64> {
        let (known, new) = self.half_widths;
        if partners == 0 {
            return new;
        }
        let mut counts: Vec<usize> = self.partners.iter().copied().filter(|&count| count > 0).collect();
        counts.sort_unstable();
        let usual = counts.get(counts.len() / 2).copied().unwrap_or(partners);
        let ignorance = |count: usize| 1.0 / (1.0 + count as f64);
        let share = (ignorance(partners) - ignorance(usual)).max(0.0);
        let excess = new.map_or(0.0, |new| (new * new - known * known).max(0.0));
        Some((known * known + excess * share).sqrt())
    }
}
