//! `rats import clocks`: supported clocks and power limits as files of format `rats.gpu/1`.

use std::path::Path;

use rats_domain::problem::Problems;

use super::{Answer, warn};
use crate::catalogue;
use crate::document::json;
use crate::io::write;
use crate::report::count;

/// Imports the catalogue from the folder with `supported_clocks.csv` and `gpu_limits.csv`.
pub(super) fn run(folder: &Path, output: &Path) -> Result<Answer, Problems> {
    let imported = catalogue::import(folder)?;
    warn(&imported.warnings);
    for gpu in &imported.gpus {
        write(&output.join(format!("{}.json", gpu.id.to_ascii_lowercase())), json(gpu).as_bytes())?;
    }
    let text = format!(
        "{} and {} read, {} written to {}\n",
        count(imported.clock_rows, "clock row"),
        count(imported.limit_rows, "limit row"),
        count(imported.gpus.len(), "GPU type"),
        output.display()
    );
    Ok(Answer::done(text))
}
