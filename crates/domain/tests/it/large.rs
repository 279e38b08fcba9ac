//! A large cluster with a large plan: 1250 nodes of 8 GPUs below 50 racks, 10 000 jobs, 10 000 ticks.
//!
//! On every node eight jobs run one after the other without a pause, from tick 0 on. The last two nodes of a rack run
//! sixteen gangs of 16 GPUs together. Nodes of odd number sleep when their last job has ended.

use serde_json::{Value, json};

/// Nodes below one rack.
pub const NODES_PER_RACK: i64 = 25;
/// Racks below the root.
pub const RACKS: i64 = 50;
/// GPUs of a node.
pub const GPUS_PER_NODE: i64 = 8;
/// Seconds of a tick.
pub const TICK_S: i64 = 60;
/// Idle power of a GPU, W.
pub const IDLE_W: i64 = 50;
/// Power of a node without its GPUs, W.
pub const BASE_W: i64 = 300;
/// Energy of a wake-up, J.
pub const WAKE_J: i64 = 20_000;
/// Every job ends at or before this tick.
const HORIZON: i64 = 10_000;

/// One job as it is planned.
pub struct Run {
    /// First tick.
    pub start: i64,
    /// Occupancy.
    pub ticks: i64,
    /// Gang size.
    pub gang: i64,
    /// Mean power of the gang, W.
    pub power_w: i64,
    /// The first node of its gang.
    pub node: i64,
}

/// All jobs in file order.
pub fn runs() -> Vec<Run> {
    let mut runs = Vec::new();
    for node in 0..RACKS * NODES_PER_RACK {
        let in_rack = node % NODES_PER_RACK;
        let (gang, jobs) = match in_rack {
            23 => (16, 16),
            24 => continue,
            _ => (1 << (node % 4), 8),
        };
        let mut start = 0;
        for position in 0..jobs {
            let ticks = 100 + (node * 7 + position * 13) % 500;
            runs.push(Run { start, ticks, gang, power_w: gang * (200 + (node + position) % 150), node });
            start += ticks;
        }
    }
    runs
}

/// The instance document.
pub fn instance() -> Value {
    let racks = (0..RACKS).map(|rack| {
        json!({"id": format!("rack{rack}"), "level": "rack", "parent": "root", "uplink_gb_s": 100,
               "power_cap_w": 150_000})
    });
    let root = json!({"id": "root", "level": "cluster"});
    let switches: Vec<_> = std::iter::once(root).chain(racks).collect();
    let nodes = (0..RACKS * NODES_PER_RACK).map(|node| {
        json!({
            "id": format!("n{node}"), "parent": format!("rack{}", node / NODES_PER_RACK), "uplink_gb_s": 12.5,
            "gpu_type": "a100", "gpus": GPUS_PER_NODE, "islands": [[0, 1, 2, 3], [4, 5, 6, 7]],
            "island_uplink_gb_s": 32, "base_w": BASE_W, "power": if node % 2 == 1 { "sleep" } else { "always_on" },
            "wake_j": WAKE_J, "resources": {"cpu_cores": 128, "ram_gib": 1024}, "power_cap_w": 6500
        })
    });
    let nodes: Vec<_> = nodes.collect();
    let tariff: Vec<_> = (0..HORIZON / 24).map(|hour| json!([hour * 24, (hour % 24) as f64 / 64.0])).collect();
    let jobs: Vec<_> = runs().iter().enumerate().map(|(number, run)| job(number, run)).collect();
    json!({
        "format": "rats.instance/1", "name": "large", "tick_s": TICK_S, "horizon": HORIZON,
        "cluster": {
            "gpu_types": [{"id": "a100", "idle_w": IDLE_W, "memory_mib": 81920}],
            "levels": ["rack", "cluster"], "switches": switches,
            "nodes": nodes, "storage_gb_s": 600,
            "power_cap_w": [[0, 6_000_000], [5000, 5_900_000]], "foreign_w": [[0, 1000], [3000, 2000]]
        },
        "tariff": tariff, "tariff_unit": "EUR",
        "objective": [{"term": "energy", "weight": 1}, {"term": "cost", "weight": 1}], "jobs": jobs
    })
}

/// Four options a job; the planned one is the second.
fn job(number: usize, run: &Run) -> Value {
    let span = ["island", "node", "node", "node", "rack"][usize::try_from(run.gang.ilog2()).unwrap_or(0)];
    let options: Vec<_> = (0..4)
        .map(|speed| {
            json!({
                "gpu_type": "a100", "gpus": run.gang, "span": if speed == 3 { "cluster" } else { span },
                "point": {"sm_mhz": 1410 - 100 * speed, "mem_mhz": 1593}, "ticks": run.ticks + 10 * (speed - 1),
                "power_w": run.power_w - 20 * (speed - 1), "peak_w": run.power_w + 30,
                "ring_gb_s": if run.gang == 1 { 0.0 } else { 2.5 }, "read_gb_s": 0.05 * run.gang as f64,
                "per_gpu": {"cpu_cores": 8, "ram_gib": 100.5}, "memory_mib": 40_000
            })
        })
        .collect();
    json!({"id": format!("job{number}"), "options": options, "due": 5000, "requested": 1})
}

/// The plan document.
pub fn plan() -> Value {
    let assignments = runs().into_iter().enumerate().map(|(number, run)| {
        let gpus: Vec<_> =
            (0..run.gang).map(|gpu| format!("n{}/{}", run.node + gpu / GPUS_PER_NODE, gpu % GPUS_PER_NODE)).collect();
        json!({"job": format!("job{number}"), "option": 1, "start": run.start, "gpus": gpus})
    });
    let assignments: Vec<_> = assignments.collect();
    json!({"format": "rats.plan/1", "instance": "large", "assignments": assignments})
}
