//! Kernels that were never swept: every kernel of a source is predicted from all others and one to three of its own
//! points, on every type of GPU where at least [`FEWEST`] kernels share a grid.
//!
//! Tasks (`task` of a score):
//!
//! | task | the model sees of the new kernel |
//! |---|---|
//! | `unseen-1-default` | the default clocks (where the source does not state them, the highest) |
//! | `unseen-1-default-same-memory`, `-other-memory` | the same; judged at points with the same memory clock, or another |
//! | `unseen-1-chosen` | the one point that the design chooses from the other kernels |
//! | `unseen-2`, `unseen-3` | the default clocks and one or two points that the design adds |
//! | `unseen-relatives-1-default`, `unseen-relatives-3` | the same as without `relatives`; no kernel of its family is known |
//! | `unseen-of-N-1-default` | the same; only N random kernels are known (learning curve) |
//!
//! Models: `rats` (`crate::unseen`), `mean-shape` (the mean curve of the others through the first point), `analytic` (a
//! physical form fitted to that), `forest` (trees over all points, ten folds), `forest-time-level` (the same, with the time
//! itself as a feature: it recognizes micro-benchmarks by how long they happen to run), `floor` (an inner point from its two
//! neighbors), `equal-power-bound` (see [`bound`]).

pub mod bound;
mod rivals;

use std::collections::{BTreeMap, BTreeSet};

use rats_domain::random::Random;
use rayon::prelude::*;

use crate::data::Point;
use crate::score::{Held, Quantity, Score, Subject};
use crate::statistics::{largest, mean, median, quantile};
use crate::unseen::kernels::{Kernel, Kernels};
use crate::unseen::{Measured, UnseenModel, design};

use super::regret::{TimePower, regret};
use super::{Progress, floor};

/// Fewest kernels of a type of GPU that are worth judging by.
pub const FEWEST: usize = 20;
/// Kernels judged at each size of the learning curve.
const JUDGED: usize = 30;
/// Known kernels along the learning curve.
pub const SIZES: [usize; 5] = [10, 20, 40, 80, 120];
/// Limits on the slowdown under which an operating point is chosen.
const SLOWDOWNS: [(Option<f64>, &str); 3] = [(None, ""), (Some(0.05), "-slowdown-5"), (Some(0.1), "-slowdown-10")];

/// Natural logarithms of predicted time and power at every point of a grid, with intervals.
#[derive(Clone, Debug, Default)]
struct Said {
    time: Option<Line>,
    power: Option<Line>,
}

type Line = Vec<(f64, Option<(f64, f64)>)>;

/// What was measured of the kernel that is judged, in the order in which it was chosen.
type Chosen = Vec<usize>;

/// How it is chosen, from what is known.
type Choose<'a> = &'a (dyn Fn(&Kernels) -> Chosen + Sync);

/// All scores of this task; `seeds` drive the trees and the learning curve.
pub fn scores(points: &[Point], seeds: &[u64], progress: Progress) -> Vec<Score> {
    let mut groups: BTreeMap<(&str, &str), Vec<Point>> = BTreeMap::new();
    for point in points {
        groups.entry((&point.source, &point.gpu)).or_default().push(point.clone());
    }
    let mut scores = Vec::new();
    for ((source, gpu), points) in groups {
        let Ok(kernels) = Kernels::gather(&points) else { continue };
        if kernels.kernels.len() >= FEWEST {
            let first = default_point(source, gpu, &kernels);
            scores.extend(Bench { source, gpu, first, kernels: &kernels }.run(seeds));
            progress(&format!("{source}/{gpu}"));
        }
    }
    scores
}

/// Position of the default clocks, as `ulisboa` states them; elsewhere of the highest memory clock, core clock and limit.
fn default_point(source: &str, gpu: &str, kernels: &Kernels) -> usize {
    let stated: Option<(i64, i64)> = match (source, gpu) {
        ("ulisboa-ptx" | "ulisboa-power", "gtx-titan-x") => Some((975, 3505)),
        _ => None,
    };
    let position = |(core, memory)| {
        kernels.grid.iter().position(|point| point.sm_mhz == Some(core) && point.mem_mhz == Some(memory))
    };
    stated.and_then(position).unwrap_or(kernels.grid.len() - 1)
}

