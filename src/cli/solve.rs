//! `rats solve`: run a solver, write the plan, say what it is worth and what it saves.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rats_domain::check::{CheckedPlan, Violation};
use rats_domain::codes::Code;
use rats_domain::evaluate::Evaluation;
use rats_domain::format::PlanFile;
use rats_domain::instance::Instance;
use rats_domain::problem::{Problem, Problems};
use rats_domain::schedule::Schedule;
use rats_domain::solver::{Request, Solver};
use rats_solvers::{PROOF_GAP, Solved, SolverFault, Status, registry};
use serde::Serialize;

use super::Answer;
use super::args::SolveArgs;
use super::conflict::{self, ConflictPart};
use crate::baseline::{self, BASELINE, Saving};
use crate::control::{Change, Display, RunControl, catch_interrupts, peak_memory_mib};
use crate::document::{Counts, Terms, counts, counts_text, facts, json};
use crate::io::{STANDARD, bytes, can_write, instance_of, keep_apart, standard_once, write_or_rescue};
use crate::report::{Align, count, kwh, number, percent, printable, table};

#[derive(Serialize)]
struct Document {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conflict: Option<ConflictPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    objective: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gap: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gap_limit: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    terms: Option<Terms>,
    solver: &'static str,
    seed: u64,
    threads: usize,
    wall_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_plan_s: Option<f64>,
    peak_memory_mib: u64,
    /// `[s, objective, bound]` whenever one of the two improved, as the method reported it; the last one is the result.
    trajectory: Vec<(f64, Option<f64>, Option<f64>)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<Baseline>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<PlanFile>,
}

#[derive(Serialize)]
struct Baseline {
    solver: &'static str,
    objective: Option<f64>,
    terms: Option<Terms>,
    valid: bool,
    violations: Counts,
    #[serde(skip_serializing_if = "Option::is_none")]
    saving: Option<SavingPart>,
}

/// Energy saved against the baseline, J.
#[derive(Serialize)]
struct SavingPart {
    total: f64,
    sleeping: f64,
    operating_points: f64,
    packing: f64,
    #[serde(skip)]
    exact: Saving,
    #[serde(skip)]
    share: f64,
}

/// A run and its circumstances.
struct Run {
    solved: Solved,
    solver: &'static str,
    request: Request,
    wall_s: f64,
    first_plan_s: Option<f64>,
    conflict: Option<ConflictPart>,
    changes: Vec<Change>,
}

pub(super) fn run(args: &SolveArgs) -> Result<Answer, Problems> {
    let to_stdout = args.output.as_deref() == Some(Path::new(STANDARD));
    if to_stdout && args.json {
        let message = "`-o -` and `--json` both want standard output.";
        return Err(Problem::new(Code::U05, "command line", message).into());
    }
    let file = args.output.as_deref().filter(|_| !to_stdout);
    let inputs = || args.warm_start.iter().chain([&args.instance]).map(PathBuf::as_path);
    standard_once(inputs())?;
    if let Some(path) = file {
        keep_apart(path, inputs())?;
        can_write(path)?;
    }
    let bytes = bytes(&args.instance)?;
    let instance = super::told(instance_of(&args.instance, &bytes)?);
    let solver = registry::find(&args.solver)
        .ok_or_else(|| Problem::new(Code::U03, &args.solver, "there is no such solver."))?;
    let request = Request {
        seed: args.seed,
        threads: args.threads.map_or_else(all_threads, usize::from),
        iterations: args.iterations,
        gap: args.gap.unwrap_or(0.0),
        warm_start: args.warm_start.as_deref().map(|path| warm_start(&instance, path, args.strict)).transpose()?,
    };
    let interrupted = catch_interrupts().unwrap_or_default();
    let control = RunControl::start(Some(args.time_limit), interrupted.clone(), Display::for_stderr(args.quiet));
    let mut run = Run::new(&instance, solver, request, &control)?;
    if run.solved.status == Status::Infeasible {
        run.conflict = conflict::explain(&bytes, args.time_limit, interrupted);
    }
    let plan = run.plan(&instance);
    if let (Some(plan), Some(path)) = (&plan, file) {
        write_or_rescue(path, json(plan).as_bytes())?;
    }
    let exit = u8::from(plan.is_none());
    let text = match (plan, args.json) {
        (plan, true) => json(&run.document(&instance, plan.filter(|_| args.output.is_none()))),
        (Some(plan), false) if to_stdout => json(&plan),
        (None, false) if to_stdout => {
            super::say(&run.text(&instance, None));
            String::new()
        }
        (_, false) => run.text(&instance, args.output.as_deref()),
    };
    Ok(Answer { text, exit })
}

impl Run {
    fn new(
        instance: &Instance,
        method: &'static dyn Solver,
        request: Request,
        control: &RunControl,
    ) -> Result<Self, Problems> {
        let id = method.about().id;
        let result = rats_solvers::run(method, instance, &request, control);
        let wall_s = control.elapsed().as_secs_f64();
        control.finish();
        let solved = result.map_err(|fault| problems(id, &fault))?;
        let first_plan_s = control.first_plan().map(|time| time.as_secs_f64());
        let changes = control.trajectory();
        Ok(Self { solved, solver: id, request, wall_s, first_plan_s, conflict: None, changes })
    }

