//! What was measured, one line a measurement: `rats.measurements/1`.
//!
//! Every line is synced before the next point is set, so that a sweep that was killed goes on where it was. A last line that
//! was cut short is taken off.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use rats_domain::codes::Code;
use rats_domain::format::Flag;
use rats_domain::problem::{Problem, Problems};
use serde::{Deserialize, Serialize};

use super::spread::Spread;
use super::target::Target;

/// What `format` says.
pub const FORMAT: &str = "rats.measurements/1";

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first line: what is measured.
    Head(Head),
    /// Power of the idle GPUs, W.
    Idle {
        /// Mean of each GPU; absent where power cannot be read.
        power_w: Vec<Option<f64>>,
    },
    /// A start of the command.
    Start(Start),
    /// A point.
    Measured(Measured),
}

/// What is measured. Two sweeps are the same if everything but the driver agrees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Always [`FORMAT`].
    pub format: String,
    /// The command.
    pub command: Vec<String>,
    /// The pattern of a step; absent: a step is a whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// UUIDs of the GPUs.
    pub gpus: Vec<String>,
    /// Their type, as profiles call it.
    pub gpu_type: String,
    /// Their product, as the driver calls it.
    pub gpu_name: String,
    /// Name of the machine.
    pub host: String,
    /// Version of the driver; absent where it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
}

/// What a start of the command showed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// Time before the first step, s.
    pub startup_s: f64,
    /// Power of a GPU that the command held before it computed, W.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_w: Option<f64>,
}

/// Why a point is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The same point again and again, to see drift.
    Reference,
    /// The grid that comes first.
    Grid,
    /// The model knows least of it.
    Chosen,
    /// It was tainted before.
    Repeat,
}

/// What spoils a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Taint {
    /// The power limit held the clock down, and no limit was asked for.
    ThrottledPower,
    /// Heat or the power supply held the clock down.
    ThrottledHeat,
    /// The clock observed is not the one applied, and nothing says why.
    ClockMissed,
    /// Clocks or power did not become steady in time.
    Unsteady,
    /// Another process used a GPU.
    Shared,
    /// Energy counter and integrated power disagree.
    EnergyDisagrees,
    /// The time that the command prints and the time on the wall disagree.
    TimeDisagrees,
    /// The reference point had moved.
    Drifted,
}

/// Where the power comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Instrument {
    /// The energy counter.
    Counter,
    /// Power readings, integrated, on one GPU at least.
    Integrated,
}

/// What one GPU did at a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// What was set, as the driver took it.
    pub applied: Target,
    /// SM clock, MHz: the median of readings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_mhz: Option<i64>,
    /// Memory clock, MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mem_mhz: Option<i64>,
    /// Mean power, W.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_w: Option<f64>,
    /// Integrated power over that of the counter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integrated_over_counter: Option<f64>,
    /// The highest temperature, degrees Celsius.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<i64>,
    /// Why the clock was lower than it could be, as NVML names it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throttle: Vec<String>,
}

/// One measurement of one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Why it was measured.
    pub role: Role,
    /// What was asked for.
    pub target: Target,
    /// What each GPU did.
    pub gpus: Vec<Observed>,
    /// Time of a step, s.
    pub step_s: Spread,
    /// Power of one GPU, mean of the gang, W; absent where a GPU tells nothing about its power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_w: Option<Spread>,
    /// Where the power comes from.
    pub instrument: Instrument,
    /// What spoils it, but for drift, which only later measurements show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
    /// Time until it was steady, s.
    pub settle_s: f64,
    /// Time that all of it took, s.
    pub took_s: f64,
}

/// The file.
#[derive(Debug)]
pub struct Book {
    path: PathBuf,
    file: File,
}

impl Taint {
    /// The taint as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::ThrottledPower => "throttled_power",
            Self::ThrottledHeat => "throttled_heat",
            Self::ClockMissed => "clock_missed",
            Self::Unsteady => "unsteady",
            Self::Shared => "shared",
            Self::EnergyDisagrees => "energy_disagrees",
            Self::TimeDisagrees => "time_disagrees",
            Self::Drifted => "drifted",
        }
    }

    /// The flag of a profile that says so.
    pub fn flag(self) -> Flag {
        match self {
            Self::ThrottledPower => Flag::Throttled,
            Self::ThrottledHeat => Flag::ThrottledHeat,
            Self::ClockMissed => Flag::ClockMissed,
            Self::Unsteady => Flag::Unsteady,
            Self::Shared => Flag::Shared,
            Self::EnergyDisagrees | Self::TimeDisagrees => Flag::Disagrees,
            Self::Drifted => Flag::Drifted,
        }
    }
}

