//! The proving line: bounds from cheap to strong, each given the best plan of the moment.

use std::time::Duration;

use rats_domain::solver::{Control, Outcome, Request, Solver};

use super::board::Board;
use super::line::Line;
use super::search;
use crate::aggregate::counted;
use crate::bounds::lagrange::{Ascent, Relaxation};
use crate::edf_max::EdfMax;
use crate::edl::Edl;
use crate::greedy_energy::GreedyEnergy;
use crate::local_search::realize::realize;
use crate::milp::Milp;

/// Before proofs begin, this line searches too: for a part of the time, and this long for each job at most.
const WARM_UP: (f64, Duration) = (0.1, Duration::from_millis(20));
/// Part of the time left that each simple rule may take where there is no plan yet.
const RULES: f64 = 0.2;
/// Most steps of the Lagrangian bound.
const STEPS: usize = 4000;
/// Parts of the time left that the rounds of counting nodes may take: the first has the worst plan to beat.
const COUNTING: [f64; 3] = [0.25, 0.5, 0.9];
/// Up to so many jobs the full program is the stronger proof: it gets the time after the first round.
const FEW_JOBS: usize = 16;

/// Part of the time left in which nodes are looked for, for the solution of a round.
const REALIZING: f64 = 0.1;

/// Proves until plan and bound meet, the time is up, or nothing is left to try.
pub(super) fn until_settled(board: &Board<'_>, request: &Request, control: &dyn Control) {
    warm_up(board, request, control);
    count_nodes(board, request, control);
    if control.stop().is_some() || board.is_settled() || Milp.refuses(board.instance).is_some() {
        return;
    }
    let warm_start = board.best().map(|(_, schedule)| schedule);
    let line = Line::part(board, control, 1.0).for_bounds();
    let outcome = Milp.solve(board.instance, &Request { warm_start, threads: 1, ..request.clone() }, &line);
    let bound = match outcome {
        Outcome::Infeasible { reason } => return board.refute(reason),
        Outcome::Optimal { schedule, bound } => {
            board.offer(schedule);
            Some(bound)
        }
        Outcome::Feasible { schedule, bound, .. } => {
            board.offer(schedule);
            bound
        }
        Outcome::Unknown { bound, .. } => bound,
    };
    if let Some(bound) = bound {
        board.raise(bound);
    }
}

fn warm_up(board: &Board<'_>, request: &Request, control: &dyn Control) {
    let jobs = u32::try_from(board.instance.jobs.len()).unwrap_or(u32::MAX);
    let most = WARM_UP.1.saturating_mul(jobs);
    let time = control.remaining().map_or(most, |left| left.mul_f64(WARM_UP.0).min(most));
    if control.remaining().is_some() || board.value().is_none() {
        search::once(board, request.seed, &Line::at_most(board, control, time));
    }
    // Where the search has found nothing (or refuses the instance), simple rules may.
    let rules: [&dyn Solver; 3] = [&EdfMax, &Edl, &GreedyEnergy];
    for rule in rules {
        if board.value().is_some() || control.stop().is_some() {
            return;
        }
        let line = Line::part(board, control, RULES);
        if let Outcome::Feasible { schedule, .. } | Outcome::Optimal { schedule, .. } =
            rule.solve(board.instance, request, &line)
        {
            board.offer(schedule);
        }
    }
}

/// Counts nodes again and again, as long as a better plan gives it less to look at.
fn count_nodes(board: &Board<'_>, request: &Request, control: &dyn Control) {
    let Some(model) = Relaxation::new(board.instance) else { return };
    let mut last = None;
    let rounds = if board.instance.jobs.len() <= FEW_JOBS { 1 } else { COUNTING.len() };
    for part in COUNTING.into_iter().take(rounds) {
        if control.stop().is_some() || board.is_settled() {
            return;
        }
        let value = board.value();
        if last.is_some() && value == last {
            return;
        }
        last = value;
        let ascent = ascend(board, &model, value, control);
        let line = Line::part(board, control, part).for_bounds();
        let Some(counted) = counted(board.instance, &ascent, value, 1, request.gap, &line) else { return };
        if counted.bound == f64::INFINITY {
            board.refute("the program with nodes counted by class has no solution".to_owned());
            return;
        }
        board.raise(counted.bound);
        if let Some(found) = counted.picture.and_then(|picture| {
            let line = Line::part(board, control, REALIZING);
            realize(board.instance, &picture, request.seed, &line)
        }) {
            board.offer(found);
        }
    }
}

/// The Lagrangian bound alone.
pub(super) fn lagrangian(board: &Board<'_>, control: &dyn Control) {
    if let Some(model) = Relaxation::new(board.instance) {
        ascend(board, &model, board.value(), control);
    }
}

fn ascend<'m>(board: &Board<'_>, model: &'m Relaxation, value: Option<f64>, control: &dyn Control) -> Ascent<'m> {
    let mut ascent = Ascent::new(model, value);
    ascent.climb(STEPS, |bound| value.is_some_and(|value| bound >= value) || control.stop().is_some());
    board.raise(value.map_or(ascent.bound(), |value| ascent.bound().min(value)));
    ascent
}
