//! `rats.jobs/1`: what the jobs of an instance are started with, where the instance does not say it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rats_domain::codes::Code;
use rats_domain::format::{Document, read};
use rats_domain::problem::{Problem, Problems, Warning};
use rats_system::files::{bytes, place_warnings, placed};
use serde::Deserialize;

/// What jobs are started with.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct JobsFile {
    /// Always `rats.jobs/1`.
    pub format: String,
    /// What holds for every job that says nothing else.
    #[serde(default)]
    pub default: StartFile,
    /// By job.
    #[serde(default)]
    pub jobs: BTreeMap<String, StartFile>,
}

/// What one job is started with.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct StartFile {
    /// The command; before that of the instance.
    pub command: Option<String>,
    /// Steps to be done: one number, or one for each option.
    pub steps: Option<StepsFile>,
    /// What a line of output with the number of the step looks like: `step {step}/{steps}`.
    pub progress: Option<String>,
    /// Where it is run.
    pub directory: Option<PathBuf>,
    /// More environment variables.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Least share of its planned time that a job without steps in its output must take to count as done.
    pub least: Option<f64>,
}

/// Steps to be done.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum StepsFile {
    /// Whatever the option.
    One(u64),
    /// By option.
    ByOption(Vec<u64>),
}

impl Document for JobsFile {
    const FORMAT: &'static str = "rats.jobs/1";
}

impl JobsFile {
    /// Reads the file; what looked suspicious comes with it.
    ///
    /// # Errors
    /// It cannot be read, or X04.
    pub fn read(path: &Path) -> Result<(Self, Vec<Warning>), Problems> {
        let read = read::<Self>(&bytes(path)?).map_err(|problems| placed(path, problems))?;
        let mut warnings = read.warnings;
        place_warnings(path, &mut warnings);
        read.document.validate().map_err(|problems| placed(path, problems))?;
        Ok((read.document, warnings))
    }

    fn validate(&self) -> Result<(), Problems> {
        let mut problems = Vec::new();
        let all = self.jobs.iter().map(|(name, start)| (format!("jobs.{name}"), start));
        for (place, start) in std::iter::once(("default".to_owned(), &self.default)).chain(all) {
            if let Some(least) = start.least.filter(|least| !(0.0..=1.0).contains(least)) {
                let message = format!("{least} is not between 0 and 1.");
                problems.push(Problem::new(Code::X04, format!("{place}.least"), message));
            }
            let names = start
                .environment
                .iter()
                .any(|(name, value)| name.is_empty() || name.contains(['=', '\0']) || value.contains('\0'));
            if names {
                let message = "a variable is empty or holds `=` or a zero byte.";
                problems.push(Problem::new(Code::X04, format!("{place}.environment"), message));
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
    }
}
