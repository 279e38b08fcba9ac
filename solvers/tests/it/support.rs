//! What the tests share: running a solver, and the shipped tiny instances.

use std::path::PathBuf;

use rats_domain::check::check;
use rats_domain::instance::Instance;
use rats_domain::solver::{Request, Solver, Unlimited};
use rats_solvers::{Solved, SolverFault, run};

/// Relative difference that sums of doubles in another order may make.
pub const NOISE: f64 = 1e-9;

/// Runs a solver; a plan that comes back has passed the checker once more, through its file form.
pub fn solve(solver: &dyn Solver, instance: &Instance) -> Result<Solved, SolverFault> {
    let solved = run(solver, instance, &Request::default(), &Unlimited)?;
    if let Some(plan) = &solved.plan {
        let report = check(instance, &plan.schedule().to_plan(instance)).expect("ticks in range");
        assert!(report.is_valid(), "{}: {} breaks {:?}", instance.name, solver.about().id, report.violations);
        let objective = plan.evaluation().objective;
        let bound = solved.bound.expect("a plan comes with a bound");
        assert!(bound <= objective, "{}: bound {bound} above {objective}", instance.name);
    }
    Ok(solved)
}

/// The objective of the plan that a solver finds, if it finds one.
pub fn objective(solved: &Solved) -> Option<f64> {
    solved.plan.as_ref().map(|plan| plan.evaluation().objective)
}

/// Whether two objectives are equal but for the order of summation.
pub fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= NOISE * a.abs().max(b.abs())
}

/// The root of the repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The shipped tiny instances, in file order, with their names.
pub fn tiny() -> Vec<(String, Instance)> {
    let mut paths: Vec<_> = std::fs::read_dir(root().join("instances/tiny"))
        .expect("the folder is shipped")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    paths.sort();
    let read = |path: PathBuf| {
        let bytes = std::fs::read(&path).expect("readable");
        let instance =
            Instance::read(&bytes).unwrap_or_else(|problems| panic!("{}: {problems}", path.display())).instance;
        (path.file_stem().expect("a name").to_string_lossy().into_owned(), instance)
    };
    paths.into_iter().map(read).collect()
}
