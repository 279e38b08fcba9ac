//! `rats info`: what is in an instance.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rats_domain::codes::Code;
use rats_domain::format::PowerMode;
use rats_domain::ids::JobId;
use rats_domain::instance::{Instance, Job, JobOption};
use rats_domain::problem::{Problem, Problems};
use rats_domain::units::Ticks;
use rats_solvers::bounds;
use serde::Serialize;

use super::args::InfoArgs;
use super::{Answer, info_table};
use crate::document::{Suspicion, json};
use crate::generate::promises;
use crate::io::read_instance;
use crate::report::{Align, count, duration, number, percent, printable, table};

#[derive(Serialize)]
struct Document {
    name: String,
    tick_s: i64,
    horizon: i64,
    cluster: ClusterPart,
    /// Limits of the instance, beside those of single jobs.
    limits: Vec<Limit>,
    jobs: JobsPart,
    objective: BTreeMap<&'static str, f64>,
    /// GPU ticks of every job's fastest option / (GPUs x horizon).
    load: f64,
    /// Mean over all jobs of log2(choices): pairs of usable option and start between release and latest end.
    flexibility: f64,
    /// Why no plan can be valid, if a cheap argument shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    infeasible: Option<String>,
    warnings: Vec<Suspicion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job_list: Option<Vec<JobLine>>,
}

#[derive(Serialize)]
struct ClusterPart {
    nodes: usize,
    sleep_nodes: usize,
    gpus: usize,
    gpu_types: Vec<GpuTypeLine>,
    switches: usize,
    levels: Vec<String>,
}

#[derive(Serialize)]
struct GpuTypeLine {
    id: String,
    nodes: usize,
    gpus: u32,
    idle_w: f64,
}

#[derive(Serialize)]
struct Limit {
    rule: &'static str,
    what: String,
}

#[derive(Serialize)]
struct JobsPart {
    count: usize,
    options: usize,
    /// Number of jobs by gang size of the requested option.
    gangs: BTreeMap<u32, usize>,
    fixed: usize,
    with_after: usize,
    with_release: usize,
    with_deadline: usize,
    with_due: usize,
    /// Share of jobs whose deadline leaves less than twice their fastest time.
    tight_deadlines: f64,
}

#[derive(Serialize)]
struct JobLine {
    id: String,
    release: i64,
    deadline: Option<i64>,
    due: Option<i64>,
    weight: f64,
    options: usize,
    requested_gpus: u32,
    fastest_ticks: i64,
    after: Vec<String>,
    fixed: bool,
    user: Option<String>,
    workload: Option<String>,
}

pub(super) fn run(args: &InfoArgs) -> Result<Answer, Problems> {
    if args.table {
        return info_table::run(args);
    }
    let [path] = &args.instances[..] else {
        return Err(Problem::new(Code::U05, "command line", "several instances need `--table`.").into());
    };
    let read = read_instance(path)?;
    let instance = &read.instance;
    let document = Document {
        name: instance.name.clone(),
        tick_s: instance.tick.0,
        horizon: instance.horizon.0,
        cluster: cluster(instance),
        limits: limits(instance),
        jobs: jobs(instance),
        objective: objective(instance),
        load: promises::load(instance),
        flexibility: flexibility(instance),
        infeasible: bounds::infeasible(instance),
        warnings: read.warnings.iter().map(Suspicion::from).collect(),
        job_list: args.jobs.then(|| instance.jobs.values().map(|job| line(instance, job)).collect()),
    };
    Ok(Answer::done(if args.json { json(&document) } else { text(instance, &document) }))
}

fn cluster(instance: &Instance) -> ClusterPart {
    let cluster = &instance.cluster;
    let gpu_types = cluster.gpu_types.iter().map(|(id, kind)| {
        let nodes = cluster.nodes.values().filter(|node| node.gpu_type == id);
        let (nodes, gpus) = nodes.fold((0, 0), |(nodes, gpus), node| (nodes + 1, gpus + node.gpus.0));
        GpuTypeLine { id: kind.id.clone(), nodes, gpus, idle_w: kind.idle.watts() }
    });
    ClusterPart {
        nodes: cluster.nodes.len(),
        sleep_nodes: cluster.nodes.values().filter(|node| node.power == PowerMode::Sleep).count(),
        gpus: cluster.gpus.len(),
        gpu_types: gpu_types.collect(),
        switches: cluster.switches.len(),
        levels: cluster.levels.clone(),
    }
}

