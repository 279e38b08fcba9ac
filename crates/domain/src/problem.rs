//! Problems and warnings: what is wrong, where, and how to mend it.

use std::fmt;

use crate::codes::Code;

/// One thing wrong with an input file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its stable code.
    pub code: Code,
    /// Where: a path such as `jobs[3].options[0].ticks`, or a line and column.
    pub place: String,
    /// What is wrong.
    pub message: String,
}

/// Something suspicious that stops nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Its stable code.
    pub code: Code,
    /// Where, as in [`Problem::place`].
    pub place: String,
    /// What is suspicious.
    pub message: String,
}

/// All problems of one file; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Problems(pub Vec<Problem>);

impl Problem {
    /// A problem at a place.
    pub fn new(code: Code, place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, place: place.into(), message: message.into() }
    }
}

impl Warning {
    /// A warning at a place.
    pub fn new(code: Code, place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, place: place.into(), message: message.into() }
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}: {} {}", self.code, self.place, self.message, self.code.remedy())
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}: {}", self.code, self.place, self.message)
    }
}
