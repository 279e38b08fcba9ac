//! The search: ruin and recreate under simulated annealing, with weights that follow success.

use rats_domain::solver::{Control, Stop};

use super::insert::Taste;
use super::moves::{Move, Proposal};
use super::recreate::{Order, eject, recreate};
use super::ruin::Ruin;
use super::walk::{Best, Undo, Walk};

/// Rounds between two looks at weights and pressure.
const SEGMENT: u64 = 64;
/// Part of the job's scale that a worsening may have at the beginning and at the end of a cycle.
const HEAT: (f64, f64) = (0.05, 0.001);

/// Small moves after each round.
const STIRS: usize = 24;

/// How far the search has come and when it ends.
pub(super) struct Clockwork<'c> {
    pub control: &'c dyn Control,
    /// Most rounds; `None` if only time limits them.
    pub rounds: Option<u64>,
    /// Time at the beginning.
    pub whole: Option<f64>,
}

/// Weights of a choice, by success.
struct Wheel {
    weights: Vec<f64>,
}

impl Wheel {
    fn new(count: usize) -> Self {
        Self { weights: vec![1.0; count] }
    }

    fn draw(&self, random: &mut crate::random::Random) -> usize {
        let total: f64 = self.weights.iter().sum();
        let mut at = total * random.below(1 << 20) as f64 / f64::from(1 << 20);
        for (position, weight) in self.weights.iter().enumerate() {
            at -= weight;
            if at < 0.0 {
                return position;
            }
        }
        0
    }

    fn reward(&mut self, position: usize, score: f64) {
        self.weights[position] = (0.98 * self.weights[position] + 0.02 * score).max(0.1);
    }
}

impl Clockwork<'_> {
    /// The part of the time or rounds that is used up.
    fn progress(&self, round: u64) -> f64 {
        if let Some(rounds) = self.rounds {
            return round as f64 / rounds.max(1) as f64;
        }
        match (self.whole, self.control.remaining()) {
            (Some(whole), Some(left)) => 1.0 - left.as_secs_f64() / whole.max(1e-9),
            _ => 1.0,
        }
    }

    fn stop(&self, round: u64) -> Option<Stop> {
        if self.rounds.is_some_and(|rounds| round >= rounds) {
            return Some(Stop::Iterations);
        }
        self.control.stop()
    }
}

/// Improves the walk's plan until time or rounds are used up.
pub(super) fn anneal(walk: &mut Walk<'_>, best: &mut Best, clock: &Clockwork<'_>) -> Stop {
    let (mut ruins, mut orders) = (Wheel::new(Ruin::ALL.len()), Wheel::new(Order::ALL.len()));
    let mut value = walk.value();
    let mut cycle = 0;
    let mut over = 0;
    let mut proposal = Proposal::default();
    for round in 0.. {
        if let Some(stop) = clock.stop(round) {
            return stop;
        }
        let progress = clock.progress(round);
        let now = cycle_of(progress);
        if now != cycle {
            cycle = now;
            if let Some((_, placings)) = &best.placings {
                walk.restore(placings);
                tighten(walk, best);
                value = walk.value();
            }
        }
        if round % SEGMENT == 0 {
            guide(walk, best, &mut over);
            value = walk.value();
        }
        let (ruin, order) = (ruins.draw(&mut walk.random), orders.draw(&mut walk.random));
        let mut undo = Undo::default();
        step(walk, Ruin::ALL[ruin], Order::ALL[order], &mut undo);
        let new = walk.value();
        over += u64::from(walk.is_over_budget() == Some(true));
        let score = if best.offer(walk, clock.control) {
            tighten(walk, best);
            8.0
        } else if new < value {
            3.0
        } else {
            0.0
        };
        let heat = heat(walk, progress);
        if score > 3.0 || new <= value - heat * walk.luck().ln() {
            value = if score > 3.0 { walk.value() } else { new };
            let moved = if score == 0.0 { 1.0 } else { score };
            ruins.reward(ruin, moved);
            orders.reward(order, moved);
        } else {
            walk.revert(undo);
            ruins.reward(ruin, 0.0);
            orders.reward(order, 0.0);
        }
        if walk.bank.is_empty() && stir(walk, &mut proposal, heat, STIRS) {
            value = walk.value();
            if best.offer(walk, clock.control) {
                tighten(walk, best);
                value = walk.value();
            }
        }
        for at in 0..walk.bank.len() {
            let job = walk.bank[at];
            walk.hardness[job] *= 1.02;
            value += 0.02 / 1.02 * walk.hardness[job] * walk.absence;
        }
    }
    Stop::Stalled
}

