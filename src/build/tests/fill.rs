//! Points filled in between measured ones.

use std::path::Path;

use rats_domain::check::CheckedPlan;
use rats_domain::codes::Code;
use rats_domain::format::{GpuFile, OptionFile, PointFile};
use rats_domain::profile::Profile;
use rats_domain::solver::{Request, Unlimited};
use rats_models::dvfs::curve::Prediction;
use rats_solvers::{Status, registry, run};
use serde_json::Value;

use super::super::fill::{Fills, Mark, Predicted};
use super::super::scenario::FillFile;
use super::*;

/// One A40 with a deadline between the run times at two of every fourth clock.
const ONE_JOB: &str = r#"
format = "rats.scenario/1"
name = "one-job"
tick_s = 30
horizon = 200
catalogue = ["a40"]
objective = [{ term = "energy", weight = 1 }]

[[groups]]
count = 1
node = { id = "n", gpu_type = "a40", gpus = 1 }

[[jobs]]
id = "bloom"
profiles = ["a40-perseus-bloom-stage0"]
gpus = [1]
steps = 10000
deadline = 145
"#;

const FILLED: FillFile = FillFile { mhz: Some(15), w: None };

fn shipped(name: &str) -> Profile {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("instances/profiles/perseus/{name}.json"));
    Profile::read(&std::fs::read(path).unwrap()).unwrap().profile
}

fn every_fourth(profile: &Profile) -> Profile {
    Profile { points: profile.points.iter().step_by(4).cloned().collect(), ..profile.clone() }
}

/// The shipped list of the A40's clocks: 855 to 1740 MHz by 15.
fn files() -> Files {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("instances/gpus/a40.json");
    let card: GpuFile = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    Files { gpus: [("a40".to_owned(), card)].into(), ..Files::default() }
}

fn one_job(fill: &str, profile: Profile) -> Result<Built, Problems> {
    let library = [(profile.id.clone(), profile)].into();
    let text = ONE_JOB.replace("horizon = 200", &format!("horizon = 200\n{fill}"));
    build(&Scenario::read(&text)?.document, &library, &files())
}

fn text(built: &Built) -> String {
    serde_json::to_string(&built.file).unwrap()
}

#[test]
fn held_out_clocks_come_back() {
    for name in ["a40-perseus-bloom-stage0", "a40-perseus-gpt3-175b-stage7"] {
        let whole = shipped(name);
        let library = [(whole.id.clone(), every_fourth(&whole))].into();
        let scenario = Scenario::read(&ONE_JOB.replace("a40-perseus-bloom-stage0", name)).unwrap().document;
        let scenario = Scenario { fill: FILLED, ..scenario };
        let (mut problems, mut warnings) = (Vec::new(), Vec::new());
        let fills = Fills::new(&scenario, &library, &files(), &mut problems, &mut warnings);
        assert!(problems.is_empty() && warnings.is_empty(), "{problems:?} {warnings:?}");
        let predicted = fills.of(&whole.id, FILLED);
        // 60 clocks, of which 15 are kept, up to 1695 MHz: 14 gaps of 3.
        assert_eq!(predicted.len(), 42);
        let held = |at: &Predicted| whole.points.iter().find(|held| held.point() == at.point).unwrap().clone();
        let missed = |predicted: Prediction, held: Option<f64>| (predicted.value / held.unwrap() - 1.0).abs();
        let times: Vec<f64> = predicted.iter().map(|at| missed(at.step_s, held(at).step_s)).collect();
        let powers: Vec<f64> = predicted.iter().map(|at| missed(at.power_w, held(at).power_w)).collect();
        for (quantity, errors) in [("time", times), ("power", powers)] {
            let mean = errors.iter().sum::<f64>() / 42.0;
            let worst = errors.iter().copied().fold(0.0, f64::max);
            assert!(mean < 0.01 && worst < 0.025, "{name}, {quantity}: {mean} {worst}");
        }
        let covers = |at: &&Predicted| (at.step_s.low..=at.step_s.high).contains(&held(at).step_s.unwrap());
        assert!(predicted.iter().filter(covers).count() >= 36, "{name}: below 85 %");
    }
}

