//! `rats generate`: an instance of a benchmark family.

use std::path::Path;

use rats_domain::problem::Problems;

use super::Answer;
use super::args::GenerateArgs;
use super::build::instance_text;
use crate::document::json;
use crate::generate::{Wanted, generate};
use crate::io::{STANDARD, can_write, write};
use crate::report::count;

pub(super) fn run(args: &GenerateArgs) -> Result<Answer, Problems> {
    let GenerateArgs { family, seed, jobs, nodes, gpus_per_node, output, witness } = args;
    let standard = output == Path::new(STANDARD);
    for path in witness.iter().chain((!standard).then_some(output)) {
        can_write(path)?;
    }
    let wanted = Wanted { family: *family, seed: *seed, jobs: *jobs, nodes: *nodes, gpus_per_node: *gpus_per_node };
    let generated = generate(&wanted)?;
    let content = instance_text(&generated.file)?;
    if let Some(path) = witness {
        write(path, json(&generated.plan()).as_bytes())?;
    }
    if standard {
        return Ok(Answer::done(content));
    }
    write(output, content.as_bytes())?;
    let instance = &generated.instance;
    let (jobs, gpus) = (count(instance.jobs.len(), "job"), count(instance.cluster.gpus.len(), "GPU"));
    Ok(Answer::done(format!("{}: {jobs} on {gpus}, written to {}\n", instance.name, output.display())))
}
