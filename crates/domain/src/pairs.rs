//! Pairs whose every number can be used: rates of workloads side by side on one GPU.

use std::collections::BTreeSet;

use crate::codes::Code;
use crate::format::{PairFile, PairWorkloadFile, PairsFile, SourceFile, read};
use crate::problem::{Problem, Problems, Warning};

/// Rates of workloads alone and in pairs on one GPU type. Made by [`Pairs::read`] or [`Pairs::new`] only.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    /// Name.
    pub id: String,
    /// Type of GPU.
    pub gpu_type: String,
    /// Where the figures come from.
    pub source: SourceFile,
    /// The workloads.
    pub workloads: Vec<PairWorkloadFile>,
    /// The pairs, each once; indices exist, rates are finite and >= 0.
    pub pairs: Vec<PairFile>,
}

impl Pairs {
    /// Reads pairs from the bytes of a file; warnings name unknown fields.
    ///
    /// # Errors
    /// Every problem found, each with its place.
    pub fn read(bytes: &[u8]) -> Result<(Self, Vec<Warning>), Problems> {
        let read = read::<PairsFile>(bytes)?;
        Ok((Self::new(read.document)?, read.warnings))
    }

    /// Validates pairs.
    ///
    /// # Errors
    /// Every problem found, each with its place.
    pub fn new(file: PairsFile) -> Result<Self, Problems> {
        let problems = problems(&file);
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
        let PairsFile { id, gpu_type, source, workloads, pairs, .. } = file;
        Ok(Self { id, gpu_type, source, workloads, pairs })
    }
}

impl PairFile {
    /// Whether the two can share a GPU at all.
    pub fn can_share(&self) -> bool {
        self.2 > 0.0 && self.3 > 0.0
    }
}

fn problems(file: &PairsFile) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (place, id) in [("id", &file.id), ("gpu_type", &file.gpu_type)] {
        if id.is_empty() || id.contains('/') || id.chars().any(char::is_control) {
            problems.push(Problem::new(Code::I04, place, format!("`{}` is not a name.", id.escape_debug())));
        }
    }
    for (position, workload) in file.workloads.iter().enumerate() {
        let place = format!("workloads[{position}]");
        if workload.name.trim().is_empty() {
            problems.push(Problem::new(Code::D13, format!("{place}.name"), "must not be empty."));
        }
        if workload.gpus < 1 {
            problems.push(Problem::new(Code::D05, format!("{place}.gpus"), "must be at least 1."));
        }
        if workload.alone.is_some_and(|rate| !rate.is_finite() || rate <= 0.0) {
            problems.push(Problem::new(Code::D05, format!("{place}.alone"), "must be above 0."));
        }
        if workload.batch.is_some_and(|batch| !batch.is_finite() || batch <= 0.0) {
            problems.push(Problem::new(Code::D05, format!("{place}.batch"), "must be above 0."));
        }
    }
    let mut seen = BTreeSet::new();
    for (position, PairFile(first, second, rate, other)) in file.pairs.iter().enumerate() {
        let place = format!("pairs[{position}]");
        if *first >= file.workloads.len() || *second >= file.workloads.len() {
            problems.push(Problem::new(Code::I06, &place, "names a workload that is not listed."));
        }
        if [rate, other].into_iter().any(|rate| !rate.is_finite() || *rate < 0.0) {
            problems.push(Problem::new(Code::D05, &place, "rates must be at least 0."));
        }
        if !seen.insert((first, second)) {
            problems.push(Problem::new(Code::D07, &place, "the pair is already listed."));
        }
    }
    problems
}
