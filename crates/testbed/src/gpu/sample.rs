//! What a GPU does at one moment.

use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id;
use rats_domain::units::{Millijoules, Milliwatts};

use super::Megahertz;
use super::error::GpuError;
use super::facts::optional;

/// Names of the bits of NVML's clock event reasons (nvml.h, `nvmlClocksEventReasons`).
const REASONS: [(u64, &str); 9] = [
    (0x1, "idle"),
    (0x2, "application_clocks"),
    (0x4, "power_limit"),
    (0x8, "hardware_slowdown"),
    (0x10, "sync_boost"),
    (0x20, "thermal"),
    (0x40, "hardware_thermal"),
    (0x80, "power_brake"),
    (0x100, "display"),
];

const WHAT: &str = "reading clocks and power";

/// Why a clock is lower than it could be: the bits that NVML reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttle(pub u64);

/// One reading; what the GPU lacks is absent, never 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The SM clock now.
    pub sm: Option<Megahertz>,
    /// The memory clock now.
    pub mem: Option<Megahertz>,
    /// Temperature, degrees Celsius.
    pub temperature_c: Option<i64>,
    /// Power as `nvmlDeviceGetPowerUsage` gives it: the mean of about a second on GA100 and later, an instant on older
    /// GPUs.
    pub power: Option<Milliwatts>,
    /// Power at this instant.
    pub power_instant: Option<Milliwatts>,
    /// Energy since the driver was loaded. It moves about every 100 ms.
    pub energy: Option<Millijoules>,
    /// Why the clock is lower than it could be.
    pub throttle: Option<Throttle>,
}

impl Throttle {
    /// Names of the reasons; bits without a name are left out.
    pub fn names(self) -> Vec<&'static str> {
        REASONS.iter().filter(|(bit, _)| self.0 & bit != 0).map(|&(_, name)| name).collect()
    }

    /// Whether something other than the user holds the clock down: the power limit, heat or the power supply.
    pub fn is_taint(self) -> bool {
        const TAINTS: u64 = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;
        self.0 & TAINTS != 0
    }

    /// Whether the power limit holds the clock down.
    pub fn is_power_limit(self) -> bool {
        self.0 & 0x4 != 0
    }

    /// Whether heat holds the clock down.
    pub fn is_thermal(self) -> bool {
        self.0 & (0x20 | 0x40) != 0
    }
}

impl Sample {
    /// The averaged power, or else that of this instant.
    pub fn any_power(&self) -> Option<Milliwatts> {
        self.power.or(self.power_instant)
    }

    /// Power (the averaged one only without that of this instant), SM clock and energy.
    pub(super) fn brief(device: &Device<'_>) -> Result<Self, GpuError> {
        let power_instant = instant(device)?;
        let power = if power_instant.is_none() { power(device)? } else { None };
        Ok(Self { sm: clock(device, Clock::SM)?, power, power_instant, energy: energy(device)?, ..Self::default() })
    }

    pub(super) fn read(device: &Device<'_>) -> Result<Self, GpuError> {
        Ok(Self {
            sm: clock(device, Clock::SM)?,
            mem: clock(device, Clock::Memory)?,
            temperature_c: optional(device.temperature(TemperatureSensor::Gpu), WHAT)?.map(i64::from),
            power: power(device)?,
            power_instant: instant(device)?,
            energy: energy(device)?,
            throttle: optional(device.current_throttle_reasons(), WHAT)?.map(|reasons| Throttle(reasons.bits())),
        })
    }
}

fn clock(device: &Device<'_>, clock: Clock) -> Result<Option<Megahertz>, GpuError> {
    Ok(optional(device.clock_info(clock), WHAT)?.map(|mhz| Megahertz(mhz.into())))
}

fn power(device: &Device<'_>) -> Result<Option<Milliwatts>, GpuError> {
    Ok(optional(device.power_usage(), WHAT)?.map(|mw| Milliwatts(mw.into())))
}

fn energy(device: &Device<'_>) -> Result<Option<Millijoules>, GpuError> {
    Ok(optional(device.total_energy_consumption(), WHAT)?.map(|mj| Millijoules(mj.into())))
}

fn instant(device: &Device<'_>) -> Result<Option<Milliwatts>, GpuError> {
    const WHAT: &str = "reading the power of this instant";
    let fields = device.field_values_for(&[FieldId(field_id::NVML_FI_DEV_POWER_INSTANT)]);
    let field = optional(fields, WHAT)?.and_then(|mut fields| fields.pop());
    let value = match field {
        Some(field) => optional(field.and_then(|sample| sample.value), WHAT)?,
        None => None,
    };
    Ok(match value {
        Some(SampleValue::U32(mw)) => Some(Milliwatts(mw.into())),
        Some(SampleValue::U64(mw)) => i64::try_from(mw).ok().map(Milliwatts),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::Throttle;

    #[test]
    fn idle_and_a_clock_that_the_user_set_are_no_taint() {
        assert!(!Throttle(0x1 | 0x2).is_taint());
        assert_eq!(Throttle(0x4 | 0x20 | 0x8000).names(), ["power_limit", "thermal"]);
        assert!(Throttle(0x4).is_taint() && Throttle(0x4).is_power_limit() && !Throttle(0x4).is_thermal());
    }
}
