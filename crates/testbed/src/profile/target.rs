//! The operating points of a sweep.

use rats_domain::decimal::Decimal;
use rats_domain::format::PointFile;
use rats_domain::units::Milliwatts;
use serde::{Deserialize, Serialize};

use crate::custody::Point;
use crate::gpu::Megahertz;

/// An operating point; what is absent stays as it is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Target {
    /// Memory clock, MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mem_mhz: Option<i64>,
    /// Power limit, mW.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_limit_mw: Option<i64>,
    /// SM clock, MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_mhz: Option<i64>,
}

impl Target {
    /// As it is set.
    pub fn point(self) -> Point {
        Point {
            sm: self.sm_mhz.map(Megahertz),
            mem: self.mem_mhz.map(Megahertz),
            power_limit: self.power_limit_mw.map(Milliwatts),
        }
    }

    /// As it stands in a profile.
    pub fn file(self) -> PointFile {
        PointFile {
            sm_mhz: self.sm_mhz,
            mem_mhz: self.mem_mhz,
            power_limit_w: self.power_limit_mw.map(|mw| Decimal::from_scaled(mw.into(), 3)),
        }
    }

    /// For people: `1410 MHz, memory 1215 MHz, 250 W`.
    pub fn text(self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.sm_mhz.map(|mhz| format!("{mhz} MHz")));
        parts.extend(self.mem_mhz.map(|mhz| format!("memory {mhz} MHz")));
        parts.extend(self.power_limit_mw.map(|mw| format!("{} W", mw as f64 / 1e3)));
        if parts.is_empty() { "as found".to_owned() } else { parts.join(", ") }
    }
}
