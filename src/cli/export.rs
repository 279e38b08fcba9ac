//! `rats export`: the instance as a mixed-integer program for another solver.

use rats_domain::codes::Code;
use rats_domain::instance::Instance;
use rats_domain::problem::{Problem, Problems};
use rats_solvers::milp;

use super::Answer;
use super::args::{ExportArgs, ModelFormat};
use crate::io::{STANDARD, write};

pub(super) fn run(args: &ExportArgs) -> Result<Answer, Problems> {
    let instance = super::instance(&args.instance)?;
    let text = model(&instance, args.format).map_err(|reason| Problem::new(Code::U04, "milp", format!("{reason}.")))?;
    match args.output.as_deref().filter(|path| *path != STANDARD) {
        None => Ok(Answer::done(text)),
        Some(path) => {
            write(path, text.as_bytes())?;
            Ok(Answer::done(format!("written to {}\n", path.display())))
        }
    }
}

/// The program in its format, or why there is none.
fn model(instance: &Instance, format: ModelFormat) -> Result<String, String> {
    let program = milp::program(instance)?;
    Ok(match format {
        ModelFormat::Mps => milp::write::mps(&program),
        ModelFormat::Lp => milp::write::lp(&program),
    })
}
