//! `rats scale`: how long a step takes on a gang of another size.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};
use rats_models::data::Gang;
use rats_models::scaling::{Hops, NODE_GPUS, Placement, ScalingModel, StepTime, clusters};
use serde_json::json;

use super::Answer;
use super::rows::rows;
use crate::document::json as document;
use crate::report::{Align, number, printable, table};

/// Of `rats scale`.
#[derive(Debug, Args)]
pub struct ScaleArgs {
    /// The folder of a data set, as `rats dataset build` writes it; instances/profiles if absent.
    pub dataset: Option<PathBuf>,
    /// The cluster to learn from; needed where workloads of several have the name.
    #[arg(long, value_name = "SOURCE/GPU")]
    pub cluster: Option<String>,
    /// The workload; without it and `--step` those that are known are listed.
    #[arg(long, value_name = "NAME", conflicts_with = "step", requires = "gpus")]
    pub workload: Option<String>,
    /// A workload that ran on no gang: one step on one GPU, s.
    #[arg(long, value_name = "S", requires = "gpus", requires = "cluster")]
    pub step: Option<f64>,
    /// Bytes of one all-reduce of it; the usual share of communication if absent.
    #[arg(long, value_name = "BYTES", requires = "step")]
    pub gradient_bytes: Option<f64>,
    /// GPUs of the gang.
    #[arg(long, value_name = "N")]
    pub gpus: Option<u32>,
    /// On one node or spread over several; if absent, on one up to 8 GPUs, where such gangs were measured.
    #[arg(long, requires = "gpus")]
    pub placement: Option<Where>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// How the GPUs of a gang sit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Where {
    /// All on one node.
    Together,
    /// On several nodes.
    Spread,
}

type Cluster = ((String, String), Vec<Gang>);

pub(super) fn run(args: &ScaleArgs) -> Result<Answer, Problems> {
    let gangs = rows(args.dataset.as_deref())?.gangs;
    let all: Vec<Cluster> = clusters(&gangs).into_iter().collect();
    let names: Vec<String> = all.iter().map(name).collect();
    let chosen = |cluster: &Cluster| args.cluster.as_ref().is_none_or(|wanted| *wanted == name(cluster));
    let candidates: Vec<Cluster> = all.into_iter().filter(chosen).collect();
    if candidates.is_empty() {
        let place = format!("--cluster {}", printable(args.cluster.as_deref().unwrap_or("")));
        let message = format!("the data set has no gangs of it; it has {}.", names.join(", "));
        return Err(Problem::new(Code::D06, place, message).into());
    }
    let Some(gpus) = args.gpus.filter(|_| args.workload.is_some() || args.step.is_some()) else {
        return Ok(known(args, &candidates));
    };
    let cluster = one(candidates, args.workload.as_deref())?;
    let model = ScalingModel::train(&cluster.1)?;
    let (on_one, _) = model.placements();
    let across_nodes = match args.placement {
        Some(placement) => placement == Where::Spread,
        None => i64::from(gpus) > NODE_GPUS || !on_one,
    };
    let at = Placement { gpus, across_nodes: across_nodes && gpus > 1 };
    let time = match (&args.workload, args.step) {
        (Some(workload), _) => model.predict(workload, at)?,
        (None, step) => model.predict_new("--step", step.unwrap_or(f64::NAN), args.gradient_bytes, at)?,
    };
    Ok(Answer::done(if args.json {
        as_json(args, &cluster, &model, at, time)
    } else {
        text(args, &cluster, &model, at, time)
    }))
}

fn name(((source, gpu), _): &Cluster) -> String {
    format!("{source}/{gpu}")
}

/// The one cluster that knows the workload.
fn one(candidates: Vec<Cluster>, workload: Option<&str>) -> Result<Cluster, Problem> {
    let knows =
        |cluster: &Cluster| workload.is_none_or(|workload| cluster.1.iter().any(|gang| gang.workload == workload));
    let names: Vec<String> = candidates.iter().map(name).collect();
    let mut found: Vec<Cluster> = candidates.into_iter().filter(knows).collect();
    let place = printable(workload.unwrap_or("--step"));
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => {
            let message = format!("None of {} has it; `rats scale` without --workload lists all.", names.join(", "));
            Err(Problem::new(Code::M52, place, message))
        }
        _ => {
            let found: Vec<String> = found.iter().map(name).collect();
            let message = format!("{} have a workload of this name; choose one with --cluster.", found.join(", "));
            Err(Problem::new(Code::U05, place, message))
        }
    }
}

