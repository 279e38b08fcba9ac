//! The library and the GPUs of this machine.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

use super::Uuid;
use super::error::GpuError;
use super::facts::optional;
use super::handle::Gpu;
use super::links::Ancestor;
use super::rounds::Rounds;
use super::worker::Worker;

/// The name under which drivers install NVML. The one without `.1` comes with development packages only.
pub const DEFAULT_LIBRARY: &str = "libnvidia-ml.so.1";

/// The environment variable that names another library.
pub const LIBRARY_VARIABLE: &str = "RATS_NVML_LIB";

/// How long calls may take.
#[derive(Clone, Copy, Debug)]
pub struct Deadlines {
    /// Loading the library and reading what GPUs are: without persistence mode each GPU wakes first.
    pub open: Duration,
    /// Any other call.
    pub call: Duration,
}

/// The GPUs of this machine.
#[derive(Clone, Debug)]
pub struct Gpus {
    library: PathBuf,
    nvml: Arc<Nvml>,
    driver: Worker,
    deadlines: Deadlines,
}

/// What a machine has.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The GPUs that answer, in NVML's order.
    pub gpus: Vec<Gpu>,
    /// Positions that do not answer, and why.
    pub silent: Vec<(u32, GpuError)>,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self { open: Duration::from_secs(60), call: Duration::from_secs(5) }
    }
}

impl Gpus {
    /// Loads NVML: the library named, or [`DEFAULT_LIBRARY`].
    ///
    /// # Errors
    /// There is no such library, or it has no driver.
    pub fn open(library: Option<&Path>) -> Result<Self, GpuError> {
        Self::open_within(library, Deadlines::default())
    }

    /// Loads NVML with deadlines of one's own.
    ///
    /// # Errors
    /// As [`Gpus::open`].
    pub fn open_within(library: Option<&Path>, deadlines: Deadlines) -> Result<Self, GpuError> {
        const WHAT: &str = "loading NVML";
        let library = library.unwrap_or(Path::new(DEFAULT_LIBRARY)).to_owned();
        let (reply, answer) = mpsc::sync_channel(1);
        let path = library.clone();
        thread::spawn(move || {
            // Nobody waits any more after the deadline.
            let _ = reply.send(Nvml::builder().lib_path(path.as_os_str()).init());
        });
        let late = GpuError::Unresponsive { what: WHAT, after: deadlines.open };
        let nvml = answer.recv_timeout(deadlines.open).map_err(|_| late)?.map_err(|error| match error {
            NvmlError::LibloadingError(reason) => {
                let reason = first_line(&reason.to_string());
                let named = format!("{}: ", library.display());
                let reason = reason.strip_prefix(&named).unwrap_or(&reason).to_owned();
                GpuError::NoLibrary { library: library.clone(), reason }
            }
            NvmlError::FailedToLoadSymbol(_) => {
                GpuError::NoLibrary { library: library.clone(), reason: "it is no NVML".to_owned() }
            }
            error => match GpuError::of(&error, WHAT) {
                GpuError::Failed { reason, .. } => GpuError::DriverGone { reason },
                error => error,
            },
        })?;
        let nvml = Arc::new(nvml);
        let driver = Worker::start(Arc::clone(&nvml))?;
        Ok(Self { library, nvml, driver, deadlines })
    }

    /// The library that was loaded, as it was named.
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// Version of the driver, such as `550.54.15`.
    ///
    /// # Errors
    /// The driver does not say.
    pub fn driver_version(&self) -> Result<String, GpuError> {
        self.ask("reading the driver's version", Nvml::sys_driver_version)
    }

    /// Version of NVML.
    ///
    /// # Errors
    /// The driver does not say.
    pub fn nvml_version(&self) -> Result<String, GpuError> {
        self.ask("reading NVML's version", Nvml::sys_nvml_version)
    }

    /// All GPUs; one that does not answer does not hide the others.
    ///
    /// # Errors
    /// The driver cannot be asked at all.
    pub fn list(&self) -> Result<Listing, GpuError> {
        let count = self.ask("counting GPUs", Nvml::device_count)?;
        let mut listing = Listing { gpus: Vec::new(), silent: Vec::new() };
        for index in 0..count {
            let found = self.driver.call("finding a GPU", self.deadlines.open, move |nvml, _| {
                let found = nvml.device_by_index(index).and_then(|device| device.uuid());
                found.map(Uuid::new).map_err(|error| GpuError::of(&error, "finding a GPU"))
            });
            match found.and_then(|uuid| self.gpu(&uuid)) {
                Ok(gpu) => listing.gpus.push(gpu),
                Err(error @ (GpuError::DriverGone { .. } | GpuError::NoLibrary { .. })) => return Err(error),
                Err(error) => listing.silent.push((index, error)),
            }
        }
        Ok(listing)
    }

    /// The GPU of this UUID.
    ///
    /// # Errors
    /// There is none, or it does not answer.
    pub fn gpu(&self, uuid: &Uuid) -> Result<Gpu, GpuError> {
        Gpu::open(Arc::clone(&self.nvml), uuid.clone(), self.deadlines)
    }

    /// Readings of these GPUs, again and again.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn rounds(&self, gpus: &[Gpu]) -> Result<Rounds, GpuError> {
        Rounds::new(Arc::clone(&self.nvml), gpus.to_vec(), self.deadlines.call)
    }

    /// How far apart two GPUs are on PCIe; absent where the driver does not say.
    ///
    /// # Errors
    /// The driver cannot be asked.
    pub fn ancestor(&self, one: &Uuid, other: &Uuid) -> Result<Option<Ancestor>, GpuError> {
        const WHAT: &str = "reading the PCIe topology";
        let (one, other) = (one.clone(), other.clone());
        self.driver.call(WHAT, self.deadlines.call, move |nvml, _| {
            let found = |uuid: &Uuid| lookup(nvml, uuid).map_err(|error| GpuError::of(&error, WHAT));
            let level = nvml.topology_common_ancestor(&found(&one)?, &found(&other)?);
            Ok(optional(level, WHAT)?.map(Ancestor::of))
        })
    }

    /// The name of a process that uses a GPU, as the driver knows it.
    pub fn process_name(&self, pid: u32) -> Option<String> {
        self.ask("naming a process", move |nvml| nvml.sys_process_name(pid, 256)).ok()
    }

    fn ask<T: Send + 'static>(
        &self,
        what: &'static str,
        question: impl FnOnce(&Nvml) -> Result<T, NvmlError> + Send + 'static,
    ) -> Result<T, GpuError> {
        let answer = move |nvml: &Nvml| question(nvml).map_err(|error| GpuError::of(&error, what));
        self.driver.call(what, self.deadlines.call, move |nvml, _| answer(nvml))
    }
}

/// The handle of a GPU. By UUID, the call may fail because *another* GPU is lost; then they are looked through.
pub(super) fn lookup<'n>(nvml: &'n Nvml, uuid: &Uuid) -> Result<Device<'n>, NvmlError> {
    let error = match nvml.device_by_uuid(uuid.as_str()) {
        Ok(device) => return Ok(device),
        Err(error) => error,
    };
    if !matches!(error, NvmlError::GpuLost) {
        return Err(error);
    }
    let mut all = (0..nvml.device_count()?).filter_map(|index| nvml.device_by_index(index).ok());
    all.find(|device| device.uuid().is_ok_and(|found| found == uuid.as_str())).ok_or(error)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim_end_matches('.').to_owned()
}
