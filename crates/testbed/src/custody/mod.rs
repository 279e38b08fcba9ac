//! Custody of GPUs: whoever changes a setting goes through here, so that every GPU is left as it was found.
//!
//! # Idea
//! A run that changes GPUs *takes custody* of them: it locks each GPU against other runs, opens a write-ahead journal and
//! starts a guardian. Before a setting is changed, what it was and what it will be is on disk. Whoever is left alive
//! undoes what the journal says: the run itself at its end, its guardian when the run dies, `rats restore` (also at the
//! start of the next run) when both died.
//!
//! # Model
//! * [`StateDir`]: the directory with the journals and locks of a machine.
//! * [`GpuLock`]: one GPU, one run, across processes.
//! * [`journal`]: what was changed and not yet undone, line by line, each synced before the change.
//! * [`undo`]: from marks back to what was found. A power limit is put back only if it is still one of ours; locks are
//!   reset, since NVML cannot say who set them.
//! * [`guardian`]: a process of its own session that waits for the run to die.
//! * [`leftover`]: what is left of the jobs of a dead run.
//! * [`restore`]: all of it for runs that died with their guardian.
//!
//! # Limits
//! A GPU that does not answer keeps its marks; they stay in the journal. `docs/testbed.md` says which processes escape.

pub mod guardian;
pub mod journal;
pub mod leftover;
mod lock;
mod owner;
mod point;
pub mod procfs;
pub mod restore;
mod state;
pub mod undo;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};

use self::guardian::Guardian;
use self::journal::{Entry, Journal};
use self::undo::Undone;
use crate::gpu::{Gpu, GpuError, Gpus, Setting, Uuid};

pub use lock::{GpuLock, Holder, holder};
pub use owner::Owner;
pub use point::{Point, PointApplied};
pub use state::{STATE_VARIABLE, StateDir};

/// The environment variable that marks every process of a run.
pub const RUN_VARIABLE: &str = "RATS_RUN_ID";

/// What a run needs to take custody.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Where journals and locks are.
    pub state: StateDir,
    /// What is carried out, for those who find the GPU locked: a plan's name, or `profile of ...`.
    pub plan: String,
    /// The program whose `guardian` command guards; `/proc/self/exe` for programs that have it.
    pub program: PathBuf,
}

/// GPUs that this process may change until [`Custody::end`].
#[derive(Debug)]
pub struct Custody {
    terms: Terms,
    library: PathBuf,
    run: String,
    locks: Vec<GpuLock>,
    journal: Mutex<Journal>,
    guardian: Mutex<Guardian>,
}

/// Why a GPU was not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// The GPU refused or does not answer.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// It could not be written down first, so nothing was changed.
    #[error("{0}")]
    Journal(Problem),
}

impl Custody {
    /// Locks the GPUs, undoes what dead runs left, opens the journal and starts the guardian.
    ///
    /// # Errors
    /// N11 with the owner where a GPU is locked; N14 where marks of a dead run stay on one of the GPUs; N12, N13 where
    /// journal or guardian cannot be had. Then nothing was changed and no lock is kept.
    pub fn take(gpus: &Gpus, wanted: &[Gpu], terms: Terms) -> Result<Self, Problems> {
        terms.state.prepare()?;
        let mut owner = Owner::this(&terms.plan).map_err(|error| procfs::problem(&error))?;
        let mut journal = Journal::create(&terms.state, &mut owner, wanted)?;
        let locks = match lock_all(&terms.state, &owner, wanted) {
            Ok(locks) => locks,
            Err(problems) => {
                journal.close();
                return Err(problems);
            }
        };
        let uuids: Vec<Uuid> = wanted.iter().map(|gpu| gpu.uuid().clone()).collect();
        let report = restore::restore(&terms.state, &mut restore::Reach::Open(gpus), &uuids);
        let stays = report.problems_on(&uuids);
        let guardian = if stays.is_empty() {
            Guardian::start(&terms, gpus.library(), journal.path()).map_err(Problems::from)
        } else {
            Err(Problems(stays))
        };
        match guardian {
            Ok(guardian) => Ok(Self {
                library: gpus.library().to_owned(),
                run: owner.run,
                terms,
                locks,
                journal: Mutex::new(journal),
                guardian: Mutex::new(guardian),
            }),
            Err(problems) => {
                journal.close();
                Err(problems)
            }
        }
    }

    /// The value of [`RUN_VARIABLE`] for every process that this run starts.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Brings a GPU to an operating point: what the point names is set, what it does not name and we set is undone.
    ///
    /// # Errors
    /// The GPU refuses or does not answer: what was set so far stays written down, so [`Custody::restore`] undoes it.
    /// Or the journal cannot be written: then nothing was changed.
    pub fn set(&self, gpu: &Gpu, point: Point) -> Result<PointApplied, SetError> {
        self.undo(gpu, |setting| !point.names(setting))?;
        let steps = point.steps(gpu)?;
        let found = if point.power_limit.is_some() { Some(found_limit(gpu)?) } else { None };
        let entries: Vec<Entry> = steps.iter().map(|step| step.entry(gpu.uuid(), found)).collect();
        self.write(&entries).map_err(SetError::Journal)?;
        let mut applied = PointApplied::default();
        for (position, step) in steps.iter().enumerate() {
            if let Err(error) = step.carry_out(gpu, &mut applied) {
                let from = if has_no_effect(&error) { position } else { position + 1 };
                self.never_set(gpu.uuid(), &steps[from..]);
                return Err(error.into());
            }
        }
        if let Some(limit) = applied.power_limit.filter(|limit| limit.applied != limit.requested) {
            let also = Entry::Rounded { gpu: gpu.uuid().clone(), value_mw: limit.applied.0 };
            self.write(&[also]).map_err(SetError::Journal)?;
        }
        Ok(applied)
    }

