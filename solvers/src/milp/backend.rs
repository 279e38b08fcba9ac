//! Hands a program to `HiGHS` through `good_lp`, in a thread of its own, and watches the clock.
//!
//! `HiGHS` keeps per-thread state (a second solve with another thread count fails) and overruns time limits at times,
//! so every solve gets a fresh thread; when the control says stop and `HiGHS` does not come back, the thread is left
//! behind and ends with the process.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use good_lp::solvers::SolverModel;
use good_lp::{Expression, ProblemVariables, Variable, highs, variable};
use highs::HighsModelStatus;
use rats_domain::solver::{Control, Progress, Stop};

use super::linear::{Program, Sense};
use super::watch::{Logged, Watch};

/// How often the control is asked while `HiGHS` works.
const PULSE: Duration = Duration::from_millis(50);
/// How long `HiGHS` may overrun its time limit before it is left behind.
const PATIENCE: Duration = Duration::from_secs(2);
/// Feasibility tolerance of rows and integers; coefficients are in W, GB/s and GPUs, right-hand sides exact to 1e-6.
const TOLERANCE: f64 = 1e-9;

/// Non-zeros above which probing takes longer than it saves: minutes on programs of a few thousand columns.
const PROBING_LIMIT: usize = 100_000;
/// `HiGHS` presolve rules 15 (probing), 16 (enumeration) and 20 (dual-fix probing), as bits.
const NO_PROBING: i32 = 1 << 15 | 1 << 16 | 1 << 20;

/// What is asked beside the program.
pub(crate) struct Asked {
    pub presolve: bool,
    pub threads: usize,
    pub gap: f64,
    /// Only solutions below it are looked for, in the program's terms.
    pub below: Option<f64>,
}

/// What became of a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Optimal,
    Infeasible,
    Stopped(Stop),
}

/// What `HiGHS` says; values and bound are in the program's terms.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub verdict: Verdict,
    pub values: Option<Vec<f64>>,
    pub bound: Option<f64>,
}

/// Solves a program.
pub(crate) fn solve(program: &Program, asked: &Asked, control: &dyn Control) -> Answer {
    let at_once = |verdict, values, bound| Answer { verdict, values, bound };
    if program.rows.iter().any(|row| row.terms.is_empty()) {
        return at_once(Verdict::Infeasible, None, None);
    }
    if program.columns.is_empty() {
        return at_once(Verdict::Optimal, Some(Vec::new()), Some(0.0));
    }
    if let Some(stop) = control.stop() {
        return at_once(Verdict::Stopped(stop), None, None);
    }
    let watch = Watch::new();
    let (sender, receiver) = channel();
    let job = Job {
        program: program.clone(),
        presolve: asked.presolve,
        threads: asked.threads,
        gap: asked.gap,
        below: asked.below,
        limit: control.remaining(),
        files: watch.as_ref().map(|watch| (watch.log(), watch.solutions())),
    };
    thread::spawn(move || job.run(&sender));
    wait(program, &receiver, watch.as_ref(), control)
}

/// Waits for the answer, passes progress on, and gives up when the control says so.
fn wait(program: &Program, receiver: &Receiver<Answer>, watch: Option<&Watch>, control: &dyn Control) -> Answer {
    let mut overrun = Duration::ZERO;
    let mut last = Logged::default();
    loop {
        match receiver.recv_timeout(PULSE) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Disconnected) => return left_behind(program, watch, Stop::Memory),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let now = watch.map(Watch::logged).unwrap_or_default();
        if now != last {
            let show = |value: Option<f64>| value.map(|value| program.objective(value));
            control.progress(Progress { incumbent: show(now.incumbent), bound: show(now.bound) });
            last = now;
        }
        if let Some(stop) = control.stop() {
            overrun += PULSE;
            if stop == Stop::Interrupted || overrun > PATIENCE {
                return left_behind(program, watch, stop);
            }
        }
    }
}

/// What can be saved of a solve that does not come back.
fn left_behind(program: &Program, watch: Option<&Watch>, stop: Stop) -> Answer {
    let values = watch.and_then(|watch| watch.best(program.columns.len()));
    let bound = watch.and_then(|watch| watch.logged().bound);
    Answer { verdict: Verdict::Stopped(stop), values, bound }
}

