//! Differential tests against evaluation and checker.

use rats_domain::check::check_schedule;
use rats_domain::codes::Code;
use rats_domain::evaluate::evaluate;
use rats_domain::instance::Instance;
use rats_domain::schedule::Schedule;
use rats_domain::topology::Rank;

use super::*;
use crate::cells::patterns;
use crate::testing::{Size, random_instance};
use rats_domain::random::Random;

/// Broken rules apart from missing jobs and the budget.
fn broken(instance: &Instance, schedule: &Schedule) -> Vec<(Code, String)> {
    let violations = check_schedule(instance, schedule).unwrap().violations;
    let other = violations.into_iter().filter(|violation| !matches!(violation.code, Code::V1 | Code::V11));
    other.map(|violation| (violation.code, violation.message)).collect()
}

fn assert_equals_evaluation(grid: &Grid<'_>, context: &str) {
    let schedule = grid.schedule();
    let expected = evaluate(grid.frame.instance, &schedule);
    assert_eq!(i128::from(grid.energy()), expected.terms.energy.0, "{context}");
    let scale = expected.objective.abs().max(1.0);
    assert!(
        (grid.objective() - expected.objective).abs() <= 1e-9 * scale,
        "{context}: {} {}",
        grid.objective(),
        expected.objective
    );
    assert_eq!(i64::try_from(grid.makespan()), Ok(expected.terms.makespan.0), "{context}");
}

/// A random way to run a job, without regard to what is there.
fn random_placing(random: &mut Random, frame: &Frame<'_>, job: usize) -> Option<Placing> {
    let row = &frame.jobs[job];
    if row.options.is_empty() {
        return None;
    }
    let option = random.below(row.options.len());
    let all = patterns(frame.instance, &frame.cells, frame.instance.option(row.id, row.options[option].id), 10_000)?;
    let start = random.below((frame.horizon + 1).checked_sub(row.options[option].ticks)?);
    (!all.is_empty()).then(|| Placing { option, start, pattern: all[random.below(all.len())].0.clone() })
}

fn has_room(grid: &Grid<'_>, job: usize, placing: &Placing) -> bool {
    let end = placing.start + grid.frame.jobs[job].options[placing.option].ticks;
    placing.pattern.iter().all(|&(cell, count)| grid.free(cell, placing.start, end) >= count as usize)
}

/// Places and removes at random and compares everything; counts of placings that keep and break the rules.
fn compare(instance: &Instance, seed: u64, steps: usize) -> (usize, usize) {
    let frame = Frame::new(instance).unwrap();
    let mut grid = Grid::new(&frame);
    if !broken(instance, &grid.schedule()).is_empty() {
        return (0, 0);
    }
    let mut random = Random::new(seed);
    let open: Vec<usize> = grid.unplaced().collect();
    let (mut kept, mut refused) = (0, 0);
    for step in 0..if open.is_empty() { 0 } else { steps } {
        let context = format!("{} seed {seed} step {step}", instance.name);
        let job = random.pick(&open);
        if let Some(placing) = grid.remove(job) {
            assert_equals_evaluation(&grid, &context);
            assert!(broken(instance, &grid.schedule()).is_empty(), "{context}");
            if random.chance(30) {
                grid.place(job, placing);
            }
            continue;
        }
        let Some(placing) = random_placing(&mut random, &frame, job) else { continue };
        let effect = grid.judge(job, placing.option, placing.start, &placing.pattern);
        if !has_room(&grid, job, &placing) {
            assert_eq!(effect, None, "{context}");
            continue;
        }
        let (value, energy) = (grid.value(), grid.energy());
        grid.place(job, placing.clone());
        let found = broken(instance, &grid.schedule());
        // Windows leave room for chains, also for jobs that are not placed.
        let row = &frame.jobs[job];
        let end = placing.start + row.options[placing.option].ticks;
        if placing.start >= row.release && end <= row.deadline {
            assert_eq!(effect.is_some(), found.is_empty(), "{context}: {effect:?} {found:?} {placing:?}");
        }
        if let Some(effect) = effect {
            assert_equals_evaluation(&grid, &context);
            assert_eq!(effect.energy, grid.energy() - energy, "{context}");
            let scale = value.abs().max(1.0);
            assert!((effect.value - (grid.value() - value)).abs() <= 1e-9 * scale, "{context}");
            kept += 1;
        } else {
            grid.remove(job);
            assert_equals_evaluation(&grid, &context);
            refused += 1;
        }
    }
    (kept, refused)
}