fn limits(instance: &Instance) -> Vec<Limit> {
    let cluster = &instance.cluster;
    let nodes = || cluster.nodes.values();
    let uplinks = cluster.topology.domains().values().filter(|domain| domain.uplink.is_some()).count();
    let listed = nodes().filter(|node| node.resources.values().any(Option::is_some)).count();
    let node_caps = nodes().filter(|node| node.power_cap.is_some()).count();
    let switch_caps = cluster.switches.values().filter(|switch| switch.power_cap.is_some()).count();
    let unavailable = cluster.gpus.values().filter(|gpu| !gpu.unavailable.is_empty()).count();
    let slow = nodes().filter(|node| node.power == PowerMode::Sleep && node.wake_ticks > Ticks::ZERO).count();
    let some = |number: usize, noun: &str| (number > 0).then(|| count(number, noun));
    let found = [
        ("V7", some(listed, "node").map(|nodes| format!("resources of {nodes}"))),
        ("V8", some(uplinks, "uplink").map(|uplinks| format!("{uplinks} with a capacity"))),
        ("V9", cluster.storage.map(|storage| format!("the store delivers {storage}"))),
        ("V10", some(node_caps, "node").map(|nodes| format!("power caps of {nodes}"))),
        ("V10", some(switch_caps, "switch").map(|switches| format!("power caps: {switches}"))),
        ("V10", cluster.power_cap.as_ref().map(|_| "power cap of the cluster".to_owned())),
        ("V11", instance.energy_budget.map(|budget| format!("energy budget {budget}"))),
        ("V12", some(unavailable, "GPU").map(|gpus| format!("{gpus} unavailable at times"))),
        ("V13", some(slow, "node").map(|nodes| format!("{nodes} slow to wake"))),
    ];
    found.into_iter().filter_map(|(rule, what)| Some(Limit { rule, what: what? })).collect()
}

fn jobs(instance: &Instance) -> JobsPart {
    let jobs = || instance.jobs.values();
    let mut gangs = BTreeMap::new();
    for job in jobs() {
        *gangs.entry(job.options[job.requested].gpus.0).or_default() += 1;
    }
    let tight = jobs().filter(|job| {
        let fastest = fastest(job).map_or(Ticks::ZERO, |option| option.ticks);
        job.deadline.is_some_and(|deadline| deadline - job.release < fastest + fastest)
    });
    JobsPart {
        count: instance.jobs.len(),
        options: jobs().map(|job| job.options.len()).sum(),
        gangs,
        fixed: jobs().filter(|job| job.fixed.is_some()).count(),
        with_after: jobs().filter(|job| !job.after.is_empty()).count(),
        with_release: jobs().filter(|job| job.release > Ticks::ZERO).count(),
        with_deadline: jobs().filter(|job| job.deadline.is_some()).count(),
        with_due: jobs().filter(|job| job.due.is_some()).count(),
        tight_deadlines: tight.count() as f64 / instance.jobs.len().max(1) as f64,
    }
}

fn objective(instance: &Instance) -> BTreeMap<&'static str, f64> {
    instance.objective.named().into_iter().filter(|&(_, weight)| weight > 0.0).collect()
}

/// Mean over all jobs of log2 of the pairs of usable option and start that release, deadline and horizon leave; a job
/// without any counts as 0.
pub(super) fn flexibility(instance: &Instance) -> f64 {
    let choices = |job: JobId| -> i64 {
        let Job { options, release, .. } = &instance.jobs[job];
        let room = (instance.latest_end(job) - *release).0;
        let usable = options.values().filter(|option| option.placeable);
        usable.map(|option| (room - option.ticks.0 + 1).max(0)).sum()
    };
    let bits: f64 = instance.jobs.ids().map(|job| (choices(job).max(1) as f64).log2()).sum();
    bits / instance.jobs.len().max(1) as f64
}

/// The usable option of fewest ticks; of equal ones the one of fewest GPUs.
fn fastest(job: &Job) -> Option<&JobOption> {
    job.options.values().filter(|option| option.placeable).min_by_key(|option| (option.ticks, option.gpus))
}

fn line(instance: &Instance, job: &Job) -> JobLine {
    JobLine {
        id: job.id.clone(),
        release: job.release.0,
        deadline: job.deadline.map(|tick| tick.0),
        due: job.due.map(|tick| tick.0),
        weight: job.weight,
        options: job.options.len(),
        requested_gpus: job.options[job.requested].gpus.0,
        fastest_ticks: fastest(job).map_or(0, |option| option.ticks.0),
        after: job.after.iter().map(|&before| instance.jobs[before].id.clone()).collect(),
        fixed: job.fixed.is_some(),
        user: job.user.clone(),
        workload: job.workload.clone(),
    }
}

