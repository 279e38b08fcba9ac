//! What machines have: through NVML, or from what `nvidia-smi -q -x` printed.
//!
//! A [`Machine`] becomes the cluster of a scenario ([`tree`]) and an inventory; [`text`] is what people read.

pub mod dump;
mod idle;
#[cfg(test)]
mod tests;
pub mod text;
pub mod tree;

use std::collections::BTreeMap;
use std::time::Duration;

use rats_domain::codes::Code;
use rats_domain::problem::Warning;
use rats_domain::units::Milliwatts;

use crate::gpu::{Ancestor, Facts, Gpu, GpuError, Gpus, Mig};

pub use idle::Idle;

/// A machine and its GPUs.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name.
    pub host: String,
    /// Version of its driver.
    pub driver: Option<String>,
    /// Its GPUs in order of their PCI addresses.
    pub gpus: Vec<Found>,
    /// How far apart GPUs are on PCIe, by their positions in `gpus`, the lower first.
    pub ancestors: BTreeMap<(usize, usize), Ancestor>,
    /// What was found wrong.
    pub warnings: Vec<Warning>,
}

/// A GPU that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// What does not change.
    pub facts: Facts,
    /// Whether it is divided.
    pub mig: Mig,
    /// The power limit now.
    pub power_limit: Option<Milliwatts>,
    /// Whether the driver stays loaded.
    pub persistence: Option<bool>,
    /// Power while nothing runs; absent where it cannot be read.
    pub idle: Option<Idle>,
    /// Whether it belongs to a fabric of NVLink switches, where links are not listed one by one.
    pub is_in_fabric: bool,
}

/// Looks at the GPUs of this machine, each for `window` to see what it draws while idle.
///
/// # Errors
/// The driver cannot be asked.
pub fn this_machine(gpus: &Gpus, host: &str, window: Duration) -> Result<Machine, GpuError> {
    let listing = gpus.list()?;
    let mut machine = Machine {
        host: host.to_owned(),
        driver: gpus.driver_version().ok(),
        gpus: Vec::new(),
        ancestors: BTreeMap::new(),
        warnings: Vec::new(),
    };
    for (index, error) in listing.silent {
        let message = format!("left out: {error}.");
        machine.warnings.push(Warning::new(error.code(), format!("{host}: GPU {index}"), message));
    }
    let measured = idle::measure(&listing.gpus, window);
    for (gpu, idle) in listing.gpus.iter().zip(measured) {
        match found(gpu, idle) {
            Ok(found) => {
                machine.busy(gpu);
                machine.gpus.push(found);
            }
            Err(error) => {
                let message = format!("left out: {error}.");
                machine.warnings.push(Warning::new(error.code(), format!("{host}: {}", gpu.uuid()), message));
            }
        }
    }
    machine.gpus.sort_by(|a, b| a.facts.pci.cmp(&b.facts.pci));
    for b in 0..machine.gpus.len() {
        for a in 0..b {
            let (one, other) = (&machine.gpus[a].facts.uuid, &machine.gpus[b].facts.uuid);
            if let Some(ancestor) = gpus.ancestor(one, other)? {
                machine.ancestors.insert((a, b), ancestor);
            }
        }
    }
    Ok(machine)
}

fn found(gpu: &Gpu, idle: Option<Idle>) -> Result<Found, GpuError> {
    Ok(Found {
        facts: gpu.facts().clone(),
        mig: gpu.mig()?,
        power_limit: gpu.power_limit()?,
        persistence: gpu.persistence()?,
        idle,
        is_in_fabric: false,
    })
}

impl Machine {
    /// Says so where a GPU was not idle while its idle power was measured.
    fn busy(&mut self, gpu: &Gpu) {
        let pids = gpu.processes().unwrap_or_default();
        if !pids.is_empty() {
            let pids: Vec<_> = pids.iter().map(ToString::to_string).collect();
            let message = format!("process {} uses the GPU, so its idle power is too high.", pids.join(", "));
            self.warnings.push(Warning::new(Code::N16, format!("{}: {}", self.host, gpu.uuid()), message));
        }
    }
}
