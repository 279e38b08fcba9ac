//! The directory of a machine's journals and locks.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use rats_domain::codes::Code;
use rats_domain::problem::Problem;
use rats_system::files::sentence;

use crate::gpu::Uuid;

/// The environment variable that names the directory.
pub const STATE_VARIABLE: &str = "RATS_STATE_DIR";

/// What root makes: it vanishes at a restart of the machine, as settings of GPUs do.
const SYSTEM: &str = "/run/rats";

/// Where a machine's journals and locks are. All who use the machine's GPUs must use the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir {
    root: PathBuf,
}

impl StateDir {
    /// The directory named.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory named, or else that of [`STATE_VARIABLE`], else `/run/rats` for root and where root has made it,
    /// else `rats` in `XDG_STATE_HOME` or `~/.local/state`.
    pub fn find(named: Option<&Path>) -> Self {
        let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(root) = named.map(Path::to_owned).or_else(|| variable(STATE_VARIABLE)) {
            return Self { root };
        }
        let home = || variable("HOME").unwrap_or_else(env::temp_dir).join(".local/state");
        let is_root = rustix::process::geteuid().is_root();
        if is_root || rustix::fs::access(SYSTEM, rustix::fs::Access::WRITE_OK).is_ok() {
            return Self::at(SYSTEM);
        }
        Self { root: variable("XDG_STATE_HOME").unwrap_or_else(home).join("rats") }
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Makes the directories.
    ///
    /// # Errors
    /// N12: they cannot be made.
    pub fn prepare(&self) -> Result<(), Problem> {
        for directory in [self.journals(), self.locks()] {
            let problem = |error| Problem::new(Code::N12, directory.display().to_string(), sentence(&error));
            fs::create_dir_all(&directory).map_err(problem)?;
        }
        Ok(())
    }

    /// Where the journals are, one file a run.
    pub fn journals(&self) -> PathBuf {
        self.root.join("journal")
    }

    /// Where the locks are, one file a GPU.
    pub fn locks(&self) -> PathBuf {
        self.root.join("lock")
    }

    /// The lock of a GPU.
    pub fn lock(&self, gpu: &Uuid) -> PathBuf {
        // A UUID comes from the driver; nothing in it may lead out of the directory.
        let name: String = gpu.as_str().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        self.locks().join(name)
    }
}
