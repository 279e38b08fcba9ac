//! Readings of many GPUs in one go: one change of threads for all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use nvml_wrapper::Nvml;

use super::error::GpuError;
use super::handle::{Gpu, device};
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

/// Readings of GPUs, in their order; `None` of one that was not read.
pub type Round = Vec<Option<Result<Sample, GpuError>>>;

/// Reads the same GPUs again and again, all of them on one thread for as long as each answers.
///
/// That thread is not the one of a [`Gpu`], so a reading may overlap with a setting. It changes nothing, and what is set
/// and undone on one GPU stays in order, which is all that [`crate::custody`] asks for.
///
/// A GPU that hangs takes the thread with it. From then on each GPU is read on its own thread, where another one that
/// hangs holds up nobody: a new common thread would have to look all GPUs up again.
#[derive(Debug)]
pub struct Rounds {
    gpus: Arc<[Gpu]>,
    worker: Option<Worker>,
    deadline: Duration,
}

impl Rounds {
    pub(super) fn new(nvml: Arc<Nvml>, gpus: Vec<Gpu>, deadline: Duration) -> Result<Self, GpuError> {
        Ok(Self { worker: Some(Worker::start(nvml)?), gpus: gpus.into(), deadline })
    }

    /// How many GPUs they are.
    pub fn count(&self) -> usize {
        self.gpus.len()
    }

    /// Reads GPUs, each as deeply as `depths` says. One that does not answer in time is [`GpuError::Unresponsive`]; the
    /// others are read in the same round, later by that time. It should not be asked again: each time costs the deadline.
    pub fn read(&mut self, mut depths: Vec<Depth>) -> Round {
        let Some(worker) = &self.worker else { return self.apart(&depths) };
        match together(worker, &self.gpus, &depths, self.deadline) {
            Ok(round) => round,
            Err((at, error)) => {
                self.worker = None;
                if let Some(depth) = depths.get_mut(at) {
                    *depth = Depth::Nothing;
                }
                let mut round = self.apart(&depths);
                if let Some(entry) = round.get_mut(at) {
                    *entry = Some(Err(error));
                }
                round
            }
        }
    }

    fn apart(&self, depths: &[Depth]) -> Round {
        let read = |(gpu, depth): (&Gpu, &Depth)| match depth {
            Depth::Nothing => None,
            Depth::Brief => Some(gpu.brief_sample()),
            Depth::Whole => Some(gpu.sample()),
        };
        self.gpus.iter().zip(depths).map(read).collect()
    }
}

/// Reads all GPUs on one thread; or the position of the one that does not answer, and how it does not.
fn together(
    worker: &Worker,
    gpus: &Arc<[Gpu]>,
    depths: &[Depth],
    deadline: Duration,
) -> Result<Round, (usize, GpuError)> {
    let (gpus, depths, at) = (Arc::clone(gpus), depths.to_vec(), Arc::new(AtomicUsize::new(0)));
    let reached = Arc::clone(&at);
    let progress = || at.load(Ordering::Acquire);
    let round = worker.call_while(WHAT, deadline, progress, move |nvml, handles| {
        let read = |(position, (gpu, depth)): (usize, (&Gpu, Depth))| {
            reached.store(position, Ordering::Release);
            let mut sample =
                |read: fn(&_) -> _| device(nvml, handles, gpu.uuid(), WHAT).and_then(|device| read(device));
            match depth {
                Depth::Nothing => None,
                Depth::Brief => Some(sample(Sample::brief)),
                Depth::Whole => Some(sample(Sample::read)),
            }
        };
        Ok(gpus.iter().zip(depths).enumerate().map(read).collect())
    });
    round.map_err(|error| (progress(), error))
}
