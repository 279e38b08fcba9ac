//! How far a job has come, read off what it prints.

use std::path::PathBuf;

use super::tail::Tail;

/// A line of output with the number of the step in it, such as `step {step}/{steps}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Step,
    Steps,
    /// Any text up to what follows.
    Any,
}

/// How far a job has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Steps done.
    pub done: u64,
    /// Steps to be done, where the output says so.
    pub all: Option<u64>,
}

impl Pattern {
    /// Reads a pattern: text with `{step}` once, and optionally `{steps}` and `{*}` (anything).
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            if at > 0 {
                parts.push(Part::Text(rest[..at].to_owned()));
            }
            let (name, tail) = rest[at + 1..].split_once('}').ok_or("a brace is not closed")?;
            parts.push(match name {
                "step" => Part::Step,
                "steps" => Part::Steps,
                "*" => Part::Any,
                other => return Err(format!("`{{{other}}}` is none of {{step}}, {{steps}}, {{*}}")),
            });
            rest = tail;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        match parts.iter().filter(|part| **part == Part::Step).count() {
            1 => Ok(Self { parts }),
            _ => Err("{step} must stand in it once".to_owned()),
        }
    }

    /// The steps that a line states.
    pub fn find(&self, line: &str) -> Option<Steps> {
        line.char_indices().find_map(|(at, _)| matched(&self.parts, &line[at..], Steps { done: 0, all: None }))
    }
}

fn matched(parts: &[Part], text: &str, so_far: Steps) -> Option<Steps> {
    let Some((part, rest)) = parts.split_first() else { return Some(so_far) };
    match part {
        Part::Text(expected) => matched(rest, text.strip_prefix(expected.as_str())?, so_far),
        Part::Any => text.char_indices().find_map(|(at, _)| matched(rest, &text[at..], so_far)),
        Part::Step | Part::Steps => {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            let number = text[..digits].parse().ok()?;
            let found = if *part == Part::Step {
                Steps { done: number, ..so_far }
            } else {
                Steps { all: Some(number), ..so_far }
            };
            matched(rest, &text[digits..], found)
        }
    }
}

/// Follows the log of a job.
#[derive(Debug)]
pub struct Follower {
    log: Tail,
    pattern: Pattern,
    last: Option<Steps>,
}

impl Follower {
    /// Follows a log from this byte on.
    pub fn new(log: PathBuf, pattern: Pattern, offset: u64) -> Self {
        Self { log: Tail::new(log, offset), pattern, last: None }
    }

    /// Reads what is new and returns how far the job has come. A log that cannot be read says nothing new.
    pub fn look(&mut self) -> Option<Steps> {
        let found = self.log.lines().iter().rev().find_map(|line| self.pattern.find(line));
        self.last = found.or(self.last);
        self.last
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_pattern_finds_its_numbers_anywhere_in_a_line() {
        let pattern = Pattern::parse("step {step}/{steps}").unwrap();
        assert_eq!(pattern.find("[12:00] step 7/100 loss 0.3"), Some(Steps { done: 7, all: Some(100) }));
        assert_eq!(pattern.find("step /100"), None);
        let pattern = Pattern::parse("epoch {*} it {step}").unwrap();
        assert_eq!(pattern.find("epoch 3: it 12, it/s 4"), Some(Steps { done: 12, all: None }));
        assert!(Pattern::parse("no number").is_err());
        assert!(Pattern::parse("{what}").is_err());
    }

    #[test]
    fn a_follower_reads_whole_lines_only() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let pattern = Pattern::parse("step {step}/{steps}").unwrap();
        let mut follower = Follower::new(file.path().to_owned(), pattern, 0);
        assert_eq!(follower.look(), None);
        write!(file, "step 1/20\rstep 2/20\rstep 1").unwrap();
        assert_eq!(follower.look().map(|steps| steps.done), Some(2));
        writeln!(file, "9/20").unwrap();
        assert_eq!(follower.look().map(|steps| steps.done), Some(19));
    }
}
