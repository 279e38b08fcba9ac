//! One job from setting its GPUs to putting them back.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rats_domain::codes::Code;
use rats_domain::problem::Problem;

use super::gpus::Member;
use super::work::Work;
use crate::engine::Ending;
use crate::process::{Exit, Follower, Process, Steps};

/// A job that holds GPUs.
#[derive(Debug)]
pub(super) struct Active {
    pub name: String,
    pub gang: Vec<Member>,
    pub attempt: u32,
    pub work: Work,
    /// Planned time, s of plan time.
    pub planned_s: f64,
    pub stage: Stage,
    /// Why it is to end, if it is.
    pub stop: Option<Stop>,
}

/// How far it is.
#[derive(Debug)]
pub(super) enum Stage {
    /// Its GPUs are being set.
    Setting,
    /// Its process runs.
    Running(Box<Running>),
    /// Its GPUs are being put back.
    Restoring(Verdict),
}

/// Its process.
#[derive(Debug)]
pub(super) struct Running {
    pub process: Process,
    pub follower: Follower,
    /// Time of the run at which it was started.
    pub since: Duration,
    pub log: PathBuf,
    pub steps: Option<Steps>,
    /// When it first and last said how many steps were done: time of the run, and how many.
    pub pace: Option<[(Duration, u64); 2]>,
    /// Time of the run at which it was killed.
    pub killed: Option<Duration>,
}

/// Why a job is ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Something else makes it end; it counts as not started.
    Elsewhere(Problem),
    /// It has run far too long.
    Overrun,
    /// Its process group could not be written down.
    Unguarded(Problem),
}

/// What came of an attempt.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    pub ending: Ending,
    pub problem: Option<Problem>,
    pub steps: Option<u64>,
}

impl Verdict {
    pub fn new(ending: Ending, problem: Problem) -> Self {
        Self { ending, problem: Some(problem), steps: None }
    }
}

impl Running {
    /// Takes in what its output says by now; whether that is news.
    pub fn look(&mut self, now: Duration) -> Option<Steps> {
        let steps = self.follower.look().filter(|steps| self.steps != Some(*steps))?;
        self.steps = Some(steps);
        let first = self.pace.map_or((now, steps.done), |[first, _]| first);
        self.pace = Some([first, (now, steps.done)]);
        Some(steps)
    }
}

impl Active {
    /// Time from its start to its end by the pace of its steps, s of plan time; where it said how many there are. With one
    /// number of steps so far, the rest is expected to take its share of the planned time.
    pub fn expected_s(&self, speedup: f64) -> Option<f64> {
        let Stage::Running(running) = &self.stage else { return None };
        let [first, last] = running.pace?;
        let all = running.steps?.all.or(self.work.assumed.steps).filter(|&all| all > 0)?;
        let elapsed_s = |at: Duration| at.saturating_sub(running.since).as_secs_f64() * speedup;
        Some(paced_s([first, last].map(|(at, done)| (elapsed_s(at), done)), all, self.planned_s))
    }

    /// What came of the process. `took_s`: its time, s of plan time.
    pub fn judge(&self, exit: Exit, log: &Path, steps: Option<Steps>, took_s: f64) -> Verdict {
        let (ending, problem) = self.verdict(exit, log, steps, took_s);
        Verdict { ending, problem, steps: steps.map(|steps| steps.done) }
    }

    fn verdict(&self, exit: Exit, log: &Path, steps: Option<Steps>, took_s: f64) -> (Ending, Option<Problem>) {
        let problem = |code: Code, message: String| {
            Some(Problem::new(code, format!("job `{}`", self.name), format!("{message} (log: {}).", log.display())))
        };
        match &self.stop {
            Some(Stop::Elsewhere(problem) | Stop::Unguarded(problem)) => {
                return (Ending::Stopped, Some(problem.clone()));
            }
            Some(Stop::Overrun) => {
                let message = format!("was ended after {took_s:.0} s; {:.0} s were planned", self.planned_s);
                return (Ending::Hopeless, problem(Code::X08, message));
            }
            None => {}
        }
        match (exit.code, exit.signal) {
            (Some(code @ (126 | 127)), _) => {
                let what = if code == 127 { "was not found" } else { "cannot be run" };
                (Ending::Hopeless, problem(Code::X05, format!("its command {what}{}", last_line(log))))
            }
            (Some(0), _) => match self.falls_short(steps, took_s) {
                Some(message) => (Ending::Failed, problem(Code::X07, message)),
                None => (Ending::Done, None),
            },
            (Some(code), _) => {
                (Ending::Failed, problem(Code::X06, format!("ended with code {code}{}", last_line(log))))
            }
            (None, signal) => {
                let signal = signal.map_or_else(|| "a signal".to_owned(), |signal| format!("signal {signal}"));
                (Ending::Failed, problem(Code::X06, format!("was ended by {signal}{}", last_line(log))))
            }
        }
    }

