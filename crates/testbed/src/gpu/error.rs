//! What can go wrong with a GPU: values, each with its stable code.

use std::path::PathBuf;
use std::time::Duration;

use nvml_wrapper::error::NvmlError;
use rats_domain::codes::Code;
use rats_domain::problem::Problem;

/// Why a GPU did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// NVML's library cannot be loaded.
    #[error("no NVML library: {} cannot be loaded ({reason})", library.display())]
    NoLibrary {
        /// The library that was asked for.
        library: PathBuf,
        /// What the loader said.
        reason: String,
    },
    /// The library is there and has no driver to talk to, or the driver vanished.
    #[error("the driver does not answer ({reason})")]
    DriverGone {
        /// What NVML said.
        reason: String,
    },
    /// No GPU of this machine has this UUID.
    #[error("this machine has no GPU with this UUID")]
    Unknown,
    /// The user may not do this.
    #[error("no permission for {what}")]
    NoPermission {
        /// What was tried.
        what: &'static str,
    },
    /// This GPU or driver cannot do this.
    #[error("{what} is not supported by this GPU or driver")]
    NotSupported {
        /// What was tried.
        what: &'static str,
    },
    /// A value outside what the GPU takes.
    #[error("{what} of {asked} {unit} is outside {least} to {most} {unit}")]
    OutOfRange {
        /// What was to be set.
        what: &'static str,
        /// The value that was asked for.
        asked: i64,
        /// The lowest that can be set.
        least: i64,
        /// The highest that can be set.
        most: i64,
        /// Unit of the three.
        unit: &'static str,
    },
    /// The GPU fell off the bus or needs a reset.
    #[error("the GPU is lost ({reason})")]
    Lost {
        /// What NVML said.
        reason: String,
    },
    /// A call did not return in time; it may still be under way.
    #[error("the driver has not answered within {} ms while {what}", after.as_millis())]
    Unresponsive {
        /// What was tried.
        what: &'static str,
        /// How long was waited.
        after: Duration,
    },
    /// Clocks belong to the whole GPU and cannot be set while it is divided.
    #[error("MIG is on: clocks and limits belong to the whole GPU")]
    Mig,
    /// NVML said something else.
    #[error("{what} failed ({reason})")]
    Failed {
        /// What was tried.
        what: &'static str,
        /// What NVML said.
        reason: String,
    },
}

impl GpuError {
    /// What an error of NVML means.
    pub(super) fn of(error: &NvmlError, what: &'static str) -> Self {
        let reason = error.to_string();
        match error {
            NvmlError::NoPermission | NvmlError::OperatingSystem => Self::NoPermission { what },
            NvmlError::NotSupported | NvmlError::FunctionNotFound | NvmlError::FailedToLoadSymbol(_) => {
                Self::NotSupported { what }
            }
            NvmlError::GpuLost | NvmlError::ResetRequired => Self::Lost { reason },
            NvmlError::Uninitialized
            | NvmlError::DriverNotLoaded
            | NvmlError::LibRmVersionMismatch
            | NvmlError::LibraryNotFound => Self::DriverGone { reason },
            _ => Self::Failed { what, reason },
        }
    }

    /// Its stable code.
    pub fn code(&self) -> Code {
        match self {
            Self::NoLibrary { .. } => Code::N01,
            Self::DriverGone { .. } => Code::N02,
            Self::Unknown => Code::N03,
            Self::NoPermission { .. } => Code::N04,
            Self::NotSupported { .. } => Code::N05,
            Self::OutOfRange { .. } => Code::N06,
            Self::Lost { .. } => Code::N07,
            Self::Unresponsive { .. } => Code::N08,
            Self::Mig => Code::N09,
            Self::Failed { .. } => Code::N10,
        }
    }

    /// The error as a user sees it.
    pub fn problem(&self, place: impl Into<String>) -> Problem {
        Problem::new(self.code(), place, format!("{self}."))
    }

    /// Whether the GPU or its driver cannot be talked to at all: there is no point in trying the next setting.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::NoLibrary { .. } | Self::DriverGone { .. } | Self::Lost { .. } | Self::Unresponsive { .. })
    }
}
