//! `rats import`: data of others as files of this program.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use rats_domain::problem::Problems;

use super::{Answer, warn};
use crate::catalogue;
use crate::document::json;
use crate::io::write;
use crate::report::count;

/// Of `rats import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// What to import.
    #[command(subcommand)]
    pub what: ImportOf,
}

/// What to import.
#[derive(Debug, Subcommand)]
pub enum ImportOf {
    /// Supported clocks and power limits of GPUs, as files of format `rats.gpu/1`.
    #[command(after_help = "Example:\n  rats import clocks data/gpu-clocks -o instances/gpus")]
    Clocks(ClocksArgs),
}

/// Of `rats import clocks`.
#[derive(Debug, Args)]
pub struct ClocksArgs {
    /// The folder with `supported_clocks.csv` and `gpu_limits.csv`.
    pub path: PathBuf,
    /// The folder to write to.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
}

pub(super) fn run(args: &ImportArgs) -> Result<Answer, Problems> {
    let ImportOf::Clocks(args) = &args.what;
    let imported = catalogue::import(&args.path)?;
    warn(&imported.warnings);
    for gpu in &imported.gpus {
        write(&args.output.join(format!("{}.json", gpu.id.to_ascii_lowercase())), json(gpu).as_bytes())?;
    }
    let text = format!(
        "{} and {} read, {} written to {}\n",
        count(imported.clock_rows, "clock row"),
        count(imported.limit_rows, "limit row"),
        count(imported.gpus.len(), "GPU type"),
        args.output.display()
    );
    Ok(Answer::done(text))
}
