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
const BUDGETS: [(usize, usize); 3] = [(5, 8), (5, 9), (6, 12)];

/// Relative noise of a measured time and power (one standard deviation): what neighboring points of published sweeps show.
const NOISE: (f64, f64) = (0.001, 0.005);

/// Kinds and workloads that were measured over their clocks; the A40 meets its power limit.
const CASES: [(&str, &str); 8] = [
    ("A100-SXM4-80GB", "a100-sxm-80gb-perseus-bloom-stage0"),
    ("A100-SXM4-80GB", "a100-sxm-80gb-perseus-bloom-stage7"),
    ("A100-SXM4-80GB", "a100-sxm-80gb-perseus-gpt3-175b-stage0"),
    ("A100-SXM4-80GB", "a100-sxm-80gb-perseus-gpt3-175b-stage7"),
    ("A40", "a40-perseus-bloom-stage0"),
    ("A40", "a40-perseus-bloom-stage7"),
    ("A40", "a40-perseus-gpt3-175b-stage0"),
    ("A40", "a40-perseus-gpt3-175b-stage7"),
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
    fn chosen(&mut self, coarse: usize, budget: usize) -> Vec<Known> {
        let mut known = self.even(coarse);
        let target = |&mhz: &i64| Target { sm_mhz: Some(mhz), ..Target::default() };
        let candidates: Vec<Target> = self.clocks.iter().map(target).collect();
        while known.len() < budget {
            let doubt = next(&candidates, &known).unwrap();
            known.push(self.measure(doubt.target.sm_mhz.unwrap()));
        }
        known
    }

    /// The larger one of the relative errors of time and power, over all clocks: mean, and the largest.
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

/// Geometric mean.
fn typical(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

#[test]
fn chosen_points_make_as_good_curves_as_an_even_grid_of_as_many_that_knew_their_number() {
    let seeds = std::env::var("RATS_CHOICE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    for (coarse, budget) in BUDGETS {
        let (mut means, mut mosts) = (Vec::new(), Vec::new());
        println!("{coarse} and {} chosen, against {budget} even: mean and largest error", budget - coarse);
        for (kind, profile) in CASES {
            let run = |seed| {
                let mut bench = Bench::new(kind, profile, seed);
                let (even, chosen) = (bench.even(budget), bench.chosen(coarse, budget));
                [bench.error(&even), bench.error(&chosen)]
            };
            let runs: Vec<[(f64, f64); 2]> = (1..=seeds).map(run).collect();
            let middle = |which: usize, of: fn(&(f64, f64)) -> f64| {
                100.0 * median(&runs.iter().map(|run| of(&run[which])).collect::<Vec<_>>()).unwrap()
            };
            let [even, chosen] = [0, 1].map(|which| (middle(which, |error| error.0), middle(which, |error| error.1)));
            println!("{profile:<40} {:>5.2} {:>5.2} % {:>6.2} {:>5.2} %", even.0, even.1, chosen.0, chosen.1);
            means.extend(runs.iter().map(|run| run[1].0 / run[0].0));
            mosts.extend(runs.iter().map(|run| run[1].1 / run[0].1));
        }
        let (mean, most) = (typical(&means), typical(&mosts));
        println!("chosen over even, {} runs: mean error {mean:.2}, largest {most:.2}", means.len());
        // Few points are as good as even ones, more are better.
        let bound = if budget > 9 { 0.95 } else { 1.15 };
        assert!(mean < bound && most < bound, "{mean} {most}");
    }
}
