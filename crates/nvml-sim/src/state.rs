//! The state that all processes share: plain numbers in a fixed layout, of which every bit pattern is a value.

/// GPUs that fit.
pub const MAX_GPUS: usize = 32;
/// Running processes that fit.
pub const MAX_JOBS: usize = 128;
/// Faults that fit.
pub const MAX_FAULTS: usize = 32;
/// Ticks of the energy counter in the window of averaged power, and one more.
pub const RING: usize = 11;

/// Everything that changes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// Of the configuration that it belongs to.
    pub fingerprint: u64,
    /// Real time to which it was advanced, ns of the monotonic clock.
    pub real_ns: u64,
    /// Simulated time, ns.
    pub sim_ns: u64,
    /// Real time at which processes were last looked up, ns.
    pub looked_ns: u64,
    /// Real time at which their ids were last tried, ns.
    pub tried_ns: u64,
    /// Of the list of faults that the counts belong to.
    pub faults_fingerprint: u64,
    /// Number of the next process.
    pub next_job: u64,
    /// Calls that each fault has seen.
    pub fault_calls: [u64; MAX_FAULTS],
    /// By index.
    pub gpus: [GpuState; MAX_GPUS],
    /// Running processes; `used` says which entries are.
    pub jobs: [JobState; MAX_JOBS],
}

/// One GPU. Clocks are MHz, 0 where nothing is set.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct GpuState {
    /// Lowest locked SM clock, snapped.
    pub lock_min: u32,
    /// Highest locked SM clock, snapped.
    pub lock_max: u32,
    /// Lowest locked memory clock, snapped.
    pub mem_lock_min: u32,
    /// Highest locked memory clock, snapped.
    pub mem_lock_max: u32,
    /// Application SM clock.
    pub app_sm: u32,
    /// Application memory clock.
    pub app_mem: u32,
    /// Power limit, mW.
    pub limit_mw: u32,
    /// Persistence mode.
    pub persistence: u32,
    /// 1: it fell off the bus.
    pub lost: u32,
    /// SM clock above which heat does not let it, 0 for none.
    pub thermal_cap: u32,
    /// SM clock reached.
    pub sm_mhz: u32,
    /// Memory clock reached.
    pub mem_mhz: u32,
    /// What holds the clock down: bits of NVML.
    pub reasons: u64,
    /// Power at this moment, mW.
    pub power_mw: f64,
    /// Share of time in which a kernel runs.
    pub busy: f64,
    /// Degrees Celsius.
    pub temperature_c: f64,
    /// Energy drawn, mJ.
    pub energy_mj: f64,
    /// What the counter shows, mJ: the energy at its last tick.
    pub counter_mj: f64,
    /// What a stuck counter shows, mJ; 0 for one that runs.
    pub stuck_mj: f64,
    /// Energy at the last ticks, mJ; the tick with number n is at n mod [`RING`].
    pub ring_mj: [f64; RING],
    /// Time held down by the power limit, ns.
    pub power_capped_ns: u64,
    /// Time held down by heat, ns.
    pub heat_capped_ns: u64,
}

/// A process on one or several GPUs.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct JobState {
    /// 0 for a free entry.
    pub used: u32,
    /// Process id.
    pub pid: u32,
    /// Start time of the process, so that another of the same id is told apart.
    pub started: u64,
    /// Number that no other process of this state had.
    pub id: u64,
    /// Bit g: it uses GPU g.
    pub gpus: u64,
    /// Number of its workload, in order of names.
    pub workload: u32,
    /// 1: it waits on the GPU after its last step (draws blocked power); 0: it leaves the GPU idle.
    pub lingers: u32,
    /// Simulated time at which its steps begin, ns.
    pub begins_ns: u64,
    /// Simulated time at which its last step ended, ns; 0 before.
    pub ended_ns: u64,
    /// Steps to do.
    pub target: f64,
    /// Steps done.
    pub progress: f64,
    /// Steps in a simulated second, now.
    pub rate: f64,
}

impl State {
    /// Nothing set, nothing running.
    pub fn new(fingerprint: u64) -> Self {
        Self {
            fingerprint,
            real_ns: 0,
            sim_ns: 0,
            looked_ns: 0,
            tried_ns: 0,
            faults_fingerprint: 0,
            next_job: 1,
            fault_calls: [0; MAX_FAULTS],
            gpus: [GpuState::default(); MAX_GPUS],
            jobs: [JobState::default(); MAX_JOBS],
        }
    }
}

impl JobState {
    /// Whether it uses a GPU.
    pub fn uses(&self, gpu: usize) -> bool {
        self.used != 0 && self.gpus >> gpu & 1 == 1
    }

    /// Whether it computes at a simulated time.
    pub fn computes(&self, sim_ns: u64) -> bool {
        self.used != 0 && self.begins_ns <= sim_ns && self.ended_ns == 0 && self.progress < self.target
    }

    /// The GPUs it uses, ascending.
    pub fn gpus(&self) -> impl Iterator<Item = usize> + '_ {
        (0..MAX_GPUS).filter(|&gpu| self.uses(gpu))
    }
}
