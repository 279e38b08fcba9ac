//! One GPU, one run: a lock that the kernel lets go of when its holder dies.

use std::fs::{self, File, TryLockError};
use std::io::{self, Seek as _, Write as _};

use rats_domain::codes::Code;
use rats_domain::problem::Problem;
use rats_system::files::sentence;

use super::{Owner, StateDir};
use crate::gpu::Uuid;

/// A GPU that is ours until this is dropped.
#[derive(Debug)]
pub struct GpuLock {
    _file: File,
}

/// Whether somebody holds a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Nobody.
    Nobody,
    /// A run; absent in the moment in which it writes down who it is.
    Run(Option<Owner>),
}

impl GpuLock {
    /// Locks a GPU.
    ///
    /// # Errors
    /// N11 with the owner if somebody holds it, N12 if the file cannot be made.
    pub fn take(state: &StateDir, gpu: &Uuid, owner: &Owner) -> Result<Self, Problem> {
        let path = state.lock(gpu);
        let problem = |error: io::Error| Problem::new(Code::N12, path.display().to_string(), sentence(&error));
        let mut file =
            File::options().read(true).write(true).create(true).truncate(false).open(&path).map_err(problem)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let who = recorded(state, gpu).map_or_else(|| "another run".to_owned(), |owner| owner.to_string());
                return Err(Problem::new(Code::N11, gpu.as_str(), format!("{who} holds the GPU.")));
            }
            Err(TryLockError::Error(error)) => return Err(problem(error)),
        }
        write(&mut file, owner).map_err(problem)?;
        Ok(Self { _file: file })
    }
}

/// Who holds a GPU now.
pub fn holder(state: &StateDir, gpu: &Uuid) -> Holder {
    let Ok(file) = File::open(state.lock(gpu)) else { return Holder::Nobody };
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Holder::Run(recorded(state, gpu)),
        _ => Holder::Nobody,
    }
}

fn recorded(state: &StateDir, gpu: &Uuid) -> Option<Owner> {
    serde_json::from_str(&fs::read_to_string(state.lock(gpu)).ok()?).ok()
}

fn write(file: &mut File, owner: &Owner) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(serde_json::to_string(owner)?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_is_refused_with_the_owners_pid_and_plan() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::at(directory.path());
        state.prepare().unwrap();
        let (gpu, owner) = (Uuid::new("GPU-1"), Owner::this("nightly").unwrap());
        assert_eq!(holder(&state, &gpu), Holder::Nobody);
        let lock = GpuLock::take(&state, &gpu, &owner).unwrap();
        let refused = GpuLock::take(&state, &gpu, &owner).unwrap_err();
        assert_eq!(refused.code, Code::N11);
        assert!(refused.message.contains(&format!("process {} (nightly)", std::process::id())), "{refused}");
        assert_eq!(holder(&state, &gpu), Holder::Run(Some(owner.clone())));
        drop(lock);
        assert_eq!(holder(&state, &gpu), Holder::Nobody);
        GpuLock::take(&state, &gpu, &owner).unwrap();
    }
}
