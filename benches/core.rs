//! Speed of the parts that everything else calls: reading, evaluating, checking, bounding, building the program.
//!
//! Compare ratios within one run; machines differ and are noisy. `make bench` runs them.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use rats_domain::check::check_schedule;
use rats_domain::evaluate::evaluate;
use rats_domain::instance::Instance;
use rats_domain::oracle::judge;
use rats_domain::schedule::Schedule;
use rats_domain::solver::{Request, Unlimited};
use rats_solvers::greedy_energy::GreedyEnergy;
use rats_solvers::timetable::Timetable;
use rats_solvers::{bounds, fifo_max, left_shift, milp, run};

/// The shipped instance, ten jobs on sixteen GPUs.
const DEMO: &[u8] = include_bytes!("../instances/demo/testbed.json");

fn greedy(instance: &Instance, iterations: u64) -> Schedule {
    let request = Request { iterations: Some(iterations), ..Request::default() };
    let solved = run(&GreedyEnergy, instance, &request, &Unlimited).expect("greedy takes every instance");
    solved.plan.expect("the demo has a plan").schedule().clone()
}

fn model(criterion: &mut Criterion) {
    let instance = Instance::read(DEMO).expect("shipped").instance;
    let schedule = greedy(&instance, 3);
    criterion.bench_function("read instance", |b| b.iter(|| Instance::read(black_box(DEMO))));
    criterion.bench_function("evaluate", |b| b.iter(|| evaluate(&instance, black_box(&schedule))));
    criterion.bench_function("evaluate tick by tick", |b| b.iter(|| judge(&instance, black_box(&schedule))));
    criterion.bench_function("check", |b| b.iter(|| check_schedule(&instance, black_box(&schedule))));
    criterion.bench_function("timetable of a schedule", |b| {
        b.iter(|| Timetable::of(&instance, black_box(schedule.clone())));
    });
}

fn solvers(criterion: &mut Criterion) {
    let instance = Instance::read(DEMO).expect("shipped").instance;
    let schedule = greedy(&instance, 1);
    criterion.bench_function("bound ladder", |b| b.iter(|| bounds::ladder(black_box(&instance))));
    criterion.bench_function("fifo_max", |b| b.iter(|| fifo_max::schedule(black_box(&instance))));
    criterion.bench_function("greedy_energy, one order", |b| b.iter(|| greedy(black_box(&instance), 1)));
    criterion.bench_function("left shift", |b| {
        b.iter(|| left_shift::left_shift(&instance, black_box(schedule.clone())));
    });
    let mut slow = criterion.benchmark_group("milp");
    slow.sample_size(10);
    slow.bench_function("build program", |b| b.iter(|| milp::program(black_box(&instance))));
    slow.finish();
}

criterion_group!(benches, model, solvers);
criterion_main!(benches);
