//! Commands on real GPUs, which `rats-testbed` has as well.

use rats_domain::problem::Problems;
use rats_testbed::cli::TestbedCommand;

use super::{Answer, warn};

/// Carries one out; what looked suspicious goes to standard error.
pub(super) fn run(command: &TestbedCommand) -> Result<Answer, Problems> {
    let answer = rats_testbed::cli::run(command)?;
    warn(&answer.warnings);
    Ok(Answer { text: answer.text, exit: answer.exit })
}
