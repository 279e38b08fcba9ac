//! `rats restore`: what dead runs left behind, undone.
//!
//! Idempotent: what is undone is written down, and undoing twice does no harm. Runs also before every run that takes
//! custody, and in the guardian for its own run alone.

use std::path::Path;
use std::thread;
use std::time::Duration;

use rats_domain::codes::Code;
use rats_domain::problem::Problem;
use rats_system::clock::{Stopwatch, pause};

use super::journal::{Entry, Journal, Mark, Orphan, orphans};
use super::lock::{Holder, holder};
use super::undo::{Undone, undo};
use super::{Owner, StateDir, leftover};
use crate::gpu::{Deadlines, Gpu, GpuError, Gpus, Uuid};

/// How long to wait for a guardian that is at work on a journal.
const PATIENCE: Duration = Duration::from_secs(5);

/// How GPUs are reached: a library that is open, or one that is opened when there is something to undo.
#[derive(Debug)]
pub enum Reach<'g> {
    /// Open.
    Open(&'g Gpus),
    /// To be opened.
    Library(Option<&'g Path>),
}

/// What became of the journals of dead runs.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// One for each journal that had something in it.
    pub runs: Vec<RunReport>,
    /// Files among the journals that are none.
    pub unread: Vec<Problem>,
}

/// What became of one journal.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// What the run was to carry out.
    pub plan: String,
    /// Its process, which is dead.
    pub pid: u32,
    /// What was undone or left alone.
    pub done: Vec<(Uuid, Undone)>,
    /// GPUs whose marks stay in the journal, and why.
    pub stays: Vec<(Uuid, String)>,
    /// Processes of its jobs that were ended.
    pub ended: usize,
    /// Processes of its jobs that would not end.
    pub running: Vec<u32>,
    /// Whether the machine was started anew since, so that there was nothing to undo.
    pub is_of_earlier_boot: bool,
}

impl Report {
    /// Whether nothing is left to undo.
    pub fn is_clean(&self) -> bool {
        self.unread.is_empty() && self.runs.iter().all(|run| run.stays.is_empty() && run.running.is_empty())
    }

    /// The problems that concern these GPUs.
    pub fn problems_on(&self, gpus: &[Uuid]) -> Vec<Problem> {
        let stays = self.runs.iter().flat_map(|run| run.stays.iter().map(move |(gpu, why)| (run, gpu, why)));
        let problem = |(run, gpu, why): (&RunReport, &Uuid, &String)| {
            let message = format!("settings that process {} ({}) left stay on the GPU: {why}.", run.pid, run.plan);
            Problem::new(Code::N14, gpu.as_str(), message)
        };
        stays.filter(|(_, gpu, _)| gpus.contains(gpu)).map(problem).collect()
    }
}

/// Undoes what the journals of dead runs say. GPUs that another run holds are left to it, except those of `mine`.
pub fn restore(state: &StateDir, reach: &mut Reach<'_>, mine: &[Uuid]) -> Report {
    let (dead, unread) = orphans(state);
    let mut report = Report::default();
    for (path, error) in unread {
        let message = format!("this is no journal: {error}; remove it if you know what it is.");
        report.unread.push(Problem::new(Code::N14, path.display().to_string(), message));
    }
    for Orphan { path, owner, marks } in dead {
        match patiently(&path) {
            Ok(Some(mut journal)) => {
                let run = finish(state, &mut journal, reach, mine);
                report.runs.push(run);
            }
            // Somebody finished with it, or a dead program's last call still holds it.
            Ok(None) if !path.exists() => {}
            Ok(None) => {
                let why = "another program is at work on its journal".to_owned();
                let stays = marks.gpus().into_iter().map(|gpu| (gpu, why.clone())).collect();
                report.runs.push(RunReport { stays, ..RunReport::of(&owner.plan, owner.pid) });
            }
            Err(error) => {
                report.unread.push(Problem::new(Code::N14, path.display().to_string(), format!("{error}.")));
            }
        }
    }
    report
}

