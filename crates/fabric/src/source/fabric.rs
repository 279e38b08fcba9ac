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
    let read = if json { format::read(bytes)? } else { format::read(&as_json(text(bytes)?)?).map_err(no_lines)? };
    Ok(Source { file: read.document, warnings: read.warnings })
}

/// The document in JSON. A TOML float is printed with the fewest digits that give it back, so decimals stay as written.
fn as_json(toml: &str) -> Result<Vec<u8>, Problem> {
    let document: toml::Table = toml::from_str(toml).map_err(|error| {
        let before = error.span().and_then(|span| toml.get(..span.start)).unwrap_or("");
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        let place = format!("line {}, column {column}", before.matches('\n').count() + 1);
        Problem::new(Code::T01, place, format!("not TOML: {}.", error.message().lines().next().unwrap_or("").trim()))
    })?;
    serde_json::to_vec(&document).map_err(|error| Problem::new(Code::T01, "file", format!("{error}.")))
}

/// Lines and columns would be those of the JSON in between.
fn no_lines(problems: Problems) -> Problems {
    let bare = |problem: Problem| {
        let place = problem.place.split(" (line").next().unwrap_or("file").to_owned();
        Problem { place, ..problem }
    };
    Problems(problems.0.into_iter().map(bare).collect())
}