    fn evaluation(&self) -> Option<&Evaluation> {
        self.solved.plan.as_ref().map(CheckedPlan::evaluation)
    }

    fn bound(&self) -> Option<f64> {
        self.solved.bound.filter(|bound| bound.is_finite())
    }

    /// The gap that was asked for, if the word `optimal` rests on it.
    fn gap_limit(&self) -> Option<f64> {
        (self.solved.status == Status::Optimal && self.request.gap > PROOF_GAP).then_some(self.request.gap)
    }

    fn trajectory(&self) -> Vec<(f64, Option<f64>, Option<f64>)> {
        let point = |change: &Change| (change.at_s, change.progress.incumbent, change.progress.bound);
        let end = (self.wall_s, self.evaluation().map(|evaluation| evaluation.objective), self.bound());
        self.changes.iter().map(point).chain([end]).collect()
    }

    /// The plan file, stamped with how it was made.
    fn plan(&self, instance: &Instance) -> Option<PlanFile> {
        let plan = self.solved.plan.as_ref()?;
        Some(PlanFile {
            solver: Some(self.solver.to_owned()),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            seed: Some(self.request.seed),
            status: Some(self.solved.status.word().to_owned()),
            objective: Some(plan.evaluation().objective),
            bound: self.bound(),
            wall_s: Some(self.wall_s),
            ..plan.schedule().to_plan(instance)
        })
    }

    fn document(&self, instance: &Instance, plan: Option<PlanFile>) -> Document {
        Document {
            status: self.solved.status.word(),
            stop: self.solved.stop.map(rats_domain::solver::Stop::word),
            reason: self.solved.reason.clone(),
            conflict: self.conflict.clone(),
            objective: self.evaluation().map(|evaluation| evaluation.objective),
            bound: self.bound(),
            gap: self.solved.gap().filter(|gap| gap.is_finite()),
            gap_limit: self.gap_limit(),
            terms: self.evaluation().map(|evaluation| Terms::of(instance, evaluation)),
            solver: self.solver,
            seed: self.request.seed,
            threads: self.request.threads,
            wall_s: self.wall_s,
            first_plan_s: self.first_plan_s,
            peak_memory_mib: peak_memory_mib(),
            trajectory: self.trajectory(),
            baseline: Baseline::of(instance, self.evaluation()),
            plan,
        }
    }

    fn text(&self, instance: &Instance, written: Option<&Path>) -> String {
        let mut text = format!("{}: {}\n", printable(&instance.name), self.headline());
        let Some(evaluation) = self.evaluation() else {
            let _ = match (&self.solved.reason, self.bound()) {
                (Some(reason), _) => writeln!(text, "\nNo plan can be valid: {}", printable(reason)),
                (None, Some(bound)) => writeln!(text, "\nNo plan found; none is better than {}.", number(bound)),
                (None, None) => writeln!(text, "\nNo plan found."),
            };
            text.extend(self.conflict.iter().map(ConflictPart::text));
            return text;
        };
        let mut rows = vec![vec!["objective".to_owned(), number(evaluation.objective)]];
        let gap = self.solved.gap().map_or_else(|| "-".to_owned(), percent);
        let bound = self.bound().map_or_else(|| "-".to_owned(), number);
        rows.push(vec!["bound".to_owned(), format!("{bound}, gap {gap}")]);
        rows.extend(facts(instance, evaluation));
        let plan = match written {
            Some(path) => format!("written to {}", path.display()),
            None => "not kept; `-o plan.json` writes it".to_owned(),
        };
        rows.push(vec!["plan".to_owned(), plan]);
        let _ = write!(text, "\n{}", table(&rows, &[Align::Left]));
        if let Some(baseline) = Baseline::of(instance, Some(evaluation)) {
            let _ = write!(text, "\n{}", baseline.text());
        }
        text
    }

    fn headline(&self) -> String {
        let mut words = self.solved.status.word().to_owned();
        if let Some(limit) = self.gap_limit() {
            let _ = write!(words, " within the gap of {} asked for", percent(limit));
        }
        if let Some(stop) = self.solved.stop {
            let _ = write!(words, " (stopped: {})", stop.word());
        }
        format!("{words}, {} in {:.2} s", self.solver, self.wall_s)
    }
}

impl Baseline {
    fn of(instance: &Instance, plan: Option<&Evaluation>) -> Option<Self> {
        let report = baseline::report(instance)?;
        let evaluation = report.evaluation.as_ref();
        let saving = evaluation.zip(plan).map(|(baseline, plan)| {
            let exact = Saving::between(baseline, plan);
            let total = baseline.terms.energy.0;
            SavingPart {
                total: exact.total.joules(),
                sleeping: exact.sleeping.joules(),
                operating_points: exact.operating_points.joules(),
                packing: exact.packing.joules(),
                exact,
                share: if total == 0 { 0.0 } else { exact.total.0 as f64 / total as f64 },
            }
        });
        Some(Self {
            solver: BASELINE,
            objective: evaluation.map(|evaluation| evaluation.objective),
            terms: evaluation.map(|evaluation| Terms::of(instance, evaluation)),
            valid: report.is_valid(),
            violations: counts(&report.violations),
            saving,
        })
    }

