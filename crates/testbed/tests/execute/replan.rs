//! New plans on the way, made by a small planner: this test program itself, called by the executor.

use std::fs;
use std::path::PathBuf;

use rats_domain::check::check;
use rats_domain::codes::Code;
use rats_domain::format::{AssignmentFile, Document as _, InstanceFile, PlanFile, read};
use rats_domain::instance::Instance;
use rats_testbed::trace::{JobState, Planned, Record};
use serde_json::json;

use crate::lab::{Job, Lab, job, simulated};

/// The environment variable with the paths of instance and plan.
const PATHS: &str = "PLANNER";

/// Makes a plan when the executor starts this program for it; nothing as a test.
#[test]
fn as_a_planner() {
    let Ok(paths) = std::env::var(PATHS) else { return };
    let (input, output) = paths.split_once(' ').unwrap();
    let file = read::<InstanceFile>(&fs::read(input).unwrap()).unwrap().document;
    match planned(&file) {
        Some(plan) => fs::write(output, serde_json::to_vec(&plan).unwrap()).unwrap(),
        None => std::process::exit(1),
    }
}

/// Every job at the first tick at which the checker accepts it, on the first GPUs that there are.
fn planned(file: &InstanceFile) -> Option<PlanFile> {
    let instance = Instance::from_file(file).unwrap().instance;
    let names: Vec<String> = instance.cluster.gpu_names().into_keys().collect();
    let mut plan = PlanFile { format: PlanFile::FORMAT.to_owned(), ..PlanFile::default() };
    for job in &file.jobs {
        if let Some(fixed) = job.fixed.clone() {
            let (option, start, gpus) = (fixed.option, fixed.start, fixed.gpus);
            plan.assignments.push(AssignmentFile { job: job.id.clone(), option, start, gpus });
        }
    }
    for job in file.jobs.iter().filter(|job| job.fixed.is_none()) {
        let gang = usize::try_from(job.options[0].gpus).ok()?;
        let choices = (0..file.horizon).flat_map(|start| names.windows(gang).map(move |gpus| (start, gpus)));
        let tried = choices.map(|(start, gpus)| {
            let mut plan = plan.clone();
            plan.assignments.push(AssignmentFile { job: job.id.clone(), option: 0, start, gpus: gpus.to_vec() });
            plan
        });
        let fits = |plan: &PlanFile| {
            let placed = |violation: &rats_domain::check::Violation| {
                violation.code == Code::V1 && violation.job.as_ref() != Some(&job.id)
            };
            check(&instance, plan).unwrap().violations.iter().all(placed)
        };
        plan = tried.into_iter().find(fits)?;
    }
    Some(plan)
}

fn planner() -> String {
    let program: PathBuf = std::env::current_exe().unwrap();
    format!("{PATHS}={{instance}}' '{{plan}} {} replan::as_a_planner --exact", program.display())
}

fn plans(lab: &Lab) -> Vec<Planned> {
    let plans = lab.lines().into_iter().filter_map(|line| match line.record {
        Record::Plan(plan) => Some(plan),
        _ => None,
    });
    plans.collect()
}

#[test]
fn work_on_a_lost_gpu_moves_to_another_one() {
    let mut lab = Lab::new(50.0);
    lab.add_eight();
    let run = lab.begin(&["--replan-with", &planner(), "--drift", "50"]);
    lab.wait_for("j0", JobState::Running);
    lab.inject(json!([{"kind": "gpu_lost", "gpu": 0}]));
    // Every job succeeds; the lock on the lost GPU stays.
    assert_eq!(run.wait(), Some(1));
    let plans = plans(&lab);
    assert!(plans.len() >= 2, "{}", lab.said());
    let moved = plans[1].jobs.iter().find(|planned| planned.job == "j0").unwrap();
    assert_eq!(moved.gpus, ["big/1"]);
    assert!(plans[1].origin_s >= 0.0);
    for number in 0..8 {
        assert_eq!(lab.states(&format!("j{number}")).last(), Some(&JobState::Done), "j{number}\n{}", lab.said());
    }
    lab.inject(json!([]));
    assert_eq!(lab.command(&["restore"]).output().unwrap().status.code(), Some(0));
    lab.assert_clean();
}

#[test]
fn after_drift_running_jobs_are_fixed_and_the_rest_is_planned_from_now_on() {
    let mut lab = Lab::new(50.0);
    // Planned for 80 s, takes 160 s or more; its follower has a deadline that cannot be met any more.
    lab.add(&Job { command: simulated("--steps 900 --every 5"), ..job("long", &["big/0"], 0) });
    lab.add(&Job { after: &["long"], ..job("next", &["big/0"], 8) });
    lab.add(&job("other", &["big/1"], 8));
    let run = lab.begin(&["--replan-with", &planner(), "--overrun", "10"]);
    assert_eq!(run.wait(), Some(0), "{}", lab.said());
    let plans = plans(&lab);
    assert!(plans.len() >= 2, "{}", lab.said());
    let long = plans[1].jobs.iter().find(|planned| planned.job == "long").unwrap();
    assert!(long.start < 0 && long.start + long.ticks > 0, "{long:?}");
    for job in ["long", "next", "other"] {
        let states = lab.states(job);
        assert_eq!(states.iter().filter(|&&state| state == JobState::Running).count(), 1, "{job}");
        assert_eq!(states.last(), Some(&JobState::Done), "{job}");
    }
    lab.assert_clean();
}

#[test]
fn without_a_new_plan_the_old_one_is_carried_out_as_far_as_it_can_be() {
    let mut lab = Lab::new(100.0);
    lab.add_eight();
    let run = lab.begin(&["--replan-with", "echo no idea >&2; exit 1"]);
    lab.wait_for("j0", JobState::Running);
    lab.inject(json!([{"kind": "gpu_lost", "gpu": 0}]));
    assert_eq!(run.wait(), Some(1));
    let said = lab.said();
    assert!(said.contains("[X16]") && said.contains("no idea"), "{said}");
    assert_eq!(lab.states("j4").last(), Some(&JobState::Skipped), "{said}");
    for job in ["j1", "j2", "j3", "j5", "j6", "j7"] {
        assert_eq!(lab.states(job).last(), Some(&JobState::Done), "{job}\n{said}");
    }
}
