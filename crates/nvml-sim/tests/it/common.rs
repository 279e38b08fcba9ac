//! A machine of six GPUs, and children that see it through the library.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nvml_sim::config::Config;
use nvml_sim::simulator::Simulator;
use tempfile::TempDir;

/// A simulated machine in a folder of its own.
pub struct Machine {
    folder: TempDir,
}

impl Machine {
    /// The plain machine with a change.
    pub fn new(change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config: Config = serde_json::from_str(include_str!("../data/plain.json")).unwrap();
        change(&mut config);
        std::fs::write(folder.path().join("config.json"), serde_json::to_vec(&config).unwrap()).unwrap();
        Self { folder }
    }

    /// The configuration.
    pub fn config(&self) -> PathBuf {
        self.folder.path().join("config.json")
    }

    /// A look behind the curtain.
    pub fn simulator(&self) -> Simulator {
        Simulator::load(&self.config()).unwrap()
    }

    /// A stand-in training process.
    pub fn job(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rats-sim-job"));
        command.args(arguments).env("NVML_SIM_CONFIG", self.config()).env_remove("CUDA_VISIBLE_DEVICES");
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

/// UUID of a GPU of the plain machine.
pub fn uuid(gpu: u32) -> String {
    format!("GPU-00000000-0000-0000-0000-{gpu:012}")
}

/// The library that was built with this test.
pub fn library() -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_rats-sim-job")).parent().unwrap();
    let candidates = [folder.join("deps/libnvml_sim.so"), folder.join("libnvml_sim.so")];
    let age = |path: &PathBuf| std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    candidates.into_iter().filter(|path| path.exists()).max_by_key(age).expect("the library is built with its tests")
}

/// The named test of this executable, run again as a process with the machine's configuration.
pub fn again(test: &str, machine: &Machine, part: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env("NVML_SIM_CONFIG", machine.config()).env("NVML_SIM_PART", part);
    command
}

/// Which part of a test this process plays, if it was started by [`again`].
pub fn part() -> Option<String> {
    std::env::var("NVML_SIM_PART").ok()
}