/// Micro-benchmarks that differ in a number only are relatives, and so are runs of one model.
pub fn family(kernel: &Kernel) -> String {
    let micro = kernel.name.starts_with("micro-");
    let words = kernel.model.split(['_', '-']).filter(|word| !micro || word.parse::<u32>().is_err());
    let words: Vec<&str> = words.filter(|word| !matches!(*word, "32p" | "64p" | "asm")).collect();
    words.join("-")
}

/// Kernels of one type of GPU from one source.
struct Bench<'a> {
    source: &'a str,
    gpu: &'a str,
    first: usize,
    kernels: &'a Kernels,
}

impl Bench<'_> {
    fn run(&self, seeds: &[u64]) -> Vec<Score> {
        let first = |_: &Kernels| vec![self.first];
        let more = |count: usize| {
            move |known: &Kernels| [vec![self.first], design::next_points(known, &[self.first], count)].concat()
        };
        let default = self.said(&first);
        let mut scores = self.task("unseen-1-default", &default);
        scores.extend(self.by_memory(&default));
        scores.extend(self.task("unseen-1-chosen", &self.said(&|known| design::next_points(known, &[], 1))));
        scores.extend(self.task("unseen-2", &self.said(&more(1))));
        scores.extend(self.task("unseen-3", &self.said(&more(2))));
        for (task, choose) in [("unseen-relatives-1-default", &first as Choose), ("unseen-relatives-3", &more(2))] {
            let said = self.each(|at, kernels| {
                let own = family(&kernels.kernels[at]);
                let known = kernels.without(|kernel| family(kernel) == own);
                let chosen = choose(&known);
                (rats(&known, &kernels.kernels[at], &chosen), chosen)
            });
            scores.extend(self.judge(task, "rats", 0, &said, &|_| true));
        }
        for &seed in seeds {
            scores.extend(self.forests(seed));
            scores.extend(self.learning_curve(seed));
        }
        scores.extend(self.floor());
        scores.extend(bound::score(
            self.subject("unseen-1-default", "equal-power-bound", Quantity::Time, 0),
            self.kernels,
            self.first,
        ));
        scores
    }

    /// Every kernel, said from all others.
    fn said(&self, choose: Choose) -> Vec<(Option<Said>, Chosen)> {
        self.each(|at, kernels| {
            let (known, kernel) = (except(kernels, at), &kernels.kernels[at]);
            let chosen = choose(&known);
            (rats(&known, kernel, &chosen), chosen)
        })
    }

    /// What the model said, and two simple rivals from the same points.
    fn task(&self, task: &str, said: &[(Option<Said>, Chosen)]) -> Vec<Score> {
        let mut scores = self.judge(task, "rats", 0, said, &|_| true);
        if said.iter().all(|(_, chosen)| chosen.len() == 1) {
            for (name, analytic) in [("mean-shape", false), ("analytic", true)] {
                let said = self.each(|at, kernels| {
                    let chosen = said[at].1.clone();
                    (Some(rivals::shape(&except(kernels, at), &kernels.kernels[at], chosen[0], analytic)), chosen)
                });
                scores.extend(self.judge(task, name, 0, &said, &|_| true));
            }
        }
        scores
    }

    /// The same, judged at the memory clock of the measured point and at others.
    fn by_memory(&self, said: &[(Option<Said>, Chosen)]) -> Vec<Score> {
        let memory = |at: usize| self.kernels.grid[at].mem_mhz;
        if (0..self.kernels.grid.len()).all(|at| memory(at) == memory(0)) {
            return Vec::new();
        }
        let same = self.judge("unseen-1-default-same-memory", "rats", 0, said, &|at| memory(at) == memory(self.first));
        let other =
            self.judge("unseen-1-default-other-memory", "rats", 0, said, &|at| memory(at) != memory(self.first));
        [same, other].concat().into_iter().filter(|score| score.quantity != Quantity::Energy).collect()
    }

    fn forests(&self, seed: u64) -> Vec<Score> {
        let mut scores = Vec::new();
        for (name, level) in [("forest", false), ("forest-time-level", true)] {
            let said = rivals::forests(self.kernels, self.first, level, seed);
            let said: Vec<_> = said.into_iter().map(|said| (Some(said), vec![self.first])).collect();
            scores.extend(self.judge("unseen-1-default", name, seed, &said, &|_| true));
        }
        scores
    }

    fn learning_curve(&self, seed: u64) -> Vec<Score> {
        let mut scores = Vec::new();
        let mut order: Vec<usize> = (0..self.kernels.kernels.len()).collect();
        Random::new(seed).shuffle(&mut order);
        let judged: BTreeSet<usize> = order.iter().copied().take(JUDGED.min(order.len() / 3)).collect();
        for size in SIZES.into_iter().filter(|size| size + judged.len() <= order.len()) {
            let names: BTreeSet<&str> =
                order[judged.len()..][..size].iter().map(|&at| self.kernels.kernels[at].name.as_str()).collect();
            let known = self.kernels.without(|kernel| !names.contains(kernel.name.as_str()));
            let said = self.each(|at, kernels| {
                let said = judged.contains(&at).then(|| rats(&known, &kernels.kernels[at], &[self.first]));
                (said.unwrap_or(Some(Said::default())), vec![self.first])
            });
            let task = format!("unseen-of-{size}-1-default");
            let found = self.judge(&task, "rats", seed, &said, &|_| true);
            scores.extend(found.into_iter().filter(|score| score.quantity != Quantity::Energy));
        }
        scores
    }

    fn each(&self, say: impl Fn(usize, &Kernels) -> (Option<Said>, Chosen) + Sync) -> Vec<(Option<Said>, Chosen)> {
        (0..self.kernels.kernels.len()).into_par_iter().map(|at| say(at, self.kernels)).collect()
    }

    /// Scores of time, power and the choice of an operating point; `None` is a refusal, a curve not said is not judged.
    fn judge(
        &self,
        task: &str,
        model: &str,
        seed: u64,
        said: &[(Option<Said>, Chosen)],
        judged: &dyn Fn(usize) -> bool,
    ) -> Vec<Score> {
        let refused = said.iter().filter(|(said, _)| said.is_none()).count();
        let mut scores = Vec::new();
        for quantity in [Quantity::Time, Quantity::Power] {
            let groups: Vec<Vec<Held>> = self
                .kernels
                .kernels
                .iter()
                .zip(said)
                .map(|(kernel, (said, chosen))| {
                    let (truth, line) = match quantity {
                        Quantity::Time => (&kernel.time, said.as_ref().and_then(|said| said.time.as_ref())),
                        _ => (&kernel.power, said.as_ref().and_then(|said| said.power.as_ref())),
                    };
                    let Some((truth, line)) = truth.as_ref().zip(line) else { return Vec::new() };
                    let hidden = (0..truth.len()).filter(|at| !chosen.contains(at) && judged(*at));
                    hidden.map(|at| held(truth[at], line[at])).collect()
                })
                .collect();
            if groups.iter().any(|group| !group.is_empty()) {
                scores.push(Score::of_groups(self.subject(task, model, quantity, seed), &groups, refused));
            }
        }
        scores.extend(self.regrets(task, model, seed, said));
        scores
    }

    fn regrets(&self, task: &str, model: &str, seed: u64, said: &[(Option<Said>, Chosen)]) -> Vec<Score> {
        let curves: Vec<(Vec<TimePower>, Vec<TimePower>)> = self
            .kernels
            .kernels
            .iter()
            .zip(said)
            .filter_map(|(kernel, (said, _))| {
                let said = said.as_ref()?;
                let truth = kernel.time.iter().flatten().zip(kernel.power.as_ref()?).map(|(t, p)| (*t, *p));
                let line = said.time.iter().flatten().zip(said.power.as_ref()?).map(|((t, _), (p, _))| (*t, *p));
                let watts = |(time, power): (f64, f64)| TimePower { time: time.exp(), power: power.exp() };
                Some((truth.map(watts).collect::<Vec<_>>(), line.map(watts).collect::<Vec<_>>()))
            })
            .filter(|(truth, said)| !truth.is_empty() && truth.len() == said.len())
            .collect();
        let mut scores = Vec::new();
        for (slowdown, suffix) in SLOWDOWNS {
            let found: Vec<_> = curves.iter().filter_map(|(truth, said)| regret(truth, said, slowdown)).collect();
            let regrets: Vec<f64> = found.iter().map(|found| found.regret).collect();
            let violations: Vec<f64> = found.iter().map(|found| found.violation).collect();
            if regrets.is_empty() {
                continue;
            }
            scores.push(Score {
                groups: regrets.len(),
                n: regrets.len(),
                mape: mean(&regrets),
                median: median(&regrets),
                p95: quantile(&regrets, 0.95),
                worst_group: largest(&regrets),
                violation: slowdown.and_then(|_| mean(&violations)),
                ..Score::empty(self.subject(&format!("{task}{suffix}"), model, Quantity::Energy, seed))
            });
        }
        scores
    }

    /// Inner points of a curve from their two neighbors along the core clock or limit.
    fn floor(&self) -> Vec<Score> {
        let curve = |values: &Vec<f64>| {
            let mut by_memory: BTreeMap<Option<i64>, Vec<(f64, f64)>> = BTreeMap::new();
            for (point, value) in self.kernels.grid.iter().zip(values) {
                let core = point.sm_mhz.or(point.power_limit_mw).unwrap_or(0);
                by_memory.entry(point.mem_mhz).or_default().push((core as f64, value.exp()));
            }
            by_memory.values().flat_map(|points| floor::neighbors(points)).collect::<Vec<Held>>()
        };
        let of = |quantity, which: fn(&Kernel) -> &Option<Vec<f64>>| {
            let groups: Vec<Vec<Held>> =
                self.kernels.kernels.iter().filter_map(|kernel| which(kernel).as_ref().map(curve)).collect();
            groups
                .iter()
                .any(|group| !group.is_empty())
                .then(|| Score::of_groups(self.subject("unseen-1-default", "floor", quantity, 0), &groups, 0))
        };
        [of(Quantity::Time, |kernel| &kernel.time), of(Quantity::Power, |kernel| &kernel.power)]
            .into_iter()
            .flatten()
            .collect()
    }

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
}

