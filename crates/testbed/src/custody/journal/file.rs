//! The journal as a file.

use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};

use rats_domain::codes::Code;
use rats_domain::problem::Problem;
use rats_system::files::sentence;

use super::{Entry, FORMAT, Mark, Marks};
use crate::custody::{Owner, StateDir};
use crate::gpu::{Gpu, Setting, Uuid};

/// Journals that one process may have at once.
const MOST_RUNS: usize = 1000;

/// What names of journals end in.
const SUFFIX: &str = "jsonl";

/// A journal that is locked by this process.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Length up to the end of the last whole line.
    whole: u64,
    owner: Owner,
    marks: Marks,
}

impl Journal {
    /// Begins the journal of a run and names the run after it.
    ///
    /// # Errors
    /// N12: it cannot be written.
    pub fn create(state: &StateDir, owner: &mut Owner, gpus: &[Gpu]) -> Result<Self, Problem> {
        // Under its name it is there whole, or not at all, and locked: whoever finds it can tell that its owner lives.
        let written = |error: io::Error| unwritable(&state.journals(), &error);
        let mut builder = tempfile::Builder::new();
        builder.prefix(".new-").permissions(<Permissions as PermissionsExt>::from_mode(0o644));
        let mut draft = builder.tempfile_in(state.journals()).map_err(written)?;
        draft.as_file().try_lock().map_err(io::Error::from).map_err(written)?;
        let gpus: Vec<Uuid> = gpus.iter().map(|gpu| gpu.uuid().clone()).collect();
        let run = owner.run.clone();
        for count in 0..MOST_RUNS {
            owner.run = if count == 0 { run.clone() } else { format!("{run}-{count}") };
            let path = state.journals().join(format!("{}.{SUFFIX}", owner.run));
            if path.exists() {
                continue;
            }
            let first = Entry::Begin { format: FORMAT.to_owned(), owner: owner.clone(), gpus: gpus.clone() };
            let line = lines(&[first]).map_err(written)?;
            let file = draft.as_file_mut();
            let begun = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(&line));
            begun.and_then(|()| file.sync_all()).map_err(written)?;
            match draft.persist_noclobber(&path) {
                Ok(file) => {
                    // The name must survive as well; not every file system can sync a directory.
                    let _ = File::open(state.journals()).and_then(|directory| directory.sync_all());
                    let whole = line.len() as u64;
                    return Ok(Self { path, file, whole, owner: owner.clone(), marks: Marks::default() });
                }
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => draft = error.file,
                Err(error) => return Err(written(error.error)),
            }
        }
        Err(Problem::new(Code::N12, state.path().display().to_string(), "there are too many journals."))
    }

    /// Takes over the journal of a dead run; `None` if it is gone or somebody else is at work on it.
    ///
    /// # Errors
    /// It cannot be read or is no journal.
    pub fn take_over(path: &Path) -> io::Result<Option<Self>> {
        let mut file = match File::options().read(true).append(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Between opening and locking, somebody else may have finished with it.
        if !fs::metadata(path).is_ok_and(|now| file.metadata().is_ok_and(|held| held.ino() == now.ino())) {
            return Ok(None);
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let entries = entries(&text);
        let Some(Entry::Begin { owner, .. }) = entries.first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it does not begin as a journal does"));
        };
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at as u64 + 1);
        let (owner, marks) = (owner.clone(), Marks::of(&entries));
        Ok(Some(Self { path: path.to_owned(), file, whole, owner, marks }))
    }

    /// Reads a journal without a lock: its owner and GPUs.
    ///
    /// # Errors
    /// It cannot be read or is no journal.
    pub fn look(path: &Path) -> io::Result<(Owner, Vec<Uuid>, Marks)> {
        let entries = entries(&fs::read(path)?);
        match entries.first() {
            Some(Entry::Begin { owner, gpus, .. }) => Ok((owner.clone(), gpus.clone(), Marks::of(&entries))),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "it does not begin as a journal does")),
        }
    }

    /// Writes entries and waits until they are on disk.
    ///
    /// # Errors
    /// N12: they are not; what was written of them is taken back, so that the next line begins a line.
    pub fn append(&mut self, entries: &[Entry]) -> Result<(), Problem> {
        if entries.is_empty() {
            return Ok(());
        }
        let written = lines(entries).and_then(|lines| {
            if self.file.metadata()?.len() != self.whole {
                self.file.set_len(self.whole)?;
            }
            self.file.seek(SeekFrom::End(0))?;
            self.file.write_all(&lines)?;
            self.file.sync_data()?;
            Ok(lines.len() as u64)
        });
        match written {
            Ok(length) => {
                self.whole += length;
                for entry in entries {
                    self.marks.add(entry);
                }
                Ok(())
            }
            Err(error) => {
                // If this fails too, it is tried again before the next line.
                let _ = self.file.set_len(self.whole);
                Err(unwritable(&self.path, &error))
            }
        }
    }

    /// Writes down what was undone. What cannot be written is true all the same: another reader would undo it again, which
    /// does no harm, and a journal can be removed without room for a line.
    pub fn undone(&mut self, entries: &[Entry]) {
        if self.append(entries).is_err() {
            for entry in entries {
                self.marks.add(entry);
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whose it is.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// What is not undone.
    pub fn marks(&self) -> &Marks {
        &self.marks
    }

    /// What is not undone on a GPU.
    pub fn marks_of(&self, gpu: &Uuid) -> Vec<Mark> {
        self.marks.of_gpu(gpu)
    }

    /// Whether a setting was made exactly once.
    pub(in crate::custody) fn is_first(&self, gpu: &Uuid, setting: Setting) -> bool {
        self.marks.is_first(gpu, setting)
    }

    /// Removes it: nothing is left to undo.
    pub fn close(&mut self) {
        // A journal without marks that cannot be removed does no harm.
        let _ = fs::remove_file(&self.path);
    }
}

/// A journal whose owner is dead.
#[derive(Clone, Debug)]
pub struct Orphan {
    /// Where it is.
    pub path: PathBuf,
    /// Whose it was.
    pub owner: Owner,
    /// What is not undone.
    pub marks: Marks,
}

/// The journals in the directory whose owner is dead, in order of their names; and files that are no journals.
pub fn orphans(state: &StateDir) -> (Vec<Orphan>, Vec<(PathBuf, io::Error)>) {
    let (mut dead, mut unread) = (Vec::new(), Vec::new());
    let entries = fs::read_dir(state.journals()).into_iter().flatten().flatten();
    // Drafts have a name that begins with a dot: nothing was changed yet.
    let named = entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
    let mut paths: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        match Journal::look(&path) {
            Ok((owner, _, marks)) if !owner.is_alive() => dead.push(Orphan { path, owner, marks }),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => unread.push((path, error)),
        }
    }
    (dead, unread)
}

/// The whole lines. A line that is none was cut short, so what it announces was not done.
fn entries(text: &[u8]) -> Vec<Entry> {
    text.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

fn lines(entries: &[Entry]) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for entry in entries {
        serde_json::to_writer(&mut lines, entry)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

fn unwritable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(Code::N12, path.display().to_string(), format!("{} Nothing was changed.", sentence(error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::Uuid;

    fn begun() -> (tempfile::TempDir, StateDir, Journal) {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::at(directory.path());
        state.prepare().unwrap();
        let mut owner = Owner::this("plan").unwrap();
        let journal = Journal::create(&state, &mut owner, &[]).unwrap();
        (directory, state, journal)
    }

    fn lock(gpu: &str) -> Entry {
        Entry::Lock { gpu: Uuid::new(gpu), setting: Setting::SmLock, mhz: 900 }
    }

    #[test]
    fn a_line_that_was_cut_short_anywhere_is_as_if_it_had_not_been_written() {
        let (_directory, _, mut journal) = begun();
        journal.append(&[lock("GPU-1")]).unwrap();
        let before = fs::read(journal.path()).unwrap();
        journal.append(&[lock("GPU-2")]).unwrap();
        let after = fs::read(journal.path()).unwrap();
        let path = journal.path().to_owned();
        for cut in before.len()..after.len() - 1 {
            fs::write(&path, &after[..cut]).unwrap();
            let (_, _, marks) = Journal::look(&path).unwrap();
            assert_eq!(marks.gpus(), [Uuid::new("GPU-1")], "cut at {cut}");
        }
        // Whoever takes the journal over begins a line of his own.
        fs::write(&path, &after[..after.len() - 3]).unwrap();
        drop(journal);
        let mut taken = Journal::take_over(&path).unwrap().unwrap();
        taken.append(&[lock("GPU-3")]).unwrap();
        assert_eq!(Journal::look(&path).unwrap().2.gpus(), ["GPU-1", "GPU-3"].map(Uuid::new));
    }

    #[test]
    fn a_journal_has_one_holder_and_none_after_it_is_removed() {
        let (_directory, state, mut journal) = begun();
        let path = journal.path().to_owned();
        assert!(Journal::take_over(&path).unwrap().is_none());
        assert!(orphans(&state).0.is_empty(), "its owner lives");
        journal.close();
        assert!(Journal::take_over(&path).unwrap().is_none());
    }

    #[test]
    fn two_runs_of_one_process_have_two_names() {
        let (_directory, state, journal) = begun();
        let mut owner = Owner::this("other").unwrap();
        let other = Journal::create(&state, &mut owner, &[]).unwrap();
        assert_ne!(journal.path(), other.path());
        assert_eq!(other.owner().run, owner.run);
    }

    #[test]
    fn a_file_that_is_no_journal_is_named() {
        let (_directory, state, _journal) = begun();
        fs::write(state.journals().join("notes.txt"), "hello\n").unwrap();
        let (dead, unread) = orphans(&state);
        assert!(dead.is_empty());
        assert_eq!(unread.len(), 1);
    }
}
