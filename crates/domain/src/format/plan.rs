//! `rats.plan/1` as it stands in the file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::read::Document;

/// What runs where and when. Names are kept as written: whether they exist is for the checker to say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanFile {
    /// Always `rats.plan/1`.
    pub format: String,
    /// Name of the instance it was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// SHA-256 of the instance file's bytes, lower-case hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_sha256: Option<String>,
    /// Id of the solver that made it; informative.
    #[serde(default, deserialize_with = "informative", skip_serializing_if = "Option::is_none")]
    pub solver: Option<String>,
    /// Version of the program that made it; informative.
    #[serde(default, deserialize_with = "informative", skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Seed of the run; informative.
    #[serde(default, deserialize_with = "informative", skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// What the solver claims: `optimal` or `feasible`; informative.
    #[serde(default, deserialize_with = "informative", skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Claimed objective value; informative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<f64>,
    /// Claimed lower bound; informative.
    #[serde(default, deserialize_with = "informative", skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// Time the solver took, s; informative.
    #[serde(default, deserialize_with = "informative", skip_serializing_if = "Option::is_none")]
    pub wall_s: Option<f64>,
    /// One entry a job.
    pub assignments: Vec<AssignmentFile>,
    /// Powered intervals `[from, to)` of sleep nodes, by node; a node not named follows the default rule.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub power: BTreeMap<String, Vec<(i64, i64)>>,
}

/// Where, when and how one job runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssignmentFile {
    /// Name of the job.
    pub job: String,
    /// Index of the option.
    pub option: i64,
    /// First tick.
    pub start: i64,
    /// Names of its GPUs, `node/index`.
    pub gpus: Vec<String>,
}

impl Document for PlanFile {
    const FORMAT: &'static str = "rats.plan/1";
}

/// A value that nothing depends on: one of another type counts as absent.
fn informative<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).ok().flatten())
}

/// `null` counts as absent.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::read;

    #[test]
    fn informative_fields_of_an_odd_type_count_as_absent() {
        let text =
            br#"{"format": "rats.plan/1", "solver": ["x"], "version": 2, "bound": 4, "wall_s": {}, "power": null,
            "assignments": []}"#;
        let plan = read::<PlanFile>(text).unwrap().document;
        assert_eq!((plan.solver, plan.version, plan.wall_s), (None, None, None));
        assert_eq!((plan.bound, plan.power.len()), (Some(4.0), 0));
    }
}
