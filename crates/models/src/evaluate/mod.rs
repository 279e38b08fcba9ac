//! `rats models evaluate`: every task of prediction, judged by measurements that the model did not see.
//!
//! A task is a function from the data set and seeds to [`Score`]s; [`TASKS`] lists them all. [`summary`] sets scores against
//! what is to be [reached](reach), [`plots`] draws them.

pub mod dvfs;
pub mod floor;
mod overview;
pub mod plots;
pub mod reach;
pub mod regret;
pub mod summary;
pub mod unseen;

use crate::data::Dataset;
use crate::score::Score;
use crate::{interference, scaling};

/// Told of every part that is done, such as `ttu/v100`, in the order in which they end.
pub type Progress<'a> = &'a (dyn Fn(&str) + Sync);

/// Something that models are asked.
#[derive(Clone, Copy)]
pub struct Task {
    /// Its name on the command line.
    pub id: &'static str,
    /// What is asked, one sentence.
    pub about: &'static str,
    /// Scores of all its models on all its data. The same data set and seeds give the same scores, whatever the threads.
    pub scores: fn(&Dataset, &[u64], Progress) -> Vec<Score>,
}

/// All tasks.
pub static TASKS: [Task; 4] = [
    Task {
        id: "dvfs",
        about: "Time, power and best operating point of measured workloads at clocks and limits that were held out.",
        scores: dvfs::scores,
    },
    Task {
        id: "unseen",
        about: "Time, power and best operating point of kernels that were never seen, from one to three measured points.",
        scores: |dataset, seeds, progress| unseen::scores(&dataset.points, seeds, progress),
    },
    Task {
        id: "interference",
        about: "Rates of pairs of jobs that were held out, and whether the two can share a GPU.",
        scores: interference::evaluate::task,
    },
    Task {
        id: "scaling",
        about: "Time of a step on gangs whose size or model was held out.",
        scores: |data, _, progress| scaling::evaluate::scores(&data.gangs, progress),
    },
];

/// Scores in the order in which files list them.
pub fn sorted(mut scores: Vec<Score>) -> Vec<Score> {
    let key = |s: &Score| (s.task.clone(), s.source.clone(), s.gpu.clone(), s.quantity, s.model.clone(), s.seed);
    scores.sort_by_cached_key(key);
    scores
}
