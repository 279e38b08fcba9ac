//! The worked examples of `docs/model.md`, solved by every exact solver.

use rats_domain::instance::Instance;
use rats_domain::units::Millijoules;
use rats_solvers::registry::ALL;

use super::support::solve;

/// One sleep node of two GPUs; jobs a and b, each 10 ticks at 300 W or 14 ticks at 200 W.
fn race(base_w: u32) -> Instance {
    let option = |ticks: u32, power: u32| {
        format!(r#"{{"gpu_type":"g","gpus":1,"span":"node","ticks":{ticks},"power_w":{power}}}"#)
    };
    let options = format!("[{},{}]", option(10, 300), option(14, 200));
    let text = format!(
        r#"{{"format":"rats.instance/1","name":"race","tick_s":60,"horizon":100,
        "cluster":{{"gpu_types":[{{"id":"g","idle_w":50}}],
        "nodes":[{{"id":"n0","gpu_type":"g","gpus":2,"base_w":{base_w},"power":"sleep","wake_j":12000}}]}},
        "objective":[{{"term":"energy","weight":1}}],
        "jobs":[{{"id":"a","options":{options}}},{{"id":"b","options":{options}}}]}}"#
    );
    Instance::read(text.as_bytes()).expect("valid").instance
}

/// Two jobs that must run in [0, 2) and [10, 12), with dear hours between.
fn tariff() -> Instance {
    let job = |id: &str, release: u32, deadline: u32| {
        format!(
            r#"{{"id":"{id}","release":{release},"deadline":{deadline},
            "options":[{{"gpu_type":"g","gpus":1,"span":"node","ticks":2,"power_w":300}}]}}"#
        )
    };
    let text = format!(
        r#"{{"format":"rats.instance/1","name":"tariff","tick_s":60,"horizon":12,
        "cluster":{{"gpu_types":[{{"id":"g","idle_w":50}}],
        "nodes":[{{"id":"n0","gpu_type":"g","gpus":2,"base_w":100,"power":"sleep","wake_j":120000}}]}},
        "tariff":[[0,0.1],[2,1.0],[10,0.1]],
        "objective":[{{"term":"cost","weight":1}}],"jobs":[{},{}]}}"#,
        job("a", 0, 2),
        job("b", 10, 12)
    );
    Instance::read(text.as_bytes()).expect("valid").instance
}

#[test]
fn racing_to_idle_wins_where_the_node_itself_draws_much() {
    for solver in ALL.iter().filter(|solver| solver.about().exact) {
        let id = solver.about().id;
        // 10 ticks x (200 + 600) W x 60 s + 12000 J.
        let plan = solve(*solver, &race(200)).expect("taken").plan.expect("a plan");
        assert_eq!(plan.evaluation().terms.energy, Millijoules(492_000_000), "{id}");
        // 14 ticks x (20 + 400) W x 60 s + 12000 J.
        let plan = solve(*solver, &race(20)).expect("taken").plan.expect("a plan");
        assert_eq!(plan.evaluation().terms.energy, Millijoules(364_800_000), "{id}");
    }
}

#[test]
fn stated_power_sleeps_through_dear_hours() {
    for solver in ALL.iter().filter(|solver| solver.about().exact) {
        let id = solver.about().id;
        let solved = solve(*solver, &tariff()).expect("taken");
        let plan = solved.plan.expect("a plan");
        assert_eq!(plan.schedule().power.len(), 1, "{id} states power");
        // 2 x (2 ticks x 450 W x 60 s + 120000 J) at 0.1 per kWh; the default rule pays 96000 J at 1.0 in the gap.
        let expected = 2.0 * (2.0 * 450.0 * 60.0 + 120_000.0) * 0.1 / 3.6e6;
        let cost = plan.evaluation().terms.cost.expect("a tariff");
        assert!((cost - expected).abs() < 1e-12, "{id}: {cost}");
    }
}
