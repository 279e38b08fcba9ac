//! From names to ids: rules V1 and V2, and the names in `power`.

use std::collections::{BTreeMap, BTreeSet};

use super::Violation;
use crate::codes::Code;
use crate::decimal::excerpt;
use crate::format::{AssignmentFile, PlanFile, PowerMode};
use crate::ids::{GpuId, Id, JobId, NodeId, OptionId, Table};
use crate::instance::{Instance, JobOption};
use crate::interval::Interval;
use crate::schedule::{Placement, Schedule};
use crate::units::Ticks;

/// Most faults of one job that a message lists.
const MOST_LISTED: usize = 5;

/// The schedule of all assignments that break neither V1 nor V2, and the violations of the others.
pub(super) fn resolve(instance: &Instance, plan: &PlanFile) -> (Schedule, Vec<Violation>) {
    let jobs: BTreeMap<&str, JobId> = instance.jobs.iter().map(|(id, job)| (job.id.as_str(), id)).collect();
    let gpus = instance.cluster.gpu_names();
    let mut first: Table<JobId, Option<&AssignmentFile>> = Table::filled(None, instance.jobs.len());
    let mut faults: BTreeMap<(Code, &str), Vec<String>> = BTreeMap::new();
    let mut fault = |code, job, message: String| faults.entry((code, job)).or_default().push(message);
    for assignment in &plan.assignments {
        match jobs.get(assignment.job.as_str()) {
            None => fault(Code::V1, assignment.job.as_str(), "is not a job of the instance".to_owned()),
            Some(&job) if first[job].is_some() => {
                fault(Code::V1, assignment.job.as_str(), "appears more than once".to_owned());
            }
            Some(&job) => first[job] = Some(assignment),
        }
    }
    let mut placements = Table::filled(None, instance.jobs.len());
    for (job, assignment) in first.iter() {
        let name = instance.jobs[job].id.as_str();
        match assignment {
            None => fault(Code::V1, name, "is missing".to_owned()),
            Some(assignment) => match placement(instance, job, assignment, &gpus) {
                Ok(placement) => placements[job] = Some(placement),
                Err((code, messages)) => messages.into_iter().for_each(|message| fault(code, name, message)),
            },
        }
    }
    let violations = faults.into_iter().map(|((code, job), messages)| Violation {
        code,
        job: Some(job.to_owned()),
        place: None,
        tick: None,
        end: None,
        message: format!("job `{}` {}", excerpt(job), listed(messages)),
    });
    (Schedule { placements, power: BTreeMap::new() }, violations.collect())
}

/// The first few of the faults, each once, and the number of the others.
fn listed(mut faults: Vec<String>) -> String {
    let mut seen = BTreeSet::new();
    faults.retain(|fault| seen.insert(fault.clone()));
    let more = faults.len().saturating_sub(MOST_LISTED);
    faults.truncate(MOST_LISTED);
    let text = faults.join("; ");
    if more > 0 { format!("{text}; and {more} more") } else { text }
}

fn placement(
    instance: &Instance,
    job: JobId,
    assignment: &AssignmentFile,
    names: &BTreeMap<String, GpuId>,
) -> Result<Placement, (Code, Vec<String>)> {
    let count = instance.jobs[job].options.len();
    let position = usize::try_from(assignment.option).ok().filter(|&position| position < count);
    let Some(id) = position.map(OptionId::from_position) else {
        return Err((Code::V1, vec![format!("has no option {}; it has {count}, counted from 0", assignment.option)]));
    };
    let (gpus, faults) = gang(instance, instance.option(job, id), &assignment.gpus, names);
    if let Some(fixed) = &instance.jobs[job].fixed
        && (fixed.option != id || fixed.start.0 != assignment.start || fixed.gpus != gpus)
    {
        return Err((Code::V1, vec!["is fixed and must be repeated exactly".to_owned()]));
    }
    if faults.is_empty() {
        Ok(Placement { option: id, start: Ticks(assignment.start), gpus })
    } else {
        Err((Code::V2, faults))
    }
}

/// The GPUs of these names, as a set in file order, and everything that is wrong with them as the option's gang.
fn gang(
    instance: &Instance,
    option: &JobOption,
    listed: &[String],
    names: &BTreeMap<String, GpuId>,
) -> (Vec<GpuId>, Vec<String>) {
    let mut faults = Vec::new();
    let mut gpus = Vec::with_capacity(listed.len());
    for name in listed {
        match names.get(name) {
            Some(&gpu) => gpus.push(gpu),
            None => faults.push(format!("names GPU `{}`, which does not exist", excerpt(name))),
        }
    }
    gpus.sort_unstable();
    let count = gpus.len();
    gpus.dedup();
    if gpus.len() < count {
        faults.push("names a GPU twice".to_owned());
    }
    if listed.len() != option.gpus.0 as usize {
        faults.push(format!("has {} GPUs for a gang of {}", listed.len(), option.gpus));
    }
    let kind = &instance.cluster.gpu_types[option.gpu_type];
    if let Some(&gpu) = gpus.iter().find(|&&gpu| instance.cluster.type_of(gpu) != option.gpu_type) {
        faults.push(format!("needs GPUs of type `{}`, `{}` is none", kind.id, instance.cluster.gpu_name(gpu)));
    }
    if !instance.cluster.memory_fits(option) {
        faults.push(format!("needs {} MiB on each GPU, type `{}` has less", option.memory.0, kind.id));
    }
    (gpus, faults)
}

/// The stated powered intervals of sleep nodes; names that are none are violations of V13.
pub(super) fn power_entries(
    instance: &Instance,
    plan: &PlanFile,
    violations: &mut Vec<Violation>,
) -> BTreeMap<NodeId, Vec<Interval>> {
    let names: BTreeMap<&str, NodeId> =
        instance.cluster.nodes.iter().map(|(id, node)| (node.id.as_str(), id)).collect();
    let mut stated = BTreeMap::new();
    for (name, intervals) in &plan.power {
        let problem = match names.get(name.as_str()) {
            None => "is not a node",
            Some(&node) if instance.cluster.nodes[node].power == PowerMode::AlwaysOn => "is always on",
            Some(&node) => {
                let intervals = intervals.iter().map(|&(from, to)| Interval::new(Ticks(from), Ticks(to)));
                stated.insert(node, intervals.collect());
                continue;
            }
        };
        violations.push(Violation {
            code: Code::V13,
            job: None,
            place: Some(name.clone()),
            tick: None,
            end: None,
            message: format!("`power` names `{}`, which {problem}", excerpt(name)),
        });
    }
    stated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_lists_few_faults_and_none_twice() {
        assert_eq!(listed(vec!["a".to_owned(), "b".to_owned(), "a".to_owned()]), "a; b");
        let many = (0..9).map(|number| number.to_string()).collect();
        assert_eq!(listed(many), "0; 1; 2; 3; 4; and 4 more");
    }
}
