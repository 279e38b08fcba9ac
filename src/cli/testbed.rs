//! Commands on real GPUs, which `rats-testbed` has as well; new plans on the way are made by the solvers of this program.

use std::sync::Arc;
use std::time::Duration;

use rats_domain::codes::Code;
use rats_domain::format::{InstanceFile, PlanFile};
use rats_domain::instance::Instance;
use rats_domain::problem::{Problem, Problems};
use rats_domain::solver::Request;
use rats_solvers::{registry, run as solve};
use rats_testbed::cli::{TestbedCommand, execute};

use super::solve::{all_threads, problems};
use super::{Answer, warn};
use crate::control::{Display, RunControl};

/// The method that makes new plans.
const SOLVER: &str = "auto";

/// Carries one out; what looked suspicious goes to standard error.
pub(super) fn run(command: &TestbedCommand) -> Result<Answer, Problems> {
    let answer = match command {
        TestbedCommand::Execute(args) => {
            let limit = args.replan_seconds;
            execute::run(args, Some(&move |file: &InstanceFile| replanned(file, limit)))?
        }
        command => rats_testbed::cli::run(command)?,
    };
    warn(&answer.warnings);
    Ok(Answer { text: answer.text, exit: answer.exit })
}

/// A checked plan for what is left of an instance, made within `limit` seconds.
///
/// # Errors
/// X16: none was found, or there is none.
fn replanned(file: &InstanceFile, limit: f64) -> Result<PlanFile, Problems> {
    let none = |reason: &str| Problem::new(Code::X16, &file.name, format!("{SOLVER} found no plan: {reason}."));
    let instance = Instance::from_file(file)?.instance;
    let solver = registry::find(SOLVER).ok_or_else(|| none("there is no such solver"))?;
    // The jobs that run need the other half of the processors.
    let request = Request { threads: (all_threads() / 2).max(1), ..Request::default() };
    let control = RunControl::start(Some(Duration::from_secs_f64(limit)), Arc::default(), Display::Quiet);
    let solved = solve(solver, &instance, &request, &control).map_err(|fault| problems(SOLVER, &fault))?;
    let reason = solved.reason.unwrap_or_else(|| format!("none within {limit} s"));
    let plan = solved.plan.ok_or_else(|| none(&reason))?;
    Ok(PlanFile { solver: Some(SOLVER.to_owned()), ..plan.schedule().to_plan(&instance) })
}

#[cfg(test)]
mod tests {
    use rats_domain::check::check;
    use serde_json::json;

    use super::*;

    /// Two GPUs: one lost, on the other a job that began 3 ticks ago and takes 2 more; two jobs of 4 ticks wait, each with
    /// a slower option of less energy.
    fn left(horizon: i64) -> InstanceFile {
        let options = json!([
            {"gpu_type": "a", "gpus": 1, "span": "island", "ticks": 4, "power_w": 300},
            {"gpu_type": "a", "gpus": 1, "span": "island", "ticks": 6, "power_w": 150}
        ]);
        serde_json::from_value(json!({
            "format": "rats.instance/1", "name": "i+3", "tick_s": 10, "horizon": horizon,
            "cluster": {"gpu_types": [{"id": "a", "idle_w": 50}], "nodes": [{
                "id": "n", "gpu_type": "a", "gpus": 2, "on_at_start": true,
                "unavailable": [[0, horizon, [1]]]
            }]},
            "objective": [{"term": "energy", "weight": 1}],
            "jobs": [
                {"id": "runs", "options": [{"gpu_type": "a", "gpus": 1, "span": "island", "ticks": 5, "power_w": 300}],
                 "fixed": {"option": 0, "start": -3, "gpus": ["n/0"]}},
                {"id": "b", "options": options.clone()},
                {"id": "c", "options": options, "after": ["b"], "deadline": horizon.min(12)}
            ]
        }))
        .unwrap()
    }

    #[test]
    fn what_is_left_is_planned_around_what_runs_and_what_is_lost() {
        let file = left(30);
        let plan = replanned(&file, 10.0).unwrap();
        let instance = Instance::from_file(&file).unwrap().instance;
        assert!(check(&instance, &plan).unwrap().into_checked().is_ok());
        let of = |name: &str| {
            let found = plan.assignments.iter().find(|assignment| assignment.job == name).unwrap();
            (found.option, found.start, found.gpus.join(" "))
        };
        assert_eq!(of("runs"), (0, -3, "n/0".to_owned()));
        // From tick 2 to the deadline at 12 there is room for one fast job and one slow one: 4 + 6 ticks.
        let (b, c) = (of("b"), of("c"));
        assert_eq!((b.1, b.0 + c.0, b.2.as_str(), c.2.as_str()), (2, 1, "n/0", "n/0"));
        assert_eq!(c.1, if b.0 == 0 { 6 } else { 8 });
    }

    #[test]
    fn that_there_is_no_plan_is_said() {
        // 2 + 4 + 4 ticks do not fit into 9.
        assert_eq!(replanned(&left(9), 10.0).unwrap_err().0[0].code, Code::X16);
    }
}
