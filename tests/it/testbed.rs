//! The testbed from end to end on simulated GPUs: discover, profile, pool, build, solve, execute, report.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};

use nvml_sim::simulator::Simulator;
use nvml_sim::verify::compare;
use rats_domain::profile::Profile;
use serde_json::{Value, json};

use crate::harness::{Done, Place};

/// Two A100, two V100, one workload; boards differ by at most 5 % in power and 2 % in speed, so that the mean of two is
/// within 2 % of either.
const MACHINE: &str = "sim-config --gpus 2xA100-SXM4-80GB,2xV100 --seed 3 \
    --workload net=a100-sxm-80gb-perseus-bloom-stage0";

/// Two jobs for each GPU; `{}` becomes the number.
const JOB: &str = r#"
[[jobs]]
id = "j{}"
workload = "net"
profiles = ["a100", "v100"]
gpus = [1]
steps = 400
startup_s = 10
"#;

struct Testbed {
    place: Place,
    config: &'static str,
}

impl Testbed {
    fn command(&self, words: &str) -> Command {
        let mut command = self.place.command(words);
        let library = std::env::current_exe().unwrap().with_file_name("libnvml_sim.so");
        command.env("NVML_SIM_CONFIG", self.place.path(self.config)).env("RATS_NVML_LIB", library);
        command.env("RATS_STATE_DIR", self.place.path("custody")).env_remove("RATS_RUN_ID");
        command
    }

    #[track_caller]
    fn does(&self, words: &str) -> Done {
        let done = Done::from(self.command(words).output().unwrap());
        assert_eq!(done.exit, 0, "{words}: {}{}", done.stdout, done.stderr);
        done
    }

    /// Writes the configuration of the machine, boards alike within 2 % in speed, one of them slower. What is compared with
    /// time on the wall runs slower, so that a busy machine does not matter.
    fn machine(&self, slow: Option<usize>) {
        let instances = Path::new(env!("CARGO_MANIFEST_DIR")).join("instances");
        let speedup = if slow.is_some() { 40 } else { 20 };
        self.does(&format!("{MACHINE} --speedup {speedup} --instances {} -o {}", instances.display(), self.config));
        let mut config: Value = serde_json::from_str(&self.place.read(self.config)).unwrap();
        config["speed_spread"] = json!(0.02);
        if let Some(gpu) = slow {
            config["gpus"][gpu]["slowness"] = json!(1.15);
        }
        self.place.write(self.config, &config.to_string());
    }

    fn sweep(&self, gpu: usize) -> Child {
        let words =
            format!("profile --gpus {gpu} --sm-mhz 4points --budget 5points --id g{gpu} --model net -o g{gpu}.json");
        let mut command = self.command(&words);
        command.args(["--step-pattern", r"time (?<time>\S+) s", "--", env!("CARGO_BIN_EXE_rats")]);
        command.args("sim-job --workload net --steps 1000000 --every 1 --startup 10".split(' '));
        command.spawn().unwrap()
    }

    fn profile(&self, name: &str) -> Profile {
        Profile::read(self.place.read(name).as_bytes()).unwrap().profile
    }

    fn report(&self, run: &str) -> Value {
        Done::from(self.command(&format!("report trace {run}/trace.jsonl --json")).output().unwrap()).json()
    }
}

/// Largest errors of a profile against the truth.
fn errors(testbed: &Testbed, profile: &Profile) -> (f64, f64) {
    let simulator = Simulator::load(&testbed.place.path(testbed.config)).unwrap();
    compare(&simulator, profile, Some("net")).unwrap().worst()
}

fn profiled(testbed: &Testbed) {
    let sweeps: Vec<Child> = (0..4).map(|gpu| testbed.sweep(gpu)).collect();
    for sweep in sweeps {
        let done = Done::from(sweep.wait_with_output().unwrap());
        assert!(done.exit <= 1, "{}{}", done.stdout, done.stderr);
    }
    fs::create_dir(testbed.place.path("profiles")).unwrap();
    testbed.does("pool g0.json g1.json -o profiles/a100.json");
    testbed.does("pool g2.json g3.json -o profiles/v100.json");
}

fn planned(testbed: &Testbed) {
    testbed.does("discover --idle-seconds 0.3 -o cluster.toml --inventory inventory.json");
    let times = "tick_s = 2\nhorizon_s = 350\nstretches = [1]";
    let mut scenario = testbed.place.read("cluster.toml").replace("tick_s = 60", times);
    for number in 0..8 {
        scenario.push_str(&JOB.replace("{}", &number.to_string()));
        let program = env!("CARGO_BIN_EXE_rats");
        let command = format!("exec {program} sim-job --workload net --steps {{steps}} --startup 10");
        scenario.extend(["command = \"", &command, "\"\n"]);
    }
    testbed.place.write("scenario.toml", &scenario);
    testbed.does("build scenario.toml --profiles profiles -o instance.json");
    testbed.does("solve instance.json --seed 1 --iterations 2000 --time-limit 5 -q -o plan.json");
    testbed.does("check instance.json plan.json");
}

/// The one of these GPUs with the most jobs.
fn busiest(report: &Value) -> (usize, String) {
    let jobs = |gpu: &Value| (gpu["jobs"].as_u64().unwrap(), gpu["gpu"].as_str().unwrap().to_owned());
    let (count, name) = report["gpus"].as_array().unwrap().iter().map(jobs).max().unwrap();
    assert!(count > 1, "{report:#}");
    let index: usize = name.rsplit('/').next().unwrap().parse().unwrap();
    (index + if name.contains("v100") { 2 } else { 0 }, name)
}

#[test]
fn a_plan_made_of_measured_profiles_is_met_and_a_slow_gpu_is_named() {
    let mut testbed = Testbed { place: Place::with_plans(&[]), config: "sim.json" };
    testbed.machine(None);
    profiled(&testbed);
    for name in ["g0.json", "g1.json", "g2.json", "g3.json", "profiles/a100.json", "profiles/v100.json"] {
        let profile = testbed.profile(name);
        assert!(profile.points.len() >= 5, "{name}");
        let (time, power) = errors(&testbed, &profile);
        assert!(time < 0.015 && power < 0.015, "{name}: time {time}, power {power}");
    }
    planned(&testbed);
    testbed.does("execute instance.json plan.json --inventory inventory.json --run-dir run");
    testbed.does("report trace run/trace.jsonl --within 0.03");
    let report = testbed.report("run");
    assert_eq!(report["slow"], json!([]));
    assert_eq!(report["jobs"].as_array().unwrap().len(), 8);
    let (gpu, name) = busiest(&report);
    testbed.config = "slow.json";
    testbed.machine(Some(gpu));
    testbed.does("execute instance.json plan.json --inventory inventory.json --run-dir slow-run");
    let report = testbed.report("slow-run");
    assert_eq!(report["slow"].as_array().unwrap().len(), 1, "{report:#}");
    assert_eq!(report["slow"][0]["gpus"], json!([name]));
    let excess = report["slow"][0]["excess"].as_f64().unwrap();
    // 15 % planted, and boards differ by up to 4 % among themselves.
    assert!((0.10..0.20).contains(&excess), "{excess}");
}
