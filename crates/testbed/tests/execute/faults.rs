//! Faults drawn at random, with kills among them: no mark, no process, a readable trace, and a rerun that does the rest.
//!
//! `RATS_FAULT_CASES` says how many cases, `RATS_FAULT_SEED` with which they begin; the default is one of each kind.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use rats_domain::random::Random;
use rats_system::clock::pause;
use rats_testbed::custody::procfs;
use rats_testbed::trace::{JobState, read};
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use serde_json::{Value, json};

use crate::crash::job_of;
use crate::lab::{Job, Lab, Run, guardian, job, kill, simulated};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// One to three settings fail, from the k-th on.
    SetFails,
    /// A GPU falls off the bus.
    GpuLost,
    /// Calls of a GPU do not return.
    Hang,
    /// Calls of a GPU take half a second.
    Slow,
    /// The energy counter of a GPU vanishes.
    NoCounter,
    /// The driver vanishes.
    DriverGone,
    /// No file can grow any more: journal, trace, logs.
    DiskFull,
    /// The executor is killed.
    Executor,
    /// The guardian is killed.
    Guardian,
    /// A job is killed.
    Job,
    /// Two of executor, guardian and job are killed, in any order.
    Two,
}

use Kind::{DiskFull, DriverGone, Executor, GpuLost, Guardian, Hang, NoCounter, SetFails, Slow, Two};

const ALL: [Kind; 11] =
    [SetFails, GpuLost, Hang, Slow, NoCounter, DriverGone, DiskFull, Executor, Guardian, Kind::Job, Two];

/// Positions of GPUs of the machine.
const GPUS: usize = 4;

/// What was left, case by case.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    cases: usize,
    marks: usize,
    processes: usize,
    unreadable: usize,
    incomplete: usize,
}

/// What was done to a run.
struct Blow {
    /// The GPU that does not answer any more.
    silent: Option<usize>,
    driver_gone: bool,
    executor: bool,
    guardian: bool,
}

impl Blow {
    /// Whether only `rats restore` can put back everything.
    fn needs_restore(&self) -> bool {
        self.silent.is_some() || self.driver_gone || self.leaves_nobody()
    }

