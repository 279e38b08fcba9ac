//! From measured seconds, watts and bytes to ticks, watts and rates: the formulas of the model's section 5.
//!
//! # Model
//! One gang of g GPUs at one operating point, with stretches phi and psi:
//!
//! ```text
//! volume  = 2 (g-1)/g * gradient_bytes
//! ring    = volume / (B/phi) + 2 (g-1) L                  0 for g = 1
//! exposed = max(0, ring - overlap * step)
//! read    = g * input_bytes / (R/psi)
//! t       = max(step + exposed, read)
//! run     = startup + steps * t
//! ticks   = max(1, ceil(run/tick - 1e-9))
//! peak    = g * (power * step + blocked * (t - step)) / t
//! mean    = (peak * steps * t + g * blocked * startup + g * idle * (ticks*tick - run)) / (ticks*tick)
//! ```
//!
//! B is what the narrowest link leaves after the gang's own reads, R what the store and the nodes' uplinks deliver. The
//! ring's rate is what it needs *while* it transfers: volume / (max(ring, overlap * step) - 2 (g-1) L), at most B/phi.
//!
//! A margin m lengthens startup and every step by the factor 1 + m at unchanged powers and rates, so that time and
//! energy are both on the safe side.
//!
//! # Limits
//! Links without a limit leave only the latency. The ring then needs volume / (overlap * step - 2 (g-1) L), or, if
//! nothing can hide it, no rate that a limit could be set against: 0.
//!
//! # References
//! P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009 (volume and hops
//! of a ring).

use rats_domain::units::{KilobytesPerSecond, Milliwatts, Ticks};

/// Bytes per second in 1 kB/s.
const BYTES: f64 = 1e3;
/// Share of a tick by which a run may overhang its last tick.
const OVERHANG: f64 = 1e-9;
/// What floating-point noise may add to a power in mW or take off a rate in kB/s.
const NOISE: f64 = 1e-6;
/// Largest rate that an instance may hold, kB/s.
const MOST_RATE: f64 = 1e12;

/// What one GPU does in one step, without communication.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Time, s.
    pub seconds: f64,
    /// Mean board power during it, W.
    pub watts: f64,
    /// Power while waiting, W.
    pub blocked_w: f64,
    /// Bytes that the gang sums.
    pub gradient_bytes: f64,
    /// Bytes that each GPU reads from the store.
    pub input_bytes: f64,
    /// Share of the step behind which communication hides, 0 to 1.
    pub overlap: f64,
}

/// What a gang finds between its GPUs and towards the store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Network {
    /// The narrowest link inside the span, kB/s; infinite without a limit.
    pub link_kb_s: f64,
    /// The most GPUs of the gang that read through that link.
    pub behind_link: f64,
    /// R: what store and uplinks deliver to the gang, kB/s; infinite without a limit.
    pub supply_kb_s: f64,
    /// L: latency of one hop, s.
    pub latency_s: f64,
}

/// How much less than everything a job is content with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// phi: its ring takes 1/phi of the link.
    pub ring: f64,
    /// psi: its reads take 1/psi of the supply.
    pub read: f64,
}

/// How long a gang runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Length {
    /// Time before the first step, s.
    pub startup_s: f64,
    /// Steps.
    pub steps: f64,
    /// Share by which everything may take longer.
    pub margin: f64,
}

/// What planning adds: its ticks, and what a GPU draws in the rest of the last one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Length of a tick, s.
    pub tick_s: f64,
    /// Power of a GPU that runs nothing, W.
    pub idle_w: f64,
}

/// One step of a gang.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GangStep {
    /// t, s.
    pub seconds: f64,
    /// Power of the gang while it runs, W.
    pub watts: f64,
    /// Ring traffic while it transfers, kB/s.
    pub ring_kb_s: f64,
    /// Reads of the gang, kB/s.
    pub read_kb_s: f64,
}

/// What an instance says of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Occupancy.
    pub ticks: Ticks,
    /// Mean power over the occupancy, rounded up.
    pub power: Milliwatts,
    /// Power while it runs, rounded up.
    pub peak: Milliwatts,
    /// Ring traffic, rounded down.
    pub ring: KilobytesPerSecond,
    /// Reads, rounded down.
    pub read: KilobytesPerSecond,
}

