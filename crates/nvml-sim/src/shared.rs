//! The state file: one state for all processes, never torn, whatever moment a process is killed at.
//!
//! # Idea
//! The file has a header and two copies of the state. Whoever holds the file lock (`flock`, which the kernel releases
//! when its holder dies) reads the current copy, writes the other, and then makes that one current by storing a single
//! integer. A process that is killed before the store has changed nothing.
//!
//! # Limits
//! A process that is *stopped* while it holds the lock blocks all others, as a driver does. The file must not be
//! truncated while it is mapped.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use memmap2::MmapRaw;

use crate::state::State;

/// Begins every state file; the last digits count layouts.
const MAGIC: u64 = 0x7261_7473_5f73_0002;
/// Bytes before the first copy.
const HEADER: usize = 64;
/// Bytes from one copy to the next, a multiple of the alignment of [`State`].
const SLOT: usize = size_of::<State>().next_multiple_of(64);
const SIZE: usize = HEADER + 2 * SLOT;

#[repr(C)]
struct Header {
    magic: AtomicU64,
    current: AtomicU64,
}

/// The mapped state file.
#[derive(Debug)]
pub struct Shared {
    path: PathBuf,
    map: MmapRaw,
    lock: Mutex<Lock>,
}

/// The open file whose lock this process takes. Its threads exclude each other by the mutex around it.
#[derive(Debug)]
struct Lock {
    file: File,
    pid: u32,
}

impl Lock {
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, pid: std::process::id() })
    }
}

impl Shared {
    /// Maps a file; makes it if it is missing or of another layout.
    ///
    /// # Errors
    /// It cannot be opened, locked or mapped.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        file.lock()?;
        if file.metadata()?.len() != SIZE as u64 {
            file.set_len(SIZE as u64)?;
        }
        let map = MmapRaw::map_raw(&file)?;
        // The mapping keeps the open file, and with it the lock, until it is released by name.
        file.unlock()?;
        Ok(Self { path: path.to_owned(), map, lock: Mutex::new(Lock::open(path)?) })
    }

    /// Reads, changes and writes the state while no other process can; `initial` makes it where there is none.
    ///
    /// # Errors
    /// The file cannot be locked any more.
    pub fn update<T>(&self, initial: impl FnOnce() -> State, change: impl FnOnce(&mut State) -> T) -> io::Result<T> {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // A lock belongs to an open file, which a forked child would share with its parent.
        if lock.pid != std::process::id() {
            *lock = Lock::open(&self.path)?;
        }
        lock.file.lock()?;
        let header = self.header();
        let current = header.current.load(Ordering::Acquire) & 1;
        let mut state = if header.magic.load(Ordering::Acquire) == MAGIC { self.read(current) } else { initial() };
        let result = change(&mut state);
        self.write(current ^ 1, &state);
        header.current.store(current ^ 1, Ordering::Release);
        header.magic.store(MAGIC, Ordering::Release);
        lock.file.unlock()?;
        Ok(result)
    }

    fn header(&self) -> &Header {
        #[expect(clippy::cast_ptr_alignment, reason = "mappings are aligned to pages")]
        // SAFETY: the mapping is SIZE >= HEADER >= size_of::<Header>() bytes, page-aligned and lives as long as self; both
        // fields are atomics, for which every bit pattern is a value and which other processes may change.
        let header = unsafe { &*self.map.as_ptr().cast::<Header>() };
        header
    }

    fn read(&self, slot: u64) -> State {
        // SAFETY: `slot` returns an aligned pointer to SLOT >= size_of::<State>() mapped bytes; State is repr(C) and made of
        // integers and floats, so every bit pattern is a value; the file lock is held, so nobody writes.
        unsafe { self.slot(slot).read() }
    }

    fn write(&self, slot: u64, state: &State) {
        // SAFETY: as for `read`; the slot written to is not the current one, and no reference into the mapping exists.
        unsafe { self.slot(slot).write(*state) }
    }

    fn slot(&self, slot: u64) -> *mut State {
        let offset = HEADER + if slot == 0 { 0 } else { SLOT };
        #[expect(clippy::cast_ptr_alignment, reason = "mappings are aligned to pages, offsets to 64 bytes")]
        // SAFETY: HEADER + SLOT + SLOT = SIZE bytes are mapped, so the offset lies inside.
        let slot = unsafe { self.map.as_mut_ptr().add(offset).cast::<State>() };
        slot
    }
}
