//! Steps of a command, read off what it prints.

use std::path::PathBuf;

use regex::Regex;

use super::counter::Look;
use crate::process::Tail;

/// A regular expression with a group `step` (the number of a step), `time` (seconds of a step) or `time_ms`.
#[derive(Clone, Debug)]
pub struct StepPattern {
    regex: Regex,
}

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Said {
    /// When it was seen, s.
    pub at_s: f64,
    /// The number of the step.
    pub step: Option<f64>,
    /// The time of a step, s.
    pub time_s: Option<f64>,
}

/// The output of a command.
#[derive(Debug)]
pub struct Output {
    log: Tail,
    pattern: StepPattern,
    /// Lines of it so far, matching or not.
    pub lines: u64,
    /// The first matching line.
    pub first: Option<Said>,
    /// Matching lines since [`Output::forget`].
    pub said: Vec<Said>,
    /// Looks at the step counter since then.
    pub steps: Vec<Look>,
    last_step: Option<f64>,
}

impl StepPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let regex = Regex::new(text).map_err(|error| error.to_string())?;
        let known = |name: &&str| ["step", "time", "time_ms"].contains(name);
        if regex.capture_names().flatten().any(|name| known(&name)) {
            return Ok(Self { regex });
        }
        Err("needs a group `(?<step>...)`, `(?<time>...)` (seconds) or `(?<time_ms>...)`".to_owned())
    }

    /// The pattern as it was given.
    pub fn as_str(&self) -> &str {
        self.regex.as_str()
    }

    /// Whether it finds the number of the step.
    pub fn counts(&self) -> bool {
        self.regex.capture_names().flatten().any(|name| name == "step")
    }

    fn find(&self, line: &str, at_s: f64) -> Option<Said> {
        let found = self.regex.captures(line)?;
        let number = |name: &str| found.name(name)?.as_str().parse::<f64>().ok().filter(|value| value.is_finite());
        let time_s = number("time").or_else(|| number("time_ms").map(|ms| ms / 1e3)).filter(|time| *time > 0.0);
        let said = Said { at_s, step: number("step"), time_s };
        (said.step.is_some() || said.time_s.is_some()).then_some(said)
    }
}

impl Output {
    /// Follows a log from a byte on.
    pub fn new(log: PathBuf, pattern: StepPattern, offset: u64) -> Self {
        let (log, said, steps) = (Tail::new(log, offset), Vec::new(), Vec::new());
        Self { log, pattern, lines: 0, first: None, said, steps, last_step: None }
    }

    /// Reads what is new; `now` gives the time. A log that cannot be read says nothing new.
    pub fn look(&mut self, now: impl Fn() -> f64) {
        let from_s = now();
        let lines = self.log.lines();
        let to_s = now();
        for line in lines {
            self.line_ended(&line, to_s);
        }
        self.steps.extend(self.last_step.map(|value| Look { from_s, to_s, value }));
    }

    /// Forgets what was said so far; the step counter goes on.
    pub fn forget(&mut self) {
        self.said.clear();
        self.steps.clear();
    }

    fn line_ended(&mut self, line: &str, at_s: f64) {
        self.lines += u64::from(!line.is_empty());
        let Some(said) = self.pattern.find(line, at_s) else { return };
        self.first = self.first.or(Some(said));
        self.last_step = said.step.or(self.last_step);
        self.said.push(said);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_pattern_reads_step_and_time() {
        let pattern = StepPattern::parse(r"step (?<step>\d+)/\d+ time (?<time>[0-9.]+) s").unwrap();
        let said = Said { at_s: 2.0, step: Some(40.0), time_s: Some(0.25) };
        assert_eq!(pattern.find("[x] step 40/100 time 0.25 s", 2.0), Some(said));
        assert_eq!(pattern.find("epoch 3", 2.0), None);
        let pattern = StepPattern::parse(r"it (?<time_ms>\S+) ms").unwrap();
        assert_eq!(pattern.find("it 250 ms", 0.0).unwrap().time_s, Some(0.25));
        assert_eq!(pattern.find("it nan ms", 0.0), None);
        assert!(!pattern.counts());
    }

    #[test]
    fn a_pattern_without_a_group_is_refused() {
        assert!(StepPattern::parse(r"step \d+").unwrap_err().contains("(?<step>"));
        assert!(StepPattern::parse("(").is_err());
    }

    #[test]
    fn whole_lines_count_and_the_step_counter_outlives_forgetting() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let pattern = StepPattern::parse(r"step (?<step>\d+)").unwrap();
        let mut output = Output::new(file.path().to_owned(), pattern, 0);
        output.look(|| 0.0);
        assert!(output.steps.is_empty() && output.first.is_none());
        write!(file, "hello\nstep 1\rstep 2\nstep 1").unwrap();
        output.look(|| 1.0);
        assert_eq!((output.lines, output.said.len(), output.steps[0].value), (3, 2, 2.0));
        output.forget();
        writeln!(file, "9").unwrap();
        output.look(|| 2.0);
        assert_eq!((output.said.len(), output.steps[0].value), (1, 19.0));
        assert_eq!(output.first.unwrap().step, Some(1.0));
    }
}
