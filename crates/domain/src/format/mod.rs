//! File formats: the JSON documents as serde types, and the reader that names what is wrong with one.

mod fabric;
mod gpu;
mod instance;
mod inventory;
mod model;
mod pairs;
mod plan;
mod profile;
mod read;
mod scan;
mod steps;
mod toml;
mod words;

pub use fabric::{DomainFile, FabricFile, LinkFile, StorageFile};
pub use gpu::{ClockRunFile, ClocksFile, GpuFigure, GpuFigureKind, GpuFile, PowerLimitsFile};
pub use instance::{
    ClusterFile, FixedFile, GpuTypeFile, InstanceFile, JobFile, NodeFile, OptionFile, PointFile, PowerMode, SwitchFile,
    TermFile, UnavailableFile,
};
pub use inventory::{InventoryFile, InventoryGpuFile};
pub use model::{
    AxisFile, CorrectionFile, CurveFile, IntervalFile, ModelFile, NamedFile, RangeFile, ResidualFile, ValidatedFile,
};
pub use pairs::{PairFile, PairWorkloadFile, PairsFile};
pub use plan::{AssignmentFile, PlanFile};
pub use profile::{
    ColumnOrigin, Figure, Flag, GangFile, Kind, MeasuredPointFile, OriginFile, ProfileFile, ScalingFile, SourceFile,
    StagesFile, WorkloadFile,
};
pub use read::{Document, Read, read};
pub use steps::{StepFile, StepsFile};
pub use toml::from_toml;
