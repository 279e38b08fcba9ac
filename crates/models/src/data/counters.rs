//! Hardware counters: what each name means.

/// A counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counter {
    /// Its name.
    pub name: &'static str,
    /// Its unit; empty for a share of a peak.
    pub unit: &'static str,
    /// The most it can be.
    pub most: f64,
    /// What it counts.
    pub meaning: &'static str,
}

/// The most of anything counted.
const MOST: f64 = 1e18;

const fn share(name: &'static str, meaning: &'static str) -> Counter {
    Counter { name, unit: "", most: 1.0, meaning }
}

/// Shares of a peak that was itself measured; some lie above 1 and are flagged.
const fn utilization(name: &'static str, meaning: &'static str) -> Counter {
    Counter { name, unit: "", most: 2.0, meaning }
}

const fn rate(name: &'static str, unit: &'static str, meaning: &'static str) -> Counter {
    Counter { name, unit, most: MOST, meaning }
}

/// Every counter that is known by name. `active`: DCGM, mean share of cycles at this very point (TTU). `util`: share of
/// the component's peak at the *default* clocks, repeated at all points of a kernel (Lisbon).
pub const COUNTERS: [Counter; 22] = [
    share("gr_engine_active", "DCGM: share of time in which a compute engine was busy"),
    share("dram_active", "DCGM: share of cycles in which the memory interface moved data"),
    share("fp64_active", "DCGM: share of cycles in which the FP64 pipe was active"),
    share("fp32_active", "DCGM: share of cycles in which the FP32 pipe was active"),
    rate("pcie_tx_bytes", "bytes/s", "DCGM: PCIe bytes sent"),
    rate("pcie_rx_bytes", "bytes/s", "DCGM: PCIe bytes received"),
    rate("gpu_utilization", "%", "NVML: share of time in which a kernel ran"),
    rate("mem_copy_utilization", "%", "NVML: share of time in which memory was read or written"),
    utilization("util_sp_add", "utilization of FP32 units by additions, at default clocks"),
    utilization("util_sp_mul", "utilization of FP32 units by multiplications, at default clocks"),
    utilization("util_sp_fma", "utilization of FP32 units by fused multiply-adds, at default clocks"),
    utilization("util_int", "utilization of integer units, at default clocks"),
    utilization("util_dp_add", "utilization of FP64 units by additions, at default clocks"),
    utilization("util_dp_mul", "utilization of FP64 units by multiplications, at default clocks"),
    utilization("util_dp_fma", "utilization of FP64 units by fused multiply-adds, at default clocks"),
    utilization("util_sfu", "utilization of special function units, at default clocks"),
    utilization("util_cf", "utilization of control flow units, at default clocks"),
    utilization("util_l2", "utilization of the L2 cache's bandwidth, at default clocks"),
    utilization("util_shared", "utilization of shared memory's bandwidth, at default clocks"),
    utilization("util_dram", "utilization of DRAM bandwidth, at default clocks"),
    share("sm_active", "DCGM: share of cycles in which an SM had at least one warp"),
    share("tensor_active", "DCGM: share of cycles in which the tensor pipe was active"),
];

/// A counter by name; one that is not listed is known by its name only.
pub fn find(name: &str) -> Counter {
    let known = COUNTERS.iter().find(|counter| counter.name == name);
    known.copied().unwrap_or(rate("", "", "a counter that only its source describes"))
}
