//! What sets an instance apart from others, in a few words for tables.

use rats_domain::format::PowerMode;
use rats_domain::instance::Instance;
use rats_domain::topology::Rank;
use rats_domain::units::Ticks;

use crate::report::number;

/// Which parts of the model the instance uses, in words.
pub fn features(instance: &Instance) -> Vec<String> {
    let cluster = &instance.cluster;
    let nodes = || cluster.nodes.values();
    let asleep = nodes().filter(|node| node.power == PowerMode::Sleep).count();
    let power = match asleep {
        0 => "always on",
        all if all == cluster.nodes.len() => "sleep",
        _ => "some sleep",
    };
    let domains = cluster.topology.domains();
    let islands = nodes().any(|node| node.gpus.0 > 1)
        && domains.values().filter(|domain| domain.rank == Rank::ISLAND).count() > cluster.nodes.len();
    let steps = cluster.power_cap.as_ref().map(|cap| cap.steps().len());
    let jobs = || instance.jobs.values();
    let mut found = vec![power.to_owned()];
    if cluster.gpu_types.len() > 1 {
        found.push(format!("{} GPU types", cluster.gpu_types.len()));
    }
    for (present, name) in [
        (islands, "islands"),
        (domains.values().any(|domain| domain.uplink.is_some()), "uplinks"),
        (cluster.storage.is_some(), "store"),
        (nodes().any(|node| node.resources.values().any(Option::is_some)), "cores"),
        (steps == Some(1), "cap"),
        (steps > Some(1), "cap in steps"),
        (nodes().any(|node| node.power_cap.is_some()), "node caps"),
        (cluster.switches.values().any(|switch| switch.power_cap.is_some()), "switch caps"),
        (instance.tariff.is_some(), "tariff"),
        (instance.energy_budget.is_some(), "budget"),
        (cluster.gpus.values().any(|gpu| !gpu.unavailable.is_empty()), "maintenance"),
        (jobs().any(|job| !job.after.is_empty()), "precedence"),
        (jobs().any(|job| job.release > Ticks::ZERO), "releases"),
        (jobs().any(|job| job.due.is_some()), "due"),
    ] {
        if present {
            found.push(name.to_owned());
        }
    }
    found
}

/// The objective, such as `1 energy + 1000 tardiness`.
pub fn objective(instance: &Instance) -> String {
    let term = |(name, weight): (&str, f64)| (weight > 0.0).then(|| format!("{} {name}", number(weight)));
    instance.objective.named().into_iter().filter_map(term).collect::<Vec<_>>().join(" + ")
}
