//! Random small instances and plans, with every feature of the model on or off.

use serde_json::{Map, Value, json};

use crate::support::{Random, set};

/// A random instance document; now and then a job of it has no placement, which makes it invalid.
pub fn instance(random: &mut Random) -> Value {
    let horizon = random.between(4, 16);
    let mut document = json!({
        "format": "rats.instance/1", "name": "random", "tick_s": random.between(1, 3600), "horizon": horizon,
        "cluster": cluster(random, horizon), "objective": objective(random), "jobs": []
    });
    if random.chance(60) || document["objective"].to_string().contains("cost") {
        set(&mut document, "/tariff", steps(random, horizon, true, &mut |random| thousandths(random, -200, 900)));
    }
    if random.chance(20) {
        set(&mut document, "/energy_budget_j", json!(random.between(0, 20_000_000)));
    }
    for number in 0..random.between(0, 5) {
        let job = job(random, &document, horizon);
        set(&mut document, &format!("/jobs/{number}"), job);
    }
    document
}

fn objective(random: &mut Random) -> Value {
    let mut terms = vec![json!({"term": "energy", "weight": random.between(1, 3)})];
    for term in ["cost", "makespan", "completion", "tardiness", "energy"] {
        if random.chance(40) {
            terms.push(json!({"term": term, "weight": thousandths(random, 0, 4000)}));
        }
    }
    terms.into()
}

fn cluster(random: &mut Random, horizon: i64) -> Value {
    let mut cluster = json!({
        "gpu_types": [
            {"id": "a", "idle_w": thousandths(random, 0, 90_000), "memory_mib": 40960},
            {"id": "b", "idle_w": random.between(0, 50)}
        ],
        "nodes": []
    });
    let nodes = random.between(1, 4);
    let racks = if nodes == 1 && random.chance(50) { 0 } else { random.between(1, 3) };
    for number in 0..nodes {
        let node = node(random, number, racks, horizon);
        set(&mut cluster, &format!("/nodes/{number}"), node);
    }
    if racks > 0 {
        set(&mut cluster, "/levels", json!(["rack", "cluster"]));
        set(&mut cluster, "/switches", switches(random, racks, horizon));
    }
    if random.chance(40) {
        set(&mut cluster, "/storage_gb_s", thousandths(random, 200, 2000));
    }
    if random.chance(40) {
        set(&mut cluster, "/power_cap_w", power(random, horizon, 300, 3000));
    }
    if random.chance(40) {
        set(&mut cluster, "/foreign_w", power(random, horizon, 0, 300));
    }
    cluster
}

fn switches(random: &mut Random, racks: i64, horizon: i64) -> Value {
    let mut switches = vec![json!({"id": "root", "level": "cluster"})];
    for number in 0..racks {
        let mut switch = json!({"id": format!("rack{number}"), "level": "rack", "parent": "root"});
        optional(random, &mut switch, "uplink_gb_s", 50, |random| thousandths(random, 200, 1500));
        switches.push(switch);
    }
    for switch in &mut switches {
        optional(random, switch, "power_cap_w", 25, |random| power(random, horizon, 200, 2500));
    }
    random.shuffle(&mut switches);
    switches.into()
}

