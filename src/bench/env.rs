//! `env.json`: the circumstances of a report.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use rats_domain::codes::Code;
use rats_domain::instance::sha256_hex;
use rats_domain::problem::{Problem, Problems};
use serde::{Deserialize, Serialize};

use super::case::Case;

/// The circumstances of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Env {
    /// The day of the first run.
    pub date: String,
    /// What must be the same for all rows.
    pub conditions: Conditions,
    /// Commit of the working tree around the program, if that is known; `-dirty` marks changes.
    pub commit: Option<String>,
    /// Versions of the baselines by solver, with a hash of their scripts.
    pub baselines: BTreeMap<String, String>,
    /// Ids of the solvers.
    pub solvers: Vec<String>,
    /// Seeds.
    pub seeds: Vec<u64>,
    /// Instances.
    pub instances: Vec<Case>,
}

/// What must be the same for all rows of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// Version of the program.
    pub version: String,
    /// SHA-256 of the program.
    pub program_sha256: String,
    /// Name of the machine.
    pub host: String,
    /// Its processor.
    pub cpu: String,
    /// Cores it offers.
    pub cores: usize,
    /// Threads of each run.
    pub threads: usize,
    /// Seconds of each run.
    pub time_limit_s: f64,
    /// Iterations of each run.
    pub iterations: Option<u64>,
}

impl Conditions {
    /// The conditions here and now; `program` is the file that solves.
    pub fn here(program: &Path, threads: usize, time_limit_s: f64, iterations: Option<u64>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            program_sha256: sha256_hex(&std::fs::read(program).unwrap_or_default()),
            host: first_line("/proc/sys/kernel/hostname").unwrap_or_else(|| "unknown".to_owned()),
            cpu: processor().unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: cores(),
            threads,
            time_limit_s,
            iterations,
        }
    }

    fn named(&self) -> [(&'static str, String); 8] {
        [
            ("version", self.version.clone()),
            ("program_sha256", self.program_sha256.clone()),
            ("host", self.host.clone()),
            ("cpu", self.cpu.clone()),
            ("cores", self.cores.to_string()),
            ("threads", self.threads.to_string()),
            ("time_limit_s", self.time_limit_s.to_string()),
            ("iterations", self.iterations.map_or_else(|| "none".to_owned(), |number| number.to_string())),
        ]
    }

    /// The conditions in which two differ: name, here, there.
    pub fn differences(&self, other: &Self) -> Vec<(&'static str, String, String)> {
        let pairs = self.named().into_iter().zip(other.named());
        pairs.filter(|(a, b)| a.1 != b.1).map(|((name, here), (_, there))| (name, here, there)).collect()
    }
}

impl Env {
    /// These circumstances and what `before` had beyond them, so that a report can grow.
    ///
    /// # Errors
    /// The conditions differ, or an instance has changed.
    pub fn after(mut self, before: Self, place: &str) -> Result<Self, Problems> {
        let differ = |name: &str, here: &str, there: &str| {
            let message = format!("the report was begun with {name} {there}, now it is {here}; name another folder.");
            Problem::new(Code::U05, place, message)
        };
        let conditions = self.conditions.differences(&before.conditions);
        let mut problems: Vec<_> = conditions.iter().map(|(name, here, there)| differ(name, here, there)).collect();
        for case in &before.instances {
            match self.instances.iter().find(|other| other.key() == case.key()) {
                Some(other) if other.sha256 != case.sha256 => {
                    problems.push(differ(&format!("the file {}", case.path.display()), &other.sha256, &case.sha256));
                }
                Some(_) => {}
                None => self.instances.push(case.clone()),
            }
        }
        for (solver, version) in before.baselines {
            match self.baselines.get(&solver) {
                Some(here) if *here != version => problems.push(differ(&solver, here, &version)),
                _ => drop(self.baselines.insert(solver, version)),
            }
        }
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
        self.solvers.extend(before.solvers);
        dedup(&mut self.solvers);
        self.seeds.extend(before.seeds);
        self.seeds.sort_unstable();
        self.seeds.dedup();
        self.instances.sort_by_key(Case::key);
        Ok(Self { date: before.date, commit: before.commit, ..self })
    }
}

/// Drops repetitions, keeping the order.
fn dedup(names: &mut Vec<String>) {
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
}

/// Cores that the machine offers.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn first_line(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().next().map(|line| line.trim().to_owned())
}

fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    line.split(':').nth(1).map(|name| name.trim().to_owned())
}

/// The commit of the working tree in which the program lies.
pub fn commit(program: &Path) -> Option<String> {
    let folder = program.parent()?;
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]);
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned()).filter(|text| !text.is_empty())
}
