//! Whether a process is alive: same id, same start time, no zombie.

use rustix::process::{Pid, test_kill_process};

/// Start time of a living process, in clock ticks since the machine started; none for a dead one or a zombie.
pub fn started(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; the state is the first field after it, the start time the 20th.
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_whitespace().collect();
    let state = fields.first()?;
    if matches!(*state, "Z" | "X" | "x") { None } else { fields.get(19)?.parse().ok() }
}

/// Whether an id is in use, by a zombie perhaps: a cheap first look.
pub fn exists(pid: u32) -> bool {
    let id = i32::try_from(pid).ok().and_then(Pid::from_raw);
    id.is_some_and(|id| !matches!(test_kill_process(id), Err(rustix::io::Errno::SRCH)))
}

/// Name of a process's program.
pub fn name(pid: u32) -> Option<String> {
    std::fs::read_link(format!("/proc/{pid}/exe")).ok().map(|path| path.display().to_string())
}
