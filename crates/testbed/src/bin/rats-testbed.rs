//! The testbed's commands without solvers: for compute nodes.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};
use rats_testbed::cli::{Answer, TestbedCommand, run};

/// Real GPUs: discover, check and restore them.
#[derive(Debug, Parser)]
#[command(name = "rats-testbed", version)]
struct Arguments {
    #[command(subcommand)]
    command: TestbedCommand,
}

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        complain(&Problem::new(Code::U08, "rats-testbed", format!("{panic}.").replace('\n', " ")).into());
        std::process::exit(2);
    }));
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    match run(&arguments.command) {
        Ok(answer) => tell(&answer),
        Err(problems) => {
            complain(&problems);
            ExitCode::from(2)
        }
    }
}

fn tell(answer: &Answer) -> ExitCode {
    for warning in &answer.warnings {
        say(&format!("warning {warning}\n"));
    }
    // A reader that has gone away is no error.
    let _ = std::io::stdout().lock().write_all(answer.text.as_bytes());
    answer.exit.into()
}

fn complain(problems: &Problems) {
    for problem in &problems.0 {
        say(&format!("error {problem}\n"));
    }
}

fn say(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
