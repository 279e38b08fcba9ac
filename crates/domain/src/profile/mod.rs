//! A profile whose every number can be used: the measured physics of one workload on one GPU type.

mod validate;

use std::collections::BTreeMap;

use crate::format::{
    Figure, GangFile, MeasuredPointFile, OriginFile, PointFile, ProfileFile, ScalingFile, SourceFile, WorkloadFile,
    read,
};
use crate::problem::{Problems, Warning};

/// Time and power of one workload on one GPU type. Made by [`Profile::read`] or [`Profile::new`] only, so that every
/// number is finite and in range and no operating point appears twice.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Name.
    pub id: String,
    /// Type of GPU, as in the catalogue.
    pub gpu_type: String,
    /// What was run, and what a step of it is.
    pub workload: WorkloadFile,
    /// Where the figures come from.
    pub source: SourceFile,
    /// How the columns came about.
    pub origin: OriginFile,
    /// Set if the points hold for a gang of this shape only, with its communication inside `step_s`.
    pub gang: Option<GangFile>,
    /// Samples per GPU and step, > 0.
    pub batch_per_gpu: Option<Figure>,
    /// Samples of one epoch, > 0.
    pub samples_per_epoch: Option<Figure>,
    /// Bytes summed by an all-reduce per step, >= 0.
    pub gradient_bytes: Option<Figure>,
    /// Bytes read per GPU and step from the shared store, >= 0.
    pub input_bytes_per_step: Option<Figure>,
    /// Share of the step behind which communication hides, in [0, 1].
    pub overlap: Option<Figure>,
    /// Power while waiting, W, >= 0.
    pub blocked_w: Option<Figure>,
    /// Memory per GPU, MiB, > 0.
    pub memory_mib: Option<Figure>,
    /// Time before the first step, s, >= 0.
    pub startup_s: Option<Figure>,
    /// Trained parameters, >= 1.
    pub parameters: Option<Figure>,
    /// Tokens of one sample, >= 1.
    pub sequence_tokens: Option<Figure>,
    /// Samples per GPU in one pass, > 0.
    pub micro_batch: Option<Figure>,
    /// Hardware counters at the default operating point, by name, >= 0.
    pub counters: BTreeMap<String, f64>,
    /// Measurements, in file order, each at another operating point. `step_s` and `power_w` are > 0 where present.
    pub points: Vec<MeasuredPointFile>,
    /// Measurements on several GPUs, in file order.
    pub scaling: Vec<ScalingFile>,
}

/// An operating point of which both time and power are known and can be trusted: what options are made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperatingPoint<'p> {
    /// The point.
    pub point: PointFile,
    /// Time of one step, s.
    pub step_s: f64,
    /// Mean power of one GPU during it, W.
    pub power_w: f64,
    /// The measurement behind it: spreads, samples, flags.
    pub measured: &'p MeasuredPointFile,
}

/// A profile that was read, and what looked suspicious about its file.
#[derive(Clone, Debug)]
pub struct ReadProfile {
    /// The profile.
    pub profile: Profile,
    /// Unknown fields.
    pub warnings: Vec<Warning>,
}

impl Profile {
    /// Reads a profile from the bytes of a file.
    ///
    /// # Errors
    /// Every problem found, each with its place.
    pub fn read(bytes: &[u8]) -> Result<ReadProfile, Problems> {
        let read = read::<ProfileFile>(bytes)?;
        Ok(ReadProfile { profile: Self::new(read.document)?, warnings: read.warnings })
    }

    /// Validates a profile.
    ///
    /// # Errors
    /// Every problem found, each with its place.
    pub fn new(file: ProfileFile) -> Result<Self, Problems> {
        validate::profile(&file)?;
        Ok(Self {
            id: file.id,
            gpu_type: file.gpu_type,
            workload: file.workload,
            source: file.source,
            origin: file.origin,
            gang: file.gang,
            batch_per_gpu: file.batch_per_gpu,
            samples_per_epoch: file.samples_per_epoch,
            gradient_bytes: file.gradient_bytes,
            input_bytes_per_step: file.input_bytes_per_step,
            overlap: file.overlap,
            blocked_w: file.blocked_w,
            memory_mib: file.memory_mib,
            startup_s: file.startup_s,
            parameters: file.parameters,
            sequence_tokens: file.sequence_tokens,
            micro_batch: file.micro_batch,
            counters: file.counters,
            points: file.points,
            scaling: file.scaling,
        })
    }

    /// The points of which options can be made: time and power both known, neither flagged as unusable; file order.
    pub fn operating_points(&self) -> impl Iterator<Item = OperatingPoint<'_>> {
        self.points.iter().filter_map(|measured| {
            let usable = !measured.flags.iter().any(|flag| flag.is_unusable());
            let (step_s, power_w) = (measured.step_s?, measured.power_w?);
            usable.then_some(OperatingPoint { point: measured.point(), step_s, power_w, measured })
        })
    }
}
