//! Explains an infeasible instance: a small set of jobs and rules that cannot hold together.
//!
//! # Idea
//! Leave out one member after another, a rule with all limits that belong to it or a job. What stays infeasible without
//! the member does not need it; what becomes feasible does. In the end every member is needed.
//!
//! # Model
//! Members are the jobs and the rules of which the instance states limits: V4 (releases, deadlines, horizon), V5, V7-V13
//! (of V13: that waking takes time). V1-V3 and V6 say what placing a job means and always hold. The rules come first,
//! since the fewer there are the shorter the explanation. Leaving something out never makes a feasible instance
//! infeasible, so one pass is enough; a job whose GPUs draw less than when idle, which could break that, stays.
//!
//! # Complexity
//! One proof of feasibility or infeasibility a member, by `edf_max` and then `milp`.
//!
//! # Limits
//! The set is one of many and need not be the smallest. A member of which the time left shows neither stays, and the set
//! is then not called irreducible.
//!
//! # References
//! J. W. Chinneck, Feasibility and Infeasibility in Optimization, 2008 (deletion filter).

mod relax;

use rats_domain::codes::Code;
use rats_domain::format::InstanceFile;
use rats_domain::instance::Instance;
use rats_domain::solver::{Control, Request, Solver};

use crate::edf_max::EdfMax;
use crate::milp::Milp;
use crate::run::{Status, run};
use crate::slice::Slice;

/// The part of the time left that one member may take.
const PART: u32 = 4;

/// Jobs and rules that cannot hold together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Names of the jobs, in file order.
    pub jobs: Vec<String>,
    /// The rules, ascending.
    pub rules: Vec<Code>,
    /// Whether the rest can hold together as soon as any one job or rule is left out.
    pub irreducible: bool,
}

/// Looks for a conflict in an instance that is infeasible; `None` if not even that could be shown in the time.
pub fn conflict(file: &InstanceFile, control: &dyn Control) -> Option<Conflict> {
    let mut kept = Conflict {
        jobs: file.jobs.iter().map(|job| job.id.clone()).collect(),
        rules: relax::stated(file),
        irreducible: true,
    };
    if feasible(file, &kept, control) != Some(false) {
        return None;
    }
    for rule in kept.rules.clone().into_iter().rev() {
        let rules = kept.rules.iter().copied().filter(|&other| other != rule).collect();
        try_without(file, &mut kept, |kept| kept.rules = rules, control);
    }
    for job in &file.jobs {
        if !relax::is_removable(file, job) {
            kept.irreducible = false;
            continue;
        }
        try_without(file, &mut kept, |kept| kept.jobs.retain(|id| *id != job.id), control);
    }
    Some(kept)
}

/// The instance with nothing but these jobs and rules; `None` if that is not valid.
pub fn relaxed(file: &InstanceFile, kept: &Conflict) -> Option<Instance> {
    let relaxed = relax::relaxed(file, &kept.jobs, &kept.rules);
    Instance::from_file(&relaxed).ok().map(|read| read.instance)
}

/// Leaves something out if the rest is infeasible without it.
fn try_without(file: &InstanceFile, kept: &mut Conflict, drop: impl FnOnce(&mut Conflict), control: &dyn Control) {
    let mut rest = kept.clone();
    drop(&mut rest);
    match feasible(file, &rest, control) {
        Some(false) => *kept = rest,
        Some(true) => {}
        None => kept.irreducible = false,
    }
}

/// Whether these jobs and rules can hold together; `None` if the time does not tell.
fn feasible(file: &InstanceFile, kept: &Conflict, control: &dyn Control) -> Option<bool> {
    let instance = relaxed(file, kept)?;
    let part = Slice::keeping(control, |left| left.saturating_sub(left / PART));
    let answer = |solver: &dyn Solver| match run(solver, &instance, &Request::default(), &part).ok()?.status {
        Status::Optimal | Status::Feasible => Some(true),
        Status::Infeasible => Some(false),
        Status::Unknown => None,
    };
    answer(&EdfMax).or_else(|| answer(&Milp))
}
