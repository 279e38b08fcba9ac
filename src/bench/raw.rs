//! `raw.csv`: rows are added whole or not at all, and a half row that a crash left behind is cut off.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};

use super::row::Row;

/// An open `raw.csv`.
#[derive(Debug)]
pub struct RawFile {
    path: PathBuf,
    file: File,
    length: u64,
    /// What it holds.
    pub rows: Vec<Row>,
}

impl RawFile {
    /// Opens the file, makes it if need be, and cuts off a half row at its end.
    ///
    /// # Errors
    /// It cannot be read or written, or holds something else.
    pub fn open(path: &Path) -> Result<Self, Problems> {
        let unwritable = |error: io::Error| Problem::new(Code::U02, path.display().to_string(), format!("{error}."));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(unwritable)?;
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(unwritable)?;
        let whole = whole_lines(&content);
        let rows = parse(path, &content[..whole])?;
        file.set_len(whole as u64).map_err(unwritable)?;
        Ok(Self { path: path.to_owned(), file, length: whole as u64, rows })
    }

    /// Adds a row; it is on the disk when this returns.
    ///
    /// # Errors
    /// It cannot be written; the file is as it was.
    pub fn append(&mut self, row: Row) -> Result<(), Problem> {
        let text = line(&row, self.length == 0);
        let written = self.file.seek(SeekFrom::Start(self.length));
        let written = written.and_then(|_| self.file.write_all(&text)).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // Best effort: opening the file again would cut it off as well.
            let _ = self.file.set_len(self.length);
            return Err(Problem::new(Code::U02, self.path.display().to_string(), format!("{error}.")));
        }
        self.length += text.len() as u64;
        self.rows.push(row);
        Ok(())
    }
}

/// Reads a file without touching it; a half row at its end is left out.
///
/// # Errors
/// It cannot be read or holds something else.
pub fn read(path: &Path) -> Result<Vec<Row>, Problems> {
    let content = crate::io::bytes(path)?;
    parse(path, &content[..whole_lines(&content)])
}

/// Bytes up to and with the last line break. No cell holds a line break.
fn whole_lines(content: &[u8]) -> usize {
    content.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1)
}

fn parse(path: &Path, content: &[u8]) -> Result<Vec<Row>, Problems> {
    let problem = |error: csv::Error| {
        let line = error.position().map_or_else(|| "header".to_owned(), |position| format!("line {}", position.line()));
        let code = if matches!(error.kind(), csv::ErrorKind::UnequalLengths { .. }) { Code::D03 } else { Code::D06 };
        Problem::new(code, format!("{}: {line}", path.display()), format!("{error}.").replace('\n', " "))
    };
    let mut reader = csv::Reader::from_reader(content);
    Ok(reader.deserialize().collect::<Result<_, _>>().map_err(problem)?)
}

/// A row as its line, after the header if it is the first.
fn line(row: &Row, with_header: bool) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new().has_headers(with_header).from_writer(Vec::new());
    // Writing rows of plain cells to memory cannot fail.
    let _ = writer.serialize(row);
    writer.into_inner().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::row::Trajectory;
    use crate::bench::row::tests::row;

    #[test]
    fn rows_come_back_and_a_half_row_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("raw.csv");
        let mut first = row("i", "s", 0, Some(0.1 + 0.2));
        first.trajectory = Trajectory(vec![(0.5, None, Some(1.0)), (1.25, Some(3.0), Some(1.0))]);
        first.message = "a, \"b\"".to_owned();
        let second = row("i", "s", 1, None);
        let mut file = RawFile::open(&path).unwrap();
        file.append(first.clone()).unwrap();
        let one = std::fs::read(&path).unwrap();
        file.append(second.clone()).unwrap();
        let two = std::fs::read(&path).unwrap();
        for cut in one.len() + 1..two.len() {
            std::fs::write(&path, &two[..cut]).unwrap();
            assert_eq!(read(&path).unwrap(), [first.clone()]);
        }
        let mut file = RawFile::open(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), one);
        file.append(second.clone()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), two);
        assert_eq!(RawFile::open(&path).unwrap().rows, [first, second]);
    }

    #[test]
    fn damage_is_named_by_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("raw.csv");
        RawFile::open(&path).unwrap().append(row("i", "s", 0, None)).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        for (from, to, code) in [("unknown", "perhaps", Code::D06), ("suite,i,s", "suite,s", Code::D03)] {
            std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
            let problem = &RawFile::open(&path).unwrap_err().0[0];
            assert_eq!(problem.code, code);
            assert!(problem.place.ends_with("raw.csv: line 2"), "{}", problem.place);
        }
    }
}
