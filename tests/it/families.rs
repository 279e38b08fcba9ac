//! `rats build` and `rats generate` through the real program; the shipped families come out of it byte for byte.

use std::fs;
use std::path::Path;

use crate::harness::Place;

fn shipped(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("instances").join(path)).unwrap()
}

#[test]
fn shipped_families_are_what_the_command_writes() {
    let place = Place::with_plans(&[]);
    for (family, seed, more) in [
        ("small", 1, ""),
        ("small", 5, ""),
        ("small", 11, ""),
        ("medium", 3, ""),
        ("medium", 10, ""),
        ("large", 1, "--jobs 100"),
        ("large", 7, "--jobs 200"),
    ] {
        let done = place.rats(&format!("generate {family} --seed {seed} {more} -o out.json"));
        assert_eq!(done.exit, 0, "{}", done.stderr);
        let path = format!("{family}/{family}-v1-{seed:02}.json");
        assert!(place.read("out.json") == shipped(&path), "{path}");
    }
}

#[test]
fn every_family_is_shipped_whole() {
    for (family, count) in [("small", 12), ("medium", 12), ("large", 6)] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("instances").join(family);
        assert_eq!(fs::read_dir(folder).unwrap().count(), count, "{family}");
    }
}

#[test]
fn the_witness_of_a_generated_instance_is_a_valid_plan() {
    let place = Place::with_plans(&[]);
    let done = place.rats("generate medium --seed 8 -o m.json --witness w.json");
    assert_eq!(done.exit, 0, "{}", done.stderr);
    assert!(done.stdout.starts_with("medium-v1-08: "), "{}", done.stdout);
    assert_eq!(place.rats("check m.json w.json --strict").exit, 0);
    let table = place.rats("info --table m.json").stdout;
    assert!(table.lines().nth(2).unwrap().starts_with("| medium-v1-08 | "), "{table}");
    place.rats("info m.json i.json").fails_with("error [U05] command line: several instances need `--table`.");
}

#[test]
fn a_scenario_is_built_and_solved() {
    let place = Place::with_plans(&[]);
    place.write("scenario.toml", &shipped("demo/v100-jobs.toml"));
    let profiles = Path::new(env!("CARGO_MANIFEST_DIR")).join("instances/profiles");
    let done = place.rats(&format!("build scenario.toml --profiles {} -o built.json", profiles.display()));
    assert_eq!(done.exit, 0, "{}", done.stderr);
    assert!(done.stdout.contains("v100-jobs: 6 jobs with "), "{}", done.stdout);
    let info = place.rats("info built.json --json").json();
    assert!(info["flexibility"].as_f64().unwrap() > 1.0, "{info}");
    assert_eq!(place.rats("solve built.json --solver greedy_energy -o p.json").exit, 0);
    assert_eq!(place.rats("check built.json p.json --strict").exit, 0);
}

#[test]
fn a_bad_scenario_is_named_with_file_and_place() {
    let place = Place::with_plans(&[]);
    place.write("s.toml", "format = \"rats.scenario/1\"\nname =\n");
    place.rats("build s.toml -o out.json").fails_with("error [B01] s.toml: line 2, column 7: ");
    place.write("s.toml", &shipped("demo/v100-jobs.toml"));
    // Without the library its profiles are unknown.
    place.rats("build s.toml -o out.json").fails_with("error [B05] s.toml: jobs[0].profiles[0]: there is no profile ");
    assert!(!place.path("out.json").exists());
}

#[test]
fn gpu_types_come_from_files_of_the_catalogue() {
    let place = Place::with_plans(&[]);
    let scenario = shipped("demo/v100-jobs.toml")
        .replace("gpu_types = [{ id = \"v100\", idle_w = 50, memory_mib = 32768 }]", "gpu_types = []")
        .replace("[hardware.v100]", "[gpu_files]\nv100 = \"v100.json\"\n\n[hardware.v100]");
    place.write("v100.json", &shipped("gpus/v100.json"));
    place.write("s.toml", &scenario);
    let profiles = Path::new(env!("CARGO_MANIFEST_DIR")).join("instances/profiles");
    let words = format!("build s.toml --profiles {} -o i.json", profiles.display());
    let done = place.rats(&words);
    assert_eq!(done.exit, 0, "{}", done.stderr);
    let built: serde_json::Value = serde_json::from_str(&place.read("i.json")).expect("JSON");
    let gpu: serde_json::Value = serde_json::from_str(&shipped("gpus/v100.json")).expect("JSON");
    let kind = &built["cluster"]["gpu_types"][0];
    assert_eq!(kind["id"], "v100");
    assert_eq!((&kind["idle_w"], &kind["memory_mib"]), (&gpu["idle_w"]["value"], &gpu["memory_mib"]["value"]));
    place.write("s.toml", &scenario.replace("\"v100.json\"", "\"none.json\""));
    place.rats(&words).fails_with("error [U01] none.json");
}
