//! Writes a large instance and its plan to a folder and prints what it takes to read, check and evaluate them.
//!
//! `cargo run --release -p rats-domain --example scale [FOLDER]`
#![expect(clippy::disallowed_methods, reason = "it measures; the clock module is not part of this crate")]

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use rats_domain::check::check;
use rats_domain::evaluate::evaluate;
use rats_domain::format::{PlanFile, read};
use rats_domain::instance::Instance;

#[path = "../tests/it/large.rs"]
mod large;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let (instance_path, plan_path) = (folder.join("large-instance.json"), folder.join("large-plan.json"));
    println!("{} and {}", instance_path.display(), plan_path.display());
    if !(instance_path.exists() && plan_path.exists()) {
        std::fs::write(&instance_path, large::instance().to_string())?;
        std::fs::write(&plan_path, large::plan().to_string())?;
        println!("written; run again for the memory of reading and checking alone");
    }
    println!("before: {} MiB at most", peak_mebibytes());

    let instance_bytes = timed("load instance", || std::fs::read(&instance_path))?;
    let instance = timed("read instance", || Instance::read(&instance_bytes))?.instance;
    let plan_bytes = timed("load plan", || std::fs::read(&plan_path))?;
    let plan = timed("read plan", || read::<PlanFile>(&plan_bytes))?.document;
    let report = timed("check", || check(&instance, &plan))?;
    let evaluation = timed("evaluate", || evaluate(&instance, report.schedule()));
    println!(
        "{} and {} bytes, {} violations, {}",
        instance_bytes.len(),
        plan_bytes.len(),
        report.violations.len(),
        evaluation.terms.energy
    );
    println!("after: {} MiB at most", peak_mebibytes());
    Ok(())
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let begin = Instant::now();
    let result = work();
    println!("{what:<14} {:>8.1} ms", begin.elapsed().as_secs_f64() * 1e3);
    result
}

/// The most memory this process ever had, by Linux's account; 0 elsewhere.
fn peak_mebibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()).and_then(|size| size.parse::<u64>().ok()).unwrap_or(0) / 1024
}