#[test]
fn a_filled_instance_is_at_least_as_good_and_says_what_nobody_measured() {
    let cut = every_fourth(&shipped("a40-perseus-bloom-stage0"));
    let measured: Vec<PointFile> = cut.operating_points().map(|at| at.point).collect();
    let (plain, filled) = (one_job("", cut.clone()).unwrap(), one_job("fill = { mhz = 15 }", cut).unwrap());
    let best = |built: &Built| {
        let exhaustive = registry::find("exhaustive").unwrap();
        let solved = run(exhaustive, &built.instance, &Request::default(), &Unlimited).unwrap();
        assert_eq!(solved.status, Status::Optimal);
        // Only the checker makes such a plan.
        let plan: CheckedPlan = solved.plan.unwrap();
        plan.evaluation().objective
    };
    let (as_measured, with_more) = (best(&plain), best(&filled));
    assert!(with_more < as_measured, "{with_more} {as_measured}");

    let (before, report) = (&plain.jobs[0], &filled.jobs[0]);
    assert_eq!((before.combinations, before.predicted), (15, 0));
    assert_eq!((report.combinations, report.pruned + report.options), (57, 57));
    let job = &filled.file.jobs[0];
    let asked_for = |job: &rats_domain::format::JobFile| job.options[usize::try_from(job.requested).unwrap()].clone();
    assert_eq!(asked_for(job).point, asked_for(&plain.file.jobs[0]).point);
    assert_eq!(Mark::of(job, usize::try_from(job.requested).unwrap()), None);
    // Marked are the options at points that the profile lacks, and no others.
    let marks = job.physics.as_ref().unwrap()["predicted"].as_array().unwrap();
    let mut marked: Vec<usize> = marks.iter().flat_map(positions).collect();
    marked.sort_unstable();
    let unmeasured = |(_, option): &(usize, &OptionFile)| !measured.contains(&option.point);
    let expected: Vec<usize> = job.options.iter().enumerate().filter(unmeasured).map(|(at, _)| at).collect();
    assert!(!expected.is_empty() && expected.len() == report.predicted);
    assert_eq!(marked, expected);
    for mark in marks {
        let power: Vec<f64> = serde_json::from_value(mark["power_w"].clone()).unwrap();
        for option in positions(mark) {
            assert_eq!(Mark::of(job, option).unwrap().point, job.options[option].point);
            assert_eq!(mark["point"], serde_json::to_value(job.options[option].point).unwrap());
            let peak = job.options[option].peak_w.unwrap_or(job.options[option].power_w).to_f64();
            assert!((peak - power[0]).abs() < 1e-3 && power[1] < power[0] && power[0] < power[2]);
        }
    }
}

fn positions(mark: &Value) -> Vec<usize> {
    serde_json::from_value(mark["options"].clone()).unwrap()
}

#[test]
fn nothing_changes_unless_it_is_asked_for() {
    let profile = every_fourth(&shipped("a40-perseus-bloom-stage0"));
    let plain = text(&one_job("", profile.clone()).unwrap());
    assert!(!plain.contains("predicted"));
    // Off, for the other axis, and wider than every gap.
    for fill in ["fill = {}", "fill = { w = 10 }", "fill = { mhz = 31 }"] {
        assert_eq!(text(&one_job(fill, profile.clone()).unwrap()), plain, "{fill}");
    }
    // The job has the last word.
    let library: Library = [(profile.id.clone(), profile)].into();
    let off =
        ONE_JOB.replace("gpus = [1]\n", "gpus = [1]\nfill = {}\n").replace("tick_s", "fill = { mhz = 15 }\ntick_s");
    assert_eq!(text(&build(&Scenario::read(&off).unwrap().document, &library, &files()).unwrap()), plain);
}

#[test]
fn a_profile_that_cannot_be_fitted_is_left_as_measured() {
    let mut few = every_fourth(&shipped("a40-perseus-bloom-stage0"));
    few.points.truncate(3);
    let asked = |fill: &str| one_job(fill, few.clone());
    let (plain, filled) = (asked("").unwrap(), asked("fill = { mhz = 15 }").unwrap());
    assert_eq!(text(&plain), text(&filled));
    let warning = filled.warnings.iter().find(|warning| warning.code == Code::M01).unwrap();
    assert!(warning.place.starts_with("jobs[0].profiles[0]: "), "{warning}");
    assert!(warning.message.contains("is left as measured. Measure at least 5 points"), "{warning}");
}

#[test]
fn power_limits_are_filled_too() {
    // Limits 100 to 250 W by 25: with 10 W between, one in each of the gaps that are offered.
    let filled = built(&SCENARIO.replace("tick_s = 300", "tick_s = 300\nfill = { w = 10 }")).unwrap();
    let marks = filled.file.jobs[1].physics.as_ref().unwrap()["predicted"].as_array().unwrap().clone();
    assert!(!marks.is_empty() && filled.jobs[1].predicted > 0);
    for mark in marks {
        let limit = mark["point"]["power_limit_w"].as_f64().unwrap();
        assert!([110.0, 135.0, 160.0, 185.0, 210.0, 235.0].contains(&limit), "{limit}");
    }
}

#[test]
fn distances_are_positive_and_bounded() {
    let profile = shipped("a40-perseus-bloom-stage0");
    for (fill, place) in [("fill = { mhz = 0 }", "fill.mhz"), ("fill = { w = -5 }", "fill.w")] {
        let problems = one_job(fill, profile.clone()).unwrap_err();
        assert!(problems.0.iter().any(|problem| (problem.code, problem.place.as_str()) == (Code::B04, place)));
    }
}
