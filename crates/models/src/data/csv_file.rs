//! A table as comma-separated values: a header, then a row a line; nothing stands for a missing value.

use csv::{ReaderBuilder, StringRecord, WriterBuilder};
use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};

use super::column::{Cell, Column};
use super::tables::{Row, columns_of};

/// The table as text.
///
/// # Panics
/// Never: memory can be written to, and every row has as many fields as the header.
pub fn write<R: Row>(rows: &[R]) -> Vec<u8> {
    let columns = columns_of(rows);
    let mut writer = WriterBuilder::new().from_writer(Vec::new());
    writer.write_record(columns.iter().map(|column| &column.name)).expect("memory can be written to");
    for row in rows {
        writer
            .write_record(columns.iter().map(|column| column.get(row).text()))
            .expect("rows are as long as the header");
    }
    writer.into_inner().expect("memory can be written to")
}

/// Reads a table; `name` stands in the places of problems.
///
/// # Errors
/// Every cell that is wrong, with its line and column.
pub fn read<R: Row>(name: &str, bytes: &[u8]) -> Result<Vec<R>, Problems> {
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(bytes);
    let header = reader.headers().map_err(|error| Problem::new(Code::D09, name, format!("{error}.")))?.clone();
    let columns = columns(name, header.iter())?;
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    for record in reader.records() {
        match record {
            Ok(record) => rows.extend(row(name, &columns, &record, &mut problems)),
            Err(error) => problems.push(Problem::new(Code::D09, name, format!("{error}."))),
        }
    }
    if problems.is_empty() { Ok(rows) } else { Err(Problems(problems)) }
}

fn row<R: Row>(name: &str, columns: &[Column<R>], record: &StringRecord, problems: &mut Vec<Problem>) -> Option<R> {
    let line = record.position().map_or(0, csv::Position::line);
    if record.len() != columns.len() {
        let message = format!("{} fields where the header has {}.", record.len(), columns.len());
        problems.push(Problem::new(Code::D03, format!("{name}: line {line}"), message));
        return None;
    }
    let before = problems.len();
    let mut row = R::default();
    for (column, text) in columns.iter().zip(record) {
        let place = || format!("{name}: line {line}, {}", column.name);
        match Cell::parse(text, column.kind) {
            Err(message) => problems.push(Problem::new(Code::D04, place(), message)),
            Ok(cell) => {
                if let Err(message) = column.set(&mut row, cell) {
                    problems.push(Problem::new(Code::D05, place(), message));
                }
            }
        }
    }
    (problems.len() == before).then_some(row)
}

/// The columns of a header, in its order: all that a table has, each once.
///
/// # Errors
/// Columns that are missing, unknown or there twice.
pub(super) fn columns<'h, R: Row>(
    name: &str,
    header: impl Iterator<Item = &'h str>,
) -> Result<Vec<Column<R>>, Problems> {
    let mut known = R::columns();
    let mut columns: Vec<Column<R>> = Vec::new();
    let mut problems = Vec::new();
    for text in header {
        let column = match known.iter().position(|column| column.name == text) {
            Some(position) => Some(known.swap_remove(position)),
            None if columns.iter().any(|column| column.name == text) => None,
            None => text.strip_prefix("counter_").and_then(R::counter),
        };
        match column {
            Some(column) => columns.push(column),
            None => problems.push(format!("the column `{}` is unknown or appears twice.", text.escape_debug())),
        }
    }
    problems.extend(known.iter().map(|column| format!("the column `{}` is missing.", column.name)));
    if problems.is_empty() {
        return Ok(columns);
    }
    Err(Problems(problems.into_iter().map(|message| Problem::new(Code::D02, name, message)).collect()))
}