struct Job {
    program: Program,
    presolve: bool,
    threads: usize,
    gap: f64,
    below: Option<f64>,
    limit: Option<Duration>,
    /// Log and improving solutions.
    files: Option<(PathBuf, PathBuf)>,
}

impl Job {
    fn run(self, sender: &Sender<Answer>) {
        if let Some(answer) = self.answer() {
            // The receiver may have left already.
            let _ = sender.send(answer);
        }
    }

    fn answer(&self) -> Option<Answer> {
        let mut model = self.model()?;
        self.report(&mut model)?;
        let threads = i32::try_from(self.threads.max(1)).unwrap_or(i32::MAX);
        model.try_set_option("threads", threads).ok()?;
        model.try_set_option("parallel", if threads > 1 { "on" } else { "off" }).ok()?;
        model.try_set_option("presolve", if self.presolve { "on" } else { "off" }).ok()?;
        if self.program.nonzeros() > PROBING_LIMIT {
            model.try_set_option("presolve_rule_off", NO_PROBING).ok()?;
        }
        model.try_set_option("mip_rel_gap", self.gap).ok()?;
        model.try_set_option("mip_abs_gap", 0.0).ok()?;
        for name in ["mip_feasibility_tolerance", "primal_feasibility_tolerance", "dual_feasibility_tolerance"] {
            model.try_set_option(name, TOLERANCE).ok()?;
        }
        if let Some(limit) = self.limit {
            model.try_set_option("time_limit", limit.as_secs_f64()).ok()?;
        }
        if let Some(below) = self.below {
            model.try_set_option("objective_bound", below).ok()?;
        }
        let solved = model.try_solve().ok()?;
        let found = solved.primal_solution_status() == highs::HighsSolutionStatus::Feasible;
        let values = found.then(|| solved.get_solution().columns().to_vec());
        let verdict = match solved.status() {
            HighsModelStatus::Optimal => Verdict::Optimal,
            HighsModelStatus::Infeasible | HighsModelStatus::ObjectiveBound => Verdict::Infeasible,
            HighsModelStatus::ReachedTimeLimit => Verdict::Stopped(Stop::Deadline),
            _ => Verdict::Stopped(Stop::Stalled),
        };
        // A program without integer columns has no MIP bound; its optimum is one.
        let mip_bound = solved.double_info_value(c"mip_dual_bound").ok().filter(|bound| bound.is_finite());
        let optimum = (verdict == Verdict::Optimal).then(|| solved.objective_value());
        Some(Answer { verdict, values, bound: mip_bound.or(optimum) })
    }

    /// Nothing on the console; log and solutions to files if there are any.
    fn report(&self, model: &mut highs::Model) -> Option<()> {
        model.make_quiet();
        let Some((log, solutions)) = &self.files else { return Some(()) };
        model.try_set_option("output_flag", true).ok()?;
        model.try_set_option("log_to_console", false).ok()?;
        model.try_set_option("log_file", log.to_str()?).ok()?;
        model.try_set_option("mip_improving_solution_report_sparse", true).ok()?;
        model.try_set_option("mip_improving_solution_file", solutions.to_str()?).ok()
    }

    /// The program as a `HiGHS` model, built by `good_lp`.
    fn model(&self) -> Option<highs::Model> {
        let mut variables = ProblemVariables::new();
        let columns: Vec<Variable> = self
            .program
            .columns
            .iter()
            .map(|column| {
                let definition = variable().min(column.lower).max(column.upper);
                variables.add(if column.integer { definition.integer() } else { definition })
            })
            .collect();
        let costs = columns.iter().zip(&self.program.columns);
        let objective: Expression = costs.map(|(&variable, column)| column.cost / self.program.scale * variable).sum();
        let mut model = variables.minimise(objective).using(highs);
        for row in &self.program.rows {
            let mut sum = Expression::with_capacity(row.terms.len());
            for &(column, coefficient) in &row.terms {
                sum.add_mul(coefficient, columns[column.0]);
            }
            model.add_constraint(if row.sense == Sense::AtMost { sum.leq(row.limit) } else { sum.eq(row.limit) });
        }
        model.try_into_inner().ok()
    }
}
