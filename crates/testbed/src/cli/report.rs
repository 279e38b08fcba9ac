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
Examples:
  rats report trace rats-run/trace.jsonl
  rats report trace rats-run/trace.jsonl --within 0.03

Exit code 1 if a job did not succeed or missed its deadline, or if the run is not as close to its plan as asked.")]
pub struct ReportTraceArgs {
    /// The trace of a run.
    pub trace: PathBuf,
    /// Exit code 1 also if energy, last end or the time of any job differs from the plan by more than this share.
    #[arg(long, value_name = "SHARE")]
    pub within: Option<f64>,
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
    let is_near = args.within.is_none_or(|share| verdict.deviation().is_within(share));
    let text = if args.json {
        super::json(&serde_json::to_value(&verdict).unwrap_or_default())
    } else {
        let near = args.within.map(|share| nearness(&verdict, share)).unwrap_or_default();
        format!("{}{near}", text(&verdict))
    };
    Ok(Answer { text, exit: u8::from(!verdict.is_good() || !is_near), warnings: Vec::new() })
}

/// How near the run is to its plan, in one line.
fn nearness(verdict: &Verdict, share: f64) -> String {
    let off = verdict.deviation();
    let percent = |share: f64| format!("{:+.2} %", 100.0 * share);
    let within = if off.is_within(share) { "within" } else { "not within" };
    let job = off.job.map_or_else(String::new, |(job, off)| format!(", time of jobs at most {} ({job})", percent(off)));
    format!(
        "{within} {:.1} % of the plan: energy {}, last end {}{job}\n",
        100.0 * share,
        percent(off.energy),
        percent(off.last_end)
    )
}
