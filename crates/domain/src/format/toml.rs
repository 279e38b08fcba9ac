//! Documents in TOML, as the JSON they stand for.

use ::toml::{Table, Value as Toml};
use serde_json::Value;

use crate::codes::Code;
use crate::problem::{Problem, Problems};

/// A document in TOML as JSON. A float is printed with the fewest digits that give it back, so decimals stay as written.
///
/// # Errors
/// `code`: it is not TOML, with line and column. R04: numbers that are not finite, which JSON does not know, with their places.
pub fn from_toml(text: &str, code: Code) -> Result<Value, Problems> {
    let table: Table = ::toml::from_str(text).map_err(|error| not_toml(text, &error, code))?;
    let mut problems = Vec::new();
    finite(&Toml::Table(table.clone()), "", &mut problems);
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    serde_json::to_value(&table).map_err(|error| Problem::new(code, "file", format!("{error}.")).into())
}

fn not_toml(text: &str, error: &::toml::de::Error, code: Code) -> Problem {
    let at = error.span().map_or(0, |span| span.start.min(text.len()));
    let before = text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    let message = error.message().trim_end_matches('.').replace('\n', ", ");
    Problem::new(code, format!("line {line}, column {column}"), format!("{message}."))
}

fn finite(value: &Toml, place: &str, problems: &mut Vec<Problem>) {
    match value {
        Toml::Float(number) if !number.is_finite() => {
            problems.push(Problem::new(Code::R04, place, format!("{number} is not a finite number.")));
        }
        Toml::Array(values) => {
            for (position, value) in values.iter().enumerate() {
                finite(value, &format!("{place}[{position}]"), problems);
            }
        }
        Toml::Table(table) => {
            for (name, value) in table {
                let dot = if place.is_empty() { "" } else { "." };
                finite(value, &format!("{place}{dot}{name}"), problems);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finite_is_named_wherever_it_stands() {
        let text = "a = inf\n[[jobs]]\nb = 1.5\nc = [1.0, -inf]\n[jobs.d]\ne = nan\n";
        let problems = from_toml(text, Code::B01).unwrap_err().0;
        let places: Vec<&str> = problems.iter().map(|problem| problem.place.as_str()).collect();
        assert_eq!(places, ["a", "jobs[0].c[1]", "jobs[0].d.e"]);
        assert!(problems.iter().all(|problem| problem.code == Code::R04));
        let value = from_toml("a = 0.1\nb = [1]\n", Code::B01).unwrap();
        assert_eq!(value.to_string(), r#"{"a":0.1,"b":[1]}"#);
        let problem = &from_toml("a = 1\nb = = 2", Code::B01).unwrap_err().0[0];
        assert_eq!((problem.code, problem.place.as_str()), (Code::B01, "line 2, column 5"));
    }
}
