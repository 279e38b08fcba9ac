//! The bound against exhaustive search: never above an optimum, never excluding one, no false proof of infeasibility.

use rats_domain::instance::Instance;
use rats_domain::solver::{Outcome, Request, Solver, Unlimited};

use super::{Ascent, Relaxation};
use crate::exhaustive::Exhaustive;
use crate::testing::{Size, random_instance};

fn converged(model: &Relaxation, value: Option<f64>) -> Ascent<'_> {
    let mut ascent = Ascent::new(model, value);
    // Where there is no plan the bound rises for ever.
    // Where there is no plan the bound rises for ever.
    ascent.climb(3000, |_| false);
    ascent
}

#[test]
fn bound_is_below_the_optimum_and_keeps_its_choices() {
    let (mut optimal, mut rises, mut excluded) = (0, 0, 0);
    for seed in 0..300 {
        let instance = random_instance(seed, Size::Micro);
        let Outcome::Optimal { schedule, bound } = Exhaustive.solve(&instance, &Request::default(), &Unlimited) else {
            continue;
        };
        optimal += 1;
        let model = Relaxation::new(&instance).unwrap();
        let first = Ascent::new(&model, Some(bound)).bound();
        let ascent = converged(&model, Some(bound));
        assert!(ascent.bound() <= bound + 1e-9 * bound.abs().max(1.0), "seed {seed}: {} > {bound}", ascent.bound());
        rises += usize::from(ascent.bound() > first);
        ascent.excluded(bound, |job, option, start| {
            excluded += 1;
            let placement = schedule.placements[job].as_ref().unwrap();
            assert!((placement.option, placement.start) != (option, start), "seed {seed}");
        });
    }
    assert!(optimal > 150 && rises > 50 && excluded > 500, "{optimal} {rises} {excluded}");
}

#[test]
fn infeasibility_is_claimed_only_where_there_is_no_plan() {
    let (mut shown, mut infeasible) = (0, 0);
    for seed in 0..300 {
        let instance = random_instance(seed, Size::Micro);
        let outcome = Exhaustive.solve(&instance, &Request::default(), &Unlimited);
        let model = Relaxation::new(&instance).unwrap().without_objective();
        let is_shown = converged(&model, Some(1.0)).bound() > 1e-6;
        if matches!(outcome, Outcome::Infeasible { .. }) {
            infeasible += 1;
            shown += usize::from(is_shown);
        } else {
            assert!(!is_shown, "seed {seed}");
        }
    }
    assert!(infeasible > 20 && shown > 0, "{infeasible} {shown}");
}

/// Two jobs of 10 ticks that need both GPUs of an always-on node: one after the other, 20 ticks.
#[test]
fn gpus_shared_over_time_bound_the_makespan() {
    let job = |id: &str| {
        format!(
            r#"{{"id": "{id}", "options": [{{"gpu_type": "T", "gpus": 2, "span": "node", "ticks": 10, "power_w": 300}}]}}"#
        )
    };
    let text = format!(
        r#"{{"format": "rats.instance/1", "name": "i", "tick_s": 60, "horizon": 30,
            "cluster": {{"gpu_types": [{{"id": "T", "idle_w": 50}}], "nodes": [{{"id": "n0", "gpu_type": "T", "gpus": 2}}]}},
            "objective": [{{"term": "makespan", "weight": 1}}], "jobs": [{}, {}]}}"#,
        job("a"),
        job("b")
    );
    let instance = Instance::read(text.as_bytes()).unwrap().instance;
    let model = Relaxation::new(&instance).unwrap();
    assert!((converged(&model, None).bound() - 1200.0).abs() < 1e-3);
}
