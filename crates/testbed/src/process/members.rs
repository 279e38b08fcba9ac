//! Which processes belong to a job, wherever they went.
//!
//! A job is started in a process group of its own with the run's id in its environment. Children that leave the group
//! (`setsid`, a double fork) still carry the environment, which `/proc` shows. What escapes: a process that left the
//! group *and* was executed with another environment.

use std::collections::BTreeSet;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::custody::RUN_VARIABLE;
use crate::custody::procfs::{self, Process};

/// The environment variable with the name of the job.
pub const JOB_VARIABLE: &str = "RATS_JOB";

/// Whose processes are looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark<'a> {
    /// The id of the run.
    pub run: &'a str,
    /// The name of the job.
    pub job: &'a str,
    /// The job's process group. Its leader is not reaped yet, so the id names no other.
    pub group: u32,
}

impl Mark<'_> {
    /// The living processes that carry it.
    pub fn processes(&self) -> BTreeSet<u32> {
        procfs::all().into_iter().filter(|process| self.is_on(process)).map(|process| process.pid).collect()
    }

    /// Sends a signal to all that carry it.
    ///
    /// A process id can be used again between a look and a signal; the handle that is taken before the look cannot.
    pub fn signal(&self, signal: Signal) {
        for pid in self.processes() {
            let Some(id) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { continue };
            let handle = pidfd_open(id, PidfdFlags::empty());
            if !procfs::process(pid).is_some_and(|process| self.is_on(&process)) {
                continue;
            }
            // One that has just ended is no error. Kernels before 5.3 have no handles.
            let _ = match handle {
                Ok(handle) => pidfd_send_signal(handle, signal),
                Err(_) => rustix::process::kill_process(id, signal),
            };
        }
    }

    fn is_on(&self, process: &Process) -> bool {
        let carries = |name, value| procfs::has_variable(process.pid, name, value);
        !process.is_dead
            && (process.group == self.group || (carries(RUN_VARIABLE, self.run) && carries(JOB_VARIABLE, self.job)))
    }
}
