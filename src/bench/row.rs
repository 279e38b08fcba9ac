//! One run as a row of `raw.csv`.

use rats_domain::objective::gap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// How far rounding may carry a claim beyond what is true, relative.
pub const TOLERANCE: f64 = 1e-6;
/// The same near zero.
const ABSOLUTE_TOLERANCE: f64 = 1e-9;

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The folder of the instance.
    pub suite: String,
    /// The file's name without its ending.
    pub instance: String,
    /// Id of the solver.
    pub solver: String,
    /// Seed.
    pub seed: u64,
    /// Threads allowed.
    pub threads: usize,
    /// Seconds allowed.
    pub time_limit_s: f64,
    /// Iterations allowed.
    pub iterations: Option<u64>,
    /// How it ended.
    pub status: Ending,
    /// Why it ended without a proof.
    pub stop: Option<String>,
    /// The objective of the plan, recomputed.
    pub objective: Option<f64>,
    /// The lower bound that the solver claims.
    pub bound: Option<f64>,
    /// Between the two.
    pub gap: Option<f64>,
    /// Seconds, as the solver counts them from the instance read to the plan made.
    pub wall_s: f64,
    /// Seconds until the first plan.
    pub first_plan_s: Option<f64>,
    /// Peak resident memory of the process, MiB.
    pub peak_memory_mib: u64,
    /// Whether the plan keeps every rule; none without a plan.
    pub valid: Option<bool>,
    /// SHA-256 of the instance file.
    pub instance_sha256: String,
    /// When plan and bound improved.
    pub trajectory: Trajectory,
    /// What went wrong, if something did.
    pub message: String,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// With a plan and proof that none is better.
    Optimal,
    /// With a plan.
    Feasible,
    /// With proof that there is no plan.
    Infeasible,
    /// With neither.
    Unknown,
    /// The solver does not take the instance.
    Refused,
    /// With a plan that breaks rules.
    Invalid,
    /// Without an answer.
    Crashed,
    /// It overran its time and was ended.
    Killed,
}

/// `[s, objective, bound]` whenever one of the two improved; in a cell `s:objective:bound;...`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trajectory(pub Vec<(f64, Option<f64>, Option<f64>)>);

/// What tells rows of one report apart.
pub type Key = (String, String, String, u64);

/// Suite and name of an instance.
pub type InstanceKey = (String, String);

impl Row {
    /// What tells it apart from other rows of its report.
    pub fn key(&self) -> Key {
        (self.suite.clone(), self.instance.clone(), self.solver.clone(), self.seed)
    }

    /// Its instance.
    pub fn instance_key(&self) -> InstanceKey {
        (self.suite.clone(), self.instance.clone())
    }

    /// The objective of its plan, if the plan is valid.
    pub fn plan(&self) -> Option<f64> {
        self.objective.filter(|_| self.valid == Some(true))
    }

    /// Whether nothing is left to prove.
    pub fn is_proved(&self) -> bool {
        matches!(self.status, Ending::Optimal | Ending::Infeasible)
    }

    /// Its time, which for a run without proof is the limit.
    pub fn time(&self) -> f64 {
        if self.is_proved() { self.wall_s.min(self.time_limit_s) } else { self.time_limit_s }
    }

    /// Gap between a plan of it and a better known objective.
    pub fn gap_to(&self, reference: Option<f64>) -> Option<f64> {
        Some(gap(self.plan()?, reference?))
    }
}

impl Ending {
    /// The word in files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Optimal => "optimal",
            Self::Feasible => "feasible",
            Self::Infeasible => "infeasible",
            Self::Unknown => "unknown",
            Self::Refused => "refused",
            Self::Invalid => "invalid",
            Self::Crashed => "crashed",
            Self::Killed => "killed",
        }
    }

    /// Whether something went wrong.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Invalid | Self::Crashed | Self::Killed)
    }
}

/// Whether a bound lies above an objective by more than rounding could make it.
pub fn is_above(bound: f64, objective: f64) -> bool {
    bound > objective + TOLERANCE * bound.abs().min(f64::MAX).max(objective.abs()) + ABSOLUTE_TOLERANCE
}

impl Serialize for Trajectory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        let point = |&(at, objective, bound): &(f64, Option<f64>, Option<f64>)| {
            format!("{at:.3}:{}:{}", number(objective), number(bound))
        };
        serializer.serialize_str(&self.0.iter().map(point).collect::<Vec<_>>().join(";"))
    }
}

impl<'de> Deserialize<'de> for Trajectory {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = |part: &str| de::Error::custom(format!("`{part}` is no point of a trajectory"));
        let point = |part: &str| {
            let cells: Vec<_> = part.split(':').collect();
            let [at, objective, bound] = cells[..] else { return Err(wrong(part)) };
            let number = |cell: &str| match cell {
                "" => Ok(None),
                cell => cell.parse().map(Some).map_err(|_| wrong(part)),
            };
            Ok((at.parse().map_err(|_| wrong(part))?, number(objective)?, number(bound)?))
        };
        text.split(';').filter(|part| !part.is_empty()).map(point).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A run of solver `s` with limit 10 s that found a plan of this objective.
    pub fn row(instance: &str, solver: &str, seed: u64, objective: Option<f64>) -> Row {
        Row {
            suite: "suite".to_owned(),
            instance: instance.to_owned(),
            solver: solver.to_owned(),
            seed,
            threads: 1,
            time_limit_s: 10.0,
            iterations: None,
            status: if objective.is_some() { Ending::Feasible } else { Ending::Unknown },
            stop: None,
            objective,
            bound: None,
            gap: None,
            wall_s: 10.0,
            first_plan_s: None,
            peak_memory_mib: 1,
            valid: objective.map(|_| true),
            instance_sha256: instance.to_owned(),
            trajectory: Trajectory::default(),
            message: String::new(),
        }
    }

    #[test]
    fn rounding_is_no_contradiction_and_infinity_is() {
        assert!(!is_above(1_000_000.9, 1_000_000.0));
        assert!(is_above(1_000_001.1, 1_000_000.0));
        assert!(!is_above(1e-12, 0.0));
        assert!(is_above(f64::INFINITY, 1e300));
    }

    #[test]
    fn a_run_without_proof_counts_as_long_as_its_limit() {
        let mut run = row("i", "s", 0, Some(1.0));
        run.wall_s = 2.0;
        assert_eq!(run.time().to_string(), "10");
        run.status = Ending::Optimal;
        assert_eq!(run.time().to_string(), "2");
    }
}
