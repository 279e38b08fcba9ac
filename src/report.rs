//! Numbers and tables as people read them.

use std::borrow::Cow;

use rats_domain::units::{Millijoules, TickLength, Ticks};

/// Longer cells of a table are cut.
const LONGEST_CELL: usize = 200;
/// Smaller shares are no more than rounding.
const LEAST_SHARE: f64 = 1e-9;

/// How a column is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Six significant digits without trailing zeros; whole numbers in full.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return if value == 0.0 { "0".to_owned() } else { format!("{value:.0}") };
    }
    let magnitude = value.abs().log10().floor();
    if !(-5.0..15.0).contains(&magnitude) {
        return format!("{value:.5e}");
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 10 by the test above")]
    let decimals = (5.0 - magnitude).max(0.0) as usize;
    trimmed(&format!("{value:.decimals$}"))
}

/// A difference, with its sign.
pub fn signed(value: f64) -> String {
    if value < 0.0 { number(value) } else { format!("+{}", number(value)) }
}

/// A share in percent, such as `12.3 %`.
pub fn percent(share: f64) -> String {
    let value = if share.abs() < LEAST_SHARE { 0.0 } else { share * 100.0 };
    if !value.is_finite() {
        return "-".to_owned();
    }
    if value != 0.0 && value.abs() < 0.01 {
        return format!("{value:.1e} %");
    }
    format!("{} %", trimmed(&format!("{value:.2}")))
}

/// Energy in kWh.
pub fn kwh(energy: Millijoules) -> String {
    format!("{} kWh", number(energy.kwh()))
}

/// A duration of whole ticks, such as `2 h 5 min`.
pub fn duration(ticks: Ticks, tick: TickLength) -> String {
    let seconds = i128::from(ticks.0) * i128::from(tick.0);
    let (sign, seconds) = (if seconds < 0 { "-" } else { "" }, seconds.unsigned_abs());
    let units = [(seconds / 86_400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")];
    let parts: Vec<_> =
        units.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count} {unit}")).collect();
    if parts.is_empty() { "0 s".to_owned() } else { format!("{sign}{}", parts.join(" ")) }
}

/// `1 job`, `2 jobs`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Text from a file as it may be shown: one line, without characters that steer a terminal or turn the direction.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if steers(character) { shown.extend(character.escape_default()) } else { shown.push(character) }
    }
    Cow::Owned(shown)
}

fn steers(character: char) -> bool {
    let turns =
        matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

/// A cell as it is shown: printable, and cut where it is too long to read.
fn shown(cell: &str) -> String {
    let cell = printable(cell);
    match cell.char_indices().nth(LONGEST_CELL) {
        Some(_) => cell.chars().take(LONGEST_CELL - 3).chain("...".chars()).collect(),
        None => cell.into_owned(),
    }
}

/// Rows of cells as aligned text, two blanks between columns; the last alignment holds for all columns after it.
/// Cells are made printable, and cut after 200 characters.
pub fn table(rows: &[Vec<String>], aligns: &[Align]) -> String {
    let rows: Vec<Vec<_>> = rows.iter().map(|row| row.iter().map(|cell| shown(cell)).collect()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let blanks = " ".repeat(widths[column] - cell.chars().count());
            let align = aligns.get(column).or(aligns.last()).copied().unwrap_or(Align::Left);
            line.extend(match align {
                Align::Left => [cell, blanks.as_str(), "  "],
                Align::Right => [&blanks, cell, "  "],
            });
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn trimmed(decimal: &str) -> String {
    if !decimal.contains('.') {
        return decimal.to_owned();
    }
    let text = decimal.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_six_digits() {
        assert_eq!(number(492_000.0), "492000");
        assert_eq!(number(0.136_666_67), "0.136667");
        assert_eq!(number(-1234.5), "-1234.5");
        assert_eq!(number(1_234_567.25), "1234567");
        assert_eq!(number(-0.0), "0");
        assert_eq!(number(-0.5), "-0.5");
        assert_eq!(number(-10.0), "-10");
        assert_eq!(number(1.5e-9), "1.50000e-9");
        assert_eq!(number(f64::NAN), "-");
        assert_eq!((signed(2.5), signed(0.0), signed(-1.0)), ("+2.5".to_owned(), "+0".to_owned(), "-1".to_owned()));
    }

    #[test]
    fn shares_are_percent() {
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.268_292), "26.83 %");
        assert_eq!(percent(1e-8), "1.0e-6 %");
        assert_eq!(percent(1e-12), "0 %");
    }

    #[test]
    fn durations_name_their_units() {
        assert_eq!(duration(Ticks(10), TickLength(60)), "10 min");
        assert_eq!(duration(Ticks(90_061), TickLength(1)), "1 d 1 h 1 min 1 s");
        assert_eq!(duration(Ticks(0), TickLength(60)), "0 s");
    }

    #[test]
    fn columns_align() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["long".to_owned(), "100".to_owned()]];
        assert_eq!(table(&rows, &[Align::Left, Align::Right]), "a       1\nlong  100\n");
    }

    #[test]
    fn a_cell_is_cut_and_steers_no_terminal() {
        let rows = [vec!["x".repeat(70_000), "a\nb".to_owned()]];
        assert_eq!(table(&rows, &[Align::Left]), format!("{}...  a\\nb\n", "x".repeat(197)));
        assert_eq!(printable("\u{1b}[2J\u{202e}\u{e9}"), "\\u{1b}[2J\\u{202e}\u{e9}");
    }
}
