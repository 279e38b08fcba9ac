//! The write-ahead journal of a run: what it changes, on disk before it is changed.
//!
//! A file of JSON lines, one [`Entry`] each, that grows only and is removed when nothing is left to undo. Its owner holds
//! a lock on it while it lives, so whoever gets the lock knows that the owner is dead and that nobody else is at work on
//! it. A line that was cut short by a crash changed nothing: lines are synced before the change that they announce.

mod file;
mod marks;

use serde::{Deserialize, Serialize};

use super::Owner;
use crate::gpu::{Setting, Uuid};

pub use file::{Journal, Orphan, orphans};
pub use marks::{Mark, Marks, PowerMark};

/// The format of journals, in their first line.
pub const FORMAT: &str = "rats.journal/1";

/// A line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// The first line.
    Begin {
        /// [`FORMAT`].
        format: String,
        /// Whose journal it is.
        owner: Owner,
        /// The GPUs that may be changed.
        gpus: Vec<Uuid>,
    },
    /// A clock is about to be locked.
    Lock {
        /// Whose clock.
        gpu: Uuid,
        /// Which clock.
        setting: Setting,
        /// To what.
        mhz: i64,
    },
    /// The power limit is about to be set.
    Limit {
        /// Whose limit.
        gpu: Uuid,
        /// What it is now.
        found_mw: i64,
        /// What it is to be.
        value_mw: i64,
    },
    /// The driver rounded the limit that was set.
    Rounded {
        /// Whose limit.
        gpu: Uuid,
        /// What it reads as.
        value_mw: i64,
    },
    /// A setting was undone, was never made or is no longer ours.
    Undone {
        /// Whose setting.
        gpu: Uuid,
        /// Which.
        setting: Setting,
    },
    /// A process group was started.
    Job {
        /// Its leader and so its id.
        leader: u32,
        /// When the leader started, clock ticks after boot.
        start: u64,
    },
    /// Nothing of a process group is left.
    JobEnded {
        /// Its leader.
        leader: u32,
    },
}
