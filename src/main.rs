//! The `rats` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    rats::cli::main()
}
