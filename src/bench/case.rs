//! Instances of a benchmark: what a suite holds, and what is said of each in reports.

use std::path::{Path, PathBuf};

use rats_domain::codes::Code;
use rats_domain::instance::Instance;
use rats_domain::problem::{Problem, Problems};
use serde::{Deserialize, Serialize};

use super::row::InstanceKey;
use crate::best_known::{BestKnown, Entry};
use crate::features::{features, objective};
use crate::io::read_instance;

/// An instance and what is known of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The name of its folder.
    pub suite: String,
    /// The file's name without its ending.
    pub name: String,
    /// Where the file is.
    pub path: PathBuf,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Number of jobs.
    pub jobs: usize,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of GPUs.
    pub gpus: usize,
    /// Number of options of all jobs.
    pub options: usize,
    /// Ticks.
    pub horizon: i64,
    /// What it minimizes.
    pub objective: String,
    /// Parts of the model that it uses.
    pub features: Vec<String>,
    /// The best value on record when the benchmark began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_known: Option<Entry>,
}

/// The instances below folders, and those that files hold; the registry says what is known of them.
///
/// # Errors
/// One cannot be read, a folder holds none, or two have one name.
pub fn cases(paths: &[PathBuf], known: &BestKnown) -> Result<Vec<Case>, Problems> {
    let mut cases: Vec<Case> = Vec::new();
    for path in paths {
        for file in files(path)? {
            let case = Case::read(&file, known)?;
            if let Some(other) = cases.iter().find(|other| other.key() == case.key()) {
                let message = format!("{} and {} have one suite and name.", other.path.display(), case.path.display());
                return Err(Problem::new(Code::U05, "command line", message).into());
            }
            cases.push(case);
        }
    }
    Ok(cases)
}

fn files(path: &Path) -> Result<Vec<PathBuf>, Problems> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let unreadable = |error: std::io::Error| Problem::new(Code::U01, path.display().to_string(), format!("{error}."));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        if file.is_file() && file.extension().is_some_and(|extension| extension == "json") {
            found.push(file);
        }
    }
    if found.is_empty() {
        return Err(Problem::new(Code::U01, path.display().to_string(), "the folder holds no instance.").into());
    }
    found.sort();
    Ok(found)
}

impl Case {
    fn read(path: &Path, known: &BestKnown) -> Result<Self, Problems> {
        let instance = read_instance(path)?.instance;
        let (suite, name) = names(path);
        let cluster = &instance.cluster;
        let sha256 = instance.sha256.clone().unwrap_or_default();
        let best_known = known.get(&suite, &name).filter(|entry| entry.instance_sha256 == sha256).cloned();
        Ok(Self {
            suite,
            name,
            path: path.to_owned(),
            sha256,
            jobs: instance.jobs.len(),
            nodes: cluster.nodes.len(),
            gpus: cluster.gpus.len(),
            options: instance.jobs.values().map(|job| job.options.len()).sum(),
            horizon: instance.horizon.0,
            objective: objective(&instance),
            features: features(&instance),
            best_known,
        })
    }

    /// Suite and name.
    pub fn key(&self) -> InstanceKey {
        (self.suite.clone(), self.name.clone())
    }

    /// Reads the instance.
    ///
    /// # Errors
    /// The file cannot be read or has changed.
    pub fn instance(&self) -> Result<Instance, Problems> {
        let instance = read_instance(&self.path)?.instance;
        if instance.sha256.as_ref() != Some(&self.sha256) {
            let message = "the file has changed during the benchmark.";
            return Err(Problem::new(Code::U01, self.path.display().to_string(), message).into());
        }
        Ok(instance)
    }
}

/// Suite and name of an instance file, as in the registry of best known values.
fn names(path: &Path) -> (String, String) {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let suite = whole.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    (suite, name)
}
