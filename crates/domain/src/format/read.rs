//! Reading a document: bytes to serde type, with every problem named and placed.

use serde::de::DeserializeOwned;

use super::scan::scan;
use super::words::{bare, plain};
use crate::codes::Code;
use crate::decimal::excerpt;
use crate::problem::{Problem, Problems, Warning};

/// A document with a format number.
pub trait Document: DeserializeOwned {
    /// The value of its `format` field.
    const FORMAT: &'static str;
}

/// A document that was read, and what looked suspicious about it.
#[derive(Clone, Debug)]
pub struct Read<T> {
    /// The document.
    pub document: T,
    /// Unknown fields.
    pub warnings: Vec<Warning>,
}

/// Reads a document from the bytes of a file.
///
/// # Errors
/// Every problem found: not JSON, wrong format number, duplicate keys, or the first field that is missing or of the
/// wrong type.
pub fn read<T: Document>(bytes: &[u8]) -> Result<Read<T>, Problems> {
    let text = text_of(bytes)?;
    let scan = scan(text).map_err(|error| syntax(&error))?;
    if !scan.is_object {
        return Err(Problem::new(Code::R02, "file", format!("is not a JSON object of format `{}`.", T::FORMAT)).into());
    }
    if scan.format.as_deref() != Some(T::FORMAT) {
        let found = match scan.format.as_deref() {
            None => "none".to_owned(),
            Some("") => "no text".to_owned(),
            Some(format) => format!("`{}`", excerpt(format)),
        };
        return Err(Problem::new(Code::R02, "format", format!("expected `{}`, found {found}.", T::FORMAT)).into());
    }
    if !scan.duplicates.is_empty() {
        let problem = |place: String| Problem::new(Code::R03, place, "the key appears twice.");
        return Err(Problems(scan.duplicates.into_iter().map(problem).collect()));
    }
    typed(text)
}

fn text_of(bytes: &[u8]) -> Result<&str, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Problem::new(Code::R01, format!("byte {}", error.valid_up_to()), "the file is not UTF-8 text.")
    })?;
    if text.trim().is_empty() {
        return Err(Problem::new(Code::R01, "file", "is empty."));
    }
    if text.starts_with('\u{feff}') {
        return Err(Problem::new(Code::R01, "byte 0", "the file begins with a byte order mark; leave it out."));
    }
    Ok(text)
}

fn typed<T: Document>(text: &str) -> Result<Read<T>, Problems> {
    let mut warnings = Vec::new();
    let mut unknown = |path: serde_ignored::Path<'_>| {
        warnings.push(Warning::new(Code::W3, tidy(&path.to_string()), "unknown field, ignored."));
    };
    let mut json = serde_json::Deserializer::from_str(text);
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut json, &mut track);
    match serde_ignored::deserialize(tracked, &mut unknown) {
        Ok(document) => Ok(Read { document, warnings }),
        Err(error) => {
            let path = track.path().to_string();
            let path = if path == "." { "file" } else { &path };
            let place = format!("{path} (line {}, column {})", error.line(), error.column());
            Err(Problem::new(Code::R04, place, format!("{}.", plain(&error))).into())
        }
    }
}

fn syntax(error: &serde_json::Error) -> Problem {
    let place = format!("line {}, column {}", error.line(), error.column());
    match bare(error).as_str() {
        // JSON in good order, but no number that anything could be done with.
        message @ "number out of range" => Problem::new(Code::R04, place, format!("{message}.")),
        message if message.starts_with("EOF ") => Problem::new(Code::R01, place, "the file ends too early."),
        "recursion limit exceeded" => Problem::new(Code::R01, place, "values are nested too deeply."),
        message => Problem::new(Code::R01, place, format!("{message}.")),
    }
}

/// `jobs.3.options.?.x` as `jobs[3].options.x`.
fn tidy(path: &str) -> String {
    let mut text = String::new();
    for step in path.split('.').filter(|step| *step != "?") {
        if !text.is_empty() && step.bytes().all(|b| b.is_ascii_digit()) {
            text.extend(["[", step, "]"]);
        } else {
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(step);
        }
    }
    text
}