fn text(instance: &Instance, document: &Document) -> String {
    let (cluster, jobs) = (&document.cluster, &document.jobs);
    let tick = instance.tick;
    let horizon = duration(instance.horizon, tick);
    let mut text =
        format!("{}: {} s a tick, horizon {} ({horizon})\n\n", printable(&document.name), tick.0, instance.horizon);
    let sleeping = format!("{} can sleep", cluster.sleep_nodes);
    let mut rows = vec![[
        "cluster".to_owned(),
        format!("{}, {}, {sleeping}", count(cluster.gpus, "GPU"), count(cluster.nodes, "node")),
    ]];
    rows.extend(cluster.gpu_types.iter().map(|kind| {
        [String::new(), format!("{} x {} in {}, {} W idle", kind.gpus, kind.id, count(kind.nodes, "node"), kind.idle_w)]
    }));
    if !cluster.levels.is_empty() {
        rows.push(["levels".to_owned(), format!("{} (switches: {})", cluster.levels.join(" < "), cluster.switches)]);
    }
    let label = |position: usize, name: &str| if position == 0 { name.to_owned() } else { String::new() };
    for (position, limit) in document.limits.iter().enumerate() {
        rows.push([label(position, "limits"), format!("{:<3}  {}", limit.rule, limit.what)]);
    }
    if let Some(tariff) = &instance.tariff {
        let unit = instance.tariff_unit.as_deref().unwrap_or("units");
        rows.push(["tariff".to_owned(), format!("{} in {unit} per kWh", count(tariff.steps().len(), "step"))]);
    }
    let gangs: Vec<_> = jobs.gangs.iter().map(|(gang, count)| format!("{count} x {gang}")).collect();
    rows.push(["jobs".to_owned(), format!("{} with {}", jobs.count, count(jobs.options, "option"))]);
    rows.push(["gangs asked for".to_owned(), if gangs.is_empty() { "-".to_owned() } else { gangs.join(", ") }]);
    let tight = percent(jobs.tight_deadlines);
    rows.push([
        "deadlines".to_owned(),
        format!("{} jobs have one; it leaves less than twice the fastest time to {tight} of all", jobs.with_deadline),
    ]);
    rows.push([
        "other".to_owned(),
        format!(
            "{} fixed, {} with predecessors, {} with a later release, {} with a due time",
            jobs.fixed, jobs.with_after, jobs.with_release, jobs.with_due
        ),
    ]);
    let objective: Vec<_> =
        document.objective.iter().map(|(term, weight)| format!("{} x {term}", number(*weight))).collect();
    rows.push(["objective".to_owned(), objective.join(" + ")]);
    rows.push(["load".to_owned(), format!("{} of GPU time up to the horizon", percent(document.load))]);
    let flexibility =
        format!("{:.1} bits a job: log2 of its options times the starts left to them", document.flexibility);
    rows.push(["flexibility".to_owned(), flexibility]);
    let rows: Vec<_> = rows.into_iter().map(Vec::from).collect();
    text.push_str(&table(&rows, &[Align::Left]));
    if let Some(reason) = &document.infeasible {
        let _ = write!(text, "\nNo plan can be valid: {}\n", printable(reason));
    }
    for Suspicion { code, place, message } in &document.warnings {
        let _ = write!(text, "\nwarning [{code}] {}: {}\n", printable(place), printable(message));
    }
    if let Some(lines) = &document.job_list {
        let _ = write!(text, "\n{}", job_table(lines));
    }
    text
}

fn job_table(lines: &[JobLine]) -> String {
    let head = ["JOB", "RELEASE", "DEADLINE", "DUE", "WEIGHT", "OPTIONS", "GPUS", "FASTEST", "FIXED", "AFTER"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let optional = |tick: Option<i64>| tick.map_or_else(|| "-".to_owned(), |tick| tick.to_string());
    rows.extend(lines.iter().map(|line| {
        let after = if line.after.is_empty() { "-".to_owned() } else { line.after.join(",") };
        vec![
            line.id.clone(),
            line.release.to_string(),
            optional(line.deadline),
            optional(line.due),
            number(line.weight),
            line.options.to_string(),
            line.requested_gpus.to_string(),
            line.fastest_ticks.to_string(),
            if line.fixed { "yes" } else { "no" }.to_owned(),
            after,
        ]
    }));
    table(&rows, &[Align::Left, Align::Right])
}
