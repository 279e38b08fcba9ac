//! Readings of many GPUs in one go: one change of threads for all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use nvml_wrapper::Nvml;

use super::Uuid;
use super::error::GpuError;
use super::handle::device;
use super::sample::Sample;
use super::worker::Worker;

const WHAT: &str = "reading clocks and power";

/// How much of a GPU is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Nothing.
    Nothing,
    /// What changes from one moment to the next: power, SM clock, energy.
    Brief,
    /// Everything.
    Whole,
}

/// Reads the same GPUs again and again. A [`super::Gpu`] has a thread of its own, so a reading may overlap with a setting.
#[derive(Debug)]
pub struct Rounds {
    nvml: Arc<Nvml>,
    uuids: Arc<[Uuid]>,
    /// Absent while the system has no thread left.
    worker: Option<Worker>,
    deadline: Duration,
}

impl Rounds {
    pub(super) fn new(nvml: Arc<Nvml>, uuids: Vec<Uuid>, deadline: Duration) -> Result<Self, GpuError> {
        Ok(Self { worker: Some(Worker::start(Arc::clone(&nvml))?), nvml, uuids: uuids.into(), deadline })
    }

    /// How many GPUs they are.
    pub fn count(&self) -> usize {
        self.uuids.len()
    }

    /// Reads GPUs, in their order, each as deeply as `depths` says; `None` of one that was not read.
    ///
    /// A GPU that does not answer in time spoils its round: its own entry is [`GpuError::Unresponsive`], the others are
    /// `None`. It should not be asked again, since each time costs a thread.
    pub fn read(&mut self, depths: Vec<Depth>) -> Vec<Option<Result<Sample, GpuError>>> {
        if self.worker.is_none() {
            self.worker = Worker::start(Arc::clone(&self.nvml)).ok();
        }
        let Some(worker) = &self.worker else { return self.nothing() };
        let (uuids, at) = (Arc::clone(&self.uuids), Arc::new(AtomicUsize::new(0)));
        let reached = Arc::clone(&at);
        let progress = || at.load(Ordering::Acquire);
        let result = worker.call_while(WHAT, self.deadline, progress, move |nvml, handles| {
            let read = |(position, (uuid, depth)): (usize, (&Uuid, Depth))| {
                reached.store(position, Ordering::Release);
                let mut sample = |read: fn(&_) -> _| device(nvml, handles, uuid, WHAT).and_then(|device| read(device));
                match depth {
                    Depth::Nothing => None,
                    Depth::Brief => Some(sample(Sample::brief)),
                    Depth::Whole => Some(sample(Sample::read)),
                }
            };
            Ok(uuids.iter().zip(depths).enumerate().map(read).collect())
        });
        result.unwrap_or_else(|error| self.spoiled(at.load(Ordering::Acquire), error))
    }

    /// A round that ended at a GPU; the next one has a thread of its own.
    fn spoiled(&mut self, at: usize, error: GpuError) -> Vec<Option<Result<Sample, GpuError>>> {
        self.worker = None;
        let mut round = self.nothing();
        if let Some(entry) = round.get_mut(at) {
            *entry = Some(Err(error));
        }
        round
    }

    fn nothing(&self) -> Vec<Option<Result<Sample, GpuError>>> {
        self.uuids.iter().map(|_| None).collect()
    }
}
