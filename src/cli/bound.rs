//! `rats bound`: a lower bound, or a proof that there is no plan, by cheap arguments.

use rats_solvers::bounds;
use serde::Serialize;

use super::Answer;
use super::args::BoundArgs;
use crate::clock::Stopwatch;
use crate::document::json;
use crate::report::{number, printable};

#[derive(Serialize)]
struct Document {
    bound: Option<f64>,
    name: Option<&'static str>,
    wall_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    infeasible: Option<String>,
}

pub(super) fn run(args: &BoundArgs) -> Result<Answer, rats_domain::problem::Problems> {
    let instance = super::instance(&args.instance)?;
    let watch = Stopwatch::start();
    let infeasible = bounds::infeasible(&instance);
    let bound = infeasible.is_none().then(|| bounds::lower_bound(&instance));
    let wall_s = watch.elapsed().as_secs_f64();
    let exit = u8::from(infeasible.is_some());
    let text = if args.json {
        let (value, name) = (bound.map(|bound| bound.value), bound.map(|bound| bound.name));
        json(&Document { bound: value, name, wall_s, infeasible })
    } else {
        let name = printable(&instance.name);
        match (&infeasible, bound) {
            (Some(reason), _) => format!("{name}: no plan exists: {}\n", printable(reason)),
            (None, bound) => {
                let text = bound.map(|bound| format!("{} ({})", number(bound.value), bound.name));
                format!("{name}: no plan is better than {}\n", text.unwrap_or_default())
            }
        }
    };
    Ok(Answer { text, exit })
}
