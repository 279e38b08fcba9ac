//! One process's view of the simulated machine.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use rats_system::clock;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::error::SimError;
use crate::faults::{self, Effect, Fault, FaultFile};
use crate::process;
use crate::settings::{Code, Mark, marks};
use crate::shared::Shared;
use crate::state::{JobState, MAX_JOBS, State};
use crate::truth::{Physics, mix};
use crate::world::World;

/// Real time between two looks at which processes are alive.
const LOOK_NS: u64 = 20_000_000;
/// Real time between two tries of their ids, which a zombie still has.
const TRY_NS: u64 = 1_000_000;
/// `NVML_ERROR_UNKNOWN`: the state file cannot be locked.
const UNKNOWN: Code = 999;

/// The simulated machine, shared with all processes that use the same configuration.
#[derive(Debug)]
pub struct Simulator {
    world: World,
    shared: Shared,
    fingerprint: u64,
    faults: Mutex<FaultCache>,
}

/// The list of faults in force, read again when its file changes.
#[derive(Debug, Default)]
struct FaultCache {
    stamp: Option<(Duration, u64, u64)>,
    faults: Vec<Fault>,
    fingerprint: u64,
}

/// What a process wants to run.
#[derive(Clone, Debug, PartialEq)]
pub struct JobSpec {
    /// UUIDs of its GPUs.
    pub gpus: Vec<String>,
    /// Name of its workload.
    pub workload: String,
    /// Steps to do; infinite for as long as it lives.
    pub steps: f64,
    /// Simulated seconds before the first step.
    pub startup_s: f64,
    /// Whether it waits on its GPUs after the last step instead of leaving them idle.
    pub lingers: bool,
}

/// How far a process is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Steps done.
    pub steps: f64,
    /// Steps in a simulated second, now.
    pub rate: f64,
    /// Simulated time, s.
    pub now_s: f64,
    /// Simulated time of the first step, s.
    pub began_s: f64,
    /// Simulated time at which the last step ended, s.
    pub ended_s: Option<f64>,
    /// Whether one of its GPUs is lost.
    pub lost: bool,
}

/// One call that set something, a line of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalLine {
    /// Monotonic clock, ns.
    pub real_ns: u64,
    /// Simulated time, ns.
    pub sim_ns: u64,
    /// Who.
    pub pid: u32,
    /// Name of the function.
    pub call: String,
    /// Arguments in words.
    pub arguments: String,
    /// UUID of the GPU.
    pub gpu: String,
    /// What NVML answered.
    pub code: u32,
}

impl Simulator {
    /// Opens the state of a configuration, or makes it.
    ///
    /// # Errors
    /// The state file cannot be used.
    pub fn open(config: Config) -> Result<Self, SimError> {
        let path = config.state.clone();
        let shared = Shared::open(&path).map_err(|source| SimError::State { path, source })?;
        let fingerprint = fingerprint(&config);
        Ok(Self { world: World::new(config), shared, fingerprint, faults: Mutex::default() })
    }

    /// Opens what a file describes.
    ///
    /// # Errors
    /// The file is wrong, or the state cannot be used.
    pub fn load(path: &Path) -> Result<Self, SimError> {
        Self::open(Config::load(path)?)
    }

    /// Opens what `NVML_SIM_CONFIG` names.
    ///
    /// # Errors
    /// As [`Simulator::load`], or the variable is not set.
    pub fn from_environment() -> Result<Self, SimError> {
        Self::open(Config::from_environment()?)
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.world.config
    }

    /// What does not change.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// What is set on the GPUs now; empty if all is as the driver starts it.
    ///
    /// # Errors
    /// The state file cannot be locked.
    pub fn marks(&self) -> Result<Vec<Mark>, SimError> {
        self.update(|state| marks(&self.world, state))
    }

