//! What was discovered, for people and as a scenario.

use std::fmt::Write as _;

use rats_domain::codes::Code;
use rats_domain::decimal::Decimal;
use rats_domain::problem::Problem;
use rats_domain::units::{KilobytesPerSecond, Milliwatts};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::tree::{Cluster, Hardware};
use super::{Found, Idle, Machine};
use crate::gpu::{MemoryClock, Mig};

/// One line a GPU, and what they add up to.
pub fn table(machines: &[Machine], cluster: &Cluster) -> String {
    let head = ["GPU", "UUID", "PCI", "TYPE", "SM MHz", "MEM MHz", "LIMIT W", "IDLE W", "MIG"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for gpu in &cluster.inventory.gpus {
        let found = machines.iter().filter(|machine| machine.host == gpu.host);
        let found = found.flat_map(|machine| &machine.gpus).find(|found| found.facts.uuid.as_str() == gpu.uuid);
        if let Some(found) = found {
            rows.push(row(&format!("{}/{}", gpu.node, gpu.index), found));
        }
    }
    let mut text = columns(&rows);
    text.push('\n');
    for node in &cluster.cluster.nodes {
        let islands = node.islands.as_ref().map_or(1, Vec::len);
        let gpus = if node.gpus == 1 { "GPU" } else { "GPUs" };
        let _ = write!(text, "{}: {} {gpus} of type {}", node.id, node.gpus, node.gpu_type);
        if islands > 1 {
            let _ = write!(text, " in {islands} islands");
        }
        if let Some(uplink) = node.island_uplink_gb_s {
            let _ = write!(text, ", {uplink} GB/s out of an island");
        }
        if let Some(uplink) = node.uplink_gb_s {
            let _ = write!(text, ", {uplink} GB/s out of the node");
        }
        text.push('\n');
    }
    text
}

fn row(name: &str, found: &Found) -> Vec<String> {
    let facts = &found.facts;
    let none = || "-".to_owned();
    let range = |clocks: &[crate::gpu::Megahertz]| match clocks {
        [] => none(),
        [one] => one.0.to_string(),
        [first, .., last] => format!("{}-{} ({})", first.0, last.0, clocks.len()),
    };
    let memory: Vec<String> = facts.clocks.iter().map(|entry: &MemoryClock| entry.mem.0.to_string()).collect();
    let limit = facts.power.map_or_else(none, |power| {
        let now = found.power_limit.map_or_else(none, watts);
        format!("{now} of {}-{}", watts(power.least), watts(power.most))
    });
    vec![
        name.to_owned(),
        facts.uuid.to_string(),
        facts.pci.clone(),
        facts.type_id.clone(),
        range(facts.sm_clocks(None)),
        if memory.is_empty() { none() } else { memory.join(" ") },
        limit,
        found.idle.map_or_else(none, idle),
        match found.mig {
            Mig::Unsupported => none(),
            Mig::Off => "off".to_owned(),
            Mig::On => "on".to_owned(),
        },
    ]
}

fn idle(idle: Idle) -> String {
    let mean = idle.mean.watts();
    if idle.samples > 1 { format!("{mean:.1} +- {:.1} %", idle.spread * 100.0) } else { format!("{mean:.1}") }
}

/// Watts without zeros at the end.
fn watts(power: Milliwatts) -> String {
    Decimal::from_scaled(i128::from(power.0), 3).to_string()
}

/// Columns as wide as their widest cell, two blanks between.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..).map_while(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// The beginning of a scenario: everything but horizon and jobs.
///
/// # Errors
/// Never for what [`super::tree::cluster`] makes.
pub fn scenario(name: &str, cluster: &Cluster) -> Result<String, Problem> {
    let failed = |error: String| Problem::new(Code::U08, "cluster", error);
    let mut parts = Map::new();
    parts.insert("cluster".to_owned(), value(&cluster.cluster)?);
    parts.insert(
        "hardware".to_owned(),
        cluster.hardware.iter().map(|(kind, of)| (kind.clone(), hardware(of))).collect(),
    );
    let parts = toml::to_string(&Value::Object(parts)).map_err(|error| failed(error.to_string()))?;
    let quoted = toml::Value::String(name.to_owned());
    Ok(format!(
        "# Written by `rats discover`. Add `horizon_s`, jobs and what NVML cannot see: `base_w` of nodes, `power`, tariff.\n\
         format = \"rats.scenario/1\"\n\
         name = {quoted}\n\
         tick_s = 60\n\
         objective = [{{ term = \"energy\", weight = 1 }}]\n\n{parts}"
    ))
}

fn hardware(of: &Hardware) -> Value {
    let mut entry = Map::new();
    if let Some(limit) = of.power_limit {
        entry.insert("power_limit_w".to_owned(), json!(limit.watts()));
    }
    if let Some(KilobytesPerSecond(rate)) = of.link {
        entry.insert("link_gb_s".to_owned(), json!(rate as f64 / 1e6));
    }
    Value::Object(entry)
}

/// Everything that was found, as one document.
///
/// # Errors
/// Never for what [`super::tree::cluster`] makes.
pub fn document(machines: &[Machine], cluster: &Cluster) -> Result<Value, Problem> {
    let warnings = cluster
        .warnings
        .iter()
        .map(|warning| json!({ "code": warning.code.id(), "place": warning.place, "message": warning.message }));
    Ok(json!({
        "machines": machines.iter().map(machine).collect::<Vec<_>>(),
        "cluster": value(&cluster.cluster)?,
        "inventory": value(&cluster.inventory)?,
        "warnings": warnings.collect::<Vec<_>>(),
    }))
}

fn machine(machine: &Machine) -> Value {
    json!({
        "host": machine.host,
        "driver": machine.driver,
        "gpus": machine.gpus.iter().map(gpu).collect::<Vec<_>>(),
    })
}

fn gpu(found: &Found) -> Value {
    let facts = &found.facts;
    let clocks = facts.clocks.iter().map(|entry| json!({ "mem_mhz": entry.mem, "sm_mhz": entry.sm }));
    let mw = |power: Option<Milliwatts>| power.map(Milliwatts::watts);
    json!({
        "uuid": facts.uuid,
        "name": facts.name,
        "gpu_type": facts.type_id,
        "pci": facts.pci,
        "architecture": facts.architecture.map(crate::gpu::Architecture::name),
        "memory_mib": facts.memory.map(|memory| memory.0),
        "clocks": clocks.collect::<Vec<_>>(),
        "power_limit_w": mw(found.power_limit),
        "power_limit_range_w": facts.power.map(|power| [power.least.watts(), power.most.watts()]),
        "power_limit_default_w": mw(facts.power.and_then(|power| power.default)),
        "idle_w": mw(found.idle.map(|idle| idle.mean)),
        "idle_spread": found.idle.map(|idle| idle.spread),
        "idle_samples": found.idle.map(|idle| idle.samples),
        "mig": match found.mig { Mig::Unsupported => None, Mig::Off => Some(false), Mig::On => Some(true) },
        "persistence": found.persistence,
        "nvlinks": facts.links.len(),
        "pcie": facts.pcie.map(|link| json!({ "generation": link.generation, "width": link.width })),
    })
}

fn value<T: Serialize>(document: &T) -> Result<Value, Problem> {
    serde_json::to_value(document).map_err(|error| Problem::new(Code::U08, "document", format!("{error}.")))
}