fn node(random: &mut Random, number: i64, racks: i64, horizon: i64) -> Value {
    let gpus = random.between(1, 4);
    let mut node = json!({"id": format!("n{number}"), "gpu_type": random.pick(&["a", "a", "b"]), "gpus": gpus});
    if racks > 0 {
        set(&mut node, "/parent", json!(format!("rack{}", random.between(0, racks - 1))));
        optional(random, &mut node, "uplink_gb_s", 50, |random| thousandths(random, 100, 1200));
    }
    if gpus == 4 && random.chance(60) {
        set(&mut node, "/islands", random.pick(&[json!([[0, 1], [2, 3]]), json!([[3], [1, 0, 2]])]).clone());
    }
    optional(random, &mut node, "island_uplink_gb_s", 40, |random| thousandths(random, 100, 1200));
    optional(random, &mut node, "base_w", 80, |random| thousandths(random, 0, 300_000));
    if random.chance(60) {
        set(&mut node, "/power", json!("sleep"));
        optional(random, &mut node, "wake_j", 80, |random| thousandths(random, 0, 3_000_000));
        optional(random, &mut node, "wake_ticks", 50, |random| json!(random.between(0, 3)));
        optional(random, &mut node, "on_at_start", 50, |random| json!(random.chance(70)));
    }
    optional(random, &mut node, "resources", 50, |random| {
        let mut resources = Map::from_iter([("cpu".to_owned(), thousandths(random, 1000, 9000))]);
        if random.chance(50) {
            resources.insert("ram".to_owned(), json!(random.between(1, 9)));
        }
        resources.into()
    });
    optional(random, &mut node, "unavailable", 30, |random| {
        let from = random.between(0, horizon - 1);
        let to = random.between(from + 1, horizon + 2);
        let index = random.between(0, gpus - 1);
        if random.chance(50) { json!([[from, to]]) } else { json!([[from, to, [index]], [0, 1, [index]]]) }
    });
    optional(random, &mut node, "power_cap_w", 25, |random| power(random, horizon, 200, 1500));
    node
}

fn job(random: &mut Random, document: &Value, horizon: i64) -> Value {
    let others = document["jobs"].as_array().unwrap().len();
    let options: Vec<_> = (0..random.between(1, 3)).map(|_| option(random, document)).collect();
    let mut job = json!({"id": format!("j{others}"), "options": options});
    optional(random, &mut job, "release", 40, |random| json!(random.between(0, horizon)));
    optional(random, &mut job, "deadline", 40, |random| json!(random.between(1, horizon + 2)));
    optional(random, &mut job, "due", 50, |random| json!(random.between(0, horizon)));
    optional(random, &mut job, "weight", 50, |random| thousandths(random, 0, 5000));
    optional(random, &mut job, "requested", 30, |random| json!(random.index(options.len())));
    if others > 0 {
        optional(random, &mut job, "after", 30, |random| json!([format!("j{}", random.index(others))]));
    }
    if random.chance(25) {
        let option = random.index(options.len());
        let gpus = gang(random, document, &options[option]);
        let start = random.between(-4, 4);
        set(&mut job, "/fixed", json!({"option": option, "start": start, "gpus": gpus}));
    }
    job
}

fn option(random: &mut Random, document: &Value) -> Value {
    let nodes = document["cluster"]["nodes"].as_array().unwrap();
    let kind = random.pick(nodes)["gpu_type"].clone();
    let there_are = gpus(document, kind.as_str().unwrap()).len();
    let gang = random.index(there_are.min(5)) + 1;
    let has_levels = document["cluster"].get("levels").is_some();
    let spans: &[&str] =
        if has_levels { &["island", "node", "rack", "cluster", "cluster"] } else { &["island", "node", "node"] };
    let power = random.between(50, 400_000);
    let mut option = json!({
        "gpu_type": kind, "gpus": gang, "span": random.pick(spans), "ticks": random.between(1, 5),
        "power_w": exactly(power * i64::try_from(gang).unwrap())
    });
    optional(random, &mut option, "peak_w", 40, |random| exactly(power + random.between(0, 50_000)));
    optional(random, &mut option, "ring_gb_s", 40, |random| thousandths(random, 0, 600));
    optional(random, &mut option, "read_gb_s", 50, |random| json!(random.between(0, 500_000) as f64 / 1e6));
    optional(
        random,
        &mut option,
        "per_gpu",
        50,
        |random| json!({"cpu": thousandths(random, 0, 3000), "ram": random.between(0, 3), "nobody_lists": 7}),
    );
    optional(random, &mut option, "memory_mib", 30, |random| json!(random.between(0, 42_000)));
    option
}

