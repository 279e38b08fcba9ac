//! Who holds a GPU: a process that can be told from any later one of the same id.

use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};

use super::procfs;

/// A run and its process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Name of the run, also the value of `RATS_RUN_ID`.
    pub run: String,
    /// Its process.
    pub pid: u32,
    /// When that started, clock ticks after boot.
    pub start: u64,
    /// Which boot of the machine.
    pub boot: String,
    /// What it carries out.
    pub plan: String,
}

impl Owner {
    /// This process.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn this(plan: &str) -> io::Result<Self> {
        let pid = std::process::id();
        let start = procfs::start(pid).ok_or(io::ErrorKind::NotFound)?;
        let boot = procfs::boot()?;
        Ok(Self { run: format!("{pid}-{start}"), pid, start, boot, plan: plan.to_owned() })
    }

    /// Whether its process runs.
    pub fn is_alive(&self) -> bool {
        self.is_of_this_boot() && procfs::is_alive(self.pid, self.start)
    }

    /// Whether the machine has not been started anew since: then settings are as a fresh driver sets them.
    pub fn is_of_this_boot(&self) -> bool {
        procfs::boot().is_ok_and(|boot| boot == self.boot)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({})", self.pid, self.plan)
    }
}
