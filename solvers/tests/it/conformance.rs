//! What every solver promises, on the shipped tiny instances: registry x instances.

use std::collections::BTreeMap;

use rats_domain::solver::{Request, Unlimited};
use rats_solvers::registry::ALL;
use rats_solvers::{Status, bounds, run};

use super::support::{objective, root, same, solve, tiny};

/// `instances/best_known.toml`: instance -> objective, or "infeasible".
fn best_known() -> BTreeMap<String, Option<f64>> {
    let text = std::fs::read_to_string(root().join("instances/best_known.toml")).expect("shipped");
    let table: toml::Table = text.parse().expect("valid TOML");
    let entry = |(name, value): (String, toml::Value)| {
        let row = value.as_table().expect("a table").clone();
        let infeasible = row.get("status").and_then(toml::Value::as_str) == Some("infeasible");
        (name, (!infeasible).then(|| row["objective"].as_float().expect("a number")))
    };
    table["tiny"].as_table().expect("a table").clone().into_iter().map(entry).collect()
}

#[test]
fn the_registry_holds_what_is_recorded_for_every_tiny_instance() {
    let known = best_known();
    let names: Vec<_> = tiny().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 24);
    assert_eq!(names, known.keys().cloned().collect::<Vec<_>>());
}

#[test]
fn exact_solvers_agree_with_the_record_and_heuristics_are_not_below() {
    let known = best_known();
    for (name, instance) in tiny() {
        for solver in ALL {
            let id = solver.about().id;
            let solved = solve(*solver, &instance).unwrap_or_else(|fault| panic!("{name}: {id}: {fault}"));
            match (known[&name], objective(&solved)) {
                (Some(best), Some(found)) if solver.about().exact => {
                    assert!(same(found, best), "{name}: {id} finds {found}, known is {best}");
                    assert_eq!(solved.status, Status::Optimal, "{name}: {id}");
                }
                (Some(best), Some(found)) => {
                    assert!(found >= best || same(found, best), "{name}: {id} finds {found} below {best}");
                }
                (None, found) => {
                    assert_eq!(found, None, "{name}: {id} has a plan for an infeasible instance");
                    if solver.about().exact {
                        assert_eq!(solved.status, Status::Infeasible, "{name}: {id}");
                        assert!(solved.reason.is_some());
                    }
                }
                (Some(_), None) => assert!(!solver.about().exact, "{name}: {id} finds no plan"),
            }
        }
    }
}

#[test]
fn no_bound_is_above_the_optimum() {
    let known = best_known();
    for (name, instance) in tiny() {
        for rung in bounds::ladder(&instance) {
            if let Some(best) = known[&name] {
                assert!(rung.value <= best, "{name}: {} gives {} above {best}", rung.name, rung.value);
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_plan_whatever_the_threads() {
    for (name, instance) in tiny() {
        for solver in ALL {
            let plan = |threads| {
                let request = Request { seed: 7, threads, iterations: Some(20), ..Request::default() };
                let solved = run(*solver, &instance, &request, &Unlimited).expect("tiny instances are refused by none");
                solved.plan.map(|plan| plan.schedule().clone())
            };
            assert_eq!(plan(1), plan(1), "{name}: {}", solver.about().id);
            if !solver.about().exact {
                assert_eq!(plan(1), plan(2), "{name}: {}", solver.about().id);
            }
        }
    }
}
