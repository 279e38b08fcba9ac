//! Which processes belong to a job, wherever they went.
//!
//! A job is started in a process group of its own with the run's id in its environment. Children that leave the group
//! (`setsid`, a double fork) still carry the environment, which `/proc` shows. What escapes: a process that left the
//! group *and* was executed with another environment.

use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// The environment variable with the id of the run.
pub const RUN: &str = "RATS_RUN";

/// The environment variable with the name of the job.
pub const JOB: &str = "RATS_JOB";

/// Whose processes are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Mark<'a> {
    /// The id of the run.
    pub run: &'a str,
    /// The job; all jobs of the run if absent.
    pub job: Option<&'a str>,
    /// A process group that belongs to the job for certain: its leader is not reaped yet.
    pub group: Option<u32>,
}

impl Mark<'_> {
    /// The living processes that carry it, without this one.
    pub fn processes(&self) -> Vec<u32> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let names = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut found: Vec<u32> = names.filter(|&pid| pid != std::process::id() && self.is_on(pid)).collect();
        found.sort_unstable();
        found
    }

    /// Sends a signal to all that carry it; how many there were.
    ///
    /// A process id can be used again between a look and a signal; the handle that is taken before the look cannot.
    pub fn signal(&self, signal: Signal) -> usize {
        self.processes().into_iter().filter(|&pid| self.signal_one(pid, signal)).count()
    }

    fn signal_one(&self, pid: u32, signal: Signal) -> bool {
        let Some(id) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
        match pidfd_open(id, PidfdFlags::empty()) {
            Ok(handle) => self.is_on(pid) && pidfd_send_signal(handle, signal).is_ok(),
            // Kernels before 5.3 have no such handles.
            Err(rustix::io::Errno::NOSYS) => self.is_on(pid) && rustix::process::kill_process(id, signal).is_ok(),
            Err(_) => false,
        }
    }

    fn is_on(&self, pid: u32) -> bool {
        let Some(stat) = Stat::read(pid).filter(|stat| stat.is_alive) else { return false };
        self.group == Some(stat.group) || self.is_in_environment(pid)
    }

    fn is_in_environment(&self, pid: u32) -> bool {
        let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
        let has = |name: &str, value: &str| {
            let wanted = format!("{name}={value}");
            environment.split(|&byte| byte == 0).any(|entry| entry == wanted.as_bytes())
        };
        has(RUN, self.run) && self.job.is_none_or(|job| has(JOB, job))
    }
}

/// What `/proc/PID/stat` says.
struct Stat {
    is_alive: bool,
    group: u32,
}

impl Stat {
    fn read(pid: u32) -> Option<Self> {
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The name in parentheses may hold anything, also parentheses.
        let after = text.iter().rposition(|&byte| byte == b')')? + 1;
        let fields = String::from_utf8_lossy(&text[after..]).into_owned();
        let mut fields = fields.split_whitespace();
        let state = fields.next()?;
        let group = fields.nth(1)?.parse().ok()?;
        Some(Self { is_alive: !matches!(state, "Z" | "X" | "x"), group })
    }
}