    /// Why a job that says it succeeded cannot have done its work; `None` if it can.
    fn falls_short(&self, steps: Option<Steps>, took_s: f64) -> Option<String> {
        match (steps, steps.and_then(|steps| steps.all).or(self.work.assumed.steps)) {
            (Some(steps), Some(all)) => (steps.done < all).then(|| format!("ended at step {} of {all}", steps.done)),
            _ => (took_s < self.work.least * self.planned_s)
                .then(|| format!("ended after {took_s:.1} s; {:.0} s were planned", self.planned_s)),
        }
    }
}

/// The last line of a log, to quote in a message.
fn last_line(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    let tail = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(4096)..]).into_owned();
    let line: String =
        tail.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().chars().take(200).collect();
    if line.is_empty() { String::new() } else { format!(": {line}") }
}

/// Time of `all` steps, of which so many were done after so many s.
fn paced_s([first, last]: [(f64, u64); 2], all: u64, planned_s: f64) -> f64 {
    let step_s = if last.1 > first.1 { (last.0 - first.0) / (last.1 - first.1) as f64 } else { planned_s / all as f64 };
    last.0 + all.saturating_sub(last.1) as f64 * step_s
}

#[cfg(test)]
mod tests {
    use rats_domain::ids::{GpuId, Id, JobId, OptionId};
    use rats_domain::schedule::Placement;
    use rats_domain::units::Ticks;
    use serde_json::json;

    use super::*;

    fn active(stop: Option<Stop>) -> Active {
        let file = serde_json::from_value(json!({
            "format": "rats.instance/1", "name": "x", "tick_s": 60, "horizon": 100,
            "cluster": {"gpu_types": [{"id": "a"}], "nodes": [{"id": "n", "gpu_type": "a", "gpus": 1}]},
            "objective": [{"term": "energy", "weight": 1}],
            "jobs": [{"id": "j", "command": "x", "physics": {"options": [{"steps": 100}]}, "options": [
                {"gpu_type": "a", "gpus": 1, "span": "node", "ticks": 10, "power_w": 200}]}]
        }))
        .unwrap();
        let placement =
            Placement { option: OptionId::from_position(0), start: Ticks(0), gpus: vec![GpuId::from_position(0)] };
        let work = Work::of(&file, &super::super::JobsFile::default(), JobId::from_position(0), &placement).unwrap();
        let name = "j".to_owned();
        Active { name, gang: Vec::new(), attempt: 1, work, planned_s: 600.0, stage: Stage::Setting, stop }
    }

    fn judged(active: &Active, code: Option<i32>, done: Option<u64>, took_s: f64) -> (Ending, Option<Code>) {
        let exit = Exit { code, signal: code.is_none().then_some(11), left_behind: 0 };
        let steps = done.map(|done| Steps { done, all: None });
        let verdict = active.judge(exit, Path::new("/nowhere"), steps, took_s);
        (verdict.ending, verdict.problem.map(|problem| problem.code))
    }

    #[test]
    fn success_is_believed_only_if_the_steps_or_the_time_allow_it() {
        let active = active(None);
        assert_eq!(judged(&active, Some(0), Some(100), 5.0), (Ending::Done, None));
        assert_eq!(judged(&active, Some(0), Some(99), 900.0), (Ending::Failed, Some(Code::X07)));
        // Without steps in the output: a tenth of the 600 s that were planned.
        assert_eq!(judged(&active, Some(0), None, 61.0), (Ending::Done, None));
        assert_eq!(judged(&active, Some(0), None, 59.0), (Ending::Failed, Some(Code::X07)));
    }

    #[test]
    fn every_other_end_has_its_code() {
        let free = active(None);
        assert_eq!(judged(&free, Some(127), None, 1.0), (Ending::Hopeless, Some(Code::X05)));
        assert_eq!(judged(&free, Some(3), None, 1.0), (Ending::Failed, Some(Code::X06)));
        assert_eq!(judged(&free, None, None, 1.0), (Ending::Failed, Some(Code::X06)));
        assert_eq!(judged(&active(Some(Stop::Overrun)), None, None, 1900.0), (Ending::Hopeless, Some(Code::X08)));
        let interrupted = Stop::Elsewhere(Problem::new(Code::X18, "run", "was interrupted."));
        assert_eq!(judged(&active(Some(interrupted)), Some(0), None, 1.0), (Ending::Stopped, Some(Code::X18)));
    }

    #[test]
    fn the_pace_of_steps_leaves_start_up_and_silence_out() {
        // 20 s of start-up, then 400 steps in 80 s: 500 more take 100 s, however long ago it said so.
        assert!((paced_s([(20.0, 0), (100.0, 400)], 900, 1000.0) - 200.0).abs() < 1e-9);
        // It has spoken once: 500 of 900 steps take five ninths of the 180 s planned.
        assert!((paced_s([(100.0, 400), (100.0, 400)], 900, 180.0) - 200.0).abs() < 1e-9);
        assert!((paced_s([(20.0, 0), (100.0, 900)], 900, 180.0) - 100.0).abs() < 1e-9);
    }
}
