//! Watches `HiGHS` at work through the two files it can write: its log and its improving solutions.
//!
//! Its callbacks are not wrapped, and a solve cannot be interrupted from outside. The log says how bound and incumbent
//! move; the solutions file keeps what was found if the solve has to be left behind.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

/// Digits in the log are rounded; a bound read from it is lowered by this fraction.
const LOG_ROUNDING: f64 = 1e-8;

/// The files of one solve; they go when this is dropped.
pub(super) struct Watch {
    folder: TempDir,
}

/// Bound and incumbent in the log's last line, in the program's terms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Logged {
    pub bound: Option<f64>,
    pub incumbent: Option<f64>,
}

impl Watch {
    /// `None` where no temporary folder can be made: the solve then goes unwatched.
    pub fn new() -> Option<Self> {
        TempDir::with_prefix("rats-highs-").ok().map(|folder| Self { folder })
    }

    pub fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    pub fn solutions(&self) -> PathBuf {
        self.folder.path().join("solutions")
    }

    /// What the log says now.
    pub fn logged(&self) -> Logged {
        last_line(&fs::read_to_string(self.log()).unwrap_or_default())
    }

    /// The last complete improving solution.
    pub fn best(&self, columns: usize) -> Option<Vec<f64>> {
        last_solution(&fs::read_to_string(self.solutions()).ok()?, columns)
    }
}

/// Lines read `[source] nodes queue leaves explored% bound incumbent gap ...`.
fn last_line(log: &str) -> Logged {
    let numbers = |line: &str| -> Option<Logged> {
        let mut tokens = line.split_whitespace().skip_while(|token| !token.ends_with('%')).skip(1);
        let (bound, incumbent) = (tokens.next()?, tokens.next()?);
        // A star marks what is to be beaten, which is no solution.
        let is_found = !incumbent.ends_with('*');
        let number = |token: &str| token.trim_end_matches('*').parse::<f64>().ok();
        let (bound, incumbent) = (number(bound)?, number(incumbent)?);
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        let bound = finite(bound).map(|bound| bound - LOG_ROUNDING * bound.abs());
        Some(Logged { bound, incumbent: finite(incumbent).filter(|_| is_found) })
    };
    log.lines().rev().find_map(numbers).unwrap_or_default()
}

/// Solutions follow each other, each headed `# Columns -N sparse` with N lines `name value index`.
fn last_solution(text: &str, columns: usize) -> Option<Vec<f64>> {
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    let read = |section: &str| -> Option<Vec<f64>> {
        let mut lines = section.lines();
        let count: usize = lines.next()?.trim().strip_prefix('-')?.split_whitespace().next()?.parse().ok()?;
        let mut values = vec![0.0; columns];
        let mut found = 0;
        for line in lines.take(count) {
            let mut tokens = line.split_whitespace().skip(1);
            let (value, index): (f64, usize) = (tokens.next()?.parse().ok()?, tokens.next()?.parse().ok()?);
            *values.get_mut(index)? = value;
            found += 1;
        }
        (found == count).then_some(values)
    };
    complete.split("# Columns ").skip(1).collect::<Vec<_>>().into_iter().rev().find_map(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_and_incumbent_are_read_from_the_last_line_of_the_log() {
        let log = "Src  Proc. InQueue |  Leaves   Expl. | BestBound       BestSol              Gap |\n\n         0       0         0   0.00%   8               inf                  inf        0\n R       3       1         2  12.50%   10.5            12              12.50%     8 0 0 12 0.0s\n";
        let logged = last_line(log);
        assert_eq!(logged.incumbent, Some(12.0));
        assert!(logged.bound.is_some_and(|bound| (bound - 10.5).abs() < 1e-6));
        let starred =
            " R       3       1         2  12.50%   10.5            12*             12.50%     8 0 0 12 0.0s\n";
        assert_eq!(last_line(starred).incumbent, None);
        assert_eq!(last_line("nothing here\n"), Logged::default());
    }

    #[test]
    fn the_last_complete_solution_counts() {
        let text = "Model status\n# Columns -2 sparse\nNoName 1 0\nNoName 0.5 2\nObjective 3\n# Columns -2 sparse\nNoName 1 1\nNoNa";
        assert_eq!(last_solution(text, 3), Some(vec![1.0, 0.0, 0.5]));
        assert_eq!(last_solution("", 3), None);
    }
}