#[test]
fn random_moves_agree_with_evaluation_and_checker() {
    let (mut kept, mut refused) = (0, 0);
    for seed in 0..1200 {
        let size = if seed % 3 == 0 { Size::Micro } else { Size::Tiny };
        let (more, less) = compare(&random_instance(seed, size), seed, 60);
        kept += more;
        refused += less;
    }
    assert!(kept > 5000 && refused > 5000, "{kept} {refused}");
}

#[test]
fn random_moves_agree_on_shipped_instances() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../instances");
    let (mut kept, mut refused) = (0, 0);
    for number in 1..=12 {
        for family in ["small", "medium"] {
            let path = root.join(format!("{family}/{family}-v1-{number:02}.json"));
            let instance = Instance::read(&std::fs::read(path).unwrap()).unwrap().instance;
            let (more, less) = compare(&instance, number, 400);
            kept += more;
            refused += less;
        }
    }
    assert!(kept > 1000 && refused > 100, "{kept} {refused}");
}

#[test]
fn starts_with_room_equal_those_found_by_trying_every_pattern() {
    let (mut some, mut none) = (0, 0);
    for seed in 0..400 {
        let instance = random_instance(seed, Size::Tiny);
        let frame = Frame::new(&instance).unwrap();
        let mut grid = Grid::new(&frame);
        let mut random = Random::new(seed);
        let open: Vec<usize> = grid.unplaced().collect();
        for _ in 0..if open.is_empty() { 0 } else { 12 } {
            let job = random.pick(&open);
            grid.remove(job);
            let Some(placing) = random_placing(&mut random, &frame, job) else { continue };
            if random.chance(70) {
                if grid.judge(job, placing.option, placing.start, &placing.pattern).is_some() {
                    grid.place(job, placing);
                }
                continue;
            }
            let (with, without) = compare_rooms(&grid, job, placing.option);
            some += with;
            none += without;
        }
    }
    assert!(some > 500 && none > 500, "{some} {none}");
}

/// Whether a cell lies in a domain.
fn is_within(frame: &Frame<'_>, cell: usize, part: usize) -> bool {
    std::iter::successors(Some(frame.island_of(cell)), |&at| frame.parts[at].parent).any(|at| at == part)
}

/// Compares the starts of an option in every node and switch; how many have room and how many have not.
fn compare_rooms(grid: &Grid<'_>, job: usize, position: usize) -> (usize, usize) {
    let frame = grid.frame;
    let option = &frame.jobs[job].options[position];
    if option.ticks > frame.horizon {
        return (0, 0);
    }
    let row = frame.instance.option(frame.jobs[job].id, option.id);
    let all = patterns(frame.instance, &frame.cells, row, 10_000).unwrap();
    let mut rooms = Rooms::default();
    rooms.begin(frame, option, (0, frame.horizon));
    let (mut starts, mut pattern) = (Vec::new(), Vec::new());
    let (mut some, mut none) = (0, 0);
    for part in (0..frame.parts.len()).filter(|&part| frame.parts[part].rank <= option.span) {
        let nodes = &frame.parts[part].nodes;
        rooms.starts(grid, option, part, &mut starts);
        for start in 0..=frame.horizon.saturating_sub(option.ticks) {
            let fits = |pattern: &Vec<(usize, u32)>| {
                let end = start + option.ticks;
                let mut load = Load::default();
                pattern
                    .iter()
                    .all(|&(cell, count)| is_within(frame, cell, part) && grid.free(cell, start, end) >= count as usize)
                    && load
                        .of(frame, option, pattern)
                        .rows
                        .iter()
                        .all(|&(r, demand)| grid.leaves(r, demand, start, end))
            };
            let any = all.iter().any(|pattern| fits(&pattern.0));
            assert_eq!(bits::has(&starts, start), any, "{} job {job} part {part} start {start}", frame.instance.name);
            *if any { &mut some } else { &mut none } += 1;
            if !any {
                continue;
            }
            let found = match frame.parts[part].node {
                Some(_) => rooms.gang_within(grid, option, part, start, &mut pattern),
                None if frame.parts[part].rank == Rank::ISLAND => {
                    rooms.gang_within(grid, option, part, start, &mut pattern)
                }
                None => rooms.gang(grid, option, part, start, nodes, &mut pattern),
            };
            let narrower = frame.parts[part].rank > Rank::NODE;
            assert!(found || narrower, "{} job {job} part {part} start {start}", frame.instance.name);
            assert!(!found || fits(&pattern), "{} job {job} part {part} start {start}", frame.instance.name);
        }
    }
    (some, none)
}
