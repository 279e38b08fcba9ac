//! One facade over NVML: GPUs by UUID, what they are, what they do, and the three settings that save energy.
//!
//! [`Gpus::open`] loads the library, [`Gpus::list`] finds GPUs, a [`Gpu`] reads and sets. Nothing here panics or hangs:
//! every failure is a [`GpuError`], and a call that does not return becomes [`GpuError::Unresponsive`]. Nothing here
//! remembers what was set either: whoever sets goes through [`crate::custody`], which writes it down first.

mod error;
mod facts;
mod handle;
mod library;
mod links;
mod names;
mod rounds;
mod sample;
mod worker;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use error::GpuError;
pub use facts::{Architecture, Facts, MemoryClock, PcieLink, PowerRange};
pub use handle::{Applied, Gpu, Mig, Setting};
pub use library::{DEFAULT_LIBRARY, Deadlines, Gpus, LIBRARY_VARIABLE, Listing};
pub use links::{Ancestor, Link};
pub use names::type_id;
pub use rounds::{Depth, Rounds};
pub use sample::{Sample, Throttle};

/// A clock in MHz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Megahertz(pub i64);

/// A GPU's name for life, such as `GPU-5f2c...`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Uuid(String);

impl Uuid {
    /// The UUID as NVML writes it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, also what `CUDA_VISIBLE_DEVICES` takes.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Megahertz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MHz", self.0)
    }
}
