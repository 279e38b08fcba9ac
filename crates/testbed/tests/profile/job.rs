//! The command that is profiled: this test program, told to train.

use std::io::stdout;

use clap::Parser;
use nvml_sim::job::{JobArguments, run};

/// Its arguments.
pub const VARIABLE: &str = "RATS_TEST_JOB";

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    job: JobArguments,
}

/// Trains if it is told to; as a test it has nothing to say.
#[test]
fn trains() {
    let Ok(words) = std::env::var(VARIABLE) else { return };
    let arguments = Arguments::parse_from(std::iter::once("job").chain(words.split_whitespace()));
    let code = run(&arguments.job, &mut stdout()).unwrap_or(2);
    std::process::exit(code.into());
}
