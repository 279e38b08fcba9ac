//! From a picture to a plan: options and starts are given, nodes are to be found.
//!
//! The integer program that counts nodes says what each job does and when, but not where. Ruin and recreate with every
//! job held to its option and start looks for the nodes; where there are none for some jobs, these are let go and the
//! search goes on from what is placed.

use rats_domain::ids::{JobId, OptionId, Table};
use rats_domain::instance::Instance;
use rats_domain::schedule::Schedule;
use rats_domain::solver::Control;
use rats_domain::units::Ticks;

use super::anneal::{Clockwork, anneal};
use super::walk::{Best, Walk};
use crate::grid::Frame;

/// Option and start of each job; `None` leaves it free.
pub type Picture = Table<JobId, Option<(OptionId, Ticks)>>;

/// Rounds in which jobs are held to the picture, by job.
const HELD_ROUNDS: u64 = 40;
/// Rounds after those that were not placed are let go, by job.
const FREE_ROUNDS: u64 = 20;

/// The best plan found near a picture; `None` if none was found.
pub fn realize(instance: &Instance, picture: &Picture, seed: u64, control: &dyn Control) -> Option<Schedule> {
    let frame = Frame::new(instance).ok()?;
    let mut walk = Walk::new(&frame, seed);
    let mut best = Best::default();
    walk.inserter.hold(picture);
    let jobs = instance.jobs.len() as u64;
    let rounds = |count: u64| Clockwork { control, rounds: Some(count * jobs), whole: None };
    anneal(&mut walk, &mut best, &rounds(HELD_ROUNDS));
    walk.inserter.let_go();
    if best.placings.is_none() {
        anneal(&mut walk, &mut best, &rounds(FREE_ROUNDS));
    }
    best.settle(&mut walk, control);
    best.schedule
}
