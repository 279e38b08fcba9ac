//! Processes as `/proc` shows them.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use rats_domain::codes::Code;
use rats_domain::problem::Problem;

/// One process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its parent.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// When it started, clock ticks after boot; with the id, its name until the next boot.
    pub start: u64,
    /// Whether it has ended and only waits for its parent to notice.
    pub is_dead: bool,
}

/// A process; absent if there is none of this id.
pub fn process(pid: u32) -> Option<Process> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// When a process started.
pub fn start(pid: u32) -> Option<u64> {
    process(pid).map(|process| process.start)
}

/// Whether the process that started then still runs; a zombie does not.
pub fn is_alive(pid: u32, start: u64) -> bool {
    process(pid).is_some_and(|process| process.start == start && !process.is_dead)
}

/// All processes that have not ended, by id.
pub fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids: BTreeSet<u32> = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.into_iter().filter_map(process).filter(|process| !process.is_dead).collect()
}

/// Whether a process was started with `variable=value` in its environment; false where that cannot be read.
pub fn has_variable(pid: u32, variable: &str, value: &str) -> bool {
    let wanted = format!("{variable}={value}");
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|&byte| byte == 0).any(|entry| entry == wanted.as_bytes())
}

/// The command line of a process, for people.
pub fn command(pid: u32) -> Option<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok().filter(|bytes| !bytes.is_empty())?;
    let text = String::from_utf8_lossy(&bytes).replace('\0', " ");
    Some(text.trim_end().chars().take(80).collect())
}

/// What tells this boot of the machine from others.
///
/// # Errors
/// The kernel does not say.
pub fn boot() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// The problem of a machine without `/proc`.
pub(crate) fn problem(error: &io::Error) -> Problem {
    Problem::new(Code::N12, "/proc", format!("this machine's processes cannot be told apart: {error}."))
}

/// `pid (name) state parent group ...`, the 22nd field the start (proc(5)). The name may hold blanks and brackets.
fn parse(pid: u32, stat: &str) -> Option<Process> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let state = *fields.first()?;
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        start: fields.get(19)?.parse().ok()?,
        is_dead: matches!(state, "Z" | "X" | "x"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_blanks_does_not_shift_the_fields() {
        let stat = "7 (a) S (b c) Z 1 5 5 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 998 0 0";
        let found = Process { pid: 7, parent: 1, group: 5, start: 998, is_dead: true };
        assert_eq!(parse(7, stat), Some(found));
        assert_eq!(parse(7, "7 (cut"), None);
    }

    #[test]
    fn this_process_is_alive_and_was_not_started_at_another_time() {
        let pid = std::process::id();
        let start = start(pid).unwrap();
        assert!(is_alive(pid, start));
        assert!(!is_alive(pid, start + 1));
        assert!(all().iter().any(|process| process.pid == pid));
    }
}
