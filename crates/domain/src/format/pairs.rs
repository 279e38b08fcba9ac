//! `rats.pairs/1` as it stands in the file: how fast two workloads run side by side on one GPU.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::profile::SourceFile;
use super::read::Document;

/// Rates of workloads alone and next to each other, on one type of GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairsFile {
    /// Always `rats.pairs/1`.
    pub format: String,
    /// Name; the file is named after it.
    pub id: String,
    /// The type of GPU.
    pub gpu_type: String,
    /// Where the figures come from.
    pub source: SourceFile,
    /// The workloads; pairs refer to them by index.
    pub workloads: Vec<PairWorkloadFile>,
    /// The pairs that were measured. Both rates 0: the two cannot share a GPU.
    pub pairs: Vec<PairFile>,
}

/// A workload that was run alone and next to others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairWorkloadFile {
    /// Its name, batch size included.
    pub name: String,
    /// The model alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The batch size; whether a GPU's or the gang's is not stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<f64>,
    /// GPUs of the gang; both gangs of a pair share all of them.
    pub gpus: i64,
    /// Whether the gang sat on as few nodes as possible, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consolidated: Option<bool>,
    /// Steps per second alone, if measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<f64>,
}

/// Two workloads side by side: `[first, second, steps/s of the first, steps/s of the second]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairFile(pub usize, pub usize, pub f64, pub f64);

impl Document for PairsFile {
    const FORMAT: &'static str = "rats.pairs/1";
}
