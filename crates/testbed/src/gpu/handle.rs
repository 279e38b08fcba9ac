//! One GPU: readings, settings, resets.

use std::sync::Arc;
use std::time::Duration;

use nvml_wrapper::enums::device::GpuLockedClocksSetting;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use rats_domain::units::Milliwatts;

use super::error::GpuError;
use super::facts::{Facts, optional};
use super::library::{Deadlines, lookup};
use super::sample::Sample;
use super::worker::{Handles, Worker};
use super::{Megahertz, Uuid};

/// A GPU of this machine. Clones share one thread, so calls of one GPU never overlap.
#[derive(Clone, Debug)]
pub struct Gpu {
    facts: Arc<Facts>,
    calls: Calls,
}

/// The thread of a GPU.
#[derive(Clone, Debug)]
struct Calls {
    uuid: Uuid,
    worker: Worker,
    deadlines: Deadlines,
}

/// Whether the GPU is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mig {
    /// This kind of GPU cannot be divided.
    Unsupported,
    /// It could be and is not.
    Off,
    /// It is divided.
    On,
}

/// A setting of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// A lock of the SM clock. NVML has no getter: all that can be done is to reset it.
    SmLock,
    /// A lock of the memory clock. NVML has no getter either.
    MemLock,
    /// The power limit, which can be read.
    PowerLimit,
}

/// What was asked for and what was set; what comes of it is in a later [`Sample`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied<T> {
    /// What was asked for.
    pub requested: T,
    /// What was set: the nearest supported clock, or the limit as read back.
    pub applied: T,
}

impl Setting {
    /// The setting in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::SmLock => "SM clock lock",
            Self::MemLock => "memory clock lock",
            Self::PowerLimit => "power limit",
        }
    }
}

impl Gpu {
    pub(super) fn open(nvml: Arc<Nvml>, uuid: Uuid, deadlines: Deadlines) -> Result<Self, GpuError> {
        let calls = Calls { uuid, worker: Worker::start(nvml)?, deadlines };
        let facts = calls.within(deadlines.open, "reading what the GPU is", |device| Facts::read(device))?;
        Ok(Self { facts: Arc::new(facts), calls })
    }

    /// Its UUID.
    pub fn uuid(&self) -> &Uuid {
        &self.facts.uuid
    }

    /// What does not change about it.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What it does now.
    ///
    /// # Errors
    /// It does not answer.
    pub fn sample(&self) -> Result<Sample, GpuError> {
        self.calls.call("reading clocks and power", |device| Sample::read(device))
    }

    /// What changes from one moment to the next.
    pub(super) fn brief_sample(&self) -> Result<Sample, GpuError> {
        self.calls.call("reading clocks and power", |device| Sample::brief(device))
    }

    /// The power limit that is set; absent where it cannot be read.
    ///
    /// # Errors
    /// It does not answer.
    pub fn power_limit(&self) -> Result<Option<Milliwatts>, GpuError> {
        const WHAT: &str = "reading the power limit";
        let limit = self.calls.call(WHAT, |device| optional(device.power_management_limit(), WHAT))?;
        Ok(limit.map(|mw| Milliwatts(mw.into())))
    }

    /// Whether it is divided.
    ///
    /// # Errors
    /// It does not answer.
    pub fn mig(&self) -> Result<Mig, GpuError> {
        self.calls.call("reading the MIG mode", |device| mig(device))
    }

    /// Whether the driver stays loaded while nobody uses it; absent where it cannot be read.
    ///
    /// # Errors
    /// It does not answer.
    pub fn persistence(&self) -> Result<Option<bool>, GpuError> {
        const WHAT: &str = "reading the persistence mode";
        self.calls.call(WHAT, |device| optional(device.is_in_persistent_mode(), WHAT))
    }

    /// Ids of the processes that use it, in order.
    ///
    /// # Errors
    /// It does not answer.
    pub fn processes(&self) -> Result<Vec<u32>, GpuError> {
        const WHAT: &str = "reading the processes";
        self.calls.call(WHAT, |device| {
            // Drivers before 510 know the second form only.
            let compute = device.running_compute_processes().or_else(|_| device.running_compute_processes_v2());
            let graphics = device.running_graphics_processes().or_else(|_| device.running_graphics_processes_v2());
            let mut all = optional(compute, WHAT)?.unwrap_or_default();
            all.extend(optional(graphics, WHAT)?.unwrap_or_default());
            let mut pids: Vec<u32> = all.into_iter().map(|process| process.pid).collect();
            pids.sort_unstable();
            pids.dedup();
            Ok(pids)
        })
    }

