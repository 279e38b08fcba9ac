//! `rats.fabric/1` as JSON, or the same document as TOML.

use rats_domain::codes::Code;
use rats_domain::format;
use rats_domain::problem::{Problem, Problems};

use super::{Source, text};

/// Reads a network.
///
/// # Errors
/// Every problem of the document, with code and place.
pub fn read(bytes: &[u8]) -> Result<Source, Problems> {
    let json = text(bytes)?.trim_start().starts_with('{');
    let read = if json {
        format::read(bytes)?
    } else {
        let value = format::from_toml(text(bytes)?, Code::T01)?;
        format::read(value.to_string().as_bytes()).map_err(no_lines)?
    };
    Ok(Source { file: read.document, warnings: read.warnings })
}

/// Lines and columns would be those of the JSON in between.
fn no_lines(problems: Problems) -> Problems {
    let bare = |problem: Problem| {
        let place = problem.place.split(" (line").next().unwrap_or("file").to_owned();
        Problem { place, ..problem }
    };
    Problems(problems.0.into_iter().map(bare).collect())
}
