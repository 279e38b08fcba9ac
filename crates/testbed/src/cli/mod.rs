//! Commands on real GPUs: arguments in, one answer out. `rats` and `rats-testbed` have the same ones.

pub mod discover;
pub mod doctor;
pub mod execute;
pub mod guardian;
mod live;
pub mod pool;
pub mod profile;
pub mod report;
pub mod restore;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use rats_domain::problem::{Problems, Warning};

use crate::custody::StateDir;
use crate::gpu::{GpuError, Gpus, LIBRARY_VARIABLE};

/// What a command has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// For standard output.
    pub text: String,
    /// 0 done, 1 a valid run with a negative answer.
    pub exit: u8,
    /// For standard error.
    pub warnings: Vec<Warning>,
}

/// The commands of this crate.
#[derive(Debug, Subcommand)]
pub enum TestbedCommand {
    /// Find the GPUs of this machine, or of dumps, and write them as a cluster and an inventory.
    Discover(discover::DiscoverArgs),
    /// Say what stands in the way of measuring and setting GPUs, and how to mend it.
    Doctor(doctor::DoctorArgs),
    /// Measure time and power of a command over the operating points of GPUs.
    Profile(Box<profile::ProfileArgs>),
    /// Make one profile of several that were measured on different GPUs of a kind.
    Pool(pool::PoolArgs),
    /// Carry out a plan on the GPUs of this machine.
    Execute(execute::ExecuteArgs),
    /// Say what came of a run.
    #[command(subcommand)]
    Report(ReportCommand),
    /// Undo what runs that were killed left on GPUs.
    Restore(restore::RestoreArgs),
    /// Watch over a run; started by the program itself.
    #[command(hide = true)]
    Guardian(guardian::GuardianArgs),
}

/// What is reported on.
#[derive(Debug, Subcommand)]
pub enum ReportCommand {
    /// Compare a trace with its plan: time, energy, causes, deadlines.
    Trace(report::ReportTraceArgs),
}

/// Which NVML.
#[derive(Clone, Debug, Default, Args)]
pub struct LibraryArgs {
    /// NVML's library [default: `RATS_NVML_LIB`, else libnvidia-ml.so.1].
    #[arg(long, value_name = "FILE")]
    pub nvml_lib: Option<PathBuf>,
}

/// Where journals and locks are.
#[derive(Clone, Debug, Default, Args)]
pub struct StateArgs {
    /// Directory of journals and locks [default: `RATS_STATE_DIR`, else /run/rats or ~/.local/state/rats].
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
}

impl Answer {
    /// An answer of exit code 0 without warnings.
    pub fn done(text: String) -> Self {
        Self { text, exit: 0, warnings: Vec::new() }
    }
}

impl LibraryArgs {
    /// The library that is meant; absent for the default one.
    pub fn library(&self) -> Option<PathBuf> {
        let variable = || std::env::var_os(LIBRARY_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        self.nvml_lib.clone().or_else(variable)
    }

    /// Loads it.
    ///
    /// # Errors
    /// There is no such library, or it has no driver.
    pub fn open(&self) -> Result<Gpus, GpuError> {
        Gpus::open(self.library().as_deref())
    }
}

impl StateArgs {
    /// The directory that is meant.
    pub fn state(&self) -> StateDir {
        StateDir::find(self.state_dir.as_deref())
    }
}

/// Carries a command out.
///
/// # Errors
/// What the user has to mend, exit code 2.
pub fn run(command: &TestbedCommand) -> Result<Answer, Problems> {
    match command {
        TestbedCommand::Discover(args) => discover::run(args),
        TestbedCommand::Doctor(args) => doctor::run(args),
        TestbedCommand::Profile(args) => profile::run(args),
        TestbedCommand::Pool(args) => pool::run(args),
        TestbedCommand::Execute(args) => execute::run(args, None),
        TestbedCommand::Report(ReportCommand::Trace(args)) => report::run(args),
        TestbedCommand::Restore(args) => Ok(restore::run(args)),
        TestbedCommand::Guardian(args) => guardian::run(args),
    }
}

/// A document as the text that goes to standard output.
pub(crate) fn json(document: &serde_json::Value) -> String {
    format!("{document:#}\n")
}
