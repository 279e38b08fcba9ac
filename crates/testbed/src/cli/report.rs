//! `rats report trace`: what was predicted, what was measured, where the difference comes from.

use std::path::{Path, PathBuf};

use clap::Args;
use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};
use rats_system::files::write;

use super::Answer;
use crate::trace::{Trace, read};
use crate::verdict::{Verdict, profiles, text, usable};

/// Of `rats report trace`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rats report trace rats-run/trace.jsonl
  rats report trace rats-run/trace.jsonl --profiles measured/
  rats report trace rats-run/trace.jsonl --within 0.03

Exit code 1 if a job did not succeed or missed its deadline, or if the run is not as close to its plan as asked.")]
pub struct ReportTraceArgs {
    /// The trace of a run.
    pub trace: PathBuf,
    /// Write what was measured as profiles, one file each, into this folder.
    #[arg(long, value_name = "DIR")]
    pub profiles: Option<PathBuf>,
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
/// The trace cannot be read, a profile not be written, or there is nothing for one.
pub fn run(args: &ReportTraceArgs) -> Result<Answer, Problems> {
    let trace = read(&args.trace)?;
    if let Some(folder) = &args.profiles {
        write_profiles(&trace, &args.trace, folder)?;
    }
    let verdict = Verdict::of(&trace);
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

fn write_profiles(trace: &Trace, source: &Path, folder: &Path) -> Result<(), Problems> {
    let unwritable = |error| Problem::new(Code::U02, folder.display().to_string(), format!("{error}."));
    std::fs::create_dir_all(folder).map_err(unwritable)?;
    let source = source.display().to_string();
    for profile in profiles(&usable(trace, &source)?, &source) {
        let path = folder.join(format!("{}.json", profile.id));
        let text = serde_json::to_string_pretty(&profile).unwrap_or_default() + "\n";
        write(&path, text.as_bytes())?;
    }
    Ok(())
}
