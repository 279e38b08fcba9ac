//! `rats-sim-config`: writes a configuration for the simulated NVML.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use nvml_sim::compose::{Request, compose};
use nvml_sim::config::Privilege;

/// Writes a configuration for the simulated NVML.
///
/// Example: rats-sim-config --gpus 4xA100-SXM4-80GB,4xA40 --workload
/// bloom=a100-sxm-80gb-perseus-bloom-stage0,a40-perseus-bloom-stage0 --speedup 20 --out sim/config.json
#[derive(Parser)]
struct Arguments {
    /// Types by name of the catalogue with how many of each: 4xA100-SXM4-80GB,2xA40.
    #[arg(long, value_delimiter = ',', required = true)]
    gpus: Vec<String>,
    /// NAME=PROFILE[,PROFILE...]: a workload and its profiles, one for each type; types without one take the first's.
    #[arg(long, required = true)]
    workload: Vec<String>,
    /// Simulated seconds in a real one.
    #[arg(long, default_value_t = 1.0)]
    speedup: f64,
    /// Seed of UUIDs and of how each GPU differs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// INDEX=FACTOR: a GPU whose steps take FACTOR times as long.
    #[arg(long)]
    slow: Option<String>,
    /// Settings need root, as on a real machine.
    #[arg(long)]
    root_only: bool,
    /// Folder with gpus/ and profiles/.
    #[arg(long, default_value = "instances")]
    instances: PathBuf,
    /// Where to write; state, journal and faults lie beside it.
    #[arg(long, short)]
    out: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("rats-sim-config: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let counted = |text: &String| {
        let (count, id) = text.split_once('x').ok_or(format!("`{text}` is not COUNTxTYPE"))?;
        Ok((id.to_owned(), count.parse().map_err(|_| format!("`{text}` is not COUNTxTYPE"))?))
    };
    let named = |text: &String| {
        let (name, profiles) = text.split_once('=').ok_or(format!("`{text}` is not NAME=PROFILE"))?;
        Ok((name.to_owned(), profiles.split(',').map(str::to_owned).collect()))
    };
    let slow = arguments.slow.as_ref().map(|text| {
        let parts = text.split_once('=').and_then(|(gpu, factor)| Some((gpu.parse().ok()?, factor.parse().ok()?)));
        parts.ok_or(format!("`{text}` is not INDEX=FACTOR"))
    });
    let request = Request {
        instances: arguments.instances.clone(),
        gpus: arguments.gpus.iter().map(counted).collect::<Result<_, String>>()?,
        workloads: arguments.workload.iter().map(named).collect::<Result<_, String>>()?,
        speedup: arguments.speedup,
        seed: arguments.seed,
        slow: slow.transpose()?,
        settings_need: if arguments.root_only { Privilege::Root } else { Privilege::Anyone },
    };
    let config = compose(&request).map_err(|error| error.to_string())?;
    let text = serde_json::to_vec_pretty(&config).map_err(|error| error.to_string())?;
    rats_system::files::write(&arguments.out, &text).map_err(|problem| problem.message)?;
    nvml_sim::config::Config::load(&arguments.out).map(drop).map_err(|error| error.to_string())
}
