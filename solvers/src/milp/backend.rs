//! Hands a program to `HiGHS` through `good_lp`, in a thread of its own, and watches the clock.
//!
//! `HiGHS` keeps per-thread state (a second solve with another thread count fails) and overruns time limits at times,
//! so every solve gets a fresh thread; when the control says stop and `HiGHS` does not come back, the thread is left
//! behind and ends with the process.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use good_lp::solvers::SolverModel;
use good_lp::{Expression, ProblemVariables, Variable, highs, variable};
use highs::HighsModelStatus;
use rats_domain::solver::{Control, Stop};

use super::linear::{Program, Sense};

/// How often the control is asked while `HiGHS` works.
const PULSE: Duration = Duration::from_millis(50);
/// How long `HiGHS` may overrun its time limit before it is left behind.
const PATIENCE: Duration = Duration::from_secs(2);
/// Feasibility tolerance of rows and integers; coefficients are in W, GB/s and GPUs, right-hand sides exact to 1e-6.
const TOLERANCE: f64 = 1e-9;

/// What is asked beside the program.
pub(super) struct Asked {
    pub presolve: bool,
    pub threads: usize,
    pub gap: f64,
    /// A complete feasible assignment.
    pub start: Option<Vec<f64>>,
}

/// What became of a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Optimal,
    Infeasible,
    Stopped(Stop),
}

/// What `HiGHS` says; values and bound are in the program's terms.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub verdict: Verdict,
    pub values: Option<Vec<f64>>,
    pub bound: Option<f64>,
}

/// Solves a program.
pub(super) fn solve(program: &Program, asked: &Asked, control: &dyn Control) -> Answer {
    if program.rows.iter().any(|row| row.terms.is_empty()) {
        return Answer { verdict: Verdict::Infeasible, values: None, bound: None };
    }
    if program.columns.is_empty() {
        return Answer { verdict: Verdict::Optimal, values: Some(Vec::new()), bound: Some(0.0) };
    }
    if let Some(stop) = control.stop() {
        return Answer { verdict: Verdict::Stopped(stop), values: None, bound: None };
    }
    let limit = control.remaining();
    let (sender, receiver) = channel();
    let job = Job {
        program: program.clone(),
        presolve: asked.presolve,
        threads: asked.threads,
        gap: asked.gap,
        start: asked.start.clone(),
        limit,
    };
    thread::spawn(move || job.run(&sender));
    let mut overrun = Duration::ZERO;
    loop {
        match receiver.recv_timeout(PULSE) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Disconnected) => {
                return Answer { verdict: Verdict::Stopped(Stop::Memory), values: None, bound: None };
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(stop) = control.stop() {
            overrun += PULSE;
            if stop == Stop::Interrupted || overrun > PATIENCE {
                return Answer { verdict: Verdict::Stopped(stop), values: None, bound: None };
            }
        }
    }
}

struct Job {
    program: Program,
    presolve: bool,
    threads: usize,
    gap: f64,
    start: Option<Vec<f64>>,
    limit: Option<Duration>,
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
        model.make_quiet();
        let threads = i32::try_from(self.threads.max(1)).unwrap_or(i32::MAX);
        model.try_set_option("threads", threads).ok()?;
        model.try_set_option("parallel", if threads > 1 { "on" } else { "off" }).ok()?;
        model.try_set_option("presolve", if self.presolve { "on" } else { "off" }).ok()?;
        model.try_set_option("mip_rel_gap", self.gap).ok()?;
        model.try_set_option("mip_abs_gap", 0.0).ok()?;
        for name in ["mip_feasibility_tolerance", "primal_feasibility_tolerance", "dual_feasibility_tolerance"] {
            model.try_set_option(name, TOLERANCE).ok()?;
        }
        if let Some(limit) = self.limit {
            model.try_set_option("time_limit", limit.as_secs_f64()).ok()?;
        }
        if let Some(start) = &self.start {
            // A start that HiGHS does not take only costs speed.
            let _ = model.try_set_solution(Some(start), None, None, None);
        }
        let solved = model.try_solve().ok()?;
        let found = solved.primal_solution_status() == highs::HighsSolutionStatus::Feasible;
        let values = found.then(|| solved.get_solution().columns().to_vec());
        let verdict = match solved.status() {
            HighsModelStatus::Optimal => Verdict::Optimal,
            HighsModelStatus::Infeasible => Verdict::Infeasible,
            HighsModelStatus::ReachedTimeLimit => Verdict::Stopped(Stop::Deadline),
            _ => Verdict::Stopped(Stop::Stalled),
        };
        // A program without integer columns has no MIP bound; its optimum is one.
        let mip_bound = solved.double_info_value(c"mip_dual_bound").ok().filter(|bound| bound.is_finite());
        let optimum = (verdict == Verdict::Optimal).then(|| solved.objective_value());
        Some(Answer { verdict, values, bound: mip_bound.or(optimum) })
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
