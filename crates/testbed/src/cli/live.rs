//! What a user sees of a run under way: a table that is redrawn on a terminal, one line a change elsewhere.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use crate::trace::{JobRecord, JobState, Line, Planned, Record};

/// Least seconds between two tables.
const PERIOD_S: f64 = 0.25;

/// Most jobs that a table lists.
const MOST: usize = 20;

/// Shows a run on standard error.
#[derive(Debug, Default)]
pub(super) struct Live {
    is_terminal: bool,
    plan: Vec<(String, Vec<String>)>,
    states: BTreeMap<String, JobState>,
    steps: BTreeMap<String, (u64, Option<u64>)>,
    gpus: Vec<String>,
    watts: BTreeMap<String, f64>,
    time: (f64, f64),
    drawn_at: f64,
    drawn_lines: usize,
}

impl Live {
    pub fn new(is_terminal: bool) -> Self {
        Self { is_terminal, time: (0.0, 1.0), drawn_at: f64::NEG_INFINITY, ..Self::default() }
    }

    /// Takes note of a line of the trace.
    pub fn tell(&mut self, line: &Line) {
        match &line.record {
            Record::Begin(begin) => {
                self.time = (begin.plan_s, begin.speedup);
                self.gpus = begin.gpus.iter().map(|(name, _)| name.clone()).collect();
            }
            Record::Plan(plan) => self.take_plan(plan),
            Record::Job(job) => drop(self.states.insert(job.job.clone(), job.state)),
            Record::Progress { job, done, all } => drop(self.steps.insert(job.clone(), (*done, *all))),
            Record::Sample { gpus } => {
                for (name, reading) in self.gpus.iter().zip(gpus) {
                    let watts = reading.and_then(|reading| reading.power_w);
                    self.watts.insert(name.clone(), watts.unwrap_or(f64::NAN));
                }
            }
            _ => {}
        }
        let text = if self.is_terminal { self.redrawn(line) } else { self.logged(line) };
        // Nobody need look.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }

    fn take_plan(&mut self, plan: &Planned) {
        let mut jobs: Vec<_> = plan.jobs.iter().collect();
        jobs.sort_by_key(|job| job.start);
        for job in jobs {
            self.plan.retain(|(name, _)| *name != job.job);
            self.plan.push((job.job.clone(), job.gpus.clone()));
        }
    }

    /// One line for what is worth one.
    fn logged(&self, line: &Line) -> String {
        let what = match &line.record {
            Record::Job(job) => of_job(job),
            Record::Lost { gpu, problem } => format!("{gpu} is lost: [{}] {}", problem.code, problem.message),
            Record::Drift { job, late_s } => format!("{job} is {late_s:+.0} s off its planned time"),
            Record::Replan { problem: None } => "a new plan is made".to_owned(),
            Record::Replan { problem: Some(note) } | Record::Note(note) => {
                format!("[{}] {}: {}", note.code, note.place, note.message)
            }
            Record::Stopping { how, why } => format!("{how}: {why}"),
            Record::Restored { gpu, problem: Some(note), .. } => format!("{gpu}: [{}] {}", note.code, note.message),
            _ => return String::new(),
        };
        format!("{:>10.1} s  {what}\n", self.time.0 + line.t * self.time.1)
    }

    fn redrawn(&mut self, line: &Line) -> String {
        let is_last = matches!(line.record, Record::End(_));
        let mut text = String::new();
        let is_event = matches!(
            line.record,
            Record::Lost { .. }
                | Record::Drift { .. }
                | Record::Replan { .. }
                | Record::Note(_)
                | Record::Stopping { .. }
        );
        if !is_event && !is_last && line.t < self.drawn_at + PERIOD_S {
            return text;
        }
        if self.drawn_lines > 0 {
            // Up to the first line of the table, then clear to the end of the screen.
            let _ = write!(text, "\x1b[{}A\x1b[J", self.drawn_lines);
        }
        if is_event {
            text.push_str(&self.logged(line));
        }
        let table = self.table(line.t);
        self.drawn_lines = table.lines().count();
        self.drawn_at = line.t;
        text.push_str(&table);
        text
    }

    fn table(&self, t: f64) -> String {
        let mut text = String::new();
        let count = |wanted: JobState| self.states.values().filter(|&&state| state == wanted).count();
        let watts: f64 = self.watts.values().filter(|watts| watts.is_finite()).sum();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:>10.0} s of the plan   {} of {} jobs done, {} running   {watts:.0} W on {} GPUs",
            self.time.0 + t * self.time.1,
            count(JobState::Done),
            self.plan.len(),
            count(JobState::Running),
            self.gpus.len()
        );
        let is_shown = |name: &String| !matches!(self.states.get(name), Some(JobState::Done));
        let shown: Vec<_> = self.plan.iter().filter(|(name, _)| is_shown(name)).collect();
        for (name, gpus) in shown.iter().take(MOST) {
            let state = self.states.get(name).map_or("waiting", |&state| word(state));
            let watts: f64 = gpus.iter().filter_map(|gpu| self.watts.get(gpu)).sum();
            let watts = if state == "running" { format!("{watts:.0} W") } else { String::new() };
            let steps = self.steps.get(name).map_or_else(String::new, |(done, all)| {
                all.map_or_else(|| format!("step {done}"), |all| format!("step {done}/{all}"))
            });
            let name: String = name.chars().take(24).collect();
            let gpus: String = gpus.join(" ").chars().take(30).collect();
            let _ = writeln!(text, "  {name:<24} {state:<10} {watts:>7}  {steps:<18} {gpus}");
        }
        if shown.len() > MOST {
            let _ = writeln!(text, "  and {} more", shown.len() - MOST);
        }
        text
    }
}