    /// The calls that set something, in order; whole lines only.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn journal(&self) -> Result<Vec<JournalLine>, SimError> {
        let Some(path) = &self.world.config.journal else { return Ok(Vec::new()) };
        match fs::read_to_string(path) {
            Ok(text) => Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => Err(SimError::State { path: path.clone(), source }),
        }
    }

    /// Replaces the faults of the control file.
    ///
    /// # Errors
    /// The configuration names none, or it cannot be written.
    pub fn inject(&self, faults: &[Fault]) -> Result<(), SimError> {
        let none = || SimError::Compose("the configuration has no `control` file".into());
        faults::write(self.world.config.control.as_ref().ok_or_else(none)?, faults)
    }

    /// Time and power of a workload on a GPU at supported clocks, without communication: what measurements should find.
    ///
    /// # Errors
    /// An unknown GPU or workload.
    pub fn truth(&self, uuid: &str, workload: &str, sm_mhz: u32, mem_mhz: u32) -> Result<Physics, SimError> {
        let (gpu, number) = (self.gpu(uuid)?, self.workload(uuid, workload)?);
        let unknown =
            || SimError::UnknownWorkload { workload: workload.into(), kind: self.config().gpus[gpu].kind.clone() };
        self.world.truth(gpu).at(number, sm_mhz, mem_mhz).ok_or_else(unknown)
    }

    /// Registers a living process on its GPUs; the number is for [`Simulator::progress`] and [`Simulator::detach`].
    ///
    /// # Errors
    /// An unknown GPU or workload, a process that does not exist, or no room.
    pub fn attach(&self, pid: u32, spec: &JobSpec) -> Result<u64, SimError> {
        let started = process::started(pid).ok_or(SimError::NoProcess(pid))?;
        let mut job = JobState {
            used: 1,
            pid,
            started,
            lingers: u32::from(spec.lingers),
            target: spec.steps,
            ..JobState::default()
        };
        for uuid in &spec.gpus {
            job.gpus |= 1 << self.gpu(uuid)?;
            job.workload = u32::try_from(self.workload(uuid, &spec.workload)?).unwrap_or(u32::MAX);
        }
        let startup = Duration::try_from_secs_f64(spec.startup_s).unwrap_or_default();
        self.update(|state| {
            let free = state.jobs.iter_mut().find(|job| job.used == 0).ok_or(SimError::TooManyJobs(MAX_JOBS))?;
            job.id = state.next_job;
            job.begins_ns = state.sim_ns.saturating_add(nanoseconds(startup));
            *free = job;
            state.next_job += 1;
            Ok(job.id)
        })?
    }

    /// Removes a process from its GPUs.
    ///
    /// # Errors
    /// The state file cannot be locked.
    pub fn detach(&self, id: u64) -> Result<(), SimError> {
        self.update(|state| state.jobs.iter_mut().filter(|job| job.id == id).for_each(|job| job.used = 0))
    }

    /// How far a process is; none if it is not registered.
    ///
    /// # Errors
    /// The state file cannot be locked.
    pub fn progress(&self, id: u64) -> Result<Option<Progress>, SimError> {
        self.update(|state| {
            let job = state.jobs.iter().find(|job| job.used != 0 && job.id == id)?;
            Some(Progress {
                steps: job.progress,
                rate: job.rate,
                now_s: state.sim_ns as f64 / 1e9,
                began_s: job.begins_ns as f64 / 1e9,
                ended_s: (job.ended_ns != 0).then_some(job.ended_ns as f64 / 1e9),
                lost: job.gpus().any(|gpu| state.gpus[gpu].lost != 0),
            })
        })
    }

    /// Runs one call of NVML: faults first, then `body` on the state of this moment.
    ///
    /// # Errors
    /// A code of NVML: of a fault, or of the body.
    pub fn call<T>(
        &self,
        name: &str,
        gpu: Option<usize>,
        body: impl FnMut(&World, &mut State, &Effect) -> Result<T, Code>,
    ) -> Result<T, Code> {
        self.judged(false, name, gpu, body)
    }

    /// A call; `changes`: it changes more than what it counts.
    fn judged<T>(
        &self,
        changes: bool,
        name: &str,
        gpu: Option<usize>,
        mut body: impl FnMut(&World, &mut State, &Effect) -> Result<T, Code>,
    ) -> Result<T, Code> {
        let mut judged: Option<Effect> = None;
        loop {
            let outcome = self.update_with(changes, |state, faults| {
                let fresh = judged.is_none();
                let effect = *judged.get_or_insert_with(|| faults::judge(faults, state, name, gpu));
                if fresh && effect.hang_s.is_some() {
                    return None;
                }
                Some(effect.code.map_or_else(|| body(&self.world, state, &effect), Err))
            });
            match (outcome, judged.and_then(|effect| effect.hang_s)) {
                (Ok(Some(result)), _) => return result,
                (Ok(None), Some(seconds)) => hang_for(seconds),
                _ => return Err(UNKNOWN),
            }
        }
    }

    /// As [`Simulator::call`] for a call that sets something on a GPU: needs permission and goes to the journal.
    ///
    /// # Errors
    /// A code of NVML.
    pub fn set(
        &self,
        name: &str,
        gpu: usize,
        arguments: &str,
        mut body: impl FnMut(&World, &mut State, &Effect) -> Result<(), Code>,
    ) -> Result<(), Code> {
        let outcome = self.judged(true, name, Some(gpu), |world, state, effect| {
            crate::settings::permitted(world.config.settings_need)?;
            body(world, state, effect)?;
            self.write_journal(state.real_ns, state.sim_ns, name, gpu, arguments, 0);
            Ok(())
        });
        outcome.inspect_err(|&code| {
            self.write_journal(nanoseconds(clock::monotonic()), 0, name, gpu, arguments, code);
        })
    }

    fn write_journal(&self, real_ns: u64, sim_ns: u64, call: &str, gpu: usize, arguments: &str, code: u32) {
        let Some(path) = &self.world.config.journal else { return };
        let (pid, gpu) = (std::process::id(), self.world.config.gpus[gpu].uuid.clone());
        let line = JournalLine { real_ns, sim_ns, pid, call: call.into(), arguments: arguments.into(), gpu, code };
        let Ok(mut text) = serde_json::to_string(&line) else { return };
        text.push('\n');
        // A test reads it; a driver would not fail for it.
        let _ = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .and_then(|mut file| file.write_all(text.as_bytes()));
    }

    /// Runs something on the state of this moment.
    ///
    /// # Errors
    /// The state file cannot be locked.
    pub fn update<T>(&self, change: impl FnOnce(&mut State) -> T) -> Result<T, SimError> {
        self.update_with(true, |state, _| change(state))
            .map_err(|source| SimError::State { path: self.world.config.state.clone(), source })
    }

    fn update_with<T>(&self, changes: bool, change: impl FnOnce(&mut State, &[Fault]) -> T) -> std::io::Result<T> {
        let mut cache = self.faults.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        cache.refresh(&self.world.config);
        let lowered = faults::lowered(&cache.faults);
        let fresh = || State { real_ns: nanoseconds(clock::monotonic()), ..self.world.initial(self.fingerprint) };
        self.shared.update(fresh, |state| {
            let mut lost = lost(state);
            if state.fingerprint != self.fingerprint {
                *state = fresh();
            }
            let other_faults = state.faults_fingerprint != cache.fingerprint;
            if other_faults {
                state.faults_fingerprint = cache.fingerprint;
                state.fault_calls.fill(0);
            }
            faults::lose(&cache.faults, state);
            if other_faults || self::lost(state) != lost {
                self.world.settle(state, &lowered);
            }
            let now = nanoseconds(clock::monotonic());
            let passed = now.saturating_sub(state.real_ns);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is >= 0")]
            let simulated = (passed as f64 * self.world.config.speedup) as u64;
            state.real_ns = now;
            self.world.follow(state, state.sim_ns.saturating_add(simulated), &lowered);
            lost = self::lost(state);
            let someone_died = bury(state, now);
            let result = change(state, &cache.faults);
            if changes || someone_died || self::lost(state) != lost {
                self.world.settle(state, &lowered);
            }
            result
        })
    }

    fn gpu(&self, uuid: &str) -> Result<usize, SimError> {
        self.world.config.index_of(uuid).ok_or_else(|| SimError::UnknownGpu(uuid.into()))
    }

    fn workload(&self, uuid: &str, name: &str) -> Result<usize, SimError> {
        let kind = &self.world.config.gpus[self.gpu(uuid)?].kind;
        let found = self.world.config.workload(name).filter(|(_, workload)| workload.types.contains_key(kind));
        found
            .map(|(number, _)| number)
            .ok_or_else(|| SimError::UnknownWorkload { workload: name.into(), kind: kind.clone() })
    }
}