fn held(truth: f64, (value, interval): (f64, Option<(f64, f64)>)) -> Held {
    Held {
        measured: truth.exp(),
        predicted: value.exp(),
        interval: interval.map(|(low, high)| (low.exp(), high.exp())),
    }
}

fn except(kernels: &Kernels, at: usize) -> Kernels {
    let name = &kernels.kernels[at].name;
    kernels.without(|kernel| kernel.name == *name)
}

/// What the model says; `None` if it refuses.
fn rats(known: &Kernels, kernel: &Kernel, chosen: &[usize]) -> Option<Said> {
    let model = UnseenModel { kernels: known.clone() };
    let value = |curve: &Option<Vec<f64>>, at: usize| curve.as_ref().map(|curve| curve[at].exp());
    let measured: Vec<Measured> = chosen
        .iter()
        .map(|&at| Measured { at: known.grid[at], time: value(&kernel.time, at), power: value(&kernel.power, at) })
        .collect();
    let counters: BTreeMap<String, f64> =
        known.counters.iter().cloned().zip(kernel.counters[*chosen.first()?].iter().copied()).collect();
    let curve = model.predict(&counters, &measured).ok()?;
    let line = |pick: fn(&crate::unseen::Prediction) -> Option<crate::unseen::Estimate>| -> Option<Line> {
        let logs = |estimate: crate::unseen::Estimate| {
            (estimate.value.ln(), estimate.interval.map(|(low, high)| (low.ln(), high.ln())))
        };
        curve.iter().map(|prediction| pick(prediction).map(logs)).collect()
    };
    Some(Said { time: line(|prediction| prediction.time), power: line(|prediction| prediction.power) })
}

#[cfg(test)]
mod tests;
