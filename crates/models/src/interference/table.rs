//! Pairs of one type of GPU as a table: who suffers how much beside whom, and who can share at all.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::problem::Problem;
use serde::{Deserialize, Serialize};

use crate::data::Pair;

use super::jobs::Job;

/// Two rows of one pair may differ by this much in a normalized rate; the mean is kept.
const MIRROR_TOLERANCE: f64 = 0.05;
/// A job this much faster beside another than alone is an error of units, not noise.
const FASTEST: f64 = 1.5;

/// The rate of one job beside another over its rate alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Cell {
    /// Whose rate it is.
    pub victim: usize,
    /// Beside whom.
    pub partner: usize,
    /// Above 0; at most 1 but for noise.
    pub rate: f64,
}

impl Cell {
    /// The unordered pair.
    pub fn pair(&self) -> (usize, usize) {
        (self.victim.min(self.partner), self.victim.max(self.partner))
    }
}

/// What was measured on one type of GPU; numbers are positions in the catalogue of jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    /// Both directions of every pair that can share.
    pub cells: Vec<Cell>,
    /// Every unordered pair `(a, b)` with a <= b, and whether the two can share.
    pub sharing: Vec<(usize, usize, bool)>,
}

impl Table {
    /// The pairs that `keep` wants.
    pub fn only(&self, keep: impl Fn((usize, usize)) -> bool) -> Self {
        Self {
            cells: self.cells.iter().copied().filter(|cell| keep(cell.pair())).collect(),
            sharing: self.sharing.iter().copied().filter(|&(a, b, _)| keep((a, b))).collect(),
        }
    }

    /// With how many jobs each of `n` jobs ran, itself included.
    pub fn partners(&self, n: usize) -> Vec<usize> {
        let mut partners = vec![0; n];
        for &(a, b, _) in self.sharing.iter().filter(|pair| pair.2) {
            partners[a] += 1;
            if a != b {
                partners[b] += 1;
            }
        }
        partners
    }
}

struct Entry {
    row: usize,
    can_share: bool,
    rates: Vec<[f64; 2]>,
}

/// The tables by type of GPU. Pairs on several GPUs are one kind of pair each with their own: only those on one GPU are
/// taken.
pub(super) fn tables(pairs: &[Pair], jobs: &[Job]) -> Result<BTreeMap<String, Table>, Vec<Problem>> {
    let number: BTreeMap<&str, usize> = jobs.iter().enumerate().map(|(at, job)| (job.name.as_str(), at)).collect();
    let mut entries: BTreeMap<(String, usize, usize), Entry> = BTreeMap::new();
    let mut problems = Vec::new();
    for (row, pair) in pairs.iter().enumerate().filter(|(_, pair)| pair.gpus == 1) {
        let (a, b) = (number[pair.a.job.as_str()], number[pair.b.job.as_str()]);
        let place = format!("pairs[{row}] ({} beside {} on {})", pair.a.job, pair.b.job, pair.gpu);
        match rates(pair) {
            Err((code, message)) => problems.push(Problem::new(code, place, message)),
            Ok([first, second]) => {
                let key = (pair.gpu.clone(), a.min(b), a.max(b));
                let rates = if a <= b { [first, second] } else { [second, first] };
                let fresh = || Entry { row, can_share: pair.can_share, rates: Vec::new() };
                let entry = entries.entry(key).or_insert_with(fresh);
                if entry.disagrees(pair.can_share, rates, a == b) {
                    let message = format!("It does not agree with pairs[{}], the same pair.", entry.row);
                    problems.push(Problem::new(Code::M44, place, message));
                }
                entry.rates.push(rates);
            }
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut tables: BTreeMap<String, Table> = BTreeMap::new();
    for ((gpu, a, b), entry) in entries {
        let table = tables.entry(gpu).or_default();
        table.sharing.push((a, b, entry.can_share));
        if entry.can_share {
            let mean = |of: usize| entry.rates.iter().map(|rates| rates[of]).sum::<f64>() / entry.rates.len() as f64;
            table.cells.push(Cell { victim: a, partner: b, rate: mean(0) });
            table.cells.push(Cell { victim: b, partner: a, rate: mean(1) });
        }
    }
    Ok(tables)
}

impl Entry {
    fn disagrees(&self, can_share: bool, rates: [f64; 2], same_job: bool) -> bool {
        let close = |x: [f64; 2], y: [f64; 2]| x.iter().zip(y).all(|(x, y)| (x - y).abs() <= MIRROR_TOLERANCE);
        let agrees = |&first: &[f64; 2]| close(first, rates) || (same_job && close(first, [rates[1], rates[0]]));
        self.can_share != can_share || !self.rates.first().is_none_or(agrees)
    }
}

/// Both normalized rates of a row; 0 if the two cannot share.
fn rates(pair: &Pair) -> Result<[f64; 2], (Code, String)> {
    let of = |side: &crate::data::Side| {
        let Some(rate) = side.normalized_rate().filter(|rate| rate.is_finite()) else {
            return Err((Code::M43, format!("`{}` has no rate.", side.job)));
        };
        if pair.can_share && rate <= 0.0 {
            return Err((Code::M43, format!("`{}` has the rate {} though the two share.", side.job, side.shared_rate)));
        }
        if !pair.can_share && side.shared_rate != 0.0 {
            return Err((Code::M43, format!("`{}` has a rate though the two cannot share.", side.job)));
        }
        if rate > FASTEST {
            return Err((Code::M45, format!("`{}` is {rate:.2} times as fast as alone.", side.job)));
        }
        Ok(rate)
    };
    Ok([of(&pair.a)?, of(&pair.b)?])
}
