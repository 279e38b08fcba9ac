//! What is left of the jobs of a dead run.
//!
//! # Idea
//! Every process of a run is marked by `RATS_RUN_ID` in its environment, which children inherit through `setsid` and
//! double forks alike; and every job is a process group of its own. A process belongs to the run if it carries the mark,
//! is in one of the groups, or descends from one that belongs.
//!
//! # Limits
//! A process that clears its environment, leaves its group *and* loses its parent is not found; nor is one of another
//! user, whose environment cannot be read. Ids may be used again: a group counts only while its leader is the one that
//! was started, or is gone (the kernel gives the id of a group to nobody while the group has members).

use std::collections::BTreeSet;
use std::time::Duration;

use rats_system::clock::{Stopwatch, pause};
use rustix::process::{Pid, Signal, kill_process};

use super::RUN_VARIABLE;
use super::procfs::{self, Process};

/// The processes that belong to a run, by id; this process never does.
pub fn processes(run: &str, groups: &[(u32, u64)]) -> Vec<u32> {
    let all = procfs::all();
    let myself = std::process::id();
    let is_ours =
        |process: &Process| in_group(process, groups, &all) || procfs::has_variable(process.pid, RUN_VARIABLE, run);
    let mut ours: BTreeSet<u32> =
        all.iter().filter(|process| process.pid != myself && is_ours(process)).map(|process| process.pid).collect();
    loop {
        let more: Vec<u32> = all
            .iter()
            .filter(|process| process.pid != myself && ours.contains(&process.parent) && !ours.contains(&process.pid))
            .map(|process| process.pid)
            .collect();
        if more.is_empty() {
            return ours.into_iter().collect();
        }
        ours.extend(more);
    }
}

fn in_group(process: &Process, groups: &[(u32, u64)], all: &[Process]) -> bool {
    let Some(&(leader, start)) = groups.iter().find(|(leader, _)| *leader == process.group) else { return false };
    let found = all.iter().find(|other| other.pid == leader);
    found.is_none_or(|found| found.start == start) && process.start >= start
}

/// Sends a signal to all of them; those that have just ended are no error.
pub fn signal(pids: &[u32], signal: Signal) {
    for &pid in pids {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, signal);
        }
    }
}

/// Ends what is left of a run: asks once, waits for `grace`, then kills until nothing is left or `patience` is over.
/// It looks for all of `grace` even if nothing is there: a process that was being started carries the mark a moment later.
/// Returns how many there were and those that are still there.
pub fn end(run: &str, groups: &[(u32, u64)], grace: Duration, patience: Duration) -> (usize, Vec<u32>) {
    const LOOK: Duration = Duration::from_millis(10);
    let mut seen: BTreeSet<u32> = processes(run, groups).into_iter().collect();
    let mut left: Vec<u32> = seen.iter().copied().collect();
    signal(&left, Signal::TERM);
    let watch = Stopwatch::start();
    while watch.elapsed() < grace || !left.is_empty() && watch.elapsed() < grace + patience {
        if watch.elapsed() >= grace {
            signal(&left, Signal::KILL);
        }
        pause(LOOK);
        left = processes(run, groups);
        seen.extend(&left);
    }
    (seen.len(), left)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_double_fork_into_a_session_of_its_own_is_found_by_its_environment_and_ended() {
        let run = format!("test-{}-double", std::process::id());
        // `setsid` forks if it leads a group; the shell ends at once and leaves an orphan in another session.
        let script = "setsid sh -c 'sleep 600 & echo started; sleep 600' &";
        let mut shell = Command::new("sh");
        let mut shell = shell.args(["-c", script]).env(RUN_VARIABLE, &run).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "started\n");
        shell.wait().unwrap();
        let (seen, left) = end(&run, &[], Duration::ZERO, Duration::from_secs(10));
        assert!(seen >= 2, "{seen}");
        assert_eq!(left, [0; 0]);
    }

    #[test]
    fn a_process_without_the_mark_is_found_by_its_group_and_only_there() {
        use std::os::unix::process::CommandExt as _;
        let mut child =
            Command::new("sleep").arg("600").env_clear().process_group(0).stdin(Stdio::null()).spawn().unwrap();
        let start = procfs::start(child.id()).unwrap();
        assert_eq!(processes("no such run", &[(child.id(), start + 1)]), [0; 0], "the id of another process");
        assert_eq!(processes("no such run", &[(child.id(), start)]), [child.id()]);
        signal(&[child.id()], Signal::KILL);
        child.wait().unwrap();
    }
}
