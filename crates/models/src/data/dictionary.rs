//! The data dictionary, made of the same columns that files are written from.

use std::fmt::Write as _;

use rats_domain::format::Flag;

use super::column::{Column, Type};
use super::rows::{Dataset, Gang, Pair, Point};
use super::tables::{Row, columns_of};

/// Every table and column, in Markdown.
pub fn dictionary(data: &Dataset) -> String {
    let mut text = String::from("# Data dictionary\n\n");
    text.push_str("Each table is there twice, as CSV and as Parquet, and both say the same. An empty field (Parquet: null) is a missing value.\n");
    table::<Point>(&mut text, &data.points);
    table::<Pair>(&mut text, &data.pairs);
    table::<Gang>(&mut text, &data.gangs);
    text.push_str("\n## Flags\n\n| flag | meaning |\n|---|---|\n");
    for flag in Flag::ALL {
        line(&mut text, &[&format!("`{}`", flag.name()), flag.meaning()]);
    }
    text
}

fn table<R: Row>(text: &mut String, rows: &[R]) {
    let heading = [
        format!("\n## `{}`\n\n{}\n", R::TABLE, R::MEANING),
        "| column | type | unit | range | meaning | if missing |".to_owned(),
        "|---|---|---|---|---|---|\n".to_owned(),
    ];
    text.push_str(&heading.join("\n"));
    for column in columns_of(rows) {
        let kind = match column.kind {
            Type::Text => "text",
            Type::Whole => "whole number",
            Type::Number => "number",
            Type::Truth => "true or false",
        };
        let missing = if column.nullable { column.null } else { "never" };
        line(text, &[&format!("`{}`", column.name), kind, column.unit, &range(&column), &column.meaning, missing]);
    }
}

fn line(text: &mut String, fields: &[&str]) {
    // A String takes whatever is written to it.
    let _ = writeln!(text, "| {} |", fields.join(" | "));
}

fn range<R>(column: &Column<R>) -> String {
    let (least, most) = column.range;
    if !matches!(column.kind, Type::Whole | Type::Number) {
        return String::new();
    }
    let from =
        if least.to_bits() == f64::MIN_POSITIVE.to_bits() { "above 0".to_owned() } else { format!("from {least}") };
    match most {
        1e18.. => from,
        1e9.. => format!("{from} to {most:e}"),
        _ => format!("{from} to {most}"),
    }
}
