//! Speed of the search: full against incremental evaluation, each move, one round.
//!
//! A move is drawn uniformly from those that apply to a good plan of a medium instance and judged with every rule and
//! term; moves that break a rule count as well. Compare ratios within one run; machines differ and are noisy.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rats_domain::check::check_schedule;
use rats_domain::evaluate::evaluate;
use rats_domain::instance::Instance;
use rats_domain::random::Random;
use rats_domain::schedule::Schedule;
use rats_domain::solver::Unlimited;
use rats_solvers::grid::{Frame, Grid};
use rats_solvers::local_search::improve;
use rats_solvers::local_search::moves::{Move, Proposal};

/// A shipped instance: 55 jobs on 60 GPUs, energy.
const MEDIUM: &[u8] = include_bytes!("../instances/medium/medium-v1-12.json");

/// Moves judged in one iteration of a benchmark.
const BATCH: u64 = 1000;

fn medium() -> (Instance, Schedule) {
    let instance = Instance::read(MEDIUM).expect("shipped").instance;
    let plan = improve(&instance, None, 1, Some(200), &Unlimited).expect("it has a plan");
    (instance, plan)
}

/// Draws and judges moves until `BATCH` applied to the plan; the sum of what they add.
fn judge(grid: &mut Grid<'_>, kinds: &[Move], random: &mut Random, proposal: &mut Proposal) -> f64 {
    let (mut judged, mut sum) = (0, 0.0);
    while judged < BATCH {
        let kind = random.pick(kinds);
        let job = random.below(grid.frame.jobs.len());
        if kind.draw(grid, job, random, proposal) {
            judged += 1;
            sum += proposal.judge(grid).map_or(0.0, |(value, _)| value);
        }
    }
    sum
}

fn evaluation(criterion: &mut Criterion) {
    let (instance, plan) = medium();
    let mut group = criterion.benchmark_group("evaluation");
    group.bench_function("evaluate", |b| b.iter(|| evaluate(&instance, black_box(&plan))));
    group.bench_function("check", |b| b.iter(|| check_schedule(&instance, black_box(&plan))));
    let frame = Frame::new(&instance).expect("small enough");
    group.bench_function("frame", |b| b.iter(|| Frame::new(black_box(&instance)).map(|frame| frame.words)));
    group.bench_function("grid of a plan", |b| {
        b.iter(|| {
            let mut grid = Grid::new(&frame);
            grid.take_over(black_box(&plan));
            grid.energy()
        });
    });
    group.finish();
}

fn moves(criterion: &mut Criterion) {
    let (instance, plan) = medium();
    let frame = Frame::new(&instance).expect("small enough");
    let mut grid = Grid::new(&frame);
    grid.take_over(&plan);
    let mut proposal = Proposal::default();
    let mut group = criterion.benchmark_group("moves, a thousand");
    group.throughput(Throughput::Elements(BATCH));
    let each = Move::ALL.iter().map(|kind| (format!("{kind:?}"), std::slice::from_ref(kind)));
    for (name, kinds) in std::iter::once(("all kinds".to_owned(), &Move::ALL[..])).chain(each) {
        let mut random = Random::new(1);
        group.bench_function(name, |b| b.iter(|| judge(&mut grid, kinds, &mut random, &mut proposal)));
    }
    group.finish();
}

fn rounds(criterion: &mut Criterion) {
    let (instance, plan) = medium();
    let mut group = criterion.benchmark_group("local_search");
    group.sample_size(10);
    group.bench_function("first plan", |b| b.iter(|| improve(&instance, None, 1, Some(0), &Unlimited)));
    group.bench_function("100 rounds", |b| b.iter(|| improve(&instance, Some(&plan), 1, Some(100), &Unlimited)));
    group.finish();
}

criterion_group!(benches, evaluation, moves, rounds);
criterion_main!(benches);
