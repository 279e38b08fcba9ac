//! The C interface of NVML over simulated GPUs: clocks, limits, power, energy and faults, shared between processes.