/// Cycles, each from the best plan: short ones first.
fn cycle_of(progress: f64) -> u64 {
    match progress {
        p if p < 0.15 => 0,
        p if p < 0.4 => 1,
        p if p < 0.7 => 2,
        _ => 3,
    }
}

/// The temperature at this point of a cycle.
fn heat(walk: &Walk<'_>, progress: f64) -> f64 {
    let (from, to) = match cycle_of(progress) {
        0 => (0.0, 0.15),
        1 => (0.15, 0.4),
        2 => (0.4, 0.7),
        _ => (0.7, 1.0),
    };
    let within = ((progress - from) / (to - from)).clamp(0.0, 1.0);
    walk.absence * HEAT.0 * (HEAT.1 / HEAT.0).powf(within)
}

/// One ruin and recreate.
fn step(walk: &mut Walk<'_>, ruin: Ruin, order: Order, undo: &mut Undo) {
    let jobs = walk.open.len();
    if jobs == 0 {
        return;
    }
    if !walk.bank.is_empty() && walk.random.chance(70) {
        let job = walk.bank[walk.random.below(walk.bank.len())];
        undo.note(job, None);
        eject(walk, job, 12, undo);
        let scarce = [0.0, 0.05, 0.2, 0.6][walk.random.below(4)];
        let taste = Taste { blink: 2, work: walk.taste.work + scarce * walk.scarcity, ..walk.taste };
        walk.put_in(job, taste);
        recreate(walk, order, taste, undo);
        return;
    }
    let most = (jobs / 3).clamp(7, 14).min(jobs);
    let count = 1 + walk.random.below(most);
    ruin.apply(walk, count, undo);
    let waking = if walk.random.chance(30) { walk.random.below(100) as f64 / 100.0 } else { 1.0 };
    let taste = Taste { blink: if walk.random.chance(50) { 5 } else { 0 }, waking, ..walk.taste };
    recreate(walk, order, taste, undo);
}

/// Small moves, each accepted as in simulated annealing; whether any was.
fn stir(walk: &mut Walk<'_>, proposal: &mut Proposal, heat: f64, count: usize) -> bool {
    let mut moved = false;
    for _ in 0..count {
        let kind = walk.random.pick(&Move::ALL);
        let job = walk.random.pick(&walk.open);
        if !kind.draw(&walk.grid, job, &mut walk.random, proposal) {
            continue;
        }
        let Some((value, energy)) = proposal.judge(&mut walk.grid) else { continue };
        let affordable = energy <= 0 || walk.affords(energy);
        if affordable && value <= -heat * walk.luck().ln() {
            proposal.apply(&mut walk.grid);
            moved = true;
        }
    }
    moved
}

/// Follows the budget with the price of energy.
fn guide(walk: &mut Walk<'_>, _best: &Best, over: &mut u64) {
    let Some(is_over) = walk.is_over_budget() else { return };
    let base = walk.excess / 8.0;
    if is_over || *over > SEGMENT / 2 {
        walk.press((walk.pressure * 1.5).clamp(base / 64.0, base * 16.0));
    } else if *over < SEGMENT / 8 && walk.pressure > 0.0 {
        let less = walk.pressure * 0.8;
        walk.press(if less < base / 100.0 { 0.0 } else { less });
    }
    *over = 0;
}

/// Asks for a shorter makespan than the best plan's, where that is all that counts.
fn tighten(walk: &mut Walk<'_>, best: &Best) {
    let objective = &walk.frame.instance.objective;
    let others = objective.energy + objective.cost + objective.completion + objective.tardiness;
    if objective.makespan == 0.0 || others > 0.0 {
        return;
    }
    let limit = best.makespan.saturating_sub(1);
    walk.grid.set_limit(limit);
    for at in 0..walk.open.len() {
        let job = walk.open[at];
        if walk.grid.end_of(job).is_some_and(|end| end > limit) {
            walk.grid.remove(job);
        }
    }
    walk.set_bank();
}
