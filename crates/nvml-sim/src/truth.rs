//! The hidden truth: what time and power a workload really takes on one GPU, from the profile of its type.
//!
//! # Model
//! Between the points of the profile power is linear in the SM clock f and the time of a step linear in 1/f (exact for
//! a + b/f). Below the lowest point f1 the time grows as 1 - d + d f1/f with the share d of it that goes with the clock, and power
//! falls in proportion to the clock towards idle. Above the highest point both stay. A memory clock m below the
//! default m0 multiplies the time by 1 + s (m0/m - 1) and takes s' (1 - m/m0) of the power above idle.
//! A GPU's own power is that times 1 + x, its time that over 1 + y times its slowness, x and y drawn once per GPU.
//!
//! # Limits
//! Power of one step is its mean: the ups and downs of layers are not there.

use rats_domain::random::Random;

use crate::config::{Config, TruthConfig};

/// Time and power of every workload on one GPU, at every SM clock it supports.
#[derive(Clone, Debug)]
pub struct GpuTruth {
    /// All SM clocks, ascending, MHz.
    clocks: Vec<u32>,
    /// By workload number; none where the workload is not described for the type.
    workloads: Vec<Option<Curve>>,
    /// Power without a job, mW.
    pub idle_mw: f64,
    /// Power of a waiting job, mW.
    pub blocked_mw: f64,
    /// Memory clock of the tables, MHz.
    default_mem: f64,
}

#[derive(Clone, Debug)]
struct Curve {
    step_s: Vec<f64>,
    power_mw: Vec<f64>,
    memory_share: f64,
    memory_power_share: f64,
}

/// Time of a step without communication and power during it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Physics {
    /// s.
    pub step_s: f64,
    /// mW.
    pub power_mw: f64,
}

impl GpuTruth {
    /// The truth of a GPU by index.
    pub fn new(config: &Config, gpu: usize) -> Self {
        let (kind, own) = (config.kind(gpu), &config.gpus[gpu]);
        let (power, speed) = factors(config, gpu);
        let mut clocks: Vec<u32> = kind.clocks.iter().flat_map(|clocks| clocks.sm_mhz.iter().copied()).collect();
        clocks.sort_unstable();
        clocks.dedup();
        let curve = |truth: &TruthConfig| {
            let points = clocks.iter().map(|&clock| interpolate(truth, clock, kind.idle_mw));
            let (step_s, power_mw) = points.map(|at| (at.step_s / speed * own.slowness, at.power_mw * power)).unzip();
            let (memory_share, memory_power_share) = (truth.memory_share, truth.memory_power_share);
            Curve { step_s, power_mw, memory_share, memory_power_share }
        };
        let workloads = config.workloads.values().map(|workload| workload.types.get(&own.kind).map(curve)).collect();
        Self {
            workloads,
            clocks,
            idle_mw: kind.idle_mw * power,
            blocked_mw: kind.blocked_mw * power,
            default_mem: f64::from(kind.default_mem_mhz),
        }
    }

    /// Time and power at supported clocks; none where the workload is not described.
    pub fn at(&self, workload: usize, sm_mhz: u32, mem_mhz: u32) -> Option<Physics> {
        let curve = self.workloads.get(workload)?.as_ref()?;
        let at = self.clocks.partition_point(|&clock| clock <= sm_mhz).saturating_sub(1);
        Some(self.with_memory(curve, at, mem_mhz))
    }

    /// The highest of some clocks, ascending, at which a workload draws at most a limit; the lowest if none is.
    pub fn highest_within(&self, workload: usize, clocks: &[u32], mem_mhz: u32, limit_mw: f64) -> u32 {
        let within = |clock: u32| self.at(workload, clock, mem_mhz).is_none_or(|at| at.power_mw <= limit_mw);
        clocks.iter().rev().copied().find(|&clock| within(clock)).unwrap_or(clocks[0])
    }

    fn with_memory(&self, curve: &Curve, at: usize, mem_mhz: u32) -> Physics {
        let ratio = f64::from(mem_mhz) / self.default_mem;
        let (step, power) = (curve.step_s[at], curve.power_mw[at]);
        let above = (power - self.idle_mw).max(0.0);
        Physics {
            step_s: step * (1.0 + curve.memory_share * (1.0 / ratio - 1.0)),
            power_mw: power - above * curve.memory_power_share * (1.0 - ratio),
        }
    }
}

/// Power and speed of a GPU relative to its type: 1 with the spread of the configuration, from seed and UUID.
pub fn factors(config: &Config, gpu: usize) -> (f64, f64) {
    let stream = config.gpus[gpu].uuid.bytes().fold(mix(config.seed), |hash, byte| mix(hash ^ u64::from(byte)));
    let power = 1.0 + config.power_spread * unit(mix(stream ^ 1));
    let speed = 1.0 + config.speed_spread * unit(mix(stream ^ 2));
    (power, speed)
}

/// The type's own time and power at a clock and the default memory clock.
fn interpolate(truth: &TruthConfig, clock: u32, idle_mw: f64) -> Physics {
    let points = &truth.points;
    let f = f64::from(clock);
    let after = points.partition_point(|point| point.0 <= clock);
    let (first, last) = (points[0], points[points.len() - 1]);
    if after == 0 {
        let ratio = f64::from(first.0) / f;
        let step_s = first.1 * (1.0 - truth.compute_share + truth.compute_share * ratio);
        return Physics { step_s, power_mw: idle_mw + (first.2 - idle_mw).max(0.0) / ratio };
    }
    if after == points.len() {
        return Physics { step_s: last.1, power_mw: last.2 };
    }
    let (low, high) = (points[after - 1], points[after]);
    let (f0, f1) = (f64::from(low.0), f64::from(high.0));
    let by_period = (1.0 / f0 - 1.0 / f) / (1.0 / f0 - 1.0 / f1);
    let by_clock = (f - f0) / (f1 - f0);
    Physics { step_s: low.1 + (high.1 - low.1) * by_period, power_mw: low.2 + (high.2 - low.2) * by_clock }
}

/// A number in [-1, 1).
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// The seed, mixed into bits that look random.
pub(crate) fn mix(seed: u64) -> u64 {
    Random::new(seed).bits()
}
