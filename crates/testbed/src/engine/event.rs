//! What the state machine is told, and what it asks for.

use rats_domain::ids::{GpuId, JobId};

use super::moment::Moment;

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A job that was started no longer runs, and its GPUs are back in their original state.
    Ended(JobId, Ending),
    /// A GPU no longer answers or must not be used.
    Lost(GpuId),
    /// Start nothing more; what runs may end.
    Drain,
    /// End everything that runs.
    Abort,
    /// Start nothing until a new plan is there.
    Hold,
    /// No new plan came: go on with the old one, without what it has on lost GPUs.
    NoPlan,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It did what it was to do.
    Done,
    /// It failed; another attempt may help.
    Failed,
    /// It failed in a way that another attempt cannot mend.
    Hopeless,
    /// It was stopped because of something else (a lost GPU, an abort): it counts as not started.
    Stopped,
}

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start the job on the GPUs of its placement; attempts count from 1.
    Start {
        /// The job.
        job: JobId,
        /// The number of this attempt.
        attempt: u32,
    },
    /// End the job, politely first.
    Stop(JobId),
    /// The job will not be started by this plan.
    Skip(JobId, Why),
    /// What has not started should be planned anew.
    Replan(Cause),
}

/// Why a job is not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A job that it must follow did not succeed.
    Predecessor(JobId),
    /// A GPU of its placement was lost.
    LostGpu(GpuId),
    /// Even with nothing else running, a limit forbids it for ever.
    NeverFits,
}

/// Why the plan no longer fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A GPU with work of the plan was lost.
    LostGpu(GpuId),
    /// A job ended, or still runs, this much later (or earlier, below 0) than planned.
    Drift(JobId, Moment),
}

/// What may be done about failures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// How many more times a job that failed is started.
    pub retries: u32,
    /// Deviation of a job's time, as a share of its planned time, beyond which a new plan is asked for. At least a tick.
    pub drift: f64,
    /// Whether work on lost GPUs waits for a new plan instead of being skipped.
    pub replans: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self { retries: 1, drift: 0.1, replans: false }
    }
}
