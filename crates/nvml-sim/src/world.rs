//! How the simulated machine moves from one moment to a later one.
//!
//! # Idea
//! Between events (a process begins or ends its steps, heat changes a clock) everything but the temperature is
//! constant, and the temperature is an exponential. So a span of any length takes constant time; only a GPU near its
//! slowdown temperature is followed tick by tick.
//!
//! # Model
//! * The clock a busy GPU reaches is the highest supported one that lock, application clock and heat allow and at which its
//!   workload draws no more than the power limit.
//! * A gang goes at its slowest GPU; its ring all-reduce of 2 (g-1)/g x gradient bytes takes volume / throughput + 2 (g-1)
//!   x latency, of which what exceeds `overlap` x step is exposed. The throughput is that of the narrowest domain with all
//!   its GPUs, divided by the number of gangs there if they share it. While a GPU waits it draws blocked power.
//! * Processes on one GPU take turns.
//! * dT/dt = (ambient + r P - T) / tau. At each tick at or above the slowdown temperature the clock falls one step; three
//!   degrees below, it rises one step.
//! * The energy counter shows the energy at the last multiple of 100 ms.
//!
//! # Complexity
//! O(events x (GPUs x clocks + processes)).
//!
//! # Limits
//! Power limits act on the power of a computing GPU, at once. A process that is killed counts as running until the
//! next call of any process to the library.
//!
//! # References
//! The ring: R. Rabenseifner, "Optimization of collective reduction operations", 2004.

use crate::config::{Architecture, Config, TypeConfig};
use crate::state::{GpuState, JobState, MAX_GPUS, RING, State};
use crate::truth::GpuTruth;

/// Period of the energy counter, simulated ns.
pub const TICK_NS: u64 = 100_000_000;
/// Degrees below the slowdown temperature at which the clock rises again.
const RECOVERY_C: f64 = 3.0;
/// Steps closer to the target than this are done, and as a share of the target: more than sums of doubles lose.
const STEP_TOLERANCE: f64 = 1e-9;
const TARGET_TOLERANCE: f64 = 1e-12;

/// Bits of NVML: why the clock is not higher.
pub mod reason {
    /// Nothing runs.
    pub const IDLE: u64 = 1;
    /// A lock or application clock.
    pub const SETTING: u64 = 2;
    /// The power limit.
    pub const POWER: u64 = 4;
    /// Heat.
    pub const HEAT: u64 = 0x20;
}

/// What does not change: the configuration and the truth behind it.
#[derive(Debug)]
pub struct World {
    /// The configuration.
    pub config: Config,
    truths: Vec<GpuTruth>,
}

impl World {
    /// The world of a checked configuration.
    pub fn new(config: Config) -> Self {
        let truths = (0..config.gpus.len()).map(|gpu| GpuTruth::new(&config, gpu)).collect();
        Self { config, truths }
    }

    /// The truth of a GPU.
    pub fn truth(&self, gpu: usize) -> &GpuTruth {
        &self.truths[gpu]
    }

    /// The state at the beginning: defaults, cool, nothing running, counters as after some time of use.
    pub fn initial(&self, fingerprint: u64) -> State {
        let mut state = State::new(fingerprint);
        for (index, gpu) in self.config.gpus.iter().enumerate() {
            let kind = self.config.kind(index);
            let energy_mj = (crate::truth::mix(self.config.seed ^ index as u64) % 1_000_000_000) as f64;
            state.gpus[index] = GpuState {
                limit_mw: kind.power_limit_mw.default,
                persistence: u32::from(gpu.persistence),
                temperature_c: kind.thermal.ambient_c + gpu.warmer_c + heat_per_mw(kind) * self.truths[index].idle_mw,
                energy_mj,
                counter_mj: energy_mj,
                ring_mj: [energy_mj; RING],
                ..GpuState::default()
            };
        }
        self.settle(&mut state, &[0; MAX_GPUS]);
        state
    }

    /// Moves to a later simulated time; `lowered_mhz` is what faults take from each clock.
    pub fn advance(&self, state: &mut State, to_ns: u64, lowered_mhz: &[u32; MAX_GPUS]) {
        self.settle(state, lowered_mhz);
        self.follow(state, to_ns, lowered_mhz);
    }

