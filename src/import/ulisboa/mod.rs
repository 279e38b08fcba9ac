//! INESC-ID, Lisbon: kernels over SM and memory clocks. Two sets: `ptx` (time and power) and `power` (power alone, with
//! the utilization of every component of the GPU).

mod power;
mod ptx;
mod utilization;

pub(super) use self::power::import as import_power;
pub(super) use self::ptx::import as import_ptx;