    /// The clock that [`Gpu::lock_sm`] would set, without setting it.
    ///
    /// # Errors
    /// It lies outside what the GPU supports.
    pub fn sm_near(&self, wanted: Megahertz, mem: Option<Megahertz>) -> Result<Megahertz, GpuError> {
        near(self.facts.sm_clocks(mem), wanted, "an SM clock")
    }

    /// The clock that [`Gpu::lock_mem`] would set, without setting it.
    ///
    /// # Errors
    /// It lies outside what the GPU supports.
    pub fn mem_near(&self, wanted: Megahertz) -> Result<Megahertz, GpuError> {
        let mut clocks: Vec<_> = self.facts.clocks.iter().map(|entry| entry.mem).collect();
        clocks.reverse();
        near(&clocks, wanted, "a memory clock")
    }

    /// Whether the power limit could be set to this.
    ///
    /// # Errors
    /// It is out of range, or the GPU has no limit.
    pub fn check_power_limit(&self, wanted: Milliwatts) -> Result<(), GpuError> {
        let range = self.facts.power.ok_or(GpuError::NotSupported { what: "setting the power limit" })?;
        if range.least <= wanted && wanted <= range.most {
            return Ok(());
        }
        let (asked, least, most) = (wanted.0, range.least.0, range.most.0);
        Err(GpuError::OutOfRange { what: "a power limit", asked, least, most, unit: "mW" })
    }

    /// Locks the SM clock to the supported one that is nearest; `mem` says at which memory clock, the highest if absent.
    ///
    /// # Errors
    /// The clock is out of range, the GPU cannot lock clocks or is divided, the user may not, or it does not answer.
    pub fn lock_sm(&self, wanted: Megahertz, mem: Option<Megahertz>) -> Result<Applied<Megahertz>, GpuError> {
        const WHAT: &str = "locking the SM clock";
        if self.facts.architecture.is_some_and(|architecture| !architecture.locks_sm()) {
            return Err(GpuError::NotSupported { what: WHAT });
        }
        let applied = self.sm_near(wanted, mem)?;
        let clock = mhz(applied);
        self.set(WHAT, move |device| {
            device.set_gpu_locked_clocks(GpuLockedClocksSetting::Numeric { min_clock_mhz: clock, max_clock_mhz: clock })
        })?;
        Ok(Applied { requested: wanted, applied })
    }

    /// Locks the memory clock to the supported one that is nearest.
    ///
    /// # Errors
    /// As [`Gpu::lock_sm`].
    pub fn lock_mem(&self, wanted: Megahertz) -> Result<Applied<Megahertz>, GpuError> {
        const WHAT: &str = "locking the memory clock";
        if self.facts.architecture.is_some_and(|architecture| !architecture.locks_memory()) {
            return Err(GpuError::NotSupported { what: WHAT });
        }
        let applied = self.mem_near(wanted)?;
        let clock = mhz(applied);
        self.set(WHAT, move |device| device.set_mem_locked_clocks(clock, clock))?;
        Ok(Applied { requested: wanted, applied })
    }

    /// Sets the power limit.
    ///
    /// # Errors
    /// The limit is out of range, the GPU has none or is divided, the user may not, or it does not answer.
    pub fn set_power_limit(&self, wanted: Milliwatts) -> Result<Applied<Milliwatts>, GpuError> {
        const WHAT: &str = "setting the power limit";
        self.check_power_limit(wanted)?;
        let limit = u32::try_from(wanted.0).unwrap_or(u32::MAX);
        self.set(WHAT, move |device| device.set_power_management_limit(limit))?;
        Ok(Applied { requested: wanted, applied: self.power_limit()?.unwrap_or(wanted) })
    }