    /// As [`World::advance`] from a state in which nothing was changed since it was last settled.
    pub fn follow(&self, state: &mut State, to_ns: u64, lowered_mhz: &[u32; MAX_GPUS]) {
        while state.sim_ns < to_ns {
            let until = self.next_event(state, to_ns);
            self.pass(state, until);
            self.settle(state, lowered_mhz);
        }
    }

    /// The next time, at most `to_ns`, at which clocks, rates or powers can change.
    fn next_event(&self, state: &State, to_ns: u64) -> u64 {
        let now = state.sim_ns;
        let hot = (0..self.config.gpus.len()).any(|gpu| self.is_hot(gpu, &state.gpus[gpu]));
        let mut until = if hot { to_ns.min((now / TICK_NS + 1) * TICK_NS) } else { to_ns };
        for job in state.jobs.iter().filter(|job| job.used != 0) {
            if job.begins_ns > now {
                until = until.min(job.begins_ns);
            } else if job.computes(now) && job.rate > 0.0 {
                let left = (job.target - job.progress) / job.rate * 1e9;
                // A float beyond the range becomes the largest integer: never.
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is >= 0")]
                let left = left.ceil() as u64;
                until = until.min(now.saturating_add(left.max(1)));
            }
        }
        until
    }

    /// Lets a span pass in which nothing but temperature, energy and progress change.
    fn pass(&self, state: &mut State, until_ns: u64) {
        let now = state.sim_ns;
        let seconds = (until_ns - now) as f64 / 1e9;
        for (index, gpu) in state.gpus[..self.config.gpus.len()].iter_mut().enumerate() {
            accumulate(gpu, now, until_ns);
            let kind = self.config.kind(index);
            let steady = self.steady_c(index, gpu.power_mw);
            gpu.temperature_c = steady + (gpu.temperature_c - steady) * (-seconds / kind.thermal.time_constant_s).exp();
            for (bit, held) in [(reason::POWER, &mut gpu.power_capped_ns), (reason::HEAT, &mut gpu.heat_capped_ns)] {
                if gpu.reasons & bit != 0 {
                    *held += until_ns - now;
                }
            }
            if until_ns.is_multiple_of(TICK_NS) {
                control_heat(kind, gpu);
            }
        }
        for job in state.jobs.iter_mut().filter(|job| job.computes(now)) {
            job.progress += job.rate * seconds;
            if job.progress >= job.target - STEP_TOLERANCE - TARGET_TOLERANCE * job.target {
                job.progress = job.target;
                job.ended_ns = until_ns;
            }
        }
        state.sim_ns = until_ns;
    }

    /// Clocks reached, rates and powers at this moment; after every change of settings, processes or faults.
    pub fn settle(&self, state: &mut State, lowered_mhz: &[u32; MAX_GPUS]) {
        let State { gpus, jobs, sim_ns, .. } = state;
        let count = self.config.gpus.len();
        let mut sharing = [0_u32; MAX_GPUS];
        for (index, gpu) in gpus[..count].iter_mut().enumerate() {
            let computing = jobs.iter().filter(|job| job.uses(index) && job.computes(*sim_ns));
            sharing[index] = u32::try_from(computing.count()).unwrap_or(u32::MAX);
            self.reach(index, gpu, jobs, *sim_ns, lowered_mhz[index]);
        }
        let crowds = self.crowds(jobs, *sim_ns);
        let mut shares = [(0.0, 0.0); MAX_GPUS];
        for job in jobs.iter_mut().filter(|job| job.used != 0) {
            job.rate = 0.0;
            if job.computes(*sim_ns) {
                self.go(job, gpus, &sharing, &crowds, &mut shares);
            }
        }
        for (index, gpu) in gpus[..count].iter_mut().enumerate() {
            let waits = jobs.iter().any(|job| job.uses(index) && (job.begins_ns > *sim_ns || job.lingers != 0));
            let truth = &self.truths[index];
            (gpu.power_mw, gpu.busy) = match sharing[index] {
                _ if gpu.lost != 0 => (0.0, 0.0),
                0 if waits => (truth.blocked_mw, 1.0),
                0 => (truth.idle_mw, 0.0),
                n => (shares[index].0 / f64::from(n), shares[index].1 / f64::from(n)),
            };
        }
    }