/// Takes a journal over, waiting for a guardian that is at work on it.
fn patiently(path: &Path) -> std::io::Result<Option<Journal>> {
    let watch = Stopwatch::start();
    loop {
        let taken = Journal::take_over(path)?;
        if taken.is_some() || !path.exists() || watch.elapsed() >= PATIENCE {
            return Ok(taken);
        }
        pause(Duration::from_millis(10));
    }
}

/// Ends what is left of a dead run's jobs and undoes its marks.
pub(super) fn finish(state: &StateDir, journal: &mut Journal, reach: &mut Reach<'_>, mine: &[Uuid]) -> RunReport {
    const GRACE: Duration = Duration::from_millis(200);
    const KILLING: Duration = Duration::from_millis(1500);
    let owner = journal.owner().clone();
    let mut report = RunReport::of(&owner.plan, owner.pid);
    if !owner.is_of_this_boot() {
        report.is_of_earlier_boot = true;
        journal.close();
        return report;
    }
    let groups = journal.marks().groups();
    let run = owner.run;
    let killing = thread::spawn(move || leftover::end(&run, &groups, GRACE, KILLING));
    undo_all(state, journal, reach, mine, &mut report);
    (report.ended, report.running) = killing.join().unwrap_or_default();
    report.ended -= report.running.len().min(report.ended);
    if journal.marks().is_empty() && report.running.is_empty() {
        journal.close();
    }
    report
}

/// All GPUs at once, so that one that hangs does not keep the others waiting.
fn undo_all(state: &StateDir, journal: &mut Journal, reach: &mut Reach<'_>, mine: &[Uuid], report: &mut RunReport) {
    let (mut jobs, marks) = (Vec::new(), journal.marks().clone());
    let mut opened = None;
    for uuid in marks.gpus() {
        // A run that has let go of its journal leaves it to its guardian, before it lets go of its GPUs.
        let is_mine = |owner: &Option<Owner>| mine.contains(&uuid) || owner.as_ref() == Some(journal.owner());
        if let Holder::Run(owner) = holder(state, &uuid)
            && !is_mine(&owner)
        {
            let who = owner.map_or_else(|| "another run".to_owned(), |owner| owner.to_string());
            report.stays.push((uuid, format!("{who} holds it")));
            continue;
        }
        let gpus = match reach {
            Reach::Open(gpus) => Ok((*gpus).clone()),
            Reach::Library(library) => opened.get_or_insert_with(|| Gpus::open_within(*library, deadlines())).clone(),
        };
        let of_gpu = marks.of_gpu(&uuid);
        jobs.push(thread::spawn(move || {
            let results = match gpus.and_then(|gpus| gpus.gpu(&uuid)) {
                Ok(gpu) => undo_marks(&gpu, &of_gpu),
                Err(error) => vec![Err(error)],
            };
            (uuid, results)
        }));
    }
    for (uuid, results) in jobs.into_iter().filter_map(|job| job.join().ok()) {
        for result in results {
            match result {
                Ok(undone) => {
                    let entry = Entry::Undone { gpu: uuid.clone(), setting: undone.setting() };
                    journal.undone(&[entry]);
                    report.done.push((uuid.clone(), undone));
                }
                Err(error) => report.stays.push((uuid.clone(), error.to_string())),
            }
        }
    }
}

/// One mark after the other; a GPU that cannot be talked to is not asked again.
fn undo_marks(gpu: &Gpu, marks: &[Mark]) -> Vec<Result<Undone, GpuError>> {
    let mut results = Vec::new();
    for mark in marks {
        let result = undo(gpu, mark);
        let stop = result.as_ref().is_err_and(GpuError::is_unreachable);
        results.push(result);
        if stop {
            break;
        }
    }
    results
}

/// Restoring has two seconds where a run has minutes.
pub(super) fn deadlines() -> Deadlines {
    Deadlines { open: Duration::from_secs(30), call: Duration::from_millis(1500) }
}

impl RunReport {
    fn of(plan: &str, pid: u32) -> Self {
        Self {
            plan: plan.to_owned(),
            pid,
            done: Vec::new(),
            stays: Vec::new(),
            ended: 0,
            running: Vec::new(),
            is_of_earlier_boot: false,
        }
    }
}
