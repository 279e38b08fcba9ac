//! Processes of jobs: started in a group of their own, followed, and ended with everything that they left behind.

mod members;
mod progress;
mod tail;
mod template;

use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

pub use self::members::JOB_VARIABLE;
use self::members::Mark;
pub use self::progress::{Follower, Pattern, Steps};
pub use self::tail::Tail;
pub use self::template::expand;
use crate::custody::RUN_VARIABLE;

/// What to start.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// The id of the run.
    pub run: &'a str,
    /// The name of the job.
    pub job: &'a str,
    /// The command, for `/bin/sh -c`.
    pub command: &'a str,
    /// Environment variables beside those of this process, [`RUN_VARIABLE`] and [`JOB_VARIABLE`].
    pub environment: &'a [(String, String)],
    /// Where to run it; absent: here.
    pub directory: Option<&'a Path>,
    /// Where its output goes; appended to.
    pub log: &'a Path,
    /// How long it may take to end after SIGTERM.
    pub grace: Duration,
}

/// How the process of a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code; absent if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// How many processes it left behind; they were ended.
    pub left_behind: usize,
}

/// The process of a job and all that came of it. Dropping it leaves them running.
#[derive(Debug)]
pub struct Process {
    child: Child,
    run: String,
    job: String,
    grace: Duration,
    /// When it was asked to end.
    asked: Option<Duration>,
    left_behind: usize,
}

impl Launch<'_> {
    /// Starts it.
    ///
    /// # Errors
    /// The log cannot be made, or no process can be started there.
    pub fn start(&self) -> io::Result<Process> {
        let log = File::options().create(true).append(true).open(self.log)?;
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(self.command);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.env(RUN_VARIABLE, self.run).env(JOB_VARIABLE, self.job);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).process_group(0);
        if let Some(directory) = self.directory {
            command.current_dir(directory);
        }
        Ok(Process {
            child: command.spawn()?,
            run: self.run.to_owned(),
            job: self.job.to_owned(),
            grace: self.grace,
            asked: None,
            left_behind: 0,
        })
    }
}

impl Process {
    /// Its process id, also that of its group.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Calls `tell` from a thread of its own once the command has exited; [`Process::poll`] finds out the same.
    pub fn when_exited(&self, tell: impl FnOnce() + Send + 'static) {
        let Some(pid) = self.pid() else { return };
        let wait = move || {
            // Whatever it answers, there is nothing left to wait for.
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
            tell();
        };
        // Without a thread the next poll notices.
        let _ = thread::Builder::new().name("exit".to_owned()).spawn(wait);
    }

    /// Whether it, or what it left behind, was asked to end.
    pub fn is_ending(&self) -> bool {
        self.asked.is_some()
    }

    /// Asks it to end; [`Process::poll`] insists after the grace. `now`: time on the caller's clock.
    pub fn stop(&mut self, now: Duration) {
        if self.asked.is_none() {
            self.asked = Some(now);
            self.signal(Signal::TERM);
        }
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        self.asked = Some(Duration::ZERO);
        self.signal(Signal::KILL);
    }

    /// How it ended, once nothing of it is left. To be called often: it also ends what does not end by itself.
    pub fn poll(&mut self, now: Duration) -> Option<Exit> {
        let insists = self.asked.is_some_and(|asked| now >= asked + self.grace);
        // The leader stays a zombie until everything else is gone, so that its id names no other group meanwhile.
        if !self.has_exited() {
            if insists {
                self.signal(Signal::KILL);
            }
            return None;
        }
        let left = self.mark().processes().len();
        if left > 0 {
            if self.asked.is_none() {
                self.left_behind = left;
                self.stop(now);
            } else if insists {
                self.signal(Signal::KILL);
            }
            return None;
        }
        let status = self.child.wait().ok();
        Some(Exit {
            code: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
            left_behind: self.left_behind,
        })
    }

    fn has_exited(&self) -> bool {
        let Some(pid) = self.pid() else { return true };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid() {
            // An empty group is no error.
            let _ = kill_process_group(pid, signal);
        }
        self.mark().signal(signal);
    }

    fn mark(&self) -> Mark<'_> {
        Mark { run: &self.run, job: &self.job, group: self.child.id() }
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }
}

#[cfg(test)]
mod tests;
