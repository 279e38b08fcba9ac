//! Calls of NVML under a watchdog.
//!
//! A driver in trouble does not return. Every call runs on a thread of its GPU and is waited for until a deadline; what
//! has not come back by then is [`GpuError::Unresponsive`], at once for every further call until the thread is free
//! again. The thread itself cannot be ended; it dies with the process.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use nvml_wrapper::{Device, Nvml};

use super::Uuid;
use super::error::GpuError;

/// The handles that a thread keeps between calls. Looking a GPU up again fails as soon as *any* GPU is lost.
pub(super) type Handles<'n> = BTreeMap<Uuid, Device<'n>>;

/// Parts into which a deadline is divided, to see progress between them.
const PARTS: u32 = 4;

type Job = Box<dyn for<'n> FnOnce(&'n Nvml, &mut Handles<'n>) + Send>;

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
            let mut handles = Handles::new();
            for job in queue {
                job(nvml, &mut handles);
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
        call: impl for<'n> FnOnce(&'n Nvml, &mut Handles<'n>) -> Result<T, GpuError> + Send + 'static,
    ) -> Result<T, GpuError> {
        self.call_while(what, deadline, || 0, call)
    }

    /// Makes several calls in one go; the deadline counts anew (to a quarter) whenever `progress` moves.
    pub(super) fn call_while<T: Send + 'static>(
        &self,
        what: &'static str,
        deadline: Duration,
        progress: impl Fn() -> usize,
        call: impl for<'n> FnOnce(&'n Nvml, &mut Handles<'n>) -> Result<T, GpuError> + Send + 'static,
    ) -> Result<T, GpuError> {
        let late = GpuError::Unresponsive { what, after: deadline };
        if self.stuck.load(Ordering::Acquire) {
            return Err(late);
        }
        let (reply, answer) = mpsc::sync_channel(1);
        let job: Job = Box::new(move |nvml, handles| {
            // Nobody waits any more after the deadline.
            let _ = reply.send(call(nvml, handles));
        });
        let ended = || GpuError::Failed { what, reason: "its thread has ended".to_owned() };
        self.jobs.send(job).map_err(|_| ended())?;
        let (mut reached, mut waited) = (progress(), 0);
        loop {
            match answer.recv_timeout(deadline / PARTS) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Timeout) if progress() != reached => (reached, waited) = (progress(), 0),
                Err(RecvTimeoutError::Timeout) if waited + 1 < PARTS => waited += 1,
                Err(RecvTimeoutError::Timeout) => {
                    self.stuck.store(true, Ordering::Release);
                    return Err(late);
                }
                Err(RecvTimeoutError::Disconnected) => return Err(ended()),
            }
        }
    }
}
