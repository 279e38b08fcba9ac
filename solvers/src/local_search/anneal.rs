//! The search: ruin and recreate under simulated annealing, with weights that follow success.

use rats_domain::solver::{Control, Stop};

use super::insert::Taste;
use super::moves::{Move, Proposal};
use super::recreate::{Order, eject, recreate};
use super::ruin::Ruin;
use super::walk::{Best, Undo, Walk};
use super::wheel::Wheel;

/// Rounds between two looks at weights and pressure.
const SEGMENT: u64 = 64;
/// Part of the job's scale that a worsening may have at the beginning and at the end of a cycle.
const HEAT: (f64, f64) = (0.05, 0.001);

/// Percent of the rounds that shorten the plan where its length counts.
const SHORTEN: usize = 4;
/// Most jobs that end last for that.
const MOST_LAST: usize = 12;

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
    let mut search = Anneal::new(walk, best, clock.control);
    for round in 0.. {
        if let Some(stop) = clock.stop(round) {
            return stop;
        }
        let progress = clock.progress(round);
        search.begin(round, progress);
        search.round(heat(search.walk, progress));
    }
    Stop::Stalled
}

/// The state of the search beside the walk.
struct Anneal<'s, 'f> {
    walk: &'s mut Walk<'f>,
    best: &'s mut Best,
    control: &'s dyn Control,
    ruins: Wheel,
    orders: Wheel,
    /// The value of the walk's plan.
    value: f64,
    cycle: u64,
    /// Rounds of this segment that ended above the budget.
    over: u64,
    proposal: Proposal,
}

impl<'s, 'f> Anneal<'s, 'f> {
    fn new(walk: &'s mut Walk<'f>, best: &'s mut Best, control: &'s dyn Control) -> Self {
        Self {
            value: walk.value(),
            walk,
            best,
            control,
            ruins: Wheel::new(Ruin::ALL.len()),
            orders: Wheel::new(Order::ALL.len()),
            cycle: 0,
            over: 0,
            proposal: Proposal::default(),
        }
    }

    /// Begins a cycle or a segment where it is time.
    fn begin(&mut self, round: u64, progress: f64) {
        let cycle = cycle_of(progress);
        if cycle != self.cycle {
            self.cycle = cycle;
            if let Some((_, placings)) = &self.best.placings {
                self.walk.restore(placings);
                self.tighten();
            }
        }
        if round.is_multiple_of(SEGMENT) {
            guide(self.walk, self.over);
            self.over = 0;
            self.value = self.walk.value();
        }
    }

    /// One ruin and recreate, then small moves.
    fn round(&mut self, heat: f64) {
        let (ruin, order) = (self.ruins.draw(&mut self.walk.random), self.orders.draw(&mut self.walk.random));
        let mut undo = Undo::default();
        step(self.walk, Ruin::ALL[ruin], Order::ALL[order], &mut undo);
        let new = self.walk.value();
        self.over += u64::from(self.walk.is_over_budget() == Some(true));
        let is_best = self.best.offer(self.walk, self.control);
        let score = match () {
            () if is_best => 8.0,
            () if new < self.value => 3.0,
            () if new <= self.value - heat * self.walk.luck().ln() => 1.0,
            () => 0.0,
        };
        self.ruins.reward(ruin, score);
        self.orders.reward(order, score);
        match () {
            () if is_best => self.tighten(),
            () if score > 0.0 => self.value = new,
            () => self.walk.revert(undo),
        }
        if self.walk.bank.is_empty() && stir(self.walk, &mut self.proposal, heat, STIRS) {
            self.value = self.walk.value();
            if self.best.offer(self.walk, self.control) {
                self.tighten();
            }
        }
        self.value += self.walk.harden();
    }

    /// Asks for a shorter makespan than the best plan's where that is all that counts.
    fn tighten(&mut self) {
        if self.walk.counts_only_makespan() {
            self.walk.limit_to(self.best.makespan.saturating_sub(1));
        }
        self.value = self.walk.value();
    }
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
    let waking = if walk.random.chance(30) { walk.random.below(100) as f64 / 100.0 } else { 1.0 };
    let taste = Taste { blink: if walk.random.chance(50) { 5 } else { 0 }, waking, ..walk.taste };
    if walk.minds_makespan() && walk.random.chance(SHORTEN) {
        return shorten(walk, order, taste, undo);
    }
    let most = (jobs / 3).clamp(7, 14).min(jobs);
    let count = 1 + walk.random.below(most);
    ruin.apply(walk, count, undo);
    recreate(walk, order, taste, undo);
}

/// Takes out the jobs that end last, and some that run then, and puts them back so that all end earlier.
fn shorten(walk: &mut Walk<'_>, order: Order, taste: Taste, undo: &mut Undo) {
    let limit = walk.grid.makespan().saturating_sub(1 + walk.random.below(2));
    let last: Vec<usize> =
        walk.open.iter().copied().filter(|&job| walk.grid.end_of(job).is_some_and(|end| end > limit)).collect();
    if last.len() > MOST_LAST {
        return;
    }
    let count = 1 + walk.random.below(MOST_LAST);
    for job in last {
        walk.take_out(job, undo);
    }
    Ruin::Late.apply(walk, count, undo);
    let before = walk.grid.limit();
    walk.grid.set_limit(limit.min(before));
    recreate(walk, order, taste, undo);
    walk.grid.set_limit(before);
}

/// Small moves, each accepted as in simulated annealing; whether any was.
fn stir(walk: &mut Walk<'_>, proposal: &mut Proposal, heat: f64, count: usize) -> bool {
    let mut moved = false;
    for _ in 0..if walk.open.is_empty() { 0 } else { count } {
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
fn guide(walk: &mut Walk<'_>, over: u64) {
    let Some(is_over) = walk.is_over_budget() else { return };
    let base = walk.excess / 8.0;
    if is_over || over > SEGMENT / 2 {
        walk.press((walk.pressure * 2.0).clamp(base / 8.0, base * 16.0));
    } else if over < SEGMENT / 8 && walk.pressure > 0.0 {
        let less = walk.pressure * 0.8;
        walk.press(if less < base / 100.0 { 0.0 } else { less });
    }
}
