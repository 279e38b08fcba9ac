//! `rats bound`: a lower bound, or a proof that there is no plan, by cheap arguments.

use rats_solvers::bounds;
use serde::Serialize;

use super::Answer;
use super::args::BoundArgs;
use crate::document::json;
use crate::report::{number, printable};
use rats_system::clock::Stopwatch;

#[derive(Serialize)]
struct Document {
    bound: Option<f64>,
    name: Option<&'static str>,
    wall_s: f64,
    ladder: Vec<Rung>,
    #[serde(skip_serializing_if = "Option::is_none")]
    infeasible: Option<String>,
}

/// One bound of the ladder.
#[derive(Serialize)]
struct Rung {
    name: &'static str,
    bound: f64,
}

pub(super) fn run(args: &BoundArgs) -> Result<Answer, rats_domain::problem::Problems> {
    let instance = super::instance(&args.instance)?;
    let watch = Stopwatch::start();
    let infeasible = bounds::infeasible(&instance);
    let ladder = if infeasible.is_none() { bounds::ladder(&instance) } else { Vec::new() };
    let bound = bounds::strongest(&ladder);
    let wall_s = watch.elapsed().as_secs_f64();
    let exit = u8::from(infeasible.is_some());
    let text = if args.json {
        let (value, name) = (bound.map(|bound| bound.value), bound.map(|bound| bound.name));
        let ladder = ladder.iter().map(|bound| Rung { name: bound.name, bound: bound.value }).collect();
        json(&Document { bound: value, name, wall_s, ladder, infeasible })
    } else {
        let name = printable(&instance.name);
        match (&infeasible, bound) {
            (Some(reason), _) => format!("{name}: no plan exists: {}\n", printable(reason)),
            (None, bound) => {
                let text = bound.map(|bound| format!("{} ({})", number(bound.value), bound.name));
                let rungs = ladder.iter().map(|bound| format!("  {:<12}{}\n", bound.name, number(bound.value)));
                format!("{name}: no plan is better than {}\n\n{}", text.unwrap_or_default(), rungs.collect::<String>())
            }
        }
    };
    Ok(Answer { text, exit })
}
