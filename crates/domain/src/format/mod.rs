//! File formats: the JSON documents as serde types, and the reader that names what is wrong with one.

mod instance;
mod pairs;
mod plan;
mod profile;
mod read;
mod scan;
mod steps;
mod words;

pub use instance::{
    ClusterFile, FixedFile, GpuTypeFile, InstanceFile, JobFile, NodeFile, OptionFile, PointFile, PowerMode, SwitchFile,
    TermFile, UnavailableFile,
};
pub use pairs::{PairFile, PairWorkloadFile, PairsFile};
pub use plan::{AssignmentFile, PlanFile};
pub use profile::{
    ColumnOrigin, Figure, Flag, GangFile, Kind, MeasuredPointFile, OriginFile, ProfileFile, ScalingFile, SourceFile,
    StagesFile, WorkloadFile,
};
pub use read::{Document, Read, read};
pub use steps::{StepFile, StepsFile};