impl Head {
    fn is_same(&self, other: &Self) -> bool {
        let other = Self { driver: self.driver.clone(), ..other.clone() };
        *self == other
    }
}

impl Book {
    /// Opens the file and reads what it holds beside the head, or begins it.
    ///
    /// # Errors
    /// Y06: it is damaged before its last line. Y07: it belongs to another sweep. Y08: it cannot be read or written.
    pub fn open(path: &Path, head: &Head) -> Result<(Self, Vec<Line>), Problems> {
        let unwritable = |error: io::Error| Problem::new(Code::Y08, path.display().to_string(), format!("{error}."));
        let mut file =
            File::options().read(true).write(true).create(true).truncate(false).open(path).map_err(unwritable)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(unwritable)?;
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let lines = parse(path, &text[..whole])?;
        file.set_len(whole as u64).and_then(|()| file.seek(SeekFrom::End(0))).map_err(unwritable)?;
        let mut book = Self { path: path.to_owned(), file };
        let Some((first, rest)) = lines.split_first() else {
            book.write(&Line::Head(head.clone()))?;
            return Ok((book, Vec::new()));
        };
        match first {
            Line::Head(found) if found.is_same(head) => Ok((book, rest.to_vec())),
            Line::Head(found) => {
                let message =
                    format!("holds measurements of `{}` on {}.", found.command.join(" "), found.gpus.join(", "));
                Err(Problem::new(Code::Y07, path.display().to_string(), message).into())
            }
            _ => Err(Problem::new(Code::Y06, format!("{}:1", path.display()), "the first line is no head.").into()),
        }
    }

    /// Appends a line; it is on disk when this returns.
    ///
    /// # Errors
    /// Y08: it cannot be written.
    pub fn write(&mut self, line: &Line) -> Result<(), Problem> {
        let mut text = serde_json::to_vec(line).map_err(|error| self.unwritable(&error.into()))?;
        text.push(b'\n');
        self.file.write_all(&text).and_then(|()| self.file.sync_data()).map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &io::Error) -> Problem {
        Problem::new(Code::Y08, self.path.display().to_string(), format!("{error}."))
    }
}

fn parse(path: &Path, text: &[u8]) -> Result<Vec<Line>, Problem> {
    let lines = text.split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    let line = |(at, line): (usize, &[u8])| {
        let place = || format!("{}:{}", path.display(), at + 1);
        serde_json::from_slice(line).map_err(|error| Problem::new(Code::Y06, place(), format!("{error}.")))
    };
    lines.map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn head(command: &str) -> Head {
        Head {
            format: FORMAT.to_owned(),
            command: vec![command.to_owned()],
            pattern: None,
            gpus: vec!["GPU-1".to_owned()],
            gpu_type: "a40".to_owned(),
            gpu_name: "NVIDIA A40".to_owned(),
            host: "here".to_owned(),
            driver: Some("1".to_owned()),
        }
    }

    #[test]
    fn a_torn_last_line_is_taken_off_and_the_rest_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.jsonl");
        let (mut book, lines) = Book::open(&path, &head("a")).unwrap();
        assert!(lines.is_empty());
        book.write(&Line::Idle { power_w: vec![Some(21.5), None] }).unwrap();
        drop(book);
        let mut torn = fs::read(&path).unwrap();
        torn.extend_from_slice(b"{\"measured\":{\"role\"");
        fs::write(&path, &torn).unwrap();
        // Another driver is no other sweep.
        let newer = Head { driver: None, ..head("a") };
        let (mut book, lines) = Book::open(&path, &newer).unwrap();
        assert_eq!(lines, [Line::Idle { power_w: vec![Some(21.5), None] }]);
        book.write(&Line::Start(Start { startup_s: 2.0, blocked_w: None })).unwrap();
        assert_eq!(Book::open(&path, &head("a")).unwrap().1.len(), 2);
    }

    #[test]
    fn a_damaged_file_and_one_of_another_sweep_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.jsonl");
        drop(Book::open(&path, &head("a")).unwrap());
        assert_eq!(Book::open(&path, &head("b")).unwrap_err().0[0].code, Code::Y07);
        let mut text = fs::read(&path).unwrap();
        text.extend_from_slice(b"nonsense\n");
        fs::write(&path, text).unwrap();
        let problem = Book::open(&path, &head("a")).unwrap_err().0[0].clone();
        assert!(problem.code == Code::Y06 && problem.place.ends_with(":2"), "{problem}");
        assert_eq!(Book::open(folder.path(), &head("a")).unwrap_err().0[0].code, Code::Y08);
    }
}
