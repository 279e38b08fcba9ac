//! The rule of dispatch on hand-made cases, and on random plans against the checker.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rats_domain::check::{CheckedPlan, check};
use rats_domain::codes::Code;
use rats_domain::format::{AssignmentFile, Document, PlanFile};
use rats_domain::ids::{GpuId, Id, JobId, OptionId};
use rats_domain::instance::Instance;
use rats_domain::units::Ticks;
use serde_json::{Value, json};

use super::*;

/// A small generator of random numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, count: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % count
    }

    fn between(&mut self, least: i64, most: i64) -> i64 {
        least + i64::try_from(self.below(u64::try_from(most - least + 1).unwrap())).unwrap()
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

fn read(document: &Value) -> Instance {
    Instance::read(document.to_string().as_bytes()).unwrap_or_else(|problems| panic!("{problems}\n{document}")).instance
}

fn checked(instance: &Instance, assignments: Vec<AssignmentFile>) -> Option<CheckedPlan> {
    let plan = PlanFile { format: PlanFile::FORMAT.to_owned(), assignments, ..PlanFile::default() };
    check(instance, &plan).unwrap().into_checked().ok()
}

fn assignment(job: &str, start: i64, gpus: &[&str]) -> AssignmentFile {
    let gpus = gpus.iter().map(|&gpu| gpu.to_owned()).collect();
    AssignmentFile { job: job.to_owned(), option: 0, start, gpus }
}

/// One node of 2 GPUs; jobs of 10 ticks of 60 s on one GPU each.
fn pair(jobs: &Value) -> Instance {
    read(&json!({
        "format": "rats.instance/1", "name": "pair", "tick_s": 60, "horizon": 100,
        "cluster": {"gpu_types": [{"id": "a", "idle_w": 50}],
            "nodes": [{"id": "n", "gpu_type": "a", "gpus": 2, "base_w": 100}]},
        "objective": [{"term": "energy", "weight": 1}], "jobs": jobs
    }))
}

fn job(id: &str, after: &[&str]) -> Value {
    let option = json!({"gpu_type": "a", "gpus": 1, "span": "node", "ticks": 10, "power_w": 200});
    json!({"id": id, "after": after, "options": [option]})
}

fn engine(policy: Policy) -> Engine {
    let instance = pair(&json!([job("a", &[]), job("b", &["a"]), job("c", &[])]));
    let plan = vec![assignment("a", 0, &["n/0"]), assignment("b", 10, &["n/0"]), assignment("c", 10, &["n/1"])];
    let plan = checked(&instance, plan).unwrap();
    Engine::new(instance, plan, policy)
}

fn id(position: usize) -> JobId {
    JobId::from_position(position)
}

fn start(position: usize, attempt: u32) -> Action {
    Action::Start { job: id(position), attempt }
}

fn minutes(count: i64) -> Moment {
    Moment(count * 60_000)
}

#[test]
fn a_late_predecessor_holds_back_its_followers_and_nobody_else() {
    let mut engine = engine(Policy { drift: 0.5, ..Policy::default() });
    assert_eq!(engine.advance(Moment(0), &[]), [start(0, 1)]);
    assert_eq!(engine.next(Moment(0)), Some(minutes(10)));
    assert_eq!(engine.advance(minutes(10), &[]), [start(2, 1)]);
    let ended = |job| Event::Ended(id(job), Ending::Done);
    assert_eq!(engine.advance(Moment(723_456), &[ended(0)]), [start(1, 1)]);
    assert_eq!(engine.advance(minutes(20), &[ended(2)]), []);
    assert!(!engine.is_finished());
    assert_eq!(engine.advance(minutes(21), &[ended(1)]), []);
    assert!(engine.is_finished());
}

#[test]
fn an_early_end_starts_nothing_before_its_planned_start() {
    let mut engine = engine(Policy::default());
    engine.advance(Moment(0), &[]);
    assert_eq!(engine.advance(minutes(9), &[Event::Ended(id(0), Ending::Done)]), []);
    assert_eq!(engine.advance(minutes(10), &[]), [start(1, 1), start(2, 1)]);
}

#[test]
fn a_failed_job_is_tried_again_then_its_followers_are_skipped() {
    let mut engine = engine(Policy { retries: 1, ..Policy::default() });
    engine.advance(Moment(0), &[]);
    let failed = [Event::Ended(id(0), Ending::Failed)];
    assert_eq!(engine.advance(minutes(1), &failed), [start(0, 2)]);
    assert_eq!(engine.advance(minutes(2), &failed), [Action::Skip(id(1), Why::Predecessor(id(0)))]);
    assert_eq!(engine.advance(minutes(10), &[]), [start(2, 1)]);
    engine.advance(minutes(20), &[Event::Ended(id(2), Ending::Done)]);
    assert!(engine.is_finished());
}

#[test]
fn work_on_a_lost_gpu_is_skipped_and_the_rest_goes_on() {
    let mut engine = engine(Policy::default());
    engine.advance(Moment(0), &[]);
    let gpu = GpuId::from_position(0);
    let lost = Why::LostGpu(gpu);
    assert_eq!(engine.advance(minutes(1), &[Event::Lost(gpu)]), [Action::Stop(id(0)), Action::Skip(id(1), lost)]);
    assert_eq!(engine.advance(minutes(2), &[Event::Ended(id(0), Ending::Stopped)]), [Action::Skip(id(0), lost)]);
    assert_eq!(engine.advance(minutes(10), &[]), [start(2, 1)]);
}

#[test]
fn with_replanning_work_on_a_lost_gpu_waits_until_no_plan_comes() {
    let mut engine = engine(Policy { replans: true, ..Policy::default() });
    engine.advance(Moment(0), &[]);
    let gpu = GpuId::from_position(0);
    let asked = engine.advance(minutes(1), &[Event::Lost(gpu)]);
    assert_eq!(asked, [Action::Stop(id(0)), Action::Replan(Cause::LostGpu(gpu))]);
    assert_eq!(engine.advance(minutes(2), &[Event::Ended(id(0), Ending::Stopped), Event::Hold]), []);
    assert_eq!(engine.advance(minutes(10), &[]), []);
    let skipped = [Action::Skip(id(0), Why::LostGpu(gpu)), Action::Skip(id(1), Why::Predecessor(id(0)))];
    assert_eq!(engine.advance(minutes(11), &[Event::NoPlan]), [&skipped[..], &[start(2, 1)]].concat());
}

#[test]
fn one_interrupt_lets_jobs_run_and_two_end_them() {
    let mut engine = engine(Policy::default());
    engine.advance(Moment(0), &[]);
    assert_eq!(engine.advance(minutes(10), &[Event::Drain]), []);
    assert!(!engine.is_finished());
    assert_eq!(engine.advance(minutes(10), &[Event::Abort]), [Action::Stop(id(0))]);
    engine.advance(minutes(11), &[Event::Ended(id(0), Ending::Stopped)]);
    assert!(engine.is_finished());
    assert_eq!(engine.states()[id(0)], State::Waiting { attempt: 1 });
}

#[test]
fn drift_is_reported_once_while_a_job_overruns_and_when_one_ends_early() {
    // 10 ticks of 60 s, 20 % of them are 2 ticks: more than 12 minutes are reported.
    let mut engine = engine(Policy { drift: 0.2, ..Policy::default() });
    engine.advance(Moment(0), &[]);
    engine.advance(minutes(10), &[]);
    assert_eq!(engine.next(minutes(10)), Some(Moment(12 * 60_000 + 1)));
    let late = |job, ms| Action::Replan(Cause::Drift(id(job), Moment(ms)));
    assert_eq!(engine.advance(minutes(13), &[]), [late(0, 180_000)]);
    assert_eq!(engine.advance(minutes(14), &[Event::Ended(id(0), Ending::Done)]), [start(1, 1)]);
    // b started at minute 14 and ends at 20: 4 minutes early.
    assert_eq!(engine.advance(minutes(20), &[Event::Ended(id(1), Ending::Done)]), [late(1, -240_000)]);
}

#[test]
fn what_no_limit_to_come_allows_is_skipped() {
    // 100 + 50 + 200 = 350 W fit under the first cap only; a waits on GPU 0 beyond it.
    let mut document = json!({
        "format": "rats.instance/1", "name": "cap", "tick_s": 60, "horizon": 100,
        "cluster": {"gpu_types": [{"id": "a", "idle_w": 50}], "power_cap_w": [[0, 400], [20, 300]],
            "nodes": [{"id": "n", "gpu_type": "a", "gpus": 2, "base_w": 100}]},
        "objective": [{"term": "energy", "weight": 1}], "jobs": [job("a", &[]), job("b", &["a"])]
    });
    let plan = || vec![assignment("a", 0, &["n/0"]), assignment("b", 10, &["n/0"])];
    let instance = read(&document);
    let policy = Policy { drift: 1.0, ..Policy::default() };
    let mut engine = Engine::new(instance.clone(), checked(&instance, plan()).unwrap(), policy);
    engine.advance(Moment(0), &[]);
    // b would run until tick 25, beyond the step at tick 20; that step is waited for, though it brings nothing.
    let ended = [Event::Ended(id(0), Ending::Done)];
    assert_eq!(engine.advance(minutes(15), &ended), []);
    assert_eq!(engine.advance(minutes(20), &[]), [Action::Skip(id(1), Why::NeverFits)]);
    // A cap that rises again at tick 40 lets b start then.
    document["cluster"]["power_cap_w"] = json!([[0, 400], [20, 300], [40, 500]]);
    let instance = read(&document);
    let mut engine = Engine::new(instance.clone(), checked(&instance, plan()).unwrap(), policy);
    engine.advance(Moment(0), &[]);
    assert_eq!(engine.advance(minutes(15), &ended), []);
    assert_eq!(engine.next(minutes(20)), Some(minutes(40)));
    assert_eq!(engine.advance(minutes(40), &[]), [start(1, 1)]);
}

/// Random steps of power around what a small cluster draws.
fn steps(random: &mut Random, least: i64, constant: bool) -> Value {
    if constant || random.chance(40) {
        return json!(random.between(least, 3 * least));
    }
    let (first, second) = (random.between(1, 8), random.between(9, 20));
    json!([[0, random.between(least, 3 * least)], [first, random.between(least, 3 * least)], [second, 3 * least]])
}

fn random_document(random: &mut Random, constant: bool) -> Value {
    let mut nodes = Vec::new();
    for number in 0..random.between(1, 3) {
        let mut node = json!({
            "id": format!("n{number}"), "parent": format!("r{}", random.below(2)), "gpu_type": "a",
            "gpus": random.between(1, 3), "base_w": random.between(0, 200)
        });
        if random.chance(40) {
            node["uplink_gb_s"] = json!(random.between(1, 4));
        }
        if random.chance(40) {
            node["resources"] = json!({"cpu": random.between(3, 9)});
        }
        if random.chance(40) && !constant {
            node["power"] = json!("sleep");
            node["wake_j"] = json!(random.between(0, 60_000));
        }
        if random.chance(30) {
            node["power_cap_w"] = steps(random, 900, constant);
        }
        if random.chance(30) && !constant {
            let from = random.between(0, 9);
            node["unavailable"] = json!([[from, from + random.between(1, 4), [0]]]);
        }
        nodes.push(node);
    }
    let mut cluster = json!({
        "gpu_types": [{"id": "a", "idle_w": 50}], "levels": ["rack", "cluster"], "nodes": nodes,
        "switches": [{"id": "top", "level": "cluster"}, {"id": "r0", "level": "rack", "parent": "top", "uplink_gb_s": 3},
            {"id": "r1", "level": "rack", "parent": "top"}]
    });
    if random.chance(50) {
        cluster["storage_gb_s"] = json!(random.between(2, 5));
    }
    if random.chance(50) {
        cluster["power_cap_w"] = steps(random, 1400, constant);
    }
    if random.chance(30) {
        cluster["foreign_w"] = if constant { json!(100) } else { json!([[0, 0], [5, random.between(0, 300)]]) };
    }
    if random.chance(30) {
        cluster["switches"][1]["power_cap_w"] = steps(random, 1000, constant);
    }
    let jobs: Vec<Value> = (0..random.between(1, 6)).map(|number| random_job(random, number)).collect();
    json!({"format": "rats.instance/1", "name": "random", "tick_s": random.between(1, 60), "horizon": 200,
        "cluster": cluster, "objective": [{"term": "energy", "weight": 1}], "jobs": jobs})
}

fn random_job(random: &mut Random, number: i64) -> Value {
    let gpus = if random.chance(60) { 1 } else { 2 };
    let option = json!({
        "gpu_type": "a", "gpus": gpus, "span": "cluster", "ticks": random.between(1, 8),
        "power_w": gpus * random.between(60, 250), "peak_w": gpus * random.between(100, 300),
        "ring_gb_s": if gpus > 1 { random.between(0, 2) } else { 0 }, "read_gb_s": random.between(0, 2),
        "per_gpu": {"cpu": random.between(0, 3)}
    });
    let after: Vec<String> = (0..number).filter(|_| random.chance(20)).map(|before| format!("j{before}")).collect();
    json!({"id": format!("j{number}"), "after": after, "options": [option], "release": random.between(0, 4)})
}

/// A valid plan, made by trying: each job at the first tick at which the checker accepts it on random GPUs.
fn random_plan(instance: &Instance, random: &mut Random) -> Option<CheckedPlan> {
    let mut names: Vec<String> = instance.cluster.gpu_names().into_keys().collect();
    let mut assignments: Vec<AssignmentFile> = Vec::new();
    for job in instance.jobs.values() {
        for position in (1..names.len()).rev() {
            names.swap(position, usize::try_from(random.below(position as u64 + 1)).unwrap());
        }
        let gang = job.options[OptionId::from_position(0)].gpus.0 as usize;
        let gpus: Vec<&str> = names.iter().take(gang).map(String::as_str).collect();
        let from = random.between(0, 6);
        let start = (from..60).find(|&start| {
            let plan = PlanFile {
                format: PlanFile::FORMAT.to_owned(),
                assignments: assignments.iter().cloned().chain([assignment(&job.id, start, &gpus)]).collect(),
                ..PlanFile::default()
            };
            check(instance, &plan).unwrap().violations.iter().all(|violation| violation.code == Code::V1)
        })?;
        assignments.push(assignment(&job.id, start, &gpus));
    }
    checked(instance, assignments)
}

/// Carries a plan out tick by tick if every job takes the time that `takes` gives; the starts.
fn carry_out(engine: &mut Engine, takes: &BTreeMap<JobId, i64>) -> BTreeMap<JobId, i64> {
    let length = engine.instance().tick;
    let (mut starts, mut ends) = (BTreeMap::new(), BTreeMap::new());
    for tick in 0..2000 {
        let ended: Vec<JobId> = ends.iter().filter(|&(_, &end)| end == tick).map(|(&job, _)| job).collect();
        let events: Vec<Event> = ended.into_iter().map(|job| Event::Ended(job, Ending::Done)).collect();
        for action in engine.advance(Moment::of(Ticks(tick), length), &events) {
            if let Action::Start { job, .. } = action {
                starts.insert(job, tick);
                ends.insert(job, tick + takes[&job]);
            }
        }
        if engine.is_finished() {
            break;
        }
    }
    assert!(engine.is_finished());
    starts
}

/// The violations of V5 to V10 and V12 of a plan carried out with these starts and times.
fn broken(
    document: &Value,
    engine: &Engine,
    starts: &BTreeMap<JobId, i64>,
    takes: &BTreeMap<JobId, i64>,
) -> Vec<String> {
    let mut document = document.clone();
    document["horizon"] = json!(5000);
    let original = engine.instance();
    for (&job, &ticks) in takes {
        document["jobs"][job.position()]["options"][0]["ticks"] = json!(ticks);
    }
    let mut busy: BTreeMap<String, Vec<(i64, i64)>> = BTreeMap::new();
    let mut assignments = Vec::new();
    for (&job, &start) in starts {
        let placement = engine.placement(job).unwrap();
        let names: Vec<String> = placement.gpus.iter().map(|&gpu| original.cluster.gpu_name(gpu)).collect();
        for name in &names {
            let node = name.split('/').next().unwrap().to_owned();
            busy.entry(node).or_default().push((start, start + takes[&job]));
        }
        let job = original.jobs[job].id.clone();
        assignments.push(AssignmentFile { job, option: 0, start, gpus: names });
    }
    for (node, powered) in engine.plan().evaluation().powered.iter() {
        let node = original.cluster.nodes[node].id.clone();
        busy.entry(node).or_default().extend(powered.iter().map(|interval| (interval.from.0, interval.to.0)));
    }
    let nodes = document["cluster"]["nodes"].as_array().unwrap();
    busy.retain(|id, _| nodes.iter().any(|node| node["id"] == **id && node["power"] == "sleep"));
    let instance = read(&document);
    let plan = PlanFile { format: PlanFile::FORMAT.to_owned(), assignments, power: busy, ..PlanFile::default() };
    let rules = [Code::V5, Code::V6, Code::V7, Code::V8, Code::V9, Code::V10, Code::V12];
    let violations = check(&instance, &plan).unwrap().violations.into_iter();
    violations.filter(|violation| rules.contains(&violation.code)).map(|violation| violation.message).collect()
}

fn planned(seed: u64, constant: bool) -> Option<(Value, Engine, Random)> {
    let mut random = Random(seed | 1);
    let document = random_document(&mut random, constant);
    let instance = Instance::read(document.to_string().as_bytes()).ok()?.instance;
    let plan = random_plan(&instance, &mut random)?;
    Some((document, Engine::new(instance, plan, Policy::default()), random))
}

fn ticks_of(engine: &Engine) -> BTreeMap<JobId, i64> {
    let instance = engine.instance();
    instance.jobs.iter().map(|(id, job)| (id, job.options[OptionId::from_position(0)].ticks.0)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn jobs_that_take_their_planned_time_start_as_planned(seed in any::<u64>()) {
        let Some((_, mut engine, _)) = planned(seed, false) else { return Ok(()) };
        let takes = ticks_of(&engine);
        let starts = carry_out(&mut engine, &takes);
        for (job, start) in starts {
            prop_assert_eq!(engine.placement(job).unwrap().start, Ticks(start));
        }
    }

    #[test]
    fn early_jobs_keep_every_rule_and_start_nothing_early(seed in any::<u64>()) {
        let Some((document, mut engine, mut random)) = planned(seed, false) else { return Ok(()) };
        let takes: BTreeMap<JobId, i64> =
            ticks_of(&engine).into_iter().map(|(job, ticks)| (job, random.between(1, ticks))).collect();
        let starts = carry_out(&mut engine, &takes);
        prop_assert_eq!(broken(&document, &engine, &starts, &takes), Vec::<String>::new());
        for (&job, &start) in &starts {
            prop_assert_eq!(engine.placement(job).unwrap().start, Ticks(start));
        }
    }

    #[test]
    fn late_jobs_keep_every_rule_under_caps_that_do_not_change(seed in any::<u64>()) {
        let Some((document, mut engine, mut random)) = planned(seed, true) else { return Ok(()) };
        let takes: BTreeMap<JobId, i64> =
            ticks_of(&engine).into_iter().map(|(job, ticks)| (job, random.between(1, 3 * ticks))).collect();
        let starts = carry_out(&mut engine, &takes);
        prop_assert_eq!(starts.len(), takes.len());
        prop_assert_eq!(broken(&document, &engine, &starts, &takes), Vec::<String>::new());
    }
}

#[test]
fn most_random_seeds_give_a_plan() {
    let plans = (0..100_u64).filter(|seed| planned(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15), false).is_some()).count();
    assert!(plans >= 60, "{plans} of 100");
}
