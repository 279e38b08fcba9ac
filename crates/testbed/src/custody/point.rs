//! An operating point as steps of settings.

use rats_domain::units::Milliwatts;

use super::journal::Entry;
use crate::gpu::{Applied, Gpu, GpuError, Megahertz, Setting, Uuid};

/// What a GPU is to be set to; what is absent stays as it was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Locked SM clock.
    pub sm: Option<Megahertz>,
    /// Locked memory clock.
    pub mem: Option<Megahertz>,
    /// Power limit.
    pub power_limit: Option<Milliwatts>,
}

/// What a GPU was asked for and set to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PointApplied {
    /// SM clock.
    pub sm: Option<Applied<Megahertz>>,
    /// Memory clock.
    pub mem: Option<Applied<Megahertz>>,
    /// Power limit.
    pub power_limit: Option<Applied<Milliwatts>>,
}

/// One setting of a point.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Mem(Megahertz),
    Sm(Megahertz, Option<Megahertz>),
    Power(Milliwatts),
}

impl Point {
    /// Whether the point says something about a setting.
    pub fn names(&self, setting: Setting) -> bool {
        match setting {
            Setting::SmLock => self.sm.is_some(),
            Setting::MemLock => self.mem.is_some(),
            Setting::PowerLimit => self.power_limit.is_some(),
        }
    }

    /// The steps, memory clock first: the SM clocks that go with it depend on it. Refuses what is out of range before
    /// anything is set.
    pub(super) fn steps(&self, gpu: &Gpu) -> Result<Vec<Step>, GpuError> {
        let mut steps = Vec::new();
        let mem = self.mem.map(|mem| gpu.mem_near(mem)).transpose()?;
        steps.extend(mem.map(Step::Mem));
        if let Some(sm) = self.sm {
            gpu.sm_near(sm, mem)?;
            steps.push(Step::Sm(sm, mem));
        }
        if let Some(limit) = self.power_limit {
            gpu.check_power_limit(limit)?;
            steps.push(Step::Power(limit));
        }
        Ok(steps)
    }
}

impl Step {
    pub(super) fn setting(self) -> Setting {
        match self {
            Self::Mem(_) => Setting::MemLock,
            Self::Sm(..) => Setting::SmLock,
            Self::Power(_) => Setting::PowerLimit,
        }
    }

    /// What is written down before the step; `found` is the power limit now.
    pub(super) fn entry(self, gpu: &Uuid, found: Option<Milliwatts>) -> Entry {
        let gpu = gpu.clone();
        match self {
            Self::Mem(clock) | Self::Sm(clock, _) => Entry::Lock { gpu, setting: self.setting(), mhz: clock.0 },
            Self::Power(limit) => Entry::Limit { gpu, found_mw: found.unwrap_or(limit).0, value_mw: limit.0 },
        }
    }

    pub(super) fn carry_out(self, gpu: &Gpu, applied: &mut PointApplied) -> Result<(), GpuError> {
        match self {
            Self::Mem(clock) => applied.mem = Some(gpu.lock_mem(clock)?),
            Self::Sm(clock, mem) => applied.sm = Some(gpu.lock_sm(clock, mem)?),
            Self::Power(limit) => applied.power_limit = Some(gpu.set_power_limit(limit)?),
        }
        Ok(())
    }
}