    fn text(&self) -> String {
        let broken = if self.valid {
            "keeps every rule".to_owned()
        } else {
            let rules = count(self.violations.values().sum(), "rule");
            format!("breaks {rules} ({})", counts_text(&self.violations))
        };
        let Some(saving) = &self.saving else {
            return format!("No saving can be stated: the baseline {BASELINE} {broken}.\n");
        };
        let exact = &saving.exact;
        let headline = format!(
            "Saves {} = {} of the baseline {BASELINE}, which {broken}:",
            kwh(exact.total),
            percent(saving.share)
        );
        let rows: Vec<_> = [
            ("  sleeping", exact.sleeping),
            ("  operating points", exact.operating_points),
            ("  packing", exact.packing),
        ]
        .into_iter()
        .map(|(name, energy)| vec![name.to_owned(), kwh(energy)])
        .collect();
        format!("{headline}\n{}", table(&rows, &[Align::Left, Align::Right]))
    }
}

pub(super) fn problems(solver: &str, fault: &SolverFault) -> Problems {
    match fault {
        SolverFault::Refused(reason) => Problem::new(Code::U04, solver, format!("{reason}.")).into(),
        SolverFault::Invalid(violations) if violations.is_empty() => {
            Problem::new(Code::U08, solver, format!("{fault}.")).into()
        }
        SolverFault::Invalid(violations) => {
            let problem = |violation: &Violation| {
                let message = format!("its plan breaks {}: {}.", violation.code, violation.message);
                Problem::new(Code::U08, solver, message)
            };
            Problems(violations.iter().map(problem).collect())
        }
    }
}

fn warm_start(instance: &Instance, path: &Path, strict: bool) -> Result<Schedule, Problems> {
    let (report, _) = super::judged(instance, path, strict)?;
    super::warn(&report.warnings);
    let checked = report.into_checked().map_err(|violations| super::needs_valid(path, &violations))?;
    Ok(checked.schedule().clone())
}

pub(super) fn all_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rats_domain::solver::{About, Control, Outcome, Stop};

    use super::*;
    use crate::cli::fixtures;

    /// Runs both jobs of the worked example side by side at option 0.
    struct SideBySide;

    impl Solver for SideBySide {
        fn about(&self) -> About {
            About { id: "side_by_side", summary: "", exact: false, baseline: false }
        }

        fn solve(&self, instance: &Instance, _: &Request, control: &dyn Control) -> Outcome {
            let schedule = fixtures::schedule(instance, &[(0, 0, 0), (0, 0, 1)]);
            let stop = control.stop().unwrap_or(Stop::Finished);
            Outcome::Feasible { schedule, bound: Some(f64::NEG_INFINITY), stop }
        }
    }

    fn solved(gap: f64) -> (Instance, Run) {
        let instance = fixtures::worked_example();
        let control = RunControl::start(None, Arc::default(), Display::Quiet);
        let request = Request { gap, seed: 7, ..Request::default() };
        let run = Run::new(&instance, &SideBySide, request, &control).unwrap();
        (instance, run)
    }

    #[test]
    fn the_plan_is_stamped_and_passes_the_checker() {
        let (instance, run) = solved(0.0);
        let plan = run.plan(&instance).unwrap();
        assert_eq!(plan.solver.as_deref(), Some("side_by_side"));
        assert_eq!((plan.seed, plan.objective), (Some(7), Some(492_000.0)));
        assert_eq!(plan.instance_sha256, instance.sha256);
        let report = rats_domain::check::check(&instance, &plan).unwrap();
        assert!(report.is_valid() && report.warnings.is_empty());
    }

    #[test]
    fn the_document_has_the_plan_only_without_a_file() {
        let (instance, run) = solved(0.0);
        let value = |plan| serde_json::to_value(run.document(&instance, plan)).unwrap();
        assert_eq!(value(None).get("plan"), None);
        let document: serde_json::Value =
            serde_json::from_str(&json(&run.document(&instance, run.plan(&instance)))).unwrap();
        assert_eq!(document["plan"]["assignments"][1]["gpus"][0], "n0/1");
        // The energetic bound proves this one: 10 ticks x 800 W x 60 s + 12000 J.
        assert_eq!(document["status"], "optimal");
        assert_eq!(document["terms"]["energy_mj"], 492_000_000);
        let end = document["trajectory"].as_array().unwrap().last().unwrap();
        assert_eq!((&end[1], &end[2]), (&document["objective"], &document["bound"]));
    }

    #[test]
    fn a_gap_that_was_asked_for_is_named() {
        let (instance, run) = solved(1.0);
        let document = run.document(&instance, None);
        assert_eq!((document.status, document.gap_limit), ("optimal", Some(1.0)));
        assert!(run.text(&instance, None).contains("within the gap of 100 % asked for"));
    }
}
