//! Writes a program as free MPS or CPLEX LP, so that any other solver can be run on the same model.

use std::fmt::Write as _;

use super::linear::{Program, Sense};

/// Longest line of the LP format.
const LP_LINE: usize = 200;

/// What constant and scale mean, line by line.
fn notes(program: &Program) -> [String; 3] {
    [
        format!("instance {}", program.name),
        format!("objective of the instance = {} * (objective of this model) + {}", program.scale, program.constant),
        "the constant is not part of this model; minimize".to_owned(),
    ]
}

/// The program in free MPS format.
pub fn mps(program: &Program) -> String {
    let mut text = String::new();
    for note in notes(program) {
        line(&mut text, format_args!("* {note}"));
    }
    line(&mut text, format_args!("NAME rats"));
    line(&mut text, format_args!("ROWS\n N objective"));
    for row in &program.rows {
        let sense = if row.sense == Sense::AtMost { 'L' } else { 'E' };
        line(&mut text, format_args!(" {sense} {}", row.name));
    }
    columns(program, &mut text);
    line(&mut text, format_args!("RHS"));
    for row in program.rows.iter().filter(|row| row.limit != 0.0) {
        line(&mut text, format_args!(" rhs {} {}", row.name, row.limit));
    }
    line(&mut text, format_args!("BOUNDS"));
    for column in &program.columns {
        line(&mut text, format_args!(" LO bound {} {}", column.name, column.lower));
        line(&mut text, format_args!(" UP bound {} {}", column.name, column.upper));
    }
    line(&mut text, format_args!("ENDATA"));
    text
}

fn columns(program: &Program, text: &mut String) {
    let mut by_column: Vec<Vec<(usize, f64)>> = vec![Vec::new(); program.columns.len()];
    for (position, row) in program.rows.iter().enumerate() {
        for &(column, coefficient) in &row.terms {
            by_column[column.0].push((position, coefficient));
        }
    }
    line(text, format_args!("COLUMNS"));
    let mut in_integers = false;
    for (column, entries) in program.columns.iter().zip(&by_column) {
        if column.integer != in_integers {
            let word = if column.integer { "INTORG" } else { "INTEND" };
            line(text, format_args!(" marker 'MARKER' '{word}'"));
            in_integers = column.integer;
        }
        line(text, format_args!(" {} objective {}", column.name, column.cost / program.scale));
        for &(row, coefficient) in entries {
            line(text, format_args!(" {} {} {coefficient}", column.name, program.rows[row].name));
        }
    }
    if in_integers {
        line(text, format_args!(" marker 'MARKER' 'INTEND'"));
    }
}

/// The program in CPLEX LP format.
pub fn lp(program: &Program) -> String {
    let mut text = String::new();
    for note in notes(program) {
        line(&mut text, format_args!("\\ {note}"));
    }
    line(&mut text, format_args!("Minimize"));
    let costs = program.columns.iter().map(|column| (column.name.as_str(), column.cost / program.scale));
    sum(&mut text, "objective", costs.filter(|&(_, cost)| cost != 0.0));
    line(&mut text, format_args!("\nSubject To"));
    for row in &program.rows {
        let terms = row.terms.iter().map(|&(column, value)| (program.columns[column.0].name.as_str(), value));
        sum(&mut text, &row.name, terms);
        let sense = if row.sense == Sense::AtMost { "<=" } else { "=" };
        line(&mut text, format_args!(" {sense} {}", row.limit));
    }
    line(&mut text, format_args!("Bounds"));
    for column in &program.columns {
        line(&mut text, format_args!(" {} <= {} <= {}", column.lower, column.name, column.upper));
    }
    line(&mut text, format_args!("General"));
    for column in program.columns.iter().filter(|column| column.integer) {
        line(&mut text, format_args!(" {}", column.name));
    }
    line(&mut text, format_args!("End"));
    text
}

/// ` name: 1 x + -2 y`, broken into lines.
fn sum<'n>(text: &mut String, name: &str, terms: impl Iterator<Item = (&'n str, f64)>) {
    text.extend([" ", name, ":"]);
    let mut length = name.len() + 2;
    for (column, coefficient) in terms {
        let term = format!(" {} {} {column}", if coefficient < 0.0 { '-' } else { '+' }, coefficient.abs());
        if length + term.len() > LP_LINE {
            text.push_str("\n ");
            length = 1;
        }
        length += term.len();
        text.push_str(&term);
    }
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = text.write_fmt(arguments);
    text.push('\n');
}
