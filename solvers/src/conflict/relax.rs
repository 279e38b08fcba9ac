//! An instance file with some of its jobs and rules left out.

use std::collections::BTreeMap;

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::format::{InstanceFile, JobFile, NodeFile, OptionFile, StepsFile, TermFile};

/// The rules of which a file states limits, ascending.
pub(super) fn stated(file: &InstanceFile) -> Vec<Code> {
    let cluster = &file.cluster;
    let any_node = |has: fn(&NodeFile) -> bool| cluster.nodes.iter().any(has);
    let stated = [
        (Code::V4, true),
        (Code::V5, file.jobs.iter().any(|job| !job.after.is_empty())),
        (Code::V7, any_node(|node| !node.resources.is_empty())),
        (
            Code::V8,
            any_node(|node| node.uplink_gb_s.is_some() || node.island_uplink_gb_s.is_some())
                || cluster.switches.iter().any(|switch| switch.uplink_gb_s.is_some()),
        ),
        (Code::V9, cluster.storage_gb_s.is_some()),
        (
            Code::V10,
            cluster.power_cap_w.is_some()
                || any_node(|node| node.power_cap_w.is_some())
                || cluster.switches.iter().any(|switch| switch.power_cap_w.is_some()),
        ),
        (Code::V11, file.energy_budget_j.is_some()),
        (Code::V12, any_node(|node| !node.unavailable.is_empty())),
        (Code::V13, any_node(|node| node.wake_ticks > 0)),
    ];
    stated.into_iter().filter_map(|(code, is_stated)| is_stated.then_some(code)).collect()
}

/// Whether a job takes away from nothing but what the others need: its GPUs draw at least as much as when idle.
pub(super) fn is_removable(file: &InstanceFile, job: &JobFile) -> bool {
    let draws = |option: &OptionFile| {
        let kind = file.cluster.gpu_types.iter().find(|kind| kind.id == option.gpu_type);
        let idle = kind.and_then(|kind| kind.idle_w.scaled(3)).unwrap_or(0) * i128::from(option.gpus);
        let at_least_idle = |power: Decimal| power.scaled(3).is_some_and(|power| power >= idle);
        at_least_idle(option.power_w) && option.peak_w.is_none_or(at_least_idle)
    };
    job.options.iter().all(draws)
}

/// The file with nothing but these jobs and rules, and no aim: every plan of it is as good as any other.
pub(super) fn relaxed(file: &InstanceFile, jobs: &[String], rules: &[Code]) -> InstanceFile {
    let mut relaxed = file.clone();
    for rule in stated(file).into_iter().filter(|rule| !rules.contains(rule)) {
        lift(&mut relaxed, rule);
    }
    let is_kept = |id: &String| jobs.contains(id);
    for job in file.jobs.iter().filter(|job| !is_kept(&job.id)) {
        keep_powered(&mut relaxed, job);
    }
    relaxed.jobs.retain(|job| is_kept(&job.id));
    for job in &mut relaxed.jobs {
        job.after.retain(is_kept);
        job.weight = 0.into();
    }
    relaxed.objective = vec![TermFile { term: "completion".to_owned(), weight: 1.into() }];
    relaxed.tariff = None;
    relaxed
}

/// A node on which a fixed job runs through tick 0 is on when the plan begins, with or without the job.
fn keep_powered(relaxed: &mut InstanceFile, job: &JobFile) {
    let Some(fixed) = &job.fixed else { return };
    let ticks = usize::try_from(fixed.option).ok().and_then(|at| job.options.get(at)).map_or(0, |option| option.ticks);
    if fixed.start >= 0 || fixed.start + ticks <= 0 {
        return;
    }
    let is_on =
        |node: &NodeFile| fixed.gpus.iter().any(|gpu| gpu.rsplit_once('/').is_some_and(|(id, _)| id == node.id));
    relaxed.cluster.nodes.iter_mut().filter(|node| is_on(node)).for_each(|node| node.on_at_start = true);
}

/// Takes away all limits of a rule.
fn lift(file: &mut InstanceFile, rule: Code) {
    match rule {
        Code::V4 => lift_times(file),
        Code::V5 => file.jobs.iter_mut().for_each(|job| job.after.clear()),
        Code::V7 => file.cluster.nodes.iter_mut().for_each(|node| node.resources = BTreeMap::new()),
        Code::V8 => {
            file.cluster.switches.iter_mut().for_each(|switch| switch.uplink_gb_s = None);
            for node in &mut file.cluster.nodes {
                (node.uplink_gb_s, node.island_uplink_gb_s) = (None, None);
            }
        }
        Code::V9 => file.cluster.storage_gb_s = None,
        Code::V10 => {
            file.cluster.power_cap_w = None;
            file.cluster.switches.iter_mut().for_each(|switch| switch.power_cap_w = None);
            file.cluster.nodes.iter_mut().for_each(|node| node.power_cap_w = None);
        }
        Code::V11 => file.energy_budget_j = None,
        Code::V12 => file.cluster.nodes.iter_mut().for_each(|node| node.unavailable.clear()),
        Code::V13 => file.cluster.nodes.iter_mut().for_each(|node| node.wake_ticks = 0),
        _ => {}
    }
}

/// No release, no deadline, and a horizon at which all jobs could have run one after the other once nothing changes any
/// more: a plan that is still impossible then is impossible at any time.
fn lift_times(file: &mut InstanceFile) {
    let cluster = &file.cluster;
    let steps = |steps: &Option<StepsFile>| match steps {
        Some(StepsFile::Steps(steps)) => steps.iter().map(|step| step.0).max().unwrap_or(0),
        _ => 0,
    };
    let of_nodes = cluster.nodes.iter().flat_map(|node| {
        let unavailable = node.unavailable.iter().map(|entry| entry.to).max().unwrap_or(0);
        [steps(&node.power_cap_w), unavailable, node.wake_ticks]
    });
    let of_switches = cluster.switches.iter().map(|switch| steps(&switch.power_cap_w));
    let of_cluster = [steps(&cluster.power_cap_w), steps(&cluster.foreign_w)];
    let fixed_end = |job: &JobFile| {
        let longest = job.options.iter().map(|option| option.ticks).max().unwrap_or(0);
        job.fixed.as_ref().map_or(0, |fixed| fixed.start + longest)
    };
    let settled = of_nodes.chain(of_switches).chain(of_cluster).chain(file.jobs.iter().map(fixed_end)).max();
    let longest = |job: &JobFile| job.options.iter().map(|option| option.ticks).max().unwrap_or(0);
    let work: i64 = file.jobs.iter().map(longest).sum();
    let wakes: i64 = cluster.nodes.iter().map(|node| node.wake_ticks).max().unwrap_or(0) * jobs(file);
    file.horizon = file.horizon.max(settled.unwrap_or(0) + work + wakes);
    for job in &mut file.jobs {
        (job.release, job.deadline) = (0, None);
    }
}

fn jobs(file: &InstanceFile) -> i64 {
    i64::try_from(file.jobs.len()).unwrap_or(i64::MAX)
}
