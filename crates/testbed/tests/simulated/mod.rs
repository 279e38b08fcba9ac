//! What all tests on simulated GPUs share: a machine in a directory of its own, and programs that see it.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use nvml_sim::compose::{Request, compose};
use nvml_sim::config::{Config, Privilege};
use nvml_sim::simulator::Simulator;
use tempfile::TempDir;

/// The program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_rats-testbed");

/// The name of a machine's configuration in its directory.
const CONFIG: &str = "sim.json";

/// A machine with these GPUs and workloads (each by the profiles that its truth is made of), changed. Anyone may set clocks.
pub fn machine(
    gpus: &[(&str, u32)],
    workloads: &[(&str, &[&str])],
    speedup: f64,
    seed: u64,
    change: impl FnOnce(&mut Config),
) -> (TempDir, Simulator) {
    let directory = tempfile::tempdir().unwrap();
    let owned = |profiles: &[&str]| profiles.iter().map(|&profile| profile.to_owned()).collect();
    let request = Request {
        instances: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../instances"),
        gpus: gpus.iter().map(|&(kind, count)| (kind.to_owned(), count)).collect(),
        workloads: workloads.iter().map(|&(name, profiles)| (name.to_owned(), owned(profiles))).collect(),
        speedup,
        seed,
        slow: None,
        settings_need: Privilege::Anyone,
    };
    let mut config = compose(&request).unwrap();
    change(&mut config);
    let path = directory.path().join(CONFIG);
    fs::write(&path, serde_json::to_vec(&config).unwrap()).unwrap();
    let simulator = Simulator::load(&path).unwrap();
    (directory, simulator)
}

/// A program that sees the machine of this directory and keeps its journals below it under `state`.
pub fn command(program: impl AsRef<OsStr>, directory: &Path, state: &str) -> Command {
    let library = std::env::current_exe().unwrap().with_file_name("libnvml_sim.so");
    let mut command = Command::new(program);
    command.env("NVML_SIM_CONFIG", directory.join(CONFIG));
    command.env("RATS_NVML_LIB", library).env("RATS_STATE_DIR", directory.join(state));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
