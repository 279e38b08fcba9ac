//! Rules about single jobs: V3 span, V4 window, V5 precedence, V12 availability.

use super::{Violation, domain_name, during};
use crate::codes::Code;
use crate::evaluate::Occupancy;
use crate::interval::{Interval, union};

/// V3: the narrowest domain that contains the gang is not wider than the option's span.
pub(super) fn span(occupancy: &Occupancy<'_>, violations: &mut Vec<Violation>) {
    let topology = &occupancy.instance.cluster.topology;
    for running in &occupancy.running {
        let Some(domain) = topology.narrowest(&running.placement.gpus) else { continue };
        let domain = topology.domain(domain);
        if domain.rank > running.option.span {
            let name = domain_name(occupancy.instance, domain.kind);
            let job = &occupancy.instance.jobs[running.job].id;
            let message = format!("job `{job}` is spread over `{name}`, wider than its span");
            let tick = running.placement.start;
            violations.push(Violation::of_job(Code::V3, occupancy.instance, running.job, tick, message));
        }
    }
}

/// V4: release, deadline, horizon.
pub(super) fn window(occupancy: &Occupancy<'_>, violations: &mut Vec<Violation>) {
    let instance = occupancy.instance;
    for running in &occupancy.running {
        let job = &instance.jobs[running.job];
        let (start, end) = (running.placement.start, running.end());
        let mut faults = Vec::new();
        if job.fixed.is_none() && start < job.release {
            faults.push((start, format!("starts at {start}, before its release {}", job.release)));
        }
        if let Some(deadline) = job.deadline.filter(|&deadline| end > deadline) {
            faults.push((deadline, format!("ends at {end}, after its deadline {deadline}")));
        }
        if end > instance.horizon {
            faults.push((instance.horizon, format!("ends at {end}, after the horizon {}", instance.horizon)));
        }
        if let Some(tick) = faults.iter().map(|&(tick, _)| tick).min() {
            let faults: Vec<_> = faults.into_iter().map(|(_, fault)| fault).collect();
            let message = format!("job `{}` {}", job.id, faults.join(" and "));
            violations.push(Violation::of_job(Code::V4, instance, running.job, tick, message));
        }
    }
}

/// V5: a job starts when all before it have ended.
pub(super) fn precedence(occupancy: &Occupancy<'_>, violations: &mut Vec<Violation>) {
    let instance = occupancy.instance;
    for running in &occupancy.running {
        let start = running.placement.start;
        let job = &instance.jobs[running.job];
        let late: Vec<_> = job
            .after
            .iter()
            .filter_map(|&before| occupancy.schedule.placements[before].as_ref().map(|placement| (before, placement)))
            .map(|(before, placement)| (before, placement.end(instance, before)))
            .filter(|&(_, end)| end > start)
            .map(|(before, end)| format!("`{}`, which ends at {end}", instance.jobs[before].id))
            .collect();
        if !late.is_empty() {
            let message = format!("job `{}` starts at {start}, before the end of {}", job.id, late.join(", "));
            violations.push(Violation::of_job(Code::V5, instance, running.job, start, message));
        }
    }
}

/// V12: no job runs on a GPU while it is unavailable.
pub(super) fn availability(occupancy: &Occupancy<'_>, violations: &mut Vec<Violation>) {
    let instance = occupancy.instance;
    for running in occupancy.running.iter().filter(|running| !running.interval.is_empty()) {
        let blocked = |interval: &Interval| running.interval.intersection(*interval);
        let gpus = running.placement.gpus.iter();
        let broken = gpus.flat_map(|&gpu| instance.cluster.gpus[gpu].unavailable.iter().map(blocked)).collect();
        for interval in union(broken) {
            let gpus = running.placement.gpus.iter().filter(|&&gpu| {
                instance.cluster.gpus[gpu].unavailable.iter().any(|blocked| blocked.overlaps(interval))
            });
            let names: Vec<_> = gpus.map(|&gpu| instance.cluster.gpu_name(gpu)).collect();
            let job = &instance.jobs[running.job].id;
            let message = format!("job `{job}` runs on {}, unavailable {}", names.join(", "), during(interval));
            let mut violation = Violation::of_job(Code::V12, instance, running.job, interval.from, message);
            violation.end = Some(interval.to);
            violations.push(violation);
        }
    }
}
