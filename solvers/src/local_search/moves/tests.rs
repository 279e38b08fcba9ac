//! Moves against the state itself and the checker.

use rats_domain::check::check_schedule;
use rats_domain::codes::Code;

use super::*;
use crate::grid::Frame;
use crate::local_search::insert::{Inserter, Taste};
use crate::testing::{Size, random_instance};

#[test]
fn what_is_judged_is_what_applying_does_and_the_checker_agrees() {
    let mut applied = [0; Move::ALL.len()];
    for seed in 0..600 {
        let instance = random_instance(seed, Size::Tiny);
        let frame = Frame::new(&instance).unwrap();
        let mut grid = Grid::new(&frame);
        let mut random = Random::new(seed);
        let taste = Taste { blink: 0, work: 0.0, waking: 1.0 };
        let mut inserter = Inserter::new(&frame);
        for job in grid.unplaced().collect::<Vec<_>>() {
            if let Some(found) = inserter.best(&mut grid, job, taste, &mut random) {
                grid.place(job, found.placing);
            }
        }
        let broken = |grid: &Grid<'_>| {
            let violations = check_schedule(&instance, &grid.schedule()).unwrap().violations;
            violations.into_iter().filter(|v| !matches!(v.code, Code::V1 | Code::V11)).collect::<Vec<_>>()
        };
        if !broken(&grid).is_empty() {
            continue;
        }
        let mut proposal = Proposal::default();
        for step in 0..60 {
            let kind = random.below(Move::ALL.len());
            let job = random.below(frame.jobs.len().max(1));
            if frame.jobs.is_empty() || !Move::ALL[kind].draw(&grid, job, &mut random, &mut proposal) {
                continue;
            }
            let placings: Vec<_> = (0..frame.jobs.len()).map(|job| grid.placing(job).cloned()).collect();
            let (value, energy) = (grid.value(), grid.energy());
            let judged = proposal.judge(&mut grid);
            assert_eq!(energy, grid.energy(), "seed {seed} step {step}");
            assert!((0..frame.jobs.len()).all(|job| grid.placing(job) == placings[job].as_ref()));
            let Some((more, joules)) = judged else { continue };
            proposal.apply(&mut grid);
            applied[kind] += 1;
            let context = format!("seed {seed} step {step} {:?} {proposal:?}", Move::ALL[kind]);
            assert_eq!(grid.energy() - energy, joules, "{context}");
            assert!((grid.value() - value - more).abs() <= 1e-9 * value.abs().max(1.0), "{context}");
            assert!(broken(&grid).is_empty(), "{context}: {:?}", broken(&grid));
        }
    }
    assert!(applied.iter().all(|&count| count > 20), "{applied:?}");
}
