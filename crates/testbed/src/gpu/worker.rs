//! Calls of NVML under a watchdog.
//!
//! A driver in trouble does not return. Every call runs on a thread of its GPU and is waited for until a deadline; what
//! has not come back by then is [`GpuError::Unresponsive`], at once for every further call until the thread is free
//! again. The thread itself cannot be ended; it dies with the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use nvml_wrapper::{Device, Nvml};

use super::error::GpuError;

/// The handle that a thread keeps between calls. Looking a GPU up again fails as soon as *any* GPU is lost.
pub(super) type Slot<'n> = Option<Device<'n>>;

type Job = Box<dyn for<'n> FnOnce(&'n Nvml, &mut Slot<'n>) + Send>;

/// A thread that makes calls one after the other.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    jobs: Sender<Job>,
    stuck: Arc<AtomicBool>,
}

impl Worker {
    /// Starts a thread.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(super) fn start(nvml: Arc<Nvml>) -> Result<Self, GpuError> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let stuck = Arc::new(AtomicBool::new(false));
        let freed = Arc::clone(&stuck);
        let work = move || {
            let nvml: &Nvml = &nvml;
            let mut slot = None;
            for job in queue {
                job(nvml, &mut slot);
                freed.store(false, Ordering::Release);
            }
        };
        let failed = |error: std::io::Error| GpuError::Failed { what: "starting a thread", reason: error.to_string() };
        thread::Builder::new().name("nvml".to_owned()).spawn(work).map_err(failed)?;
        Ok(Self { jobs, stuck })
    }

    /// Makes a call and waits for its result until the deadline.
    pub(super) fn call<T: Send + 'static>(
        &self,
        what: &'static str,
        deadline: Duration,
        call: impl for<'n> FnOnce(&'n Nvml, &mut Slot<'n>) -> Result<T, GpuError> + Send + 'static,
    ) -> Result<T, GpuError> {
        let late = GpuError::Unresponsive { what, after: deadline };
        if self.stuck.load(Ordering::Acquire) {
            return Err(late);
        }
        let (reply, answer) = mpsc::sync_channel(1);
        let job: Job = Box::new(move |nvml, slot| {
            // Nobody waits any more after the deadline.
            let _ = reply.send(call(nvml, slot));
        });
        let ended = || GpuError::Failed { what, reason: "its thread has ended".to_owned() };
        self.jobs.send(job).map_err(|_| ended())?;
        match answer.recv_timeout(deadline) {
            Ok(result) => result,
            Err(RecvTimeoutError::Timeout) => {
                self.stuck.store(true, Ordering::Release);
                Err(late)
            }
            Err(RecvTimeoutError::Disconnected) => Err(ended()),
        }
    }
}
