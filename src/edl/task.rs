//! One task: how its time and power follow core voltage, core clock and memory clock.
//!
//! # Model
//! V = 2 (fc - 0.5)^2 + 0.5, t = D (delta/fc + (1 - delta)/fm) + t0, P = P0 + gamma fm + c V^2 fc, all clocks and the
//! voltage relative to the default. For a voltage V the core clock is fc = 0.5 + sqrt((V - 0.5)/2), and the best memory
//! clock for it fm = sqrt((P0 + c V^2 fc) D (1 - delta) / (gamma (t0 + D delta/fc))), between 0.5 and 1.2. Voltages are
//! 0.50, 0.55 ... 1.25.
//!
//! Drawn are P* of 175-206 W, P0 20-41 % and gamma 10-20 % of it, the rest c; D of 1.66-7.61 and t0 of 0.1-0.95, times
//! k = 10..50 units of time; delta of 0.07-0.91; deadline = arrival + default time / u, u of 0.25-0.75, online 0.15-0.85.
//!
//! Only basic arithmetic and square roots are used, which IEEE 754 fixes: same seed, same task anywhere.
//!
//! # References
//! X. Mei, Q. Wang, X. Chu, H. Liu, Y.-W. Leung, Z. Li, "Energy-aware task scheduling with deadline constraint in
//! DVFS-enabled heterogeneous clusters", IEEE TPDS 2022.

use rats_domain::random::Random;

/// Seconds of a unit of time.
pub const UNIT_S: i64 = 60;
/// Units of time over which tasks come online.
pub const ONLINE: i64 = 1440;
/// Voltages: so many steps of 0.05 from 0.50.
const STEPS: u32 = 15;
/// Limits of the memory clock.
const MEMORY: (f64, f64) = (0.5, 1.2);

/// The parameters of one task; times in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// First unit of time in which it is there.
    pub arrival: i64,
    p0: f64,
    gamma: f64,
    c: f64,
    d: f64,
    t0: f64,
    delta: f64,
    urgency: f64,
}

/// Core and memory clock, relative to the default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clocks {
    /// Core clock.
    pub core: f64,
    /// Memory clock.
    pub memory: f64,
}

/// The clocks that stand for what the user asked for.
pub const DEFAULT: Clocks = Clocks { core: 1.0, memory: 1.0 };

impl Task {
    /// Draws all tasks of a seed.
    pub fn draw_all(seed: u64, tasks: i64, online: bool) -> Vec<Self> {
        let mut random = Random::new(seed.wrapping_mul(8).wrapping_add(7));
        // A fifth of the tasks is there at the beginning: 0.4 of 2.0 a GPU.
        let arrival = |number: i64, random: &mut Random| {
            if online && 5 * number >= tasks { random.within(1, ONLINE) } else { 0 }
        };
        (0..tasks)
            .map(|number| {
                let arrival = arrival(number, &mut random);
                Self::draw(&mut random, arrival, if online { (0.15, 0.85) } else { (0.25, 0.75) })
            })
            .collect()
    }

    fn draw(random: &mut Random, arrival: i64, (least, most): (f64, f64)) -> Self {
        let mut uniform =
            |low: f64, high: f64| low + (high - low) * (random.bits() >> 11) as f64 / (1_u64 << 53) as f64;
        let watts = uniform(175.0, 206.0);
        let (p0, gamma) = (watts * uniform(0.20, 0.41), watts * uniform(0.1, 0.2));
        let (d, t0) = (uniform(1.66, 7.61), uniform(0.1, 0.95));
        let (delta, urgency) = (uniform(0.07, 0.91), uniform(least, most));
        let k = random.within(10, 50) as f64 * UNIT_S as f64;
        Self { arrival, p0, gamma, c: watts - p0 - gamma, d: d * k, t0: t0 * k, delta, urgency }
    }

    /// Time at these clocks, s.
    pub fn seconds(&self, Clocks { core, memory }: Clocks) -> f64 {
        self.d * (self.delta / core + (1.0 - self.delta) / memory) + self.t0
    }

    /// Power at these clocks, W.
    pub fn watts(&self, Clocks { core, memory }: Clocks) -> f64 {
        let voltage = 2.0 * (core - 0.5) * (core - 0.5) + 0.5;
        self.p0 + self.gamma * memory + self.c * voltage * voltage * core
    }

    /// Time from arrival to deadline, s.
    pub fn window(&self) -> f64 {
        self.seconds(DEFAULT) / self.urgency
    }

    /// The clocks of the grid: one pair for each voltage.
    pub fn grid(&self) -> impl Iterator<Item = Clocks> + '_ {
        (0..=STEPS).map(|step| {
            let voltage = 0.5 + 0.05 * f64::from(step);
            let core = core_of(voltage);
            Clocks { core, memory: self.best_memory(voltage, core) }
        })
    }

    /// The least time at any clocks, s.
    pub fn least_seconds(&self) -> f64 {
        self.seconds(Clocks { core: core_of(0.5 + 0.05 * f64::from(STEPS)), memory: MEMORY.1 })
    }

    fn best_memory(&self, voltage: f64, core: f64) -> f64 {
        let dynamic = (self.p0 + self.c * voltage * voltage * core) * self.d * (1.0 - self.delta);
        (dynamic / (self.gamma * (self.t0 + self.d * self.delta / core))).sqrt().clamp(MEMORY.0, MEMORY.1)
    }
}

fn core_of(voltage: f64) -> f64 {
    0.5 + ((voltage - 0.5) / 2.0).sqrt()
}
