//! Hardware counters: what each name means.

/// A counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Its name.
    pub name: &'static str,
    /// Its unit; empty for a share of a peak.
    pub unit: &'static str,
    /// What it counts.
    pub meaning: &'static str,
}

const fn counter(name: &'static str, unit: &'static str, meaning: &'static str) -> Counter {
    Counter { name, unit, meaning }
}

/// Every counter that an importer writes. `active`: DCGM, mean share of cycles at this very point (TTU). `util`: share of
/// the component's peak at the *default* clocks, repeated at all points of a kernel (Lisbon).
pub const COUNTERS: [Counter; 22] = [
    counter("gr_engine_active", "", "DCGM: share of time in which a compute engine was busy"),
    counter("dram_active", "", "DCGM: share of cycles in which the memory interface moved data"),
    counter("fp64_active", "", "DCGM: share of cycles in which the FP64 pipe was active"),
    counter("fp32_active", "", "DCGM: share of cycles in which the FP32 pipe was active"),
    counter("pcie_tx_bytes", "bytes/s", "DCGM: PCIe bytes sent"),
    counter("pcie_rx_bytes", "bytes/s", "DCGM: PCIe bytes received"),
    counter("gpu_utilization", "%", "NVML: share of time in which a kernel ran"),
    counter("mem_copy_utilization", "%", "NVML: share of time in which memory was read or written"),
    counter("util_sp_add", "", "utilization of FP32 units by additions, at default clocks"),
    counter("util_sp_mul", "", "utilization of FP32 units by multiplications, at default clocks"),
    counter("util_sp_fma", "", "utilization of FP32 units by fused multiply-adds, at default clocks"),
    counter("util_int", "", "utilization of integer units, at default clocks"),
    counter("util_dp_add", "", "utilization of FP64 units by additions, at default clocks"),
    counter("util_dp_mul", "", "utilization of FP64 units by multiplications, at default clocks"),
    counter("util_dp_fma", "", "utilization of FP64 units by fused multiply-adds, at default clocks"),
    counter("util_sfu", "", "utilization of special function units, at default clocks"),
    counter("util_cf", "", "utilization of control flow units, at default clocks"),
    counter("util_l2", "", "utilization of the L2 cache's bandwidth, at default clocks"),
    counter("util_shared", "", "utilization of shared memory's bandwidth, at default clocks"),
    counter("util_dram", "", "utilization of DRAM bandwidth, at default clocks"),
    counter("sm_active", "", "DCGM: share of cycles in which an SM had at least one warp"),
    counter("tensor_active", "", "DCGM: share of cycles in which the tensor pipe was active"),
];

/// A counter by name; one that is not listed is known by its name only.
pub fn find(name: &str) -> Counter {
    let known = COUNTERS.iter().find(|counter| counter.name == name);
    known.copied().unwrap_or(counter("", "", "a counter that only its source describes"))
}
