//! A table of comma-separated values whose every row knows its line.

use std::collections::BTreeMap;

use csv::{ReaderBuilder, StringRecord, Trim};
use rats_domain::codes::Code;

use super::cells::Cells;
use super::findings::{FileRows, Findings};
use super::input::Input;

/// A table in good order: every row has a field for every column.
#[derive(Debug)]
pub(super) struct Table {
    /// The file.
    pub name: String,
    columns: BTreeMap<String, usize>,
    rows: Vec<Row>,
}

/// A row and its line.
#[derive(Debug)]
pub(super) struct Row {
    pub line: u64,
    fields: StringRecord,
}

impl Table {
    /// Reads a table that must have at least these columns. Damaged rows are noted and left out; without a usable
    /// header there is no table.
    pub fn read(input: &Input, required: &[&str], findings: &mut Findings) -> Option<Self> {
        let text = input.text(findings)?;
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(Trim::All)
            .comment(Some(b'#'))
            .from_reader(text.as_bytes());
        // A text has records only: nothing is read from outside and every byte is UTF-8.
        let mut records = reader.records().map_while(Result::ok);
        let Some(header) = records.next() else {
            findings.damage(Code::D01, input.name.clone(), "has no header.");
            return None;
        };
        let columns = columns(input, &header, required, findings)?;
        let mut table = Self { name: input.name.clone(), columns, rows: Vec::new() };
        let mut file = FileRows { path: input.name.clone(), rows: 0, left_out: 0 };
        for fields in records {
            let line = fields.position().map_or(0, csv::Position::line);
            file.rows += 1;
            if fields.len() == header.len() {
                table.rows.push(Row { line, fields });
            } else {
                file.left_out += 1;
                let message = format!("{} fields where the header has {}.", fields.len(), header.len());
                findings.damage(Code::D03, format!("{}: line {line}", input.name), message);
            }
        }
        if file.rows == 0 {
            findings.damage(Code::D01, input.name.clone(), "has a header but no rows.");
        }
        findings.files.push(file);
        Some(table)
    }

    /// Turns every row into a value; a row of which that fails has noted why and is left out.
    pub fn each<T>(&self, findings: &mut Findings, read: impl Fn(&mut Cells<'_, '_>) -> Option<T>) -> Vec<(u64, T)> {
        let mut values = Vec::new();
        for row in &self.rows {
            match read(&mut Cells::new(self, row, findings)) {
                Some(value) => values.push((row.line, value)),
                None => findings.leave_out(&self.name, 1),
            }
        }
        values
    }

    /// Where a row stands.
    pub fn place(&self, line: u64) -> String {
        format!("{}: line {line}", self.name)
    }

    /// The field of a row in a column; `None` if there is no such column.
    pub fn field<'r>(&self, row: &'r Row, column: &str) -> Option<&'r str> {
        self.columns.get(column).and_then(|&position| row.fields.get(position))
    }

    /// Names of all columns.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.keys().map(String::as_str)
    }
}

fn columns(
    input: &Input,
    header: &StringRecord,
    required: &[&str],
    findings: &mut Findings,
) -> Option<BTreeMap<String, usize>> {
    let line = header.position().map_or(1, csv::Position::line);
    let place = format!("{}: line {line}", input.name);
    let before = findings.damaged.len();
    let mut columns = BTreeMap::new();
    for (position, column) in header.iter().enumerate() {
        if columns.insert(column.to_owned(), position).is_some() {
            findings.damage(Code::D02, place.clone(), format!("the column `{}` appears twice.", column.escape_debug()));
        }
    }
    for column in required.iter().filter(|column| !columns.contains_key(**column)) {
        findings.damage(Code::D02, place.clone(), format!("the column `{column}` is missing."));
    }
    (findings.damaged.len() == before).then_some(columns)
}
