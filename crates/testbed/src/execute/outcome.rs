//! What came of a run.

use std::collections::BTreeMap;

use rats_domain::problem::{Problem, Problems};

use crate::custody::undo::Undone;
use crate::gpu::Uuid;
use crate::trace::{End, JobState, Note, Sampling};

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Every job, in the order of the instance.
    pub jobs: Vec<JobOutcome>,
    /// What went wrong beside the jobs.
    pub problems: Vec<Problem>,
    /// How the readings went.
    pub sampling: Sampling,
    /// GPUs whose settings could not be undone; they stay in the journal.
    pub marks_left: Vec<Problem>,
}

/// What came of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOutcome {
    /// Its name.
    pub job: String,
    /// Where it stands; absent if nothing was done about it.
    pub state: Option<JobState>,
    /// Why it did not succeed.
    pub problem: Option<Problem>,
}

impl Outcome {
    /// Whether every job succeeded and every GPU is as it was found.
    pub fn is_complete(&self) -> bool {
        self.marks_left.is_empty() && self.jobs.iter().all(|job| job.state == Some(JobState::Done))
    }

    /// Number of jobs by the word for their state.
    pub fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for job in &self.jobs {
            *counts.entry(word(job.state)).or_default() += 1;
        }
        counts
    }

    /// The last line of the trace.
    pub(super) fn end(&self) -> End {
        End {
            jobs: self.counts(),
            sampling: self.sampling,
            marks_left: self.marks_left.iter().map(Note::from).collect(),
        }
    }

    pub(super) fn restored(&mut self, ended: Result<Vec<(Uuid, Undone)>, Problems>) {
        if let Err(problems) = ended {
            self.marks_left = problems.0;
        }
    }
}

/// The word for a state.
fn word(state: Option<JobState>) -> String {
    let text = state.and_then(|state| serde_json::to_value(state).ok()?.as_str().map(str::to_owned));
    text.unwrap_or_else(|| "waiting".to_owned())
}
