//! `rats doctor`: what stands in the way, and how to mend it.

use std::fmt::Write as _;

use clap::Args;
use rats_domain::problem::Problems;
use serde_json::json;

use super::{Answer, LibraryArgs, StateArgs};
use crate::doctor::{Finding, State, examine};

/// Of `rats doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rats doctor
  rats doctor --json

Exit code 0: all well; 1: something to mend; 2: no NVML. To test the permission, the power limit of a GPU is set to the
value that it has; a GPU that a run holds is left alone.")]
pub struct DoctorArgs {
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
    /// Which NVML.
    #[command(flatten)]
    pub library: LibraryArgs,
    /// Where journals and locks are.
    #[command(flatten)]
    pub state: StateArgs,
}

/// Examines this machine.
///
/// # Errors
/// There is no NVML, or it has no driver.
pub fn run(args: &DoctorArgs) -> Result<Answer, Problems> {
    let gpus = args.library.open().map_err(|error| error.problem("NVML"))?;
    let findings = examine(&gpus, &args.state.state()).map_err(|error| error.problem("NVML"))?;
    let to_mend = findings.iter().filter(|finding| finding.state == State::Mend).count();
    let text = if args.json { super::json(&document(&findings)) } else { text(&findings, to_mend) };
    Ok(Answer { text, exit: u8::from(to_mend > 0), warnings: Vec::new() })
}

fn text(findings: &[Finding], to_mend: usize) -> String {
    let mut text = String::new();
    for finding in findings {
        let mark = match finding.state {
            State::Well => "ok  ",
            State::Note => "note",
            State::Mend => "MEND",
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "{mark}  {}: {}", finding.subject, finding.message);
        if let Some(code) = finding.code {
            let _ = write!(text, " [{code}]");
        }
        text.push('\n');
        if let Some(remedy) = &finding.remedy {
            let _ = writeln!(text, "      -> {remedy}");
        }
    }
    let _ = match to_mend {
        0 => writeln!(text, "\nall well"),
        count => writeln!(text, "\n{count} to mend"),
    };
    text
}

fn document(findings: &[Finding]) -> serde_json::Value {
    let all = findings.iter().map(|finding| {
        json!({
            "check": finding.check,
            "subject": finding.subject,
            "state": finding.state.name(),
            "code": finding.code.map(rats_domain::codes::Code::id),
            "message": finding.message,
            "remedy": finding.remedy,
        })
    });
    json!({ "findings": all.collect::<Vec<_>>() })
}
