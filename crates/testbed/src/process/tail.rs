//! A file that another process writes, followed by whole lines.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

/// Most bytes that one look reads; of a file that grows faster only the end is followed.
const MOST: u64 = 1 << 20;

/// What is read of a file so far.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    offset: u64,
    line: Vec<u8>,
}

impl Tail {
    /// Follows a file from this byte on.
    pub fn new(path: PathBuf, offset: u64) -> Self {
        Self { path, offset, line: Vec::new() }
    }

    /// The lines that have ended since the last look. A file that cannot be read says nothing new.
    pub fn lines(&mut self) -> Vec<String> {
        let mut bytes = Vec::new();
        let read = File::open(&self.path).and_then(|mut file| {
            let length = file.metadata()?.len();
            if length > self.offset + MOST {
                self.offset = length - MOST;
                self.line.clear();
            }
            file.seek(SeekFrom::Start(self.offset))?;
            file.take(MOST).read_to_end(&mut bytes)
        });
        self.offset += read.map_or(0, |count| count as u64);
        let mut lines = Vec::new();
        for byte in bytes {
            // A progress bar ends its lines with a carriage return.
            if byte == b'\n' || byte == b'\r' {
                lines.push(String::from_utf8_lossy(&self.line).into_owned());
                self.line.clear();
            } else {
                self.line.push(byte);
            }
        }
        lines
    }
}