/// Power of a GPU that waits, where nothing was measured: idle + 10 % of (limit - idle), W.
pub fn assumed_blocked_w(idle_w: f64, limit_w: f64) -> f64 {
    idle_w + 0.1 * (limit_w - idle_w)
}

/// Steps of a gang that handles `batch` samples per GPU and step.
pub fn steps(samples: f64, gang: f64, batch: f64) -> f64 {
    (samples / (gang * batch)).ceil().max(1.0)
}

/// One step of a gang; `None` if its own reads leave nothing of the link that its ring needs.
pub fn gang_step(step: &Step, gang: u32, network: &Network, stretch: Stretch) -> Option<GangStep> {
    let g = f64::from(gang);
    let supply = network.supply_kb_s / stretch.read;
    let hidden_s = step.overlap * step.seconds;
    let (exposed_s, ring_kb_s) = if gang == 1 {
        (0.0, 0.0)
    } else {
        let latency_s = 2.0 * (g - 1.0) * network.latency_s;
        let own_reads = supply.min(g * step.input_bytes / step.seconds / BYTES) * g.min(network.behind_link) / g;
        let link = (network.link_kb_s - own_reads) / stretch.ring;
        if link <= 0.0 {
            return None;
        }
        let volume = 2.0 * (g - 1.0) / g * step.gradient_bytes;
        let transfer_s = volume / (link * BYTES);
        let exposed_s = (transfer_s + latency_s - hidden_s).max(0.0);
        (exposed_s, ring_rate(volume, transfer_s, hidden_s - latency_s, link))
    };
    let read_s = g * step.input_bytes / (supply * BYTES);
    let seconds = (step.seconds + exposed_s).max(read_s);
    Some(GangStep {
        seconds,
        watts: g * (step.watts * step.seconds + step.blocked_w * (seconds - step.seconds)) / seconds,
        ring_kb_s,
        read_kb_s: g * step.input_bytes / seconds / BYTES,
    })
}

/// volume / max(transfer, what hides beyond the latency), without the rounding noise of adding the latency and taking
/// it off again; see Limits in the module's documentation.
fn ring_rate(volume: f64, transfer_s: f64, hidden_s: f64, link: f64) -> f64 {
    if hidden_s > transfer_s {
        volume / hidden_s / BYTES
    } else if link.is_finite() && volume > 0.0 {
        link
    } else {
        0.0
    }
}

/// A whole run of a gang whose step is known.
pub fn outcome(step: &GangStep, gang: u32, blocked_w: f64, length: &Length, frame: &Frame) -> Outcome {
    let g = f64::from(gang);
    let longer = 1.0 + length.margin;
    let (startup_s, steps_s) = (length.startup_s * longer, length.steps * step.seconds * longer);
    let run_s = startup_s + steps_s;
    let ticks = (run_s / frame.tick_s - OVERHANG).ceil().max(1.0);
    let occupancy_s = ticks * frame.tick_s;
    let joules = step.watts * steps_s + g * blocked_w * startup_s + g * frame.idle_w * (occupancy_s - run_s);
    Outcome {
        ticks: Ticks(whole(ticks)),
        power: milliwatts_up(joules / occupancy_s),
        peak: milliwatts_up(step.watts),
        ring: kilobytes_down(step.ring_kb_s),
        read: kilobytes_down(step.read_kb_s),
    }
}

/// Rounded up, but not for noise.
pub fn milliwatts_up(watts: f64) -> Milliwatts {
    Milliwatts(whole((watts * 1e3 - NOISE).ceil()))
}

fn kilobytes_down(kb_s: f64) -> KilobytesPerSecond {
    KilobytesPerSecond(whole((kb_s + NOISE).floor().min(MOST_RATE)))
}

/// A whole number as an integer; what does not fit becomes the nearest that does and is judged by the instance's rules.
#[expect(clippy::cast_possible_truncation, reason = "the casts saturate, which is what is meant")]
pub fn whole(value: f64) -> i64 {
    value as i64
}
