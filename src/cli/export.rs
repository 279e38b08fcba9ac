//! `rats export`: the instance as a mixed-integer program for another solver.

use rats_domain::codes::Code;
use rats_domain::instance::Instance;
use rats_domain::problem::{Problem, Problems};
use rats_solvers::{bounds, milp};

use super::Answer;
use super::args::{ExportArgs, ModelFormat};
use crate::io::{STANDARD, can_write, keep_apart, write_or_rescue};
use crate::report::printable;

/// Why there is no program.
enum Missing {
    TooLarge(String),
    Infeasible(String),
}

pub(super) fn run(args: &ExportArgs) -> Result<Answer, Problems> {
    let file = args.output.as_deref().filter(|path| *path != STANDARD);
    if let Some(path) = file {
        keep_apart(path, [args.instance.as_path()])?;
        can_write(path)?;
    }
    let instance = super::instance(&args.instance)?;
    let text = match model(&instance, args.format) {
        Ok(text) => text,
        Err(Missing::TooLarge(reason)) => return Err(Problem::new(Code::U04, "milp", format!("{reason}.")).into()),
        Err(Missing::Infeasible(reason)) => return Ok(infeasible(&reason, file.is_some())),
    };
    match file {
        None => Ok(Answer::done(text)),
        Some(path) => {
            write_or_rescue(path, text.as_bytes())?;
            Ok(Answer::done(format!("written to {}\n", path.display())))
        }
    }
}

/// Where the program would go to standard output, the proof must not.
fn infeasible(reason: &str, to_file: bool) -> Answer {
    let text = format!("proved infeasible: {}\n", printable(reason));
    if to_file {
        return Answer { text, exit: 1 };
    }
    super::say(&text);
    Answer { text: String::new(), exit: 1 }
}

/// The program in its format, or why there is none. The program leaves out what fixed jobs do, so rules that they break
/// are looked for first.
fn model(instance: &Instance, format: ModelFormat) -> Result<String, Missing> {
    if let Some(reason) = bounds::infeasible(instance) {
        return Err(Missing::Infeasible(reason));
    }
    let program = milp::program(instance).map_err(|missing| match missing {
        milp::NoProgram::TooLarge(reason) => Missing::TooLarge(reason),
        milp::NoProgram::Infeasible(reason) => Missing::Infeasible(reason),
    })?;
    Ok(match format {
        ModelFormat::Mps => milp::write::mps(&program),
        ModelFormat::Lp => milp::write::lp(&program),
    })
}
