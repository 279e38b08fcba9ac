//! Runs `rats` in a directory of its own.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The worked example of `docs/model.md`: one sleep node, two GPUs, jobs `a` and `b` with two options each.
pub const WORKED: &str = include_str!("data/worked_example.json");

/// A plan of the worked example: both jobs at option 0 on the first GPU, one after the other.
pub const ONE_AFTER_THE_OTHER: &str = r#"{"format": "rats.plan/1", "assignments": [
    {"job": "a", "option": 0, "start": 0, "gpus": ["n0/0"]},
    {"job": "b", "option": 0, "start": 10, "gpus": ["n0/0"]}
]}"#;

/// A plan of the worked example: both jobs at option 0 side by side, the optimum.
pub const SIDE_BY_SIDE: &str = r#"{"format": "rats.plan/1", "assignments": [
    {"job": "a", "option": 0, "start": 0, "gpus": ["n0/0"]},
    {"job": "b", "option": 0, "start": 0, "gpus": ["n0/1"]}
]}"#;

/// A plan of the worked example in which both jobs want one GPU at once.
pub const CLASH: &str = r#"{"format": "rats.plan/1", "objective": 5, "assignments": [
    {"job": "a", "option": 0, "start": 0, "gpus": ["n0/0"]},
    {"job": "b", "option": 0, "start": 5, "gpus": ["n0/0"]}
]}"#;

/// A directory with files, in which commands run.
pub struct Place {
    directory: TempDir,
}

/// What a command did.
pub struct Done {
    pub exit: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    /// With the worked example as `i.json` and these plans.
    pub fn with_plans(plans: &[(&str, &str)]) -> Self {
        let place = Self { directory: tempfile::tempdir().unwrap() };
        place.write("i.json", WORKED);
        for (name, plan) in plans {
            place.write(name, plan);
        }
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs `rats` with these words.
    pub fn rats(&self, words: &str) -> Done {
        self.fed(words, "")
    }

    /// Runs `rats` with this text as standard input.
    pub fn fed(&self, words: &str, input: &str) -> Done {
        let mut child = self.command(words).spawn().unwrap();
        // The command may end before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        Done::from(child.wait_with_output().unwrap())
    }

    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rats"));
        command.args(words.split_whitespace()).current_dir(self.directory.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

impl Done {
    /// Standard output as one JSON document.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout, self.stderr))
    }

    /// Asserts an error: exit code 2, nothing on standard output, this line start on standard error.
    #[track_caller]
    pub fn fails_with(&self, start: &str) {
        assert_eq!((self.exit, self.stdout.as_str()), (2, ""), "{}", self.stderr);
        assert!(self.stderr.lines().any(|line| line.starts_with(start)), "no line `{start}` in: {}", self.stderr);
    }
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { exit: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}
