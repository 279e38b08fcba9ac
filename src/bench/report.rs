//! A report as it is read back.

use std::path::Path;

use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};

use super::env::Env;
use super::raw;
use super::row::Row;
use crate::io::bytes;

/// Rows.
pub const RAW: &str = "raw.csv";
/// Circumstances.
pub const ENV: &str = "env.json";
/// Tables.
pub const SUMMARY: &str = "summary.md";

/// A report.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Its circumstances.
    pub env: Env,
    /// Its rows, in the order of instance, solver and seed.
    pub rows: Vec<Row>,
}

impl Report {
    /// Reads the folder of a report.
    ///
    /// # Errors
    /// A file is missing or holds something else.
    pub fn read(folder: &Path) -> Result<Self, Problems> {
        let env = read_env(&folder.join(ENV))?;
        let rows = raw::read(&folder.join(RAW))?;
        Ok(Self::new(env, rows))
    }

    /// Puts the rows in order.
    pub fn new(env: Env, mut rows: Vec<Row>) -> Self {
        let position = |row: &Row| env.solvers.iter().position(|solver| *solver == row.solver);
        rows.sort_by(|a, b| {
            let key = |row: &Row| (row.instance_key(), position(row), row.seed);
            key(a).cmp(&key(b))
        });
        Self { env, rows }
    }

    /// The suites, in order.
    pub fn suites(&self) -> Vec<&str> {
        let mut suites: Vec<_> = self.env.instances.iter().map(|case| case.suite.as_str()).collect();
        suites.sort_unstable();
        suites.dedup();
        suites
    }

    /// The rows of a suite.
    pub fn rows_of<'r>(&'r self, suite: &'r str) -> impl Iterator<Item = &'r Row> + Clone {
        self.rows.iter().filter(move |row| row.suite == suite)
    }
}

/// Reads the circumstances.
///
/// # Errors
/// The file is missing or holds something else.
pub fn read_env(path: &Path) -> Result<Env, Problems> {
    let wrong = |error: serde_json::Error| Problem::new(Code::R04, path.display().to_string(), format!("{error}."));
    Ok(serde_json::from_slice(&bytes(path)?).map_err(wrong)?)
}
