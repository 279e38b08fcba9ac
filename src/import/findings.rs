//! What an importer found: rows read, damage, suspicion.

use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Warning};

/// What was read, what is damaged and what looks suspicious.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Every file read.
    pub files: Vec<FileRows>,
    /// Every file not read.
    pub unread: Vec<Unread>,
    /// Every damaged row or file, with file and line in its place.
    pub damaged: Vec<Problem>,
    /// Everything suspicious.
    pub warnings: Vec<Warning>,
    /// What a reader of the result should know: what was left out on purpose.
    pub notes: Vec<String>,
}

/// How many rows a file has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRows {
    /// The file.
    pub path: String,
    /// Rows, without header.
    pub rows: usize,
    /// Of these, damaged rows.
    pub left_out: usize,
}

/// A file that was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The file.
    pub path: String,
    /// Why.
    pub why: &'static str,
    /// Whether it belongs to the source all the same.
    pub known: bool,
}

impl Findings {
    /// Notes damage at a place.
    pub fn damage(&mut self, code: Code, place: impl Into<String>, message: impl Into<String>) {
        self.damaged.push(Problem::new(code, place, message));
    }

    /// Notes suspicion at a place.
    pub fn suspect(&mut self, code: Code, place: impl Into<String>, message: impl Into<String>) {
        self.warnings.push(Warning::new(code, place, message));
    }

    /// Notes a file that belongs to the source but holds nothing for a profile.
    pub fn skip(&mut self, path: &str, why: &'static str) {
        self.unread.push(Unread { path: path.to_owned(), why, known: true });
    }

    /// Notes a file that is not of the source.
    pub fn stranger(&mut self, path: &str) {
        self.unread.push(Unread { path: path.to_owned(), why: "not a file of this source", known: false });
    }

    /// Counts one more damaged row of a file.
    pub fn leave_out(&mut self, path: &str, rows: usize) {
        if let Some(file) = self.files.iter_mut().find(|file| file.path == path) {
            file.left_out += rows;
        }
    }
}
