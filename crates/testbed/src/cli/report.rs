//! `rats report trace`: what was predicted, what was measured, where the difference comes from.

use std::path::{Path, PathBuf};

use clap::Args;
use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};
use rats_system::files::write;

use super::Answer;
use crate::trace::{Trace, read};
use crate::verdict::{Verdict, profiles, text};

/// Of `rats report trace`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rats report trace rats-run/trace.jsonl
  rats report trace rats-run/trace.jsonl --profiles measured/

Exit code 1 if a job did not succeed or missed its deadline.")]
pub struct ReportTraceArgs {
    /// The trace of a run.
    pub trace: PathBuf,
    /// Write what was measured as profiles, one file each, into this folder.
    #[arg(long, value_name = "DIR")]
    pub profiles: Option<PathBuf>,
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
    let text =
        if args.json { super::json(&serde_json::to_value(&verdict).unwrap_or_default()) } else { text(&verdict) };
    Ok(Answer { text, exit: u8::from(!verdict.is_good()), warnings: Vec::new() })
}

fn write_profiles(trace: &Trace, source: &Path, folder: &Path) -> Result<(), Problems> {
    let unwritable = |error| Problem::new(Code::U02, folder.display().to_string(), format!("{error}."));
    std::fs::create_dir_all(folder).map_err(unwritable)?;
    for profile in profiles(trace, &source.display().to_string())? {
        let path = folder.join(format!("{}.json", profile.id));
        write(&path, &serde_json::to_vec_pretty(&profile).unwrap_or_default())?;
    }
    Ok(())
}