/// A random plan document: mostly sensible, sometimes damaged.
pub fn plan(random: &mut Random, instance: &Value) -> Value {
    let horizon = instance["horizon"].as_i64().unwrap();
    let mut assignments = Vec::new();
    for job in instance["jobs"].as_array().unwrap() {
        let mut assignment = job.get("fixed").cloned().unwrap_or_else(|| {
            let options = job["options"].as_array().unwrap();
            let option = random.index(options.len());
            let gpus = gang(random, instance, &options[option]);
            json!({"option": option, "start": random.between(0, horizon - 1), "gpus": gpus})
        });
        set(&mut assignment, "/job", job["id"].clone());
        assignments.push(assignment);
    }
    if !assignments.is_empty() && random.chance(15) {
        let position = random.index(assignments.len());
        match random.between(0, 3) {
            0 => drop(assignments.remove(position)),
            1 => assignments.push(assignments[position].clone()),
            2 => set(&mut assignments[position], "/option", json!(random.between(-1, 3))),
            _ => set(&mut assignments[position], "/gpus/0", json!("n0/9")),
        }
    }
    let mut plan = json!({"format": "rats.plan/1", "assignments": assignments, "power": {}});
    for node in instance["cluster"]["nodes"].as_array().unwrap() {
        let sleeps = node.get("power").is_some();
        if random.chance(if sleeps { 40 } else { 3 }) {
            let intervals = powered(random, horizon);
            set(&mut plan, &format!("/power/{}", node["id"].as_str().unwrap()), intervals);
        }
    }
    plan
}

fn powered(random: &mut Random, horizon: i64) -> Value {
    if random.chance(50) {
        return json!([[0, horizon]]);
    }
    let mut at = random.between(-1, 3);
    let mut intervals = Vec::new();
    for _ in 0..random.between(0, 3) {
        let to = at + random.between(0, horizon);
        intervals.push(json!([at, to]));
        at = to + random.between(-1, 4);
    }
    random.shuffle(&mut intervals);
    intervals.into()
}

/// GPUs of the right type for an option: neighbors in file order, or any.
fn gang(random: &mut Random, document: &Value, option: &Value) -> Vec<String> {
    let mut gpus = gpus(document, option["gpu_type"].as_str().unwrap());
    if random.chance(50) {
        random.shuffle(&mut gpus);
    } else {
        let first = random.index(gpus.len());
        gpus.rotate_left(first);
    }
    gpus.truncate(usize::try_from(option["gpus"].as_u64().unwrap()).unwrap());
    gpus
}

/// The names of all GPUs of a type.
pub fn gpus(document: &Value, kind: &str) -> Vec<String> {
    let nodes = document["cluster"]["nodes"].as_array().unwrap().iter().filter(|node| node["gpu_type"] == kind);
    let names = nodes.flat_map(|node| {
        let id = node["id"].as_str().unwrap();
        (0..node["gpus"].as_i64().unwrap()).map(move |index| format!("{id}/{index}"))
    });
    names.collect()
}

fn optional(
    random: &mut Random,
    object: &mut Value,
    key: &str,
    percent: i64,
    value: impl FnOnce(&mut Random) -> Value,
) {
    if random.chance(percent) {
        let value = value(random);
        set(object, &format!("/{key}"), value);
    }
}

fn power(random: &mut Random, horizon: i64, least: i64, most: i64) -> Value {
    let mut value = |random: &mut Random| thousandths(random, least * 1000, most * 1000);
    if random.chance(50) { value(random) } else { steps(random, horizon, false, &mut value) }
}

fn steps(random: &mut Random, horizon: i64, from_0: bool, value: &mut impl FnMut(&mut Random) -> Value) -> Value {
    let mut tick = if from_0 { 0 } else { random.between(0, horizon) };
    let mut steps = Vec::new();
    for _ in 0..random.between(1, 4) {
        steps.push(json!([tick, value(random)]));
        tick += random.between(1, 6);
    }
    steps.into()
}

fn thousandths(random: &mut Random, least: i64, most: i64) -> Value {
    exactly(random.between(least, most))
}

/// `value` / 1000; the nearest double prints with three decimals.
fn exactly(value: i64) -> Value {
    json!(value as f64 / 1e3)
}
