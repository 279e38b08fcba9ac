//! Points that the model chooses against an even grid of as many points: how far the fitted curves are off at all clocks.
//!
//! `RATS_CHOICE_SEEDS` says how many simulated GPUs of each kind; the default is for CI.

use nvml_sim::simulator::Simulator;
use rats_domain::random::Random;
use rats_models::dvfs::curve::Curve;
use rats_models::dvfs::scope::{Axis as Core, Place, Sample};
use rats_models::score::Quantity;
use rats_models::statistics::median;
use rats_testbed::profile::axis::Axis;
use rats_testbed::profile::choose::{Known, next};
use rats_testbed::profile::target::Target;

use crate::simulated::machine;

/// Points of the coarse grid, and all of them.
const COARSE: usize = 5;
const BUDGET: usize = 9;

/// Relative noise of a measured time and power (one standard deviation): what neighboring points of published sweeps show.
const NOISE: (f64, f64) = (0.001, 0.005);

/// Kinds and workloads: smooth ones, and two that meet their power limit.
const CASES: [(&str, &str); 8] = [
    ("A100-SXM4-80GB", "a100-sxm-80gb-perseus-bloom-stage0"),
    ("A100-SXM4-80GB", "a100-sxm-80gb-perseus-gpt3-175b-stage7"),
    ("A40", "a40-perseus-bloom-stage0"),
    ("A40", "a40-perseus-gpt3-175b-stage7"),
    ("V100", "v100-ttu-fft"),
    ("V100", "v100-ttu-lud"),
    ("V100", "v100-ttu-kmeans"),
    ("V100", "v100-ttu-tpacf"),
];

/// A simulated GPU, measured with noise.
struct Bench {
    simulator: Simulator,
    uuid: String,
    mem_mhz: u32,
    clocks: Vec<i64>,
    random: Random,
}

impl Bench {
    fn new(kind: &str, profile: &str, seed: u64) -> Self {
        let (_directory, simulator) = machine(&[(kind, 1)], &[("net", &[profile])], 1.0, seed, |_| {});
        let (config, mem_mhz) = (simulator.config(), simulator.config().kind(0).default_mem_mhz);
        let uuid = config.gpus[0].uuid.clone();
        let clocks = config.kind(0).sm_clocks(mem_mhz).unwrap().iter().map(|&clock| i64::from(clock)).collect();
        Self { simulator, uuid, mem_mhz, clocks, random: Random::new(seed) }
    }

    fn truth(&self, sm_mhz: i64) -> (f64, f64) {
        let truth = self.simulator.truth(&self.uuid, "net", u32::try_from(sm_mhz).unwrap(), self.mem_mhz).unwrap();
        (truth.step_s, truth.power_mw / 1e3)
    }

    fn measure(&mut self, sm_mhz: i64) -> Known {
        let (step_s, power_w) = self.truth(sm_mhz);
        let mut noisy = |value: f64, noise: f64| value * (noise * self.random.normal()).exp();
        let target = Target { sm_mhz: Some(sm_mhz), ..Target::default() };
        Known { target, step_s: noisy(step_s, NOISE.0), power_w: noisy(power_w, NOISE.1) }
    }

    /// An even grid.
    fn even(&mut self, points: usize) -> Vec<Known> {
        Axis::Count(points).values(&self.clocks).into_iter().map(|clock| self.measure(clock)).collect()
    }

    /// A coarse grid, then points of which the model knows least.
    fn chosen(&mut self) -> Vec<Known> {
        let mut known = self.even(COARSE);
        let target = |&mhz: &i64| Target { sm_mhz: Some(mhz), ..Target::default() };
        let candidates: Vec<Target> = self.clocks.iter().map(target).collect();
        while known.len() < BUDGET {
            let doubt = next(&candidates, &known).unwrap();
            known.push(self.measure(doubt.target.sm_mhz.unwrap()));
        }
        known
    }

    /// Relative error of the energy of a step over all clocks: mean, and the largest.
    fn error(&self, known: &[Known]) -> (f64, f64) {
        let place = |mhz: i64| Place { core: mhz as f64, mem: 1.0 };
        let samples = |value: fn(&Known) -> f64| -> Vec<Sample> {
            let sample = |known: &Known| Sample { at: place(known.target.sm_mhz.unwrap()), value: value(known) };
            known.iter().map(sample).collect()
        };
        let time = Curve::fit(Quantity::Time, Core::Clock, &samples(|known| known.step_s), None).unwrap();
        let power = Curve::fit(Quantity::Power, Core::Clock, &samples(|known| known.power_w), None).unwrap();
        let off = |&mhz: &i64| {
            let (step_s, power_w) = self.truth(mhz);
            let of = |value: f64, truth: f64| (value / truth - 1.0).abs();
            of(time.value(place(mhz)), step_s).max(of(power.value(place(mhz)), power_w))
        };
        let all: Vec<f64> = self.clocks.iter().map(off).collect();
        (all.iter().sum::<f64>() / all.len() as f64, all.iter().copied().fold(0.0, f64::max))
    }
}

#[test]
fn chosen_points_make_better_curves_than_an_even_grid_of_as_many() {
    let seeds = std::env::var("RATS_CHOICE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let (mut wins, mut ratios) = (0, Vec::new());
    println!("{:<40} {:>14} {:>14}", "mean and largest error", "even grid", "chosen");
    for (kind, profile) in CASES {
        let runs: Vec<[(f64, f64); 2]> = (1..=seeds)
            .map(|seed| {
                let mut bench = Bench::new(kind, profile, seed);
                let (even, chosen) = (bench.even(BUDGET), bench.chosen());
                [bench.error(&even), bench.error(&chosen)]
            })
            .collect();
        let middle = |which: usize, of: fn(&(f64, f64)) -> f64| {
            100.0 * median(&runs.iter().map(|run| of(&run[which])).collect::<Vec<_>>()).unwrap()
        };
        let [even, chosen] = [0, 1].map(|which| (middle(which, |error| error.0), middle(which, |error| error.1)));
        println!("{profile:<40} {:>6.2} {:>5.2} % {:>6.2} {:>5.2} %", even.0, even.1, chosen.0, chosen.1);
        wins += runs.iter().filter(|run| run[1].0 < run[0].0).count();
        ratios.extend(runs.iter().map(|run| run[1].0 / run[0].0));
    }
    let ratio = median(&ratios).unwrap();
    println!("chosen over even, mean error, median of {}: {ratio:.2}; better in {wins}", ratios.len());
    assert!(ratio < 1.0, "{ratio}");
}
