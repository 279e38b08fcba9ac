//! The process that holds GPUs: it reads orders line by line and answers each with a line that begins with `@`.

use std::io::{BufRead as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rats_domain::units::Milliwatts;
use rats_testbed::custody::{Custody, Point, RUN_VARIABLE, SetError, StateDir, Terms};
use rats_testbed::gpu::{Deadlines, Gpu, GpuError, Gpus, LIBRARY_VARIABLE, Megahertz};

use crate::simulated::PROGRAM;

/// Whether this test is to be the holder.
pub const VARIABLE: &str = "RATS_TEST_HOLDER";

/// Starts a job whose shell leaves children in other sessions, one of them twice removed.
const JOB: &str = "setsid sh -c 'sleep 600 & sleep 600' & (setsid sleep 600 &) ; trap '' TERM; sleep 600";

struct State {
    gpus: Gpus,
    all: Vec<Gpu>,
    custody: Option<Custody>,
    jobs: Vec<Child>,
}

/// Does as it is told if it was started by the harness; otherwise there is nothing to do.
#[test]
fn obeys() {
    if std::env::var_os(VARIABLE).is_none() {
        return;
    }
    let library = std::env::var_os(LIBRARY_VARIABLE).map(PathBuf::from);
    let deadlines = Deadlines { open: Duration::from_secs(30), call: Duration::from_millis(700) };
    let gpus = Gpus::open_within(library.as_deref(), deadlines).unwrap();
    let all = gpus.list().unwrap().gpus;
    let mut state = State { gpus, all, custody: None, jobs: Vec::new() };
    for order in std::io::stdin().lock().lines() {
        let order = order.unwrap();
        let words: Vec<&str> = order.split_whitespace().collect();
        say(&obey(&mut state, &words));
    }
}

fn obey(state: &mut State, words: &[&str]) -> String {
    match words {
        ["take", plan, wanted @ ..] => {
            let wanted: Vec<Gpu> = wanted.iter().map(|gpu| state.all[gpu.parse::<usize>().unwrap()].clone()).collect();
            let directory = StateDir::find(None);
            let terms = Terms { state: directory, plan: (*plan).to_owned(), program: Path::new(PROGRAM).to_owned() };
            match Custody::take(&state.gpus, &wanted, terms) {
                Ok(custody) => {
                    let said = format!("{} {}", custody.run(), custody.guardian_pid());
                    state.custody = Some(custody);
                    said
                }
                Err(problems) => format!("refused {problems}").replace('\n', " | "),
            }
        }
        ["set", gpu, sm, mem, watts] => {
            let number = |word: &str| word.parse::<i64>().ok();
            let power_limit = number(watts).map(|watts| Milliwatts(watts * 1000));
            set(state, gpu, Point { sm: number(sm).map(Megahertz), mem: number(mem).map(Megahertz), power_limit })
        }
        ["restore", gpu] => {
            let gpu = &state.all[gpu.parse::<usize>().unwrap()];
            match state.custody.as_ref().unwrap().restore(gpu) {
                Ok(undone) => undone.iter().map(|undone| undone.text() + "; ").collect(),
                Err(error) => refusal(&error),
            }
        }
        ["job"] => job(state),
        ["guardian"] => match state.custody.as_ref().unwrap().ensure_guardian() {
            Ok(new) => format!("{new} {}", state.custody.as_ref().unwrap().guardian_pid()),
            Err(problem) => problem.to_string(),
        },
        ["end"] => match state.custody.take().unwrap().end(&state.all) {
            Ok(done) => format!("ended {}", done.len()),
            Err(problems) => format!("refused {problems}").replace('\n', " | "),
        },
        ["random", seed] => random(state, seed.parse().unwrap()),
        other => format!("unknown order {other:?}"),
    }
}

fn set(state: &State, gpu: &str, point: Point) -> String {
    let gpu = &state.all[gpu.parse::<usize>().unwrap()];
    match state.custody.as_ref().unwrap().set(gpu, point) {
        Ok(applied) => {
            let sm = applied.sm.map_or(0, |clock| clock.applied.0);
            let mem = applied.mem.map_or(0, |clock| clock.applied.0);
            format!("set {sm} {mem} {}", applied.power_limit.map_or(0, |limit| limit.applied.0))
        }
        Err(SetError::Gpu(error)) => refusal(&error),
        Err(SetError::Journal(problem)) => problem.to_string(),
    }
}

fn refusal(error: &GpuError) -> String {
    error.problem("GPU").to_string()
}

/// Starts a job as an executor does: its own process group, the mark in its environment.
fn job(state: &mut State) -> String {
    let custody = state.custody.as_ref().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", JOB]).env(RUN_VARIABLE, custody.run()).process_group(0);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    custody.job_started(child.id()).unwrap();
    let said = child.id().to_string();
    state.jobs.push(child);
    said
}

/// Sets and undoes at random for ever, one line a step with the guardian's process.
fn random(state: &State, mut seed: u64) -> String {
    let mut next = move |below: u64| {
        // Marsaglia, "Xorshift RNGs", 2003.
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    let custody = state.custody.as_ref().unwrap();
    loop {
        let Some(gpu) = state.all.get(usize::try_from(next(state.all.len() as u64)).unwrap()) else { continue };
        let mut some = |value: i64| (next(2) == 0).then_some(value);
        let point = Point {
            sm: some(900).map(Megahertz),
            mem: some(1593).map(Megahertz),
            power_limit: some(200_000).map(Milliwatts),
        };
        // A guardian that was killed in the middle is replaced, as an executor does before it sets anything.
        let _ = custody.ensure_guardian();
        let _ = if next(5) == 0 { custody.restore(gpu).map(drop).ok() } else { custody.set(gpu, point).map(drop).ok() };
        say(&format!("step {}", custody.guardian_pid()));
    }
}

fn say(text: &str) {
    let mut output = std::io::stdout().lock();
    // The reader may be gone.
    let _ = writeln!(output, "@{text}").and_then(|()| output.flush());
}
