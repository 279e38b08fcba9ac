//! SIGKILL at random moments. `RATS_CRASH_CASES` says how many cases; the default is for CI.

use std::time::Duration;

use rats_domain::random::Random;
use rats_system::clock::pause;
use rats_testbed::custody::procfs;
use rats_testbed::trace::{JobState, Line, Record, read};
use rustix::process::Signal;

use crate::lab::{Lab, Run, guardian, kill};

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victims {
    Executor,
    Guardian,
    Job,
    ExecutorAndJob,
    GuardianAndJob,
    ExecutorAndGuardian,
}

const ALL: [Victims; 6] = [
    Victims::Executor,
    Victims::ExecutorAndGuardian,
    Victims::Job,
    Victims::ExecutorAndJob,
    Victims::Guardian,
    Victims::GuardianAndJob,
];

/// The process of a job that runs now.
pub fn job_of(lab: &Lab) -> Option<u32> {
    let mut pids = lab.lines().into_iter().rev().filter_map(|line| match line.record {
        Record::Job(job) => job.pid,
        _ => None,
    });
    pids.find(|&pid| procfs::process(pid).is_some_and(|process| !process.is_dead))
}

fn strike(lab: &Lab, run: &Run, victims: Victims) {
    use Victims::{Executor, ExecutorAndGuardian, ExecutorAndJob, Guardian, GuardianAndJob, Job};
    let guardian = guardian(run.id());
    let job = job_of(lab);
    let targets = match victims {
        Executor => vec![Some(run.id())],
        Guardian => vec![guardian],
        Job => vec![job],
        ExecutorAndJob => vec![job, Some(run.id())],
        GuardianAndJob => vec![guardian, job],
        // Stopped first, so that neither sees the other die.
        ExecutorAndGuardian => {
            for pid in [Some(run.id()), guardian].into_iter().flatten() {
                kill(pid, Signal::STOP);
            }
            vec![guardian, Some(run.id())]
        }
    };
    for pid in targets.into_iter().flatten() {
        kill(pid, Signal::KILL);
    }
}

/// One case; seconds until everything was clean where nobody had to call `restore`.
fn case(seed: u64, victims: Victims) -> Option<Duration> {
    let mut lab = Lab::new(100.0);
    lab.add_eight();
    let run = lab.begin(&["--retries", "2"]);
    pause(Duration::from_millis(20 + Random::new(seed).below(1700) as u64));
    strike(&lab, &run, victims);
    let kills_executor = !matches!(victims, Victims::Job | Victims::Guardian | Victims::GuardianAndJob);
    let code = run.wait();
    assert!(kills_executor || code == Some(0), "{victims:?} {code:?}\n{}", lab.said());
    let took = if victims == Victims::ExecutorAndGuardian {
        let restored = lab.command(&["restore"]).output().unwrap();
        assert_eq!(restored.status.code(), Some(0), "{}", String::from_utf8_lossy(&restored.stdout));
        lab.settle();
        None
    } else {
        Some(lab.settle())
    };
    let marks = lab.simulator.marks().unwrap();
    assert!(marks.is_empty(), "{victims:?}, seed {seed}: {marks:?}\n{}", lab.said());
    let path = lab.path("run/trace.jsonl");
    let before: Vec<Line> = if path.exists() { read(&path).unwrap().lines } else { Vec::new() };
    let rerun = lab.execute(&[]);
    let said = format!("{}{}", String::from_utf8_lossy(&rerun.stdout), String::from_utf8_lossy(&rerun.stderr));
    assert_eq!(rerun.status.code(), Some(0), "{victims:?}, seed {seed}:\n{said}");
    assert_eq!(&lab.lines()[..before.len()], &before[..], "a rerun appends");
    for number in 0..8 {
        let states = lab.states(&format!("j{number}"));
        let done = states.iter().filter(|&&state| state == JobState::Done).count();
        assert_eq!((done, states.last()), (1, Some(&JobState::Done)), "j{number}: {states:?}");
    }
    lab.assert_clean();
    took
}

#[test]
fn whoever_is_killed_every_gpu_is_as_it_was_found_and_a_rerun_does_the_rest() {
    let cases = std::env::var("RATS_CRASH_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(12);
    let mut slowest = Duration::ZERO;
    for seed in 0..cases {
        let victims = ALL[usize::try_from(seed).unwrap() % ALL.len()];
        slowest = slowest.max(case(seed, victims).unwrap_or_default());
    }
    println!("{cases} crashes, no mark and no process left; the guardian took at most {} ms", slowest.as_millis());
}
