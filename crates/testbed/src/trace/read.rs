//! Reading a trace up to its last whole line.

use std::path::Path;

use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};
use rats_system::files::bytes;

use super::record::{Begin, FORMAT, Line, Record};

/// A trace as far as it was written.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Its whole lines.
    pub lines: Vec<Line>,
    /// Whether the last line was cut short.
    pub is_torn: bool,
}

/// Reads a trace. A last line without an end is left out; every other must be one.
///
/// # Errors
/// U01: it cannot be read; X11: a line is none, or the first run states another format.
pub fn read(path: &Path) -> Result<Trace, Problems> {
    let bytes = bytes(path)?;
    let mut trace = Trace::default();
    let mut rest = &bytes[..];
    let mut number = 0;
    while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
        number += 1;
        let problem = |error: serde_json::Error| {
            let place = format!("{}, line {number}", path.display());
            Problem::new(Code::X11, place, format!("{error}."))
        };
        if end > 0 {
            trace.lines.push(serde_json::from_slice(&rest[..end]).map_err(problem)?);
        }
        rest = &rest[end + 1..];
    }
    trace.is_torn = !rest.is_empty();
    let foreign = trace.begins().find(|(_, begin)| begin.format != FORMAT);
    if let Some((_, begin)) = foreign {
        let message = format!("expected format `{FORMAT}`, found `{}`.", begin.format);
        return Err(Problem::new(Code::X11, path.display().to_string(), message).into());
    }
    Ok(trace)
}

impl Trace {
    /// The beginnings of its runs, with the position of their lines.
    pub fn begins(&self) -> impl Iterator<Item = (usize, &Begin)> {
        self.lines.iter().enumerate().filter_map(|(position, line)| match &line.record {
            Record::Begin(begin) => Some((position, begin)),
            _ => None,
        })
    }
}
