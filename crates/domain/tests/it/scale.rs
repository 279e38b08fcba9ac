//! A plan of 10 000 jobs on 10 000 GPUs is worth what one can add up job by job and node by node.

use crate::large::{BASE_W, GPUS_PER_NODE, IDLE_W, NODES_PER_RACK, RACKS, TICK_S, WAKE_J, instance, plan, runs};
use crate::support;

/// Energy in J: running gangs, then each node while it is powered.
fn energy_by_hand() -> i64 {
    let runs = runs();
    let gangs: i64 = runs.iter().map(|run| run.power_w * run.ticks * TICK_S).sum();
    let makespan = runs.iter().map(|run| run.start + run.ticks).max().unwrap();
    let nodes = (0..RACKS * NODES_PER_RACK).map(|node| {
        let first = if node % NODES_PER_RACK == NODES_PER_RACK - 1 { node - 1 } else { node };
        let of_node = runs.iter().filter(|run| run.node == first);
        let busy_gpu_ticks: i64 = of_node.clone().map(|run| run.gang.min(GPUS_PER_NODE) * run.ticks).sum();
        let busy: i64 = of_node.map(|run| run.ticks).sum();
        let (powered, wake) = if node % 2 == 1 { (busy, WAKE_J) } else { (makespan, 0) };
        (powered * BASE_W + (powered * GPUS_PER_NODE - busy_gpu_ticks) * IDLE_W) * TICK_S + wake
    });
    gangs + nodes.sum::<i64>()
}

#[test]
fn a_large_plan_has_the_energy_added_up_by_hand() {
    let instance = support::instance(&instance());
    assert_eq!((instance.cluster.gpus.len(), instance.jobs.len()), (10_000, 10_000));
    let report = support::report(&instance, &plan());
    assert!(report.is_valid(), "{:?}", report.violations.first());
    let terms = report.evaluation.unwrap().terms;
    assert_eq!(terms.energy.0, i128::from(energy_by_hand()) * 1000);
}
