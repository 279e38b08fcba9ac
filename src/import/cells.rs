//! The fields of one row, read by column; what is wrong with one is noted with its file, line and column.

use std::ops::RangeInclusive;

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;

use super::findings::Findings;
use super::table::{Row, Table};

/// Any time above 0, s.
pub(super) const SECONDS: RangeInclusive<f64> = f64::MIN_POSITIVE..=1e9;
/// Any power above 0, W.
pub(super) const WATTS: RangeInclusive<f64> = f64::MIN_POSITIVE..=1e6;
/// Any energy above 0, J.
pub(super) const JOULES: RangeInclusive<f64> = f64::MIN_POSITIVE..=1e15;
/// Anything of which there may be none.
pub(super) const AMOUNT: RangeInclusive<f64> = 0.0..=1e18;
/// Anything counted of which there must be one.
pub(super) const COUNT: RangeInclusive<i64> = 1..=1 << 31;
/// Anything counted from 0.
pub(super) const INDEX: RangeInclusive<i64> = 0..=1 << 31;

/// The fields of one row.
pub(super) struct Cells<'t, 'f> {
    table: &'t Table,
    row: &'t Row,
    findings: &'f mut Findings,
}

impl<'t, 'f> Cells<'t, 'f> {
    /// The fields of a row.
    pub fn new(table: &'t Table, row: &'t Row, findings: &'f mut Findings) -> Self {
        Self { table, row, findings }
    }

    /// A text that must not be empty.
    pub fn text(&mut self, column: &str) -> Option<&'t str> {
        let text = self.optional(column);
        if text.is_none() {
            self.damage(Code::D13, column, "is empty.");
        }
        text
    }

    /// A text, or `None` if the column is missing or the field empty.
    pub fn optional(&self, column: &str) -> Option<&'t str> {
        self.table.field(self.row, column).filter(|text| !text.is_empty())
    }

    /// Whether the row has something in a column.
    pub fn has(&self, column: &str) -> bool {
        self.optional(column).is_some()
    }

    /// A finite number in a range.
    pub fn number(&mut self, column: &str, range: RangeInclusive<f64>) -> Option<f64> {
        let text = self.text(column)?;
        let Some(value) = text.parse().ok().filter(|value: &f64| value.is_finite()) else {
            self.damage(Code::D04, column, format!("`{}` is not a number.", short(text)));
            return None;
        };
        if !range.contains(&value) {
            let problem = if value <= *range.start() { "too small" } else { "too large" };
            self.damage(Code::D05, column, format!("{value} is {problem}."));
            return None;
        }
        Some(value)
    }

    /// A whole number in a range.
    pub fn whole(&mut self, column: &str, range: RangeInclusive<i64>) -> Option<i64> {
        let text = self.text(column)?;
        let Ok(value) = text.parse::<i64>() else {
            self.damage(Code::D04, column, format!("`{}` is not a whole number.", short(text)));
            return None;
        };
        if !range.contains(&value) {
            let (least, most) = (range.start(), range.end());
            self.damage(Code::D05, column, format!("{value} is not between {least} and {most}."));
            return None;
        }
        Some(value)
    }

    /// An exact number above 0 of at most 3 decimals.
    pub fn decimal(&mut self, column: &str) -> Option<Decimal> {
        let text = self.text(column)?;
        let Ok(value) = Decimal::parse(text) else {
            self.damage(Code::D04, column, format!("`{}` is not a number.", short(text)));
            return None;
        };
        if !value.scaled(3).is_some_and(|scaled| (1..=1_000_000_000).contains(&scaled)) {
            self.damage(Code::D05, column, format!("{value} is not above 0, below 1e6 and of at most 3 decimals."));
            return None;
        }
        Some(value)
    }

    /// One of some known texts.
    pub fn one_of<T: Copy>(&mut self, column: &str, known: &[(&str, T)]) -> Option<T> {
        let text = self.text(column)?;
        let found = known.iter().find(|(name, _)| *name == text);
        if found.is_none() {
            let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
            self.damage(Code::D06, column, format!("`{}` is none of {}.", short(text), names.join(", ")));
        }
        found.map(|(_, value)| *value)
    }

    /// Notes damage in a column of this row.
    pub fn damage(&mut self, code: Code, column: &str, message: impl Into<String>) {
        let place = format!("{}, {column}", self.table.place(self.row.line));
        self.findings.damage(code, place, message);
    }
}

/// The first characters of a field, to quote in a message.
fn short(text: &str) -> String {
    text.chars().take(40).flat_map(char::escape_debug).collect()
}
