//! `rats-sim-config`: writes a configuration for the simulated NVML.

use std::process::ExitCode;

use clap::Parser;
use nvml_sim::configure::{ConfigArguments, configure};

/// Writes a configuration for the simulated NVML.
///
/// Example: rats-sim-config --gpus 4xA100-SXM4-80GB,4xA40 --workload
/// bloom=a100-sxm-80gb-perseus-bloom-stage0,a40-perseus-bloom-stage0 --speedup 20 --out sim/config.json
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    machine: ConfigArguments,
}

fn main() -> ExitCode {
    match configure(&Arguments::parse().machine) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rats-sim-config: {error}");
            ExitCode::from(2)
        }
    }
}
