//! Why there is no plan: the part of `rats solve` that names jobs and rules which cannot hold together.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rats_domain::format::{InstanceFile, read};
use rats_solvers::conflict::{Conflict, conflict};
use serde::Serialize;

use crate::control::{Display, RunControl};
use crate::report::printable;

/// Most time for an explanation after the proof.
const LIMIT: Duration = Duration::from_secs(10);

/// Jobs and rules that cannot hold together.
#[derive(Clone, Serialize)]
pub(super) struct ConflictPart {
    jobs: Vec<String>,
    rules: Vec<String>,
    irreducible: bool,
}

/// Explains an infeasible instance, given the bytes of its file.
pub(super) fn explain(bytes: &[u8], limit: Duration, interrupted: Arc<AtomicBool>) -> Option<ConflictPart> {
    let file = read::<InstanceFile>(bytes).ok()?.document;
    let control = RunControl::start(Some(limit.min(LIMIT)), interrupted, Display::Quiet);
    let Conflict { jobs, rules, irreducible } = conflict(&file, &control)?;
    Some(ConflictPart { jobs, rules: rules.iter().map(ToString::to_string).collect(), irreducible })
}

impl ConflictPart {
    /// In words.
    pub fn text(&self) -> String {
        let names: Vec<String> = self.jobs.iter().map(|job| format!("`{}`", printable(job))).collect();
        let jobs = if names.is_empty() { "no job at all".to_owned() } else { names.join(", ") };
        // No limit that can be lifted takes part: one job to a GPU and placements as such are not among these.
        let rules = if self.rules.is_empty() { "V1-V3 or V6".to_owned() } else { self.rules.join(", ") };
        let rest = if self.irreducible {
            "Without any one of these jobs or rules the others can."
        } else {
            "Some of these jobs or rules may not be needed for that."
        };
        format!("These cannot hold together, whatever the rest: jobs {jobs}; rules {rules}. {rest}\n")
    }
}
