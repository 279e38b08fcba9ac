//! SIGKILL at random moments: whoever dies, every GPU is left as it was found and no process of a job is left.
//!
//! `RATS_CRASHES` says how many; the default is for CI.

use std::time::Duration;

use rats_domain::random::Random;
use rats_testbed::custody::leftover::signal;
use rats_testbed::custody::procfs;
use rustix::process::Signal;

use crate::harness::{Machine, processes_of, until};

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victims {
    Holder,
    Guardian,
    Job,
    HolderThenGuardian,
    GuardianThenHolder,
    JobThenHolder,
}

const ALL: [Victims; 6] = [
    Victims::Holder,
    Victims::HolderThenGuardian,
    Victims::Guardian,
    Victims::GuardianThenHolder,
    Victims::Job,
    Victims::JobThenHolder,
];

fn crashes() -> u64 {
    std::env::var("RATS_CRASHES").ok().and_then(|text| text.parse().ok()).unwrap_or(24)
}

fn kill(pid: u32) {
    signal(&[pid], Signal::KILL);
}

/// One crash; returns how long cleaning up took where the guardian or nobody did it.
fn crash(seed: u64, victims: Victims) -> Option<Duration> {
    let machine = Machine::new();
    let mut holder = machine.holder();
    let taken = holder.tell("take nightly 0 1 2 3");
    let (run, guardian) = taken.split_once(' ').unwrap_or_else(|| panic!("{taken}"));
    let (run, guardian): (String, u32) = (run.to_owned(), guardian.parse().unwrap());
    let job: u32 = holder.tell("job").parse().unwrap();
    let first = holder.tell(&format!("random {}", seed + 1));
    assert_eq!(first, format!("step {guardian}"));
    // Some steps later, and then anywhere inside a step.
    for _ in 0..Random::new(seed).below(12) {
        holder.answer().unwrap();
    }
    for _ in 0..Random::new(seed + 77).below(4000) {
        std::hint::spin_loop();
    }
    let needs_restore = match victims {
        Victims::Holder => {
            holder.kill();
            false
        }
        Victims::Guardian => {
            kill(guardian);
            // The holder notices at its next step and goes on under another one; what it said before is still in the pipe.
            while holder.answer().unwrap() == format!("step {guardian}") {}
            holder.kill();
            false
        }
        Victims::Job => {
            kill(job);
            holder.answer().unwrap();
            holder.kill();
            false
        }
        Victims::JobThenHolder => {
            kill(job);
            holder.kill();
            false
        }
        Victims::HolderThenGuardian => {
            holder.kill();
            kill(guardian);
            true
        }
        Victims::GuardianThenHolder => {
            kill(guardian);
            holder.kill();
            true
        }
    };
    if needs_restore {
        // A guardian that was just being started in place of the dead one may be at work, too.
        let restored = machine.run("restore");
        let text = String::from_utf8_lossy(&restored.stdout).into_owned();
        assert_eq!(restored.status.code(), Some(0), "{victims:?}, seed {seed}: {text}");
        machine.is_left_as_found(&run);
        return None;
    }
    Some(machine.is_left_as_found(&run))
}

#[test]
fn whoever_is_killed_no_mark_and_no_process_is_left() {
    let mut slowest = Duration::ZERO;
    let count = crashes();
    for seed in 0..count {
        let victims = ALL[usize::try_from(seed).unwrap() % ALL.len()];
        if let Some(took) = crash(seed, victims) {
            slowest = slowest.max(took);
        }
    }
    println!("{count} crashes, 0 marks left, cleaned up within {slowest:?}");
}

#[test]
fn a_guardian_that_died_is_replaced_and_the_new_one_guards() {
    let machine = Machine::new();
    let mut holder = machine.holder();
    let taken = holder.tell("take nightly 0 1");
    let (run, guardian) = taken.split_once(' ').unwrap();
    let guardian: u32 = guardian.parse().unwrap();
    assert_eq!(holder.tell("guardian"), format!("false {guardian}"));
    kill(guardian);
    // It is dead when its last thread is, a moment later.
    let second = (0..100_000).map(|_| holder.tell("guardian")).find(|said| said.starts_with("true ")).unwrap();
    assert!(!second.ends_with(&guardian.to_string()), "{second}");
    holder.tell("set 1 900 - 300");
    holder.kill();
    machine.is_left_as_found(run);
}

#[test]
fn a_friendly_signal_does_not_end_the_guardian() {
    let machine = Machine::new();
    let mut holder = machine.holder();
    let taken = holder.tell("take nightly 0");
    let (run, guardian) = taken.split_once(' ').unwrap();
    holder.tell("set 0 900 - 300");
    signal(&[guardian.parse().unwrap()], Signal::TERM);
    signal(&[guardian.parse().unwrap()], Signal::INT);
    holder.kill();
    machine.is_left_as_found(run);
}

#[test]
fn a_run_that_ends_well_leaves_nothing_and_its_guardian_goes() {
    let machine = Machine::new();
    let mut holder = machine.holder();
    let taken = holder.tell("take nightly 0 1 2 3");
    let (run, guardian) = taken.split_once(' ').unwrap();
    let guardian: u32 = guardian.parse().unwrap();
    let start = procfs::start(guardian).unwrap();
    // 905 MHz is no step of the A100's 15 MHz from 210: 900 is nearest.
    assert_eq!(holder.tell("set 0 905 1593 350"), "set 900 1593 350000");
    assert_eq!(holder.tell("set 1 900 - -"), "set 900 0 0");
    // A point that names other settings undoes those that it does not name.
    assert_eq!(holder.tell("set 1 - - 300"), "set 0 0 300000");
    let marks = machine.simulator.marks().unwrap();
    assert_eq!((marks[1].locked_sm_mhz, marks[1].power_limit_mw), (None, Some(300_000)));
    // GPU 0: two locks and a limit; GPU 1: a limit.
    assert_eq!(holder.tell("end"), "ended 4");
    machine.is_left_as_found(run);
    assert!(!procfs::is_alive(guardian, start));
}

#[test]
fn processes_are_found_again_by_their_run() {
    let machine = Machine::new();
    let mut holder = machine.holder();
    let taken = holder.tell("take nightly 0");
    let run = taken.split_once(' ').unwrap().0;
    holder.tell("job");
    // The shell, and the sleepers that it left in other sessions.
    until(|| processes_of(run).len() >= 4);
    holder.kill();
    machine.is_left_as_found(run);
}
