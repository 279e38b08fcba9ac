//! Files to import: found in folders, unpacked, named.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};

use super::findings::Findings;

/// The most bytes that a compressed file may hold.
const MOST_BYTES: u64 = 1 << 28;

/// A file and its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its path as it is shown.
    pub name: String,
    /// What is in it, still compressed.
    pub bytes: Vec<u8>,
    /// Whether the user named the file itself rather than a folder.
    pub named: bool,
}

/// Reads all files of paths; folders are walked in the order of names.
pub(super) fn collect(paths: &[PathBuf]) -> Result<Vec<Input>, Problems> {
    let mut inputs: Vec<Input> = Vec::new();
    for path in paths {
        walk(path, true, &mut inputs)
            .map_err(|(path, error)| Problem::new(Code::U01, path.display().to_string(), format!("{error}.")))?;
    }
    Ok(inputs)
}

fn walk(path: &Path, named: bool, inputs: &mut Vec<Input>) -> Result<(), (PathBuf, io::Error)> {
    let place = |error| (path.to_owned(), error);
    if fs::metadata(path).map_err(place)?.is_dir() {
        let entries: io::Result<Vec<_>> = fs::read_dir(path).map_err(place)?.collect();
        let mut paths: Vec<_> = entries.map_err(place)?.iter().map(fs::DirEntry::path).collect();
        paths.sort();
        return paths.iter().try_for_each(|path| walk(path, false, inputs));
    }
    let name = path.display().to_string();
    if inputs.iter().all(|input| input.name != name) {
        inputs.push(Input { name, bytes: fs::read(path).map_err(place)?, named });
    }
    Ok(())
}

impl Input {
    /// Its file name, without `.gz`.
    pub(super) fn file_name(&self) -> &str {
        let name = self.name.rsplit(['/', '\\']).next().unwrap_or(&self.name);
        name.strip_suffix(".gz").unwrap_or(name)
    }

    /// Whether its file name, without `.gz`, ends in this extension.
    pub(super) fn is(&self, wanted: &str) -> bool {
        extension(self.file_name()) == Some(wanted)
    }

    /// Its file name and the folders above, without `.gz`.
    pub(super) fn path(&self) -> &str {
        self.name.strip_suffix(".gz").unwrap_or(&self.name)
    }

    /// Its text, unpacked; what prevents that is noted as damage.
    pub(super) fn text(&self, findings: &mut Findings) -> Option<Cow<'_, str>> {
        let bytes = match self.unpacked() {
            Ok(bytes) => bytes,
            Err(error) => {
                findings.damage(Code::D08, self.name.clone(), format!("{error}."));
                return None;
            }
        };
        let text = match bytes {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes).map(Cow::Borrowed),
            Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).map_err(|error| error.utf8_error()),
        };
        match text {
            Ok(text) if text.trim().is_empty() => {
                findings.damage(Code::D01, self.name.clone(), "is empty.");
                None
            }
            Ok(text) => Some(text),
            Err(error) => {
                let line = self.unpacked().map_or(0, |bytes| line_of(&bytes, error.valid_up_to()));
                findings.damage(Code::D09, format!("{}: line {line}", self.name), "is not UTF-8 text.");
                None
            }
        }
    }

    fn unpacked(&self) -> io::Result<Cow<'_, [u8]>> {
        const MAGIC: [u8; 2] = [0x1f, 0x8b];
        if extension(&self.name) != Some("gz") && !self.bytes.starts_with(&MAGIC) {
            return Ok(Cow::Borrowed(&self.bytes));
        }
        let mut unpacked = Vec::new();
        let read = MultiGzDecoder::new(self.bytes.as_slice()).take(MOST_BYTES).read_to_end(&mut unpacked)?;
        if u64::try_from(read).unwrap_or(u64::MAX) == MOST_BYTES {
            return Err(io::Error::other(format!("holds more than {MOST_BYTES} bytes")));
        }
        Ok(Cow::Owned(unpacked))
    }
}

fn extension(name: &str) -> Option<&str> {
    Path::new(name).extension().and_then(OsStr::to_str)
}

fn line_of(bytes: &[u8], position: usize) -> usize {
    bytes[..position.min(bytes.len())].split(|byte| *byte == b'\n').count()
}