    /// Whether neither the run nor its guardian can clean up.
    fn leaves_nobody(&self) -> bool {
        self.executor && self.guardian
    }
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Eight jobs, each of which leaves processes behind in every way that is caught.
fn add_jobs(lab: &mut Lab, sleep: &str) {
    let kept = format!("(setsid {sleep} &); setsid {sleep} & env -i {sleep} & ");
    for (number, gpu) in ["big/0", "big/1", "small/0", "small/1"].into_iter().cycle().take(8).enumerate() {
        let (id, start) = (format!("j{number}"), if number < 4 { 0 } else { 8 });
        let (gpus, point) = ([gpu], json!({"sm_mhz": 1200, "power_limit_w": 250}));
        let command = format!("{kept}{}", simulated("--steps 150 --startup 5"));
        lab.add(&Job { point, command, ..job(&id, &gpus, start) });
    }
}

/// Processes with this command line.
fn sleepers(sleep: &str) -> Vec<u32> {
    let pids = procfs::all().into_iter().map(|process| process.pid);
    pids.filter(|&pid| procfs::command(pid).is_some_and(|command| command == sleep)).collect()
}

/// The fault of the simulated driver that a kind stands for, and from which moment on.
fn fault(kind: Kind, random: &mut Random) -> Option<Value> {
    let gpu = random.below(GPUS);
    Some(match kind {
        SetFails => json!([{"kind": "fail", "code": 999, "after": random.below(24), "times": 1 + random.below(3)}]),
        GpuLost => json!([{"kind": "gpu_lost", "gpu": gpu}]),
        Hang => json!([{"kind": "hang", "gpu": gpu}]),
        Slow => json!([{"kind": "hang", "seconds": 0.5, "gpu": gpu, "times": 1 + random.below(4)}]),
        NoCounter => json!([{"kind": "counter_missing", "gpu": gpu}]),
        DriverGone => json!([{"kind": "driver_gone"}]),
        _ => return None,
    })
}

/// Kills one or two of executor, guardian and a job.
fn kill_some(lab: &Lab, run: &Run, kind: Kind, random: &mut Random, blow: &mut Blow) {
    let mut targets = match kind {
        Executor => vec![Executor],
        Guardian => vec![Guardian],
        Kind::Job => vec![Kind::Job],
        _ => vec![Executor, Guardian, Kind::Job],
    };
    if kind == Two {
        targets.remove(random.below(3));
        if random.below(2) == 0 {
            targets.reverse();
        }
    }
    let pid = |target: Kind| match target {
        Executor => Some(run.id()),
        Guardian => guardian(run.id()),
        _ => job_of(lab),
    };
    let pids: Vec<_> = targets.iter().map(|&target| (target, pid(target))).collect();
    if targets.contains(&Executor) && targets.contains(&Guardian) {
        // Stopped first, so that neither sees the other die.
        pids.iter().filter_map(|&(_, pid)| pid).for_each(|pid| kill(pid, Signal::STOP));
    }
    for (target, pid) in pids {
        let Some(pid) = pid else { continue };
        kill(pid, Signal::KILL);
        blow.executor |= target == Executor;
        blow.guardian |= target == Guardian;
    }
}

/// Makes one thing go wrong, at a random moment.
fn strike(lab: &Lab, run: &Run, kind: Kind, random: &mut Random) -> Blow {
    let mut blow = Blow { silent: None, driver_gone: kind == DriverGone, executor: false, guardian: false };
    pause(Duration::from_millis(20 + random.below(1700) as u64));
    if let Some(faults) = fault(kind, random) {
        let gpu = || usize::try_from(faults[0]["gpu"].as_u64().unwrap()).unwrap();
        blow.silent = matches!(kind, GpuLost | Hang).then(gpu);
        lab.inject(faults);
    } else if kind == DiskFull {
        let size = fs::metadata(lab.path("run/trace.jsonl")).map_or(0, |file| file.len());
        let limit = Rlimit { current: Some(size + random.below(3000) as u64), maximum: None };
        // The run may have ended.
        let _ = prlimit(Pid::from_raw(i32::try_from(run.id()).unwrap()), Resource::Fsize, limit);
    } else {
        kill_some(lab, run, kind, random, &mut blow);
    }
    blow
}

/// One case: what is wrong afterwards, and the tally.
fn case(seed: u64, kind: Kind, tally: &mut Tally) -> Vec<String> {
    let (mut random, mut lab, mut wrong) = (Random::new(seed), Lab::new(100.0), Vec::new());
    let sleep = format!("sleep 86400.{}{seed}", std::process::id());
    add_jobs(&mut lab, &sleep);
    let run = lab.begin_with_limited_files(&["--retries", "3"]);
    let mut blow = strike(&lab, &run, kind, &mut random);
    // One in three of the faults of GPUs meets a killed process, too.
    if fault(kind, &mut random).is_some() && random.below(3) == 0 {
        let killed = [Executor, Guardian, Kind::Job, Two][random.below(4)];
        kill_some(&lab, &run, killed, &mut random, &mut blow);
    }
    let code = run.wait();
    if !blow.leaves_nobody() {
        lab.settle();
    }
    let marks = lab.simulator.marks().unwrap();
    let silent = blow.silent.map(|gpu| lab.simulator.config().gpus[gpu].uuid.clone());
    // Who answers is as it was found, unless nobody was left to see to it.
    let answering = marks.iter().filter(|mark| Some(&mark.uuid) != silent.as_ref()).count();
    if answering > 0 && !blow.driver_gone && !blow.leaves_nobody() {
        wrong.push(format!("marks on GPUs that answer: {marks:?}"));
    }
    lab.inject(json!([]));
    if blow.needs_restore() {
        let restored = lab.command(&["restore"]).output().unwrap();
        if restored.status.code() != Some(0) {
            wrong.push(format!("restore: {}", String::from_utf8_lossy(&restored.stdout)));
        }
    }
    lab.settle();
    let marks = lab.simulator.marks().unwrap();
    if !marks.is_empty() {
        wrong.push(format!("marks: {marks:?}"));
    }
    let left = [sleepers(&sleep), lab.processes()].concat();
    if !left.is_empty() {
        wrong.push(format!("processes: {:?}", left.iter().filter_map(|&pid| procfs::command(pid)).collect::<Vec<_>>()));
    }
    tally.cases += 1;
    tally.marks += usize::from(wrong.iter().any(|text| text.contains("marks")));
    tally.processes += usize::from(!left.is_empty());
    let readable = !lab.path("run/trace.jsonl").exists() || read(&lab.path("run/trace.jsonl")).is_ok();
    tally.unreadable += usize::from(!readable);
    if !readable {
        wrong.push("the trace cannot be read".to_owned());
        return wrong;
    }
    let complaint = rerun(&lab);
    tally.incomplete += usize::from(complaint.is_some());
    wrong.extend(complaint);
    if !wrong.is_empty() {
        wrong.insert(0, format!("seed {seed}, {kind:?}, exit code {code:?}\n{}", lab.said()));
    }
    for pid in sleepers(&sleep) {
        kill(pid, Signal::KILL);
    }
    wrong
}

/// Carries out what is left; what is wrong with that.
fn rerun(lab: &Lab) -> Option<String> {
    let before = lab.lines();
    let output = lab.execute(&[]);
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() != Some(0) {
        return Some(format!("rerun: {said}"));
    }
    if lab.lines()[..before.len()] != before[..] {
        return Some("the rerun changed the trace of the first run".to_owned());
    }
    let done = |number: usize| {
        let states = lab.states(&format!("j{number}"));
        states.iter().filter(|&&state| state == JobState::Done).count() == 1 && states.last() == Some(&JobState::Done)
    };
    let marks = lab.simulator.marks().unwrap();
    ((0..8).any(|number| !done(number)) || !marks.is_empty()).then(|| format!("rerun: {marks:?}\n{said}"))
}

#[test]
fn whatever_goes_wrong_no_mark_and_no_process_is_left_and_a_rerun_does_the_rest() {
    let (first, cases) = (number("RATS_FAULT_SEED", 0), number("RATS_FAULT_CASES", ALL.len() as u64));
    let (mut tallies, mut wrong) = (BTreeMap::<Kind, Tally>::new(), Vec::new());
    for seed in first..first + cases {
        let kind = ALL[usize::try_from(seed).unwrap() % ALL.len()];
        let found = case(seed, kind, tallies.entry(kind).or_default());
        if !found.is_empty() {
            println!("{}", found.join("\n"));
            wrong.push((seed, kind));
        }
    }
    println!(
        "{:<12} {:>6} {:>6} {:>10} {:>11} {:>11}",
        "fault", "cases", "marks", "processes", "unreadable", "incomplete"
    );
    for (kind, tally) in &tallies {
        let Tally { cases, marks, processes, unreadable, incomplete } = tally;
        println!("{:<12} {cases:>6} {marks:>6} {processes:>10} {unreadable:>11} {incomplete:>11}", format!("{kind:?}"));
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