    /// Clocks that one GPU reaches, and what holds them down.
    fn reach(&self, index: usize, gpu: &mut GpuState, jobs: &[JobState], sim_ns: u64, lowered_mhz: u32) {
        let kind = self.config.kind(index);
        gpu.mem_mhz =
            [gpu.mem_lock_max, gpu.app_mem].into_iter().find(|&clock| clock != 0).unwrap_or(kind.default_mem_mhz);
        let clocks = kind.sm_clocks(gpu.mem_mhz).unwrap_or(&kind.clocks[0].sm_mhz);
        let top = clocks[clocks.len() - 1];
        let present = jobs
            .iter()
            .any(|job| job.uses(index) && (job.computes(sim_ns) || job.begins_ns > sim_ns || job.lingers != 0));
        if !present {
            gpu.sm_mhz = if gpu.lock_min == 0 { clocks[0] } else { at_most(clocks, gpu.lock_min) };
            gpu.reasons = reason::IDLE;
            return;
        }
        let ceiling = ceiling(kind, gpu);
        let allowed = ceiling.map_or(top, |ceiling| at_most(clocks, ceiling));
        gpu.reasons = if allowed < top { reason::SETTING } else { 0 };
        let cool = if gpu.thermal_cap == 0 { allowed } else { allowed.min(at_most(clocks, gpu.thermal_cap)) };
        let powered = jobs.iter().filter(|job| job.uses(index) && job.computes(sim_ns)).fold(cool, |clock, job| {
            let within = &clocks[..clocks.partition_point(|&other| other <= clock)];
            let limit = f64::from(gpu.limit_mw);
            self.truths[index].highest_within(job.workload as usize, within, gpu.mem_mhz, limit)
        });
        if cool < allowed {
            gpu.reasons |= reason::HEAT;
        }
        if powered < cool {
            gpu.reasons |= reason::POWER;
        }
        gpu.sm_mhz = if lowered_mhz == 0 { powered } else { at_most(clocks, powered.saturating_sub(lowered_mhz)) };
    }

    /// Number of computing gangs by domain.
    fn crowds(&self, jobs: &[JobState], sim_ns: u64) -> Vec<u32> {
        let mut crowds = vec![0; self.config.domains.len()];
        let domains = jobs.iter().filter(|job| job.computes(sim_ns)).filter_map(|job| self.domain(job));
        domains.for_each(|domain| crowds[domain] += 1);
        crowds
    }

    /// The narrowest domain with all GPUs of a gang; none for a single GPU or no traffic.
    fn domain(&self, job: &JobState) -> Option<usize> {
        let traffic = self.config.workloads.values().nth(job.workload as usize)?.gradient_bytes > 0.0;
        let holds = |gpus: &[u32]| job.gpus().all(|gpu| gpus.iter().any(|&other| other as usize == gpu));
        let inside = |at: &usize| holds(&self.config.domains[*at].gpus);
        let size = |at: &usize| self.config.domains[*at].gpus.len();
        (traffic && job.gpus.count_ones() > 1)
            .then(|| (0..self.config.domains.len()).filter(inside).min_by_key(size))
            .flatten()
    }

    /// Rate of a computing process; adds its share of power and use to its GPUs.
    fn go(&self, job: &mut JobState, gpus: &[GpuState], sharing: &[u32], crowds: &[u32], shares: &mut [(f64, f64)]) {
        let at = |gpu: usize| self.truths[gpu].at(job.workload as usize, gpus[gpu].sm_mhz, gpus[gpu].mem_mhz);
        let own = |gpu: usize| at(gpu).map_or(f64::INFINITY, |at| at.step_s * f64::from(sharing[gpu].max(1)));
        let lost = job.gpus().any(|gpu| gpus[gpu].lost != 0);
        let alone = job.gpus().map(own).fold(0.0, f64::max);
        if lost || !alone.is_finite() || alone <= 0.0 {
            return;
        }
        let step_s = alone + self.exposed_s(job, alone, crowds);
        for gpu in job.gpus() {
            let Some(physics) = at(gpu) else { continue };
            let blocked = self.truths[gpu].blocked_mw;
            let computing = own(gpu) / step_s;
            shares[gpu].0 += physics.power_mw * computing + blocked * (1.0 - computing);
            shares[gpu].1 += computing;
        }
        job.rate = 1.0 / step_s;
    }

