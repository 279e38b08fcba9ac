//! The rules of a valid instance. Every broken one is reported, with code and place.

mod cluster;
mod jobs;
mod numbers;
mod tree;

use std::collections::BTreeMap;

use self::numbers::Collector;
use super::{Instance, ReadInstance};
use crate::codes::Code;
use crate::format::{Document, InstanceFile, TermFile};
use crate::objective::Objective;
use crate::problem::Problems;
use crate::units::{TickLength, Ticks};

/// Validates an instance.
pub(super) fn instance(file: &InstanceFile) -> Result<ReadInstance, Problems> {
    let mut collector = Collector::default();
    if file.format != InstanceFile::FORMAT {
        collector.problem(Code::R02, "format", format!("expected `{}`.", InstanceFile::FORMAT));
    }
    if file.name.is_empty() || file.name.chars().any(char::is_control) {
        collector.problem(Code::I04, "name", "the name is empty or holds a control character.");
    }
    let tick = TickLength(collector.integer("tick_s", file.tick_s, 1));
    let horizon = Ticks(collector.integer("horizon", file.horizon, 1));
    let cluster = cluster::cluster(&mut collector, &file.cluster);
    let tariff = file.tariff.as_ref().map(|steps| collector.tariff("tariff", steps));
    let energy_budget = collector.optional("energy_budget_j", file.energy_budget_j, Collector::joules);
    let objective = objective(&mut collector, &file.objective, tariff.is_some());
    let jobs = jobs::jobs(&mut collector, &file.jobs, &file.cluster, cluster.as_ref());
    let Some(mut cluster) = cluster.filter(|_| collector.problems.is_empty()) else {
        return Err(Problems(collector.problems));
    };
    for job in jobs.values() {
        if let Some(fixed) = &job.fixed {
            let runs_through_0 = fixed.start < Ticks(0) && fixed.start + job.options[fixed.option].ticks > Ticks(0);
            for &gpu in fixed.gpus.iter().filter(|_| runs_through_0) {
                let node = cluster.gpus[gpu].node;
                cluster.nodes[node].on_at_start = true;
            }
        }
    }
    let instance = Instance {
        name: file.name.clone(),
        sha256: None,
        tick,
        horizon,
        cluster,
        tariff,
        tariff_unit: file.tariff_unit.clone(),
        energy_budget,
        objective,
        jobs,
    };
    Ok(ReadInstance { instance, warnings: collector.warnings })
}

fn objective(collector: &mut Collector, terms: &[TermFile], has_tariff: bool) -> Objective {
    let mut objective = Objective::default();
    if terms.is_empty() {
        collector.problem(Code::I01, "objective", "there must be at least one term.");
        return objective;
    }
    for (position, TermFile { term, weight }) in terms.iter().enumerate() {
        let place = format!("objective[{position}]");
        let weight = collector.weight(&format!("{place}.weight"), *weight);
        let slot = match term.as_str() {
            "energy" => &mut objective.energy,
            "cost" => &mut objective.cost,
            "makespan" => &mut objective.makespan,
            "completion" => &mut objective.completion,
            "tardiness" => &mut objective.tardiness,
            _ => {
                let known = "known are energy, cost, makespan, completion, tardiness";
                collector.problem(Code::I13, format!("{place}.term"), format!("unknown term `{term}`; {known}."));
                continue;
            }
        };
        *slot += weight;
        if term == "cost" && !has_tariff {
            collector.problem(Code::I13, format!("{place}.term"), "`cost` needs a tariff.");
        }
    }
    if objective.named().iter().all(|&(_, weight)| weight == 0.0) {
        collector.problem(Code::I13, "objective", "at least one weight must be above 0.");
    }
    objective
}

/// Names in file order, each with its position; duplicates are reported.
fn names<'f>(collector: &mut Collector, list: &str, ids: impl Iterator<Item = &'f str>) -> BTreeMap<&'f str, usize> {
    let mut positions = BTreeMap::new();
    for (position, id) in ids.enumerate() {
        let place = format!("{list}[{position}].id");
        collector.id(&place, id);
        if let Some(first) = positions.get(id) {
            collector.problem(Code::I05, place, format!("`{id}` is already {list}[{first}]."));
        } else {
            positions.insert(id, position);
        }
    }
    positions
}