fn of_job(job: &JobRecord) -> String {
    let attempt = job.attempt.filter(|&attempt| attempt > 1).map_or_else(String::new, |n| format!(" (attempt {n})"));
    let problem = job.problem.as_ref().map_or_else(String::new, |note| format!(": [{}] {}", note.code, note.message));
    format!("{} {}{attempt}{problem}", job.job, word(job.state))
}

fn word(state: JobState) -> &'static str {
    match state {
        JobState::Setting => "setting",
        JobState::Running => "running",
        JobState::Done => "done",
        JobState::Failed => "failed",
        JobState::Stopped => "stopped",
        JobState::GivenUp => "given up",
        JobState::Skipped => "skipped",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(t: f64, record: Record) -> Line {
        Line { t, wall: 0.0, record }
    }

    fn running(job: &str) -> Record {
        Record::Job(JobRecord {
            job: job.to_owned(),
            state: JobState::Running,
            attempt: Some(2),
            pid: Some(1),
            counters_j: Vec::new(),
            steps: None,
            problem: None,
        })
    }

    #[test]
    fn elsewhere_than_on_a_terminal_each_change_is_a_line_in_plan_time() {
        let live = Live { time: (100.0, 10.0), ..Live::new(false) };
        assert_eq!(live.logged(&line(2.0, running("a"))), "     120.0 s  a running (attempt 2)\n");
        assert_eq!(live.logged(&line(2.0, Record::Sample { gpus: Vec::new() })), "");
    }

    #[test]
    fn a_table_replaces_the_one_before_and_not_too_often() {
        let mut live = Live::new(true);
        live.plan = vec![("a".to_owned(), vec!["n/0".to_owned()])];
        live.states.insert("a".to_owned(), JobState::Running);
        let first = live.redrawn(&line(0.0, running("a")));
        assert!(first.starts_with("         0 s of the plan   0 of 1 jobs done, 1 running"), "{first}");
        assert_eq!(live.redrawn(&line(0.1, running("a"))), "");
        assert!(live.redrawn(&line(0.3, running("a"))).starts_with("\x1b[2A\x1b[J"));
    }
}
