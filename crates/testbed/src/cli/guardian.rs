//! `rats guardian`: started by runs, never by people.

use std::path::PathBuf;

use clap::Args;
use rats_domain::problem::Problems;

use super::{Answer, LibraryArgs};
use crate::custody::{StateDir, guardian};

/// Of `rats guardian`.
#[derive(Debug, Args)]
pub struct GuardianArgs {
    /// The run's journal.
    #[arg(long, value_name = "FILE")]
    pub journal: PathBuf,
    /// Directory of journals and locks.
    #[arg(long, value_name = "DIR")]
    pub state_dir: PathBuf,
    /// Which NVML.
    #[command(flatten)]
    pub library: LibraryArgs,
}

/// Waits for the run to end and cleans up after it.
///
/// # Errors
/// N13: it cannot begin.
pub fn run(args: &GuardianArgs) -> Result<Answer, Problems> {
    let library = args.library.library();
    let clean = guardian::guard(&StateDir::at(&args.state_dir), &args.journal, library.as_deref())?;
    Ok(Answer { exit: u8::from(!clean), ..Answer::done(String::new()) })
}