    /// Time of a step that a gang waits for its all-reduce.
    fn exposed_s(&self, job: &JobState, alone_s: f64, crowds: &[u32]) -> f64 {
        let Some(at) = self.domain(job) else { return 0.0 };
        let Some(workload) = self.config.workloads.values().nth(job.workload as usize) else { return 0.0 };
        let domain = &self.config.domains[at];
        let size = f64::from(job.gpus.count_ones());
        let flows = if domain.shared { f64::from(crowds[at].max(1)) } else { 1.0 };
        let volume = 2.0 * (size - 1.0) / size * workload.gradient_bytes;
        let ring = volume * flows / (domain.gb_s * 1e9) + 2.0 * (size - 1.0) * domain.latency_s;
        (ring - workload.overlap * alone_s).max(0.0)
    }

    fn is_hot(&self, index: usize, gpu: &GpuState) -> bool {
        let warmest = gpu.temperature_c.max(self.steady_c(index, gpu.power_mw));
        gpu.thermal_cap != 0 || warmest >= self.config.kind(index).thermal.slowdown_c
    }

    /// Temperature that a power leads to.
    fn steady_c(&self, index: usize, power_mw: f64) -> f64 {
        let kind = self.config.kind(index);
        kind.thermal.ambient_c + self.config.gpus[index].warmer_c + heat_per_mw(kind) * power_mw
    }
}

fn heat_per_mw(kind: &TypeConfig) -> f64 {
    kind.thermal.rise_c / f64::from(kind.power_limit_mw.default)
}

/// The highest SM clock that settings allow, none without one.
fn ceiling(kind: &TypeConfig, gpu: &GpuState) -> Option<u32> {
    // Before Volta the driver's application clocks hold without being asked for.
    let application = match gpu.app_sm {
        0 if kind.architecture < Architecture::Volta => Some(kind.default_sm_mhz),
        0 => None,
        clock => Some(clock),
    };
    let lock = (gpu.lock_max != 0).then_some(gpu.lock_max);
    lock.into_iter().chain(application).min()
}

/// The highest of ascending clocks that is at most `mhz`, or the lowest.
pub fn at_most(clocks: &[u32], mhz: u32) -> u32 {
    clocks[clocks.partition_point(|&clock| clock <= mhz).saturating_sub(1)]
}

/// Adds the energy of a span and lets the counter tick.
fn accumulate(gpu: &mut GpuState, now_ns: u64, until_ns: u64) {
    // mW x ns = 1e-9 mJ.
    let at = |ns: u64| gpu.energy_mj + gpu.power_mw * (ns - now_ns) as f64 / 1e9;
    let (first, last) = (now_ns / TICK_NS + 1, until_ns / TICK_NS);
    let mut ring = gpu.ring_mj;
    for tick in first.max((last + 1).saturating_sub(RING as u64))..=last {
        ring[usize::try_from(tick % RING as u64).unwrap_or(0)] = at(tick * TICK_NS);
    }
    let energy = at(until_ns);
    if last >= first {
        gpu.counter_mj = at(last * TICK_NS);
    }
    (gpu.energy_mj, gpu.ring_mj) = (energy, ring);
}

/// Mean power of the last second before the last tick, mW.
pub fn average_mw(gpu: &GpuState, sim_ns: u64) -> f64 {
    let last = sim_ns / TICK_NS;
    let at = |tick: u64| gpu.ring_mj[usize::try_from(tick % RING as u64).unwrap_or(0)];
    let window = (RING as u64 - 1).min(last);
    if window == 0 { gpu.power_mw } else { (at(last) - at(last - window)) / (window * TICK_NS) as f64 * 1e9 }
}

/// Lowers or raises the clock by a step where heat asks for it.
fn control_heat(kind: &TypeConfig, gpu: &mut GpuState) {
    let clocks = kind.sm_clocks(gpu.mem_mhz).unwrap_or(&kind.clocks[0].sm_mhz);
    let top = clocks[clocks.len() - 1];
    if gpu.temperature_c >= kind.thermal.slowdown_c {
        gpu.thermal_cap = at_most(clocks, gpu.sm_mhz.saturating_sub(1));
    } else if gpu.thermal_cap != 0 && gpu.temperature_c < kind.thermal.slowdown_c - RECOVERY_C {
        let above = clocks[clocks.partition_point(|&clock| clock <= gpu.thermal_cap).min(clocks.len() - 1)];
        gpu.thermal_cap = if above >= top { 0 } else { above };
    }
}

#[cfg(test)]
#[path = "world_tests.rs"]
mod tests;