/// The workloads that can be asked for.
fn known(args: &ScaleArgs, clusters: &[Cluster]) -> Answer {
    let mut found: Vec<(String, &str, Vec<i64>)> = Vec::new();
    for cluster in clusters {
        for gang in &cluster.1 {
            match found.iter_mut().find(|entry| entry.0 == name(cluster) && entry.1 == gang.workload) {
                Some(entry) => entry.2.push(gang.gpus),
                None => found.push((name(cluster), &gang.workload, vec![gang.gpus])),
            }
        }
    }
    for entry in &mut found {
        entry.2.sort_unstable();
        entry.2.dedup();
    }
    if args.json {
        let entry = |(cluster, workload, gpus): &(String, &str, Vec<i64>)| json!({"cluster": cluster, "workload": workload, "measured_gpus": gpus});
        return Answer::done(document(&found.iter().map(entry).collect::<Vec<_>>()));
    }
    let mut lines = vec![["CLUSTER", "WORKLOAD", "MEASURED GPUS"].map(str::to_owned).to_vec()];
    lines.extend(found.iter().map(|(cluster, workload, gpus)| {
        let gpus: Vec<String> = gpus.iter().map(ToString::to_string).collect();
        vec![printable(cluster).into_owned(), printable(workload).into_owned(), gpus.join(" ")]
    }));
    Answer::done(table(&lines, &[Align::Left; 3]))
}

fn own(args: &ScaleArgs, model: &ScalingModel) -> Option<(f64, f64)> {
    let workload = args.workload.as_deref()?;
    let (_, own) = model.workloads().find(|(name, _)| *name == workload)?;
    Some((own.step_s, own.transfer_s))
}

fn as_json(args: &ScaleArgs, cluster: &Cluster, model: &ScalingModel, at: Placement, time: StepTime) -> String {
    let own = own(args, model).map(|(step_s, transfer_s)| json!({"step_s": step_s, "transfer_s": transfer_s}));
    let bandwidth = model.bandwidth_gb_s().map(|(near, far)| json!({"in_node": near, "between_nodes": far}));
    document(&json!({
        "cluster": name(cluster), "workload": args.workload, "gpus": at.gpus, "across_nodes": at.across_nodes,
        "step_s": time.step_s, "interval_s": [time.low_s, time.high_s], "exposed_communication_s": time.exposed_s,
        "of_workload": own, "of_cluster": model.cluster, "bandwidth_gb_s": bandwidth,
    }))
}

fn text(args: &ScaleArgs, cluster: &Cluster, model: &ScalingModel, at: Placement, time: StepTime) -> String {
    let placed = match (at.gpus, at.across_nodes) {
        (1, _) => "one GPU".to_owned(),
        (gpus, false) => format!("{gpus} GPUs on one node"),
        (gpus, true) => format!("{gpus} GPUs on several nodes"),
    };
    let workload = args.workload.as_deref().unwrap_or("a new workload");
    let seconds = |value: f64| format!("{} s", number(value));
    let within = format!("{} to {}, 90 %", seconds(time.low_s), seconds(time.high_s));
    let mut lines = vec![
        vec!["step".to_owned(), seconds(time.step_s), within],
        vec![
            "exposed communication".to_owned(),
            seconds(time.exposed_s),
            format!("{:.1} % of the step", 100.0 * time.exposed_s / time.step_s),
        ],
    ];
    if let Some((step, transfer)) = own(args, model) {
        let note = "gradient bytes over the bandwidth in a node".to_owned();
        lines.push(vec!["step without communication".to_owned(), seconds(step), String::new()]);
        lines.push(vec!["transfer of the workload".to_owned(), seconds(transfer), note]);
    }
    let shared = model.cluster;
    let hops = match shared.hops {
        Hops::Ring => "2 (GPUs - 1) hops, a ring",
        Hops::Tree => "2 log2(GPUs) hops, a tree",
    };
    let latencies = (number(1e3 * shared.latency_near_s), number(1e3 * shared.latency_far_s));
    let latencies = format!("{} ms in a node, {} ms between", latencies.0, latencies.1);
    lines.push(vec!["latency of a hop".to_owned(), latencies, hops.to_owned()]);
    let slower = format!("{} times", number(shared.slower_across));
    lines.push(vec!["slower between nodes".to_owned(), slower, String::new()]);
    let hidden = format!("{:.0} % of the step", 100.0 * shared.overlap);
    lines.push(vec!["communication hides behind".to_owned(), hidden, String::new()]);
    if let Some((near, far)) = model.bandwidth_gb_s() {
        let bandwidth = format!("{} GB/s in a node, {} between", number(near), number(far));
        lines.push(vec!["bandwidth".to_owned(), bandwidth, String::new()]);
    }
    let title = format!("{} of {} on {placed}\n\n", printable(workload), printable(&name(cluster)));
    title + &table(&lines, &[Align::Left; 3])
}