impl FaultCache {
    fn refresh(&mut self, config: &Config) {
        let metadata = config.control.as_ref().and_then(|path| fs::metadata(path).ok());
        let stamp = metadata.map(|metadata| {
            use std::os::unix::fs::MetadataExt as _;
            let time =
                Duration::new(metadata.mtime().unsigned_abs(), u32::try_from(metadata.mtime_nsec()).unwrap_or(0));
            (time, metadata.ino(), metadata.len())
        });
        if self.fingerprint != 0 && stamp == self.stamp {
            return;
        }
        self.stamp = stamp;
        self.faults.clone_from(&config.faults);
        let file = config.control.as_ref().and_then(|path| fs::read(path).ok());
        if let Some(file) = file.and_then(|bytes| serde_json::from_slice::<FaultFile>(&bytes).ok()) {
            self.faults.extend(file.faults);
        }
        self.fingerprint = hash(&serde_json::to_vec(&self.faults).unwrap_or_default()).max(1);
    }
}

/// Which GPUs fell off the bus, a bit each.
fn lost(state: &State) -> u64 {
    state.gpus.iter().enumerate().fold(0, |bits, (index, gpu)| bits | u64::from(gpu.lost != 0) << index)
}

/// Frees the entries of processes that died; whether there were any.
fn bury(state: &mut State, now_ns: u64) -> bool {
    let look = now_ns.saturating_sub(state.looked_ns) >= LOOK_NS;
    if !look && now_ns.saturating_sub(state.tried_ns) < TRY_NS {
        return false;
    }
    state.tried_ns = now_ns;
    if look {
        state.looked_ns = now_ns;
    }
    let alive = |job: &JobState| {
        if look { lives(job) } else { process::exists(job.pid) }
    };
    let mut died = false;
    for job in state.jobs.iter_mut().filter(|job| job.used != 0 && !alive(job)) {
        (job.used, died) = (0, true);
    }
    died
}

/// Whether the process of an entry lives, looked up now.
pub(crate) fn lives(job: &JobState) -> bool {
    process::started(job.pid) == Some(job.started)
}

fn hang_for(seconds: f64) {
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) => clock::pause(time),
        Err(_) => loop {
            clock::pause(Duration::from_secs(3600));
        },
    }
}

/// Everything that a state depends on; faults, speed and paths may change under it.
fn fingerprint(config: &Config) -> u64 {
    let fixed = Config {
        speedup: 1.0,
        faults: Vec::new(),
        journal: None,
        control: None,
        settings_need: crate::config::Privilege::Root,
        ..config.clone()
    };
    hash(&serde_json::to_vec(&fixed).unwrap_or_default())
}

/// FNV-1a: G. Fowler, L. Noll, K.-P. Vo, 1991.
fn hash(bytes: &[u8]) -> u64 {
    let fnv = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    mix(fnv)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
