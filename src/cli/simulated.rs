//! `rats sim-config`, `rats sim-job`, `rats sim-truth`: simulated GPUs, what runs on them, and what they really do.

use nvml_sim::configure::{ConfigArguments, configure};
use nvml_sim::error::SimError;
use nvml_sim::job::JobArguments;
use nvml_sim::verify::TruthArguments;
use rats_domain::codes::Code;
use rats_domain::problem::{Problem, Problems};

use super::Answer;

pub(super) fn config(args: &ConfigArguments) -> Result<Answer, Problems> {
    configure(args).map_err(|error| problem(&error))?;
    Ok(Answer::done(format!("written to {}\n", args.out.display())))
}

/// Its progress goes to standard output while it runs.
pub(super) fn job(args: &JobArguments) -> Result<Answer, Problems> {
    let exit = nvml_sim::job::run(args, &mut std::io::stdout()).map_err(|error| problem(&error))?;
    Ok(Answer { text: String::new(), exit })
}

pub(super) fn truth(args: &TruthArguments) -> Result<Answer, Problems> {
    let (text, holds) = nvml_sim::verify::run(args).map_err(|error| problem(&error))?;
    Ok(Answer { text, exit: u8::from(!holds) })
}

fn problem(error: &SimError) -> Problems {
    let (code, place) = match error {
        SimError::Config { path, .. } | SimError::State { path, .. } => (Code::U01, path.display().to_string()),
        _ => (Code::U05, "simulator".to_owned()),
    };
    let text = error.to_string();
    // The path is the place already.
    let message = text.strip_prefix(&format!("{place}: ")).unwrap_or(&text);
    Problem::new(code, place, format!("{}.", message.trim_end_matches('.'))).into()
}
