//! Changes of an instance with a known effect on its optimum.

use rats_domain::instance::Instance;
use rats_solvers::milp::Milp;
use serde_json::Value;

use super::support::{NOISE, objective, root, same, solve};

/// The shipped tiny instances as documents.
fn documents() -> Vec<Value> {
    let mut paths: Vec<_> = std::fs::read_dir(root().join("instances/tiny"))
        .expect("shipped")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    paths.sort();
    paths.iter().map(|path| serde_json::from_slice(&std::fs::read(path).expect("readable")).expect("JSON")).collect()
}

fn optimum(document: &Value) -> Option<f64> {
    let instance = Instance::read(document.to_string().as_bytes()).expect("still valid").instance;
    objective(&solve(&Milp, &instance).expect("tiny instances are refused by none"))
}

#[test]
fn the_order_of_jobs_and_nodes_in_the_file_changes_no_optimum() {
    for document in documents() {
        let mut reversed = document.clone();
        reversed["jobs"].as_array_mut().expect("jobs").reverse();
        reversed["cluster"]["nodes"].as_array_mut().expect("nodes").reverse();
        match (optimum(&document), optimum(&reversed)) {
            (Some(a), Some(b)) => assert!(same(a, b), "{}: {a} against {b}", document["name"]),
            (a, b) => assert_eq!(a, b, "{}", document["name"]),
        }
    }
}

#[test]
fn lifting_a_limit_never_worsens_the_optimum() {
    let lift: [fn(&mut Value) -> Option<Value>; 4] = [
        |document| document["cluster"].as_object_mut()?.remove("power_cap_w"),
        |document| document["cluster"].as_object_mut()?.remove("storage_gb_s"),
        |document| document.as_object_mut()?.remove("energy_budget_j"),
        |document| document["jobs"].as_array_mut()?.iter_mut().find_map(|job| job.as_object_mut()?.remove("deadline")),
    ];
    let mut lifted = 0;
    for document in documents() {
        let tight = optimum(&document);
        for lift in lift {
            let mut loose = document.clone();
            if lift(&mut loose).is_none() {
                continue;
            }
            lifted += 1;
            let loose = optimum(&loose);
            if let Some(tight) = tight {
                let loose = loose.expect("what was possible stays possible");
                assert!(loose <= tight + NOISE * tight.abs(), "{}: {loose} above {tight}", document["name"]);
            }
        }
    }
    assert!(lifted >= 12, "only {lifted} limits to lift");
}
