//! `rats restore`: what runs that were killed left on GPUs, undone.

use std::fmt::Write as _;

use clap::Args;
use serde_json::json;

use super::{Answer, LibraryArgs, StateArgs};
use crate::custody::restore::{Reach, Report, RunReport, restore};

/// Of `rats restore`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rats restore
  sudo rats restore --state-dir /run/rats

Runs that live are left alone. A GPU that does not answer stays in the journal for the next time; exit code 1.")]
pub struct RestoreArgs {
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

/// Undoes what can be undone.
pub fn run(args: &RestoreArgs) -> Answer {
    let library = args.library.library();
    let report = restore(&args.state.state(), &mut Reach::Library(library.as_deref()), &[]);
    let text = if args.json { super::json(&document(&report)) } else { text(&report) };
    Answer { text, exit: u8::from(!report.is_clean()), warnings: Vec::new() }
}

/// The report for people.
pub(crate) fn text(report: &Report) -> String {
    let mut text = String::new();
    for run in &report.runs {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "run of process {} ({}):", run.pid, run.plan);
        of_run(&mut text, run);
    }
    for problem in &report.unread {
        let _ = writeln!(text, "{problem}");
    }
    if text.is_empty() {
        text.push_str("nothing to restore\n");
    }
    text
}

fn of_run(text: &mut String, run: &RunReport) {
    if run.is_of_earlier_boot {
        text.push_str("  the machine was started anew since; nothing to undo\n");
    }
    if run.ended > 0 {
        let _ = writeln!(text, "  {} of its processes ended", run.ended);
    }
    for (gpu, undone) in &run.done {
        let _ = writeln!(text, "  {gpu}: {}", undone.text());
    }
    for (gpu, why) in &run.stays {
        let _ = writeln!(text, "  {gpu}: NOT restored: {why}");
    }
    for pid in &run.running {
        let _ = writeln!(text, "  process {pid} still runs");
    }
}

fn document(report: &Report) -> serde_json::Value {
    let runs = report.runs.iter().map(|run| {
        let done = run
            .done
            .iter()
            .map(|(gpu, undone)| json!({ "gpu": gpu, "setting": undone.setting(), "what": undone.text() }));
        let stays = run.stays.iter().map(|(gpu, why)| json!({ "gpu": gpu, "why": why }));
        json!({
            "pid": run.pid,
            "plan": run.plan,
            "done": done.collect::<Vec<_>>(),
            "stays": stays.collect::<Vec<_>>(),
            "processes_ended": run.ended,
            "processes_left": run.running,
        })
    });
    let unread: Vec<_> = report.unread.iter().map(ToString::to_string).collect();
    json!({ "clean": report.is_clean(), "runs": runs.collect::<Vec<_>>(), "unread": unread })
}
