//! The default: a portfolio that searches and proves at the same time.
//!
//! # Idea
//! One line proves, the others search; all share the best plan and the best bound, and stop when these meet. The proving
//! line raises the Lagrangian bound, then counts nodes ([`crate::aggregate`]), whose solution is also a picture of a
//! good plan for the searching lines, and then solves the full program ([`crate::milp`]) where that is not too large.
//! The searching lines run [`crate::local_search`] with different seeds from the best plan on.
//!
//! # Model
//! With one thread the lines take turns. With a limit on iterations, the searches with four consecutive seeds and the
//! Lagrangian bound are all that runs: the plan then depends on seed and iterations alone, whatever the threads.
//!
//! # Complexity
//! That of its parts.
//!
//! # Limits
//! With a time limit two runs may differ, as their lines meet at different times.
//!
//! # References
//! C. P. Gomes, B. Selman, "Algorithm portfolios", 2001.

mod board;
mod line;
mod prove;
mod search;
#[cfg(test)]
mod tests;

use rayon::ThreadPoolBuilder;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use rats_domain::instance::Instance;
use rats_domain::schedule::Schedule;
use rats_domain::solver::{About, Control, Outcome, Request, Solver, Stop};

use self::board::Board;
use self::line::Line;
use crate::local_search::improve;

/// Searches of a run that is limited by iterations.
const SEARCHES: u64 = 4;

/// The solver.
#[derive(Clone, Copy, Debug)]
pub struct Auto;

impl Solver for Auto {
    fn about(&self) -> About {
        About {
            id: "auto",
            summary: "local_search, the Lagrangian bound, aggregate and milp side by side",
            exact: false,
            baseline: false,
        }
    }

    fn solve(&self, instance: &Instance, request: &Request, control: &dyn Control) -> Outcome {
        let board = Board::new(instance, request.gap, control);
        if let Some(start) = &request.warm_start {
            board.offer(start.clone());
        }
        let stop = match request.iterations {
            Some(iterations) => counted_run(&board, request, iterations, control),
            None if request.threads > 1 => side_by_side(&board, request, control),
            None => in_turn(&board, request, control),
        };
        board.outcome(control.stop().unwrap_or(stop))
    }
}

/// Searches with consecutive seeds; the same plan whatever the number of threads.
fn counted_run(board: &Board<'_>, request: &Request, iterations: u64, control: &dyn Control) -> Stop {
    let start = board.best().map(|(_, schedule)| schedule);
    let run = || -> Vec<Option<Schedule>> {
        let search = |seed| improve(board.instance, start.as_ref(), request.seed + seed, Some(iterations), control);
        (0..SEARCHES).into_par_iter().map(search).collect()
    };
    let found = match ThreadPoolBuilder::new().num_threads(request.threads).build() {
        Ok(pool) => pool.install(run),
        Err(_) => Vec::new(),
    };
    // In order of seeds: of equal plans the first stays.
    found.into_iter().flatten().for_each(|schedule| board.offer(schedule));
    prove::lagrangian(board, control);
    Stop::Iterations
}

fn side_by_side(board: &Board<'_>, request: &Request, control: &dyn Control) -> Stop {
    let lines = request.threads;
    let work = |line: usize| match line {
        0 => prove::until_settled(board, request, control),
        _ => search::until_settled(board, request, line as u64, control),
    };
    let pool = ThreadPoolBuilder::new().num_threads(lines).build();
    match pool {
        Ok(pool) => pool.scope(|scope| (0..lines).for_each(|line| scope.spawn(move |_| work(line)))),
        Err(_) => return in_turn(board, request, control),
    }
    Stop::Finished
}

/// One thread: a search, then proofs, then what time is left to the search again.
fn in_turn(board: &Board<'_>, request: &Request, control: &dyn Control) -> Stop {
    search::once(board, request.seed, &Line::part(board, control, 0.25));
    prove::until_settled(board, request, &Line::part(board, control, 0.75).for_bounds());
    if control.remaining().is_some() {
        search::until_settled(board, request, 1, control);
    }
    Stop::Finished
}
