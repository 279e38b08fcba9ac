//! JSON for people: one line a field of the document and an entry of its lists, whatever is deeper on that line.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// Depth below which everything stays on one line.
const DEPTH: usize = 2;

#[derive(Default)]
struct Lines {
    depth: usize,
    empty: Vec<bool>,
}

/// A document as text that ends in a line break.
///
/// # Panics
/// Never for documents whose keys are strings.
pub(super) fn lines<T: Serialize>(document: &T) -> String {
    let mut bytes = Vec::new();
    document
        .serialize(&mut Serializer::with_formatter(&mut bytes, Lines::default()))
        .expect("documents have string keys only");
    bytes.push(b'\n');
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Lines {
    fn open<W: ?Sized + io::Write>(&mut self, writer: &mut W, bracket: u8) -> io::Result<()> {
        self.depth += 1;
        self.empty.push(true);
        writer.write_all(&[bracket])
    }

    fn entry<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if let Some(empty) = self.empty.last_mut() {
            *empty = false;
        }
        if !first {
            writer.write_all(b",")?;
        }
        self.break_line(writer, !first)
    }

    fn close<W: ?Sized + io::Write>(&mut self, writer: &mut W, bracket: u8) -> io::Result<()> {
        let depth = self.depth;
        let empty = self.empty.pop().unwrap_or(true);
        self.depth -= 1;
        if !empty && depth <= DEPTH {
            writer.write_all(b"\n")?;
            self.indent(writer)?;
        }
        writer.write_all(&[bracket])
    }

    fn break_line<W: ?Sized + io::Write>(&self, writer: &mut W, space: bool) -> io::Result<()> {
        if self.depth <= DEPTH {
            writer.write_all(b"\n")?;
            return self.indent(writer);
        }
        if space { writer.write_all(b" ") } else { Ok(()) }
    }

    fn indent<W: ?Sized + io::Write>(&self, writer: &mut W) -> io::Result<()> {
        (0..self.depth).try_for_each(|_| writer.write_all(b"  "))
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b'[')
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b']')
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.entry(writer, first)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b'{')
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b'}')
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.entry(writer, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_take_a_line_an_entry_and_what_is_deeper_none() {
        let value = serde_json::json!({ "a": 1, "b": [{ "c": 1, "d": [] }, { "c": 2, "d": [1, 2] }], "e": [] });
        let text = "{\n  \"a\": 1,\n  \"b\": [\n    {\"c\": 1, \"d\": []},\n    {\"c\": 2, \"d\": [1, 2]}\n  ],\n  \"e\": []\n}\n";
        assert_eq!(lines(&value), text);
    }
}
