//! Writing a trace: whole lines, appended; a disk that is full stops nothing.

use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use rats_domain::codes::Code;
use rats_domain::problem::Problem;
use rats_system::clock::{Stopwatch, since_epoch};

use super::record::{Line, Record};

/// Appends lines to a trace.
///
/// A line that cannot be written is kept in memory and tried again before the next one; readings are not kept. What was
/// written of it is cut off again, so that the file always ends with a whole line or with one that readers skip.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: File,
    watch: Stopwatch,
    backlog: Vec<u8>,
}

impl Writer {
    /// Opens a trace at its end; a last line that was cut short is cut off. Times count from `watch`.
    ///
    /// # Errors
    /// U02: the file cannot be opened.
    pub fn open(path: &Path, watch: Stopwatch) -> Result<Self, Problem> {
        let unwritable = |error: io::Error| Problem::new(Code::U02, path.display().to_string(), format!("{error}."));
        let file = File::options().create(true).read(true).append(true).open(path).map_err(unwritable)?;
        if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            let content = fs::read(path).map_err(unwritable)?;
            let whole = content.iter().rposition(|&byte| byte == b'\n').map_or(0, |position| position + 1);
            if whole < content.len() {
                file.set_len(whole as u64).map_err(unwritable)?;
            }
        }
        Ok(Self { path: path.to_owned(), file, watch, backlog: Vec::new() })
    }

    /// Times count from here on.
    pub fn count_from(&mut self, watch: Stopwatch) {
        self.watch = watch;
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a line. Returns it, and X10 where it cannot be written: each time, until it can be.
    pub fn write(&mut self, record: Record) -> (Line, Option<Problem>) {
        let is_reading = matches!(record, Record::Sample { .. });
        let is_end_state = matches!(record, Record::Job(_) | Record::End(_) | Record::Begin(_) | Record::Plan(_));
        let line = Line {
            t: rounded(self.watch.elapsed().as_secs_f64(), 1e6),
            wall: rounded(since_epoch().as_secs_f64(), 1e3),
            record,
        };
        let Ok(mut text) = serde_json::to_vec(&line) else { return (line, None) };
        text.push(b'\n');
        if !self.backlog.is_empty() && is_reading {
            return (line, None);
        }
        let kept = self.backlog.len();
        self.backlog.extend_from_slice(&text);
        let written = append(&mut self.file, &self.backlog);
        match written {
            Ok(()) => {
                self.backlog.clear();
                if is_end_state {
                    // What a rerun goes by should survive a power cut; that it may not is no reason to stop.
                    let _ = self.file.sync_data();
                }
                (line, None)
            }
            Err(error) => {
                if is_reading {
                    self.backlog.truncate(kept);
                }
                let message = format!("{error}; nothing new is started, what runs may end.");
                let problem = Problem::new(Code::X10, self.path.display().to_string(), message);
                (line, Some(problem))
            }
        }
    }
}

/// Appends all or nothing, as far as the file system lets us.
fn append(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    let end = file.seek(SeekFrom::End(0))?;
    let written = file.write_all(bytes);
    if written.is_err() {
        let _ = file.set_len(end);
    }
    written
}

fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}

#[cfg(test)]
mod tests {
    use super::super::{Note, read};
    use super::*;

    fn note(message: &str) -> Record {
        Record::Note(Note { code: "X10".to_owned(), place: "here".to_owned(), message: message.to_owned() })
    }

    #[test]
    fn a_line_that_was_cut_short_is_as_if_it_had_not_been_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trace.jsonl");
        let mut writer = Writer::open(&path, Stopwatch::start()).unwrap();
        assert_eq!(writer.write(note("one")).1, None);
        assert_eq!(writer.write(note("two")).1, None);
        drop(writer);
        let whole = fs::read(&path).unwrap();
        let first = whole.iter().position(|&byte| byte == b'\n').unwrap() + 1;
        for cut in first..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            assert_eq!(read(&path).unwrap().lines.len(), 1, "cut at {cut}");
            let mut writer = Writer::open(&path, Stopwatch::start()).unwrap();
            assert_eq!(writer.write(note("three")).1, None);
            let lines = read(&path).unwrap().lines;
            assert_eq!(lines.len(), 2, "cut at {cut}");
            assert_eq!(lines[1].record, note("three"));
        }
    }

    #[test]
    fn a_full_disk_is_reported_and_what_is_no_reading_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trace.jsonl");
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let mut writer = Writer::open(&path, Stopwatch::start()).unwrap();
        assert_eq!(writer.write(Record::Sample { gpus: Vec::new() }).1.unwrap().code, Code::X10);
        assert!(writer.backlog.is_empty());
        assert_eq!(writer.write(note("kept")).1.unwrap().code, Code::X10);
        // Space again: what was kept comes first.
        let other = directory.path().join("other.jsonl");
        writer.file = File::options().create(true).append(true).open(&other).unwrap();
        assert_eq!(writer.write(note("after")).1, None);
        let records: Vec<Record> = read(&other).unwrap().lines.into_iter().map(|line| line.record).collect();
        assert_eq!(records, [note("kept"), note("after")]);
    }
}
