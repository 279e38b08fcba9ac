//! `rats report trace`: what was predicted, what was measured, where the difference comes from.

use std::path::PathBuf;

use clap::Args;
use rats_domain::problem::Problems;

use super::Answer;
use crate::trace::read;
use crate::verdict::{Verdict, text};

/// Of `rats report trace`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: rats report trace rats-run/trace.jsonl

Exit code 1 if a job did not succeed or missed its deadline.")]
pub struct ReportTraceArgs {
    /// The trace of a run.
    pub trace: PathBuf,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// The verdict on a trace.
///
/// # Errors
/// The trace cannot be read.
pub fn run(args: &ReportTraceArgs) -> Result<Answer, Problems> {
    let verdict = Verdict::of(&read(&args.trace)?);
    let text =
        if args.json { super::json(&serde_json::to_value(&verdict).unwrap_or_default()) } else { text(&verdict) };
    Ok(Answer { text, exit: u8::from(!verdict.is_good()), warnings: Vec::new() })
}