    /// Undoes everything that was set on a GPU.
    ///
    /// # Errors
    /// Never for what is undone or left alone; the first setting that cannot be undone, whose mark stays written down.
    pub fn restore(&self, gpu: &Gpu) -> Result<Vec<Undone>, GpuError> {
        self.undo(gpu, |_| true)
    }

    /// Writes down that a job's process group was started, so that nobody has to guess what to end.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn job_started(&self, leader: u32) -> Result<(), Problem> {
        let start = procfs::start(leader).unwrap_or(0);
        self.write(&[Entry::Job { leader, start }])
    }

    /// Writes down that nothing of a job's process group is left.
    ///
    /// # Errors
    /// The journal cannot be written; nothing is lost by that.
    pub fn job_ended(&self, leader: u32) -> Result<(), Problem> {
        self.write(&[Entry::JobEnded { leader }])
    }

    /// Whether the guardian lives; starts another if not. Ask before every launch and now and then.
    ///
    /// # Errors
    /// There is no guardian and none can be started: stop launching. The returned flag says whether it is a new one.
    pub fn ensure_guardian(&self) -> Result<bool, Problem> {
        let mut guardian = self.guardian.lock().unwrap_or_else(PoisonError::into_inner);
        if guardian.is_alive() {
            return Ok(false);
        }
        let journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner).path().to_owned();
        *guardian = Guardian::start(&self.terms, &self.library, &journal)?;
        Ok(true)
    }

    /// Process id of the guardian.
    pub fn guardian_pid(&self) -> u32 {
        self.guardian.lock().unwrap_or_else(PoisonError::into_inner).pid()
    }

    /// Undoes what is left, closes the journal if nothing stays, dismisses the guardian and unlocks the GPUs.
    ///
    /// # Errors
    /// N14 for each GPU whose marks stay in the journal, for `rats restore`.
    pub fn end(self, gpus: &[Gpu]) -> Result<Vec<(Uuid, Undone)>, Problems> {
        let (mut done, mut problems) = (Vec::new(), Vec::new());
        for gpu in gpus {
            match self.restore(gpu) {
                Ok(undone) => done.extend(undone.into_iter().map(|one| (gpu.uuid().clone(), one))),
                Err(error) => problems.push(stays(gpu.uuid(), &error)),
            }
        }
        let mut journal = self.journal.into_inner().unwrap_or_else(PoisonError::into_inner);
        if journal.marks().is_empty() {
            journal.close();
        }
        // Let go of before the guardian is: where marks stay, it tries once more.
        drop(journal);
        self.guardian.into_inner().unwrap_or_else(PoisonError::into_inner).dismiss();
        drop(self.locks);
        if problems.is_empty() { Ok(done) } else { Err(Problems(problems)) }
    }

    fn undo(&self, gpu: &Gpu, which: impl Fn(Setting) -> bool) -> Result<Vec<Undone>, GpuError> {
        let marks = self.journal.lock().unwrap_or_else(PoisonError::into_inner).marks_of(gpu.uuid());
        let (mut done, mut failed) = (Vec::new(), None);
        for mark in marks.into_iter().filter(|mark| which(mark.setting())) {
            match undo::undo(gpu, &mark) {
                Ok(undone) => {
                    self.write_undone(&[Entry::Undone { gpu: gpu.uuid().clone(), setting: mark.setting() }]);
                    done.push(undone);
                }
                Err(error) if error.is_unreachable() => return Err(error),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(done), Err)
    }

    fn never_set(&self, gpu: &Uuid, steps: &[point::Step]) {
        let undone = |step: &point::Step| Entry::Undone { gpu: gpu.clone(), setting: step.setting() };
        // A setting that was already ours keeps its mark.
        let fresh: Vec<_> = {
            let journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
            steps.iter().filter(|step| journal.is_first(gpu, step.setting())).map(undone).collect()
        };
        self.write_undone(&fresh);
    }

    fn write_undone(&self, entries: &[Entry]) {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner).undone(entries);
    }

    fn write(&self, entries: &[Entry]) -> Result<(), Problem> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner).append(entries)
    }
}

/// The power limit as it is found. Without it nothing could be put back, so nothing is set.
fn found_limit(gpu: &Gpu) -> Result<rats_domain::units::Milliwatts, GpuError> {
    gpu.power_limit()?.ok_or(GpuError::NotSupported { what: "reading the power limit" })
}

/// Whether a refused setting surely changed nothing.
fn has_no_effect(error: &GpuError) -> bool {
    use GpuError::{Mig, NoPermission, NotSupported, OutOfRange, Unknown};
    matches!(error, NoPermission { .. } | NotSupported { .. } | OutOfRange { .. } | Mig | Unknown)
}

fn lock_all(state: &StateDir, owner: &Owner, wanted: &[Gpu]) -> Result<Vec<GpuLock>, Problems> {
    let (mut locks, mut problems) = (Vec::new(), Vec::new());
    for gpu in wanted {
        match GpuLock::take(state, gpu.uuid(), owner) {
            Ok(lock) => locks.push(lock),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(locks) } else { Err(Problems(problems)) }
}

/// The problem of marks that stay.
fn stays(gpu: &Uuid, error: &GpuError) -> Problem {
    Problem::new(Code::N14, gpu.as_str(), format!("settings of a run stay on the GPU: {error}."))
}
