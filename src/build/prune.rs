//! Which options of a job may be left out because another one is at least as good in everything.
//!
//! # Model
//! The rule at the end of the model's section 5. Option o may go if option q has the same GPU type and gang size, a
//! span at least as wide, and no more ticks, energy above idle, ring, reads, need of any resource, or memory; under any
//! cap or tariff also no more mean and peak power. Of options that are equal in all this the first stays. The requested
//! option stays, and none may go where a price is negative.
//!
//! # Complexity
//! Quadratic in the options of one job.

use rats_domain::format::{InstanceFile, StepFile};

use super::choice::Choice;

/// What an instance's other parts allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pruning {
    /// Nothing may go: a price is negative.
    None,
    /// Power counts by itself: there is a cap or a tariff.
    ByPower,
    /// Only energy counts.
    ByEnergy,
}

impl Pruning {
    /// For an instance of which only the jobs' options may still be missing.
    pub fn of(file: &InstanceFile) -> Self {
        let cluster = &file.cluster;
        let negative = |StepFile(_, price): &StepFile| price.is_negative();
        if file.tariff.iter().flatten().any(negative) {
            return Self::None;
        }
        let capped = cluster.power_cap_w.is_some()
            || cluster.nodes.iter().any(|node| node.power_cap_w.is_some())
            || cluster.switches.iter().any(|switch| switch.power_cap_w.is_some());
        if capped || file.tariff.is_some() { Self::ByPower } else { Self::ByEnergy }
    }
}

/// Which options stay.
pub fn kept(choices: &[Choice], requested: usize, pruning: Pruning) -> Vec<bool> {
    if pruning == Pruning::None {
        return vec![true; choices.len()];
    }
    let covers = |q: usize, o: usize| covers(&choices[q], &choices[o], pruning);
    let stays =
        |o: usize| o == requested || !(0..choices.len()).any(|q| q != o && covers(q, o) && (q < o || !covers(o, q)));
    (0..choices.len()).map(stays).collect()
}

/// Whether `q` is at least as good as `o` in everything.
fn covers(q: &Choice, o: &Choice, pruning: Pruning) -> bool {
    let by_power =
        pruning == Pruning::ByEnergy || (q.outcome.power <= o.outcome.power && q.outcome.peak <= o.outcome.peak);
    q.gpu_type == o.gpu_type
        && q.gpus == o.gpus
        && q.span >= o.span
        && q.outcome.ticks <= o.outcome.ticks
        && above_idle(q) <= above_idle(o)
        && q.outcome.ring <= o.outcome.ring
        && q.outcome.read <= o.outcome.read
        && needs_no_more(q, o)
        && q.memory_mib <= o.memory_mib
        && by_power
}

/// Energy above that of idle GPUs, in mW ticks.
fn above_idle(choice: &Choice) -> i128 {
    let idle = i128::from(choice.idle.0) * i128::from(choice.gpus);
    (i128::from(choice.outcome.power.0) - idle) * i128::from(choice.outcome.ticks.0)
}

fn needs_no_more(q: &Choice, o: &Choice) -> bool {
    q.per_gpu.iter().all(|(name, need)| need <= o.per_gpu.get(name).unwrap_or(&0))
}
