//! Pruning never changes the optimum: exhaustive search with and without it.

use rats_domain::decimal::Decimal;
use rats_domain::format::{InstanceFile, PointFile, StepFile, TermFile};
use rats_domain::instance::Instance;
use rats_domain::solver::{Request, Unlimited};
use rats_domain::topology::Rank;
use rats_domain::units::{KilobytesPerSecond, Milliwatts, Ticks};
use rats_solvers::random::Random;
use rats_solvers::{Status, registry, run};

use super::super::choice::{Behind, Choice};
use super::super::physics::Outcome;
use super::super::prune::{Pruning, kept};

const IDLE: Milliwatts = Milliwatts(50_000);

/// Close to one another, so that many cover others.
fn choice(random: &mut Random) -> Choice {
    let gpus = u32::try_from(random.within(1, 2)).unwrap();
    let power = Milliwatts(i64::from(gpus) * random.within(2, 5) * 50_000);
    let wide = random.chance(60);
    Choice {
        gpu_type: "T".to_owned(),
        idle: IDLE,
        gpus,
        span: if wide { Rank::NODE } else { Rank::ISLAND },
        span_name: if wide { "node" } else { "island" }.to_owned(),
        point: PointFile::default(),
        predicted: None,
        outcome: Outcome {
            ticks: Ticks(random.within(1, 3)),
            power,
            peak: Milliwatts(power.0 + random.within(0, 1) * 40_000),
            ring: KilobytesPerSecond(if gpus > 1 { random.within(0, 2) * 100_000 } else { 0 }),
            read: KilobytesPerSecond(random.within(0, 2) * 100_000),
        },
        per_gpu: [("cores".to_owned(), random.within(1, 2) * 1000)].into(),
        memory_mib: None,
        behind: Behind::default(),
    }
}

/// One node of three GPUs in two islands; caps, prices, terms and limits at random.
fn base(random: &mut Random, capped: bool) -> InstanceFile {
    let node = r#"{"id": "n", "gpu_type": "T", "gpus": 3, "islands": [[0, 1], [2]], "island_uplink_gb_s": 0.2,
        "base_w": 60, "power": "sleep", "wake_j": 9000, "resources": {"cores": 4}}"#;
    let text = format!(
        r#"{{"format": "rats.instance/1", "name": "p", "tick_s": 60, "horizon": 5, "cluster": {{"gpu_types": [{{"id": "T", "idle_w": 50}}],
        "nodes": [{node}], "storage_gb_s": 0.3}}, "objective": [], "jobs": []}}"#
    );
    let mut file: InstanceFile = serde_json::from_str(&text).unwrap();
    let node = &mut file.cluster.nodes[0];
    node.wake_ticks = i64::from(random.chance(30));
    node.on_at_start = random.chance(40);
    if random.chance(30) {
        node.power = rats_domain::format::PowerMode::AlwaysOn;
    }
    if capped {
        let cap = Decimal::from(random.within(5, 12) * 50);
        file.cluster.power_cap_w = Some(rats_domain::format::StepsFile::Constant(cap));
    }
    if random.chance(30) {
        let price = |random: &mut Random| Decimal::from(random.within(0, 9));
        file.tariff = Some(vec![StepFile(0, price(random)), StepFile(2, price(random))]);
    }
    if random.chance(20) {
        file.energy_budget_j = Some(Decimal::from(random.within(40, 200) * 1000));
    }
    let mut terms = vec!["energy", "makespan", "completion", "tardiness"];
    if file.tariff.is_some() {
        terms.push("cost");
    }
    for _ in 0..=random.below(2) {
        let weight = Decimal::from(random.pick(&[1, 100, 10_000]));
        file.objective.push(TermFile { term: random.pick(&terms).to_owned(), weight });
    }
    file
}

fn optimum(file: &InstanceFile) -> Option<f64> {
    let instance = Instance::from_file(file).unwrap().instance;
    let exhaustive = registry::find("exhaustive").unwrap();
    let solved = run(exhaustive, &instance, &Request::default(), &Unlimited).unwrap();
    assert!(matches!(solved.status, Status::Optimal | Status::Infeasible), "{:?}", solved.status);
    solved.plan.map(|plan| plan.evaluation().objective)
}

#[test]
fn pruning_never_changes_the_optimum() {
    let (mut pruned, mut solved) = (0, 0);
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut full = base(&mut random, seed % 2 == 0);
        let pruning = Pruning::of(&full);
        let mut less = full.clone();
        for number in 0..2 {
            let choices: Vec<Choice> = (0..random.within(2, 5)).map(|_| choice(&mut random)).collect();
            let requested = random.below(choices.len());
            let stays = kept(&choices, requested, pruning);
            assert!(stays[requested]);
            pruned += stays.iter().filter(|stays| !**stays).count();
            let due = random.within(1, 5);
            let job = |file: &mut InstanceFile, options: Vec<&Choice>, requested: usize| {
                let text = format!(r#"{{"id": "j{number}", "due": {due}, "options": [], "requested": {requested}}}"#);
                let mut job: rats_domain::format::JobFile = serde_json::from_str(&text).unwrap();
                job.options = options.into_iter().map(Choice::to_file).collect();
                file.jobs.push(job);
            };
            job(&mut full, choices.iter().collect(), requested);
            let at = stays[..requested].iter().filter(|stays| **stays).count();
            job(&mut less, choices.iter().zip(&stays).filter(|(_, stays)| **stays).map(|(c, _)| c).collect(), at);
        }
        let (all, few) = (optimum(&full), optimum(&less));
        solved += usize::from(all.is_some());
        match (all, few) {
            (Some(all), Some(few)) => assert!((all - few).abs() <= 1e-9 * all.abs(), "seed {seed}: {all} {few}"),
            (all, few) => assert_eq!(all, few, "seed {seed}"),
        }
    }
    assert!(pruned > 200 && solved > 150, "{pruned} {solved}");
}

#[test]
fn the_first_of_equal_options_stays_and_negative_prices_keep_all() {
    let choices = vec![choice(&mut Random::new(1)); 3];
    assert_eq!(kept(&choices, 2, Pruning::ByEnergy), [true, false, true]);
    assert_eq!(kept(&choices, 0, Pruning::None), [true; 3]);
}

#[test]
fn under_caps_a_shorter_option_of_more_power_covers_nothing() {
    let mut choices = vec![choice(&mut Random::new(1)); 2];
    // 2 x 200 W against 1 x 300 W: less energy, more power.
    for (choice, (ticks, watts)) in choices.iter_mut().zip([(2, 200), (1, 300)]) {
        choice.outcome.ticks = Ticks(ticks);
        choice.outcome.power = Milliwatts(watts * 1000);
        choice.outcome.peak = choice.outcome.power;
    }
    assert_eq!(kept(&choices, 1, Pruning::ByEnergy), [false, true]);
    assert_eq!(kept(&choices, 1, Pruning::ByPower), [true, true]);
}