    /// Takes the lock off the SM clock, whoever set it.
    ///
    /// # Errors
    /// The GPU cannot lock clocks, the user may not, or it does not answer.
    pub fn reset_sm(&self) -> Result<(), GpuError> {
        const WHAT: &str = "resetting the SM clock";
        self.calls.call(WHAT, |device| device.reset_gpu_locked_clocks().map_err(|error| GpuError::of(&error, WHAT)))
    }

    /// Takes the lock off the memory clock, whoever set it.
    ///
    /// # Errors
    /// As [`Gpu::reset_sm`].
    pub fn reset_mem(&self) -> Result<(), GpuError> {
        const WHAT: &str = "resetting the memory clock";
        self.calls.call(WHAT, |device| device.reset_mem_locked_clocks().map_err(|error| GpuError::of(&error, WHAT)))
    }

    fn set(
        &self,
        what: &'static str,
        set: impl for<'n> FnOnce(&mut Device<'n>) -> Result<(), NvmlError> + Send + 'static,
    ) -> Result<(), GpuError> {
        self.calls.call(what, move |device| {
            if mig(device)? == Mig::On {
                return Err(GpuError::Mig);
            }
            set(device).map_err(|error| GpuError::of(&error, what))
        })
    }
}

impl Calls {
    fn call<T: Send + 'static>(
        &self,
        what: &'static str,
        call: impl for<'n> FnOnce(&mut Device<'n>) -> Result<T, GpuError> + Send + 'static,
    ) -> Result<T, GpuError> {
        self.within(self.deadlines.call, what, call)
    }

    fn within<T: Send + 'static>(
        &self,
        deadline: Duration,
        what: &'static str,
        call: impl for<'n> FnOnce(&mut Device<'n>) -> Result<T, GpuError> + Send + 'static,
    ) -> Result<T, GpuError> {
        let uuid = self.uuid.clone();
        self.worker.call(what, deadline, move |nvml, handles| call(device(nvml, handles, &uuid, what)?))
    }
}

/// The handle of a GPU, looked up at its first use.
pub(super) fn device<'h, 'n>(
    nvml: &'n Nvml,
    handles: &'h mut Handles<'n>,
    uuid: &Uuid,
    what: &'static str,
) -> Result<&'h mut Device<'n>, GpuError> {
    if !handles.contains_key(uuid) {
        let found = lookup(nvml, uuid).map_err(|error| match error {
            NvmlError::NotFound | NvmlError::InvalidArg => GpuError::Unknown,
            error => GpuError::of(&error, what),
        })?;
        handles.insert(uuid.clone(), found);
    }
    handles.get_mut(uuid).ok_or(GpuError::Unknown)
}

fn mig(device: &Device<'_>) -> Result<Mig, GpuError> {
    let mode = optional(device.mig_mode(), "reading the MIG mode")?;
    Ok(mode.map_or(Mig::Unsupported, |mode| if mode.current == 1 { Mig::On } else { Mig::Off }))
}

/// The nearest of the clocks, the lower of two equally near; `clocks` rise.
fn near(clocks: &[Megahertz], wanted: Megahertz, what: &'static str) -> Result<Megahertz, GpuError> {
    let (Some(&least), Some(&most)) = (clocks.first(), clocks.last()) else {
        return Err(GpuError::NotSupported { what });
    };
    if wanted < least || wanted > most {
        let (asked, least, most) = (wanted.0, least.0, most.0);
        return Err(GpuError::OutOfRange { what, asked, least, most, unit: "MHz" });
    }
    Ok(clocks.iter().copied().min_by_key(|clock| (clock.0 - wanted.0).abs()).unwrap_or(least))
}

fn mhz(clock: Megahertz) -> u32 {
    u32::try_from(clock.0).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_snaps_to_the_nearest_and_never_outside_the_range() {
        let clocks = [135, 142, 150].map(Megahertz);
        let near = |wanted| near(&clocks, Megahertz(wanted), "an SM clock");
        // 146 is 4 from both 142 and 150: the lower.
        assert_eq!([135, 138, 139, 146, 147].map(near), [135, 135, 142, 142, 150].map(|mhz| Ok(Megahertz(mhz))));
        let range = |asked| GpuError::OutOfRange { what: "an SM clock", asked, least: 135, most: 150, unit: "MHz" };
        assert_eq!([near(134), near(151)], [Err(range(134)), Err(range(151))]);
    }
}
