//! What can go wrong outside of NVML's own return values.

use std::path::PathBuf;

use thiserror::Error;

/// Why the simulator cannot do what it was asked.
#[derive(Debug, Error)]
pub enum SimError {
    /// `NVML_SIM_CONFIG` is not set.
    #[error("the environment variable NVML_SIM_CONFIG names no file: set it to what `rats-sim-config` wrote")]
    NoConfig,
    /// The configuration is wrong.
    #[error("{}: {message}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong and where.
        message: String,
    },
    /// The shared state cannot be used.
    #[error("{}: {source}", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// No GPU has this UUID.
    #[error("no simulated GPU has the UUID `{0}`")]
    UnknownGpu(String),
    /// The workload is not in the configuration, or not for a GPU's type.
    #[error("workload `{workload}` is not described for GPU type `{kind}`")]
    UnknownWorkload {
        /// The workload.
        workload: String,
        /// The type.
        kind: String,
    },
    /// The table of running processes is full.
    #[error("the simulator has room for {0} running processes")]
    TooManyJobs(usize),
    /// A process ended before it was registered.
    #[error("no process has the id {0}")]
    NoProcess(u32),
    /// What the catalogue or a profile lacks.
    #[error("{0}")]
    Compose(String),
}
