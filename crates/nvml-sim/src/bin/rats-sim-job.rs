//! `rats-sim-job`: a stand-in for a training process on simulated GPUs.

use std::io::stdout;
use std::process::ExitCode;

use clap::Parser;
use nvml_sim::job::{JobArguments, run};

/// A stand-in for a training process on simulated GPUs.
///
/// Example: NVML_SIM_CONFIG=sim/config.json CUDA_VISIBLE_DEVICES=0,1 rats-sim-job --workload bloom --steps 500
#[derive(Parser)]
#[expect(clippy::doc_markdown, reason = "help text")]
struct Arguments {
    #[command(flatten)]
    job: JobArguments,
}

fn main() -> ExitCode {
    match run(&Arguments::parse().job, &mut stdout()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("rats-sim-job: {error}");
            ExitCode::from(2)
        }
    }
}
